package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// pastSource is a repository with a past, and nobody at work.
type pastSource struct {
	action.Backend // nil: what is not below is never called

	mu    sync.Mutex // over what tell adds to while others read
	facts []ralph.Event
	state *ralph.State
	at    time.Time
}

func (p *pastSource) State() *ralph.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *pastSource) Engine(*ralph.State) status.Engine { return status.Engine{} }
func (p *pastSource) Now() time.Time                    { return p.at }
func (p *pastSource) Context() action.Context           { return action.Context{Now: p.at} }
func (p *pastSource) Wait(ctx context.Context, seq int64) error {
	if seq < p.State().Seq {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (p *pastSource) Update(context.Context, func(*ralph.State) ([]ralph.Fact, error)) error {
	return nil
}

func (p *pastSource) Each(after int64, visit func(ralph.Event) error) error {
	p.mu.Lock()
	facts := p.facts[min(after, int64(len(p.facts))):]
	p.mu.Unlock()
	for _, e := range facts {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *pastSource) add(facts ...ralph.Fact) {
	for _, f := range facts {
		e := ralph.Event{Seq: p.state.Seq + 1, At: p.at, By: "engine", Fact: f}
		p.facts = append(p.facts, e)
		next := p.state.Clone()
		next.Apply(e)
		p.state = next
	}
}

// pastOf makes sessions of a few tasks each, with an agent log of the first one named.
func pastOf(sessions, tasks int) *pastSource {
	p := &pastSource{state: &ralph.State{}, at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	for n := range sessions {
		id := ralph.SessionID(fmt.Sprintf("s-%02d", n))
		p.add(ralph.SessionStarted{ID: id, Mode: "autopilot", Auto: ralph.Autopilot, Config: json.RawMessage(`{"parallel":2}`), Log: fmt.Sprintf("build/ralph-logs/agent-%d.log", n)})
		p.add(ralph.PlanStarted{File: "a.md"})
		for i := range tasks {
			t := ralph.TaskID(fmt.Sprintf("t-%02d%02d", n, i))
			p.add(ralph.TaskAdded{Task: ralph.Task{ID: t, Name: "<script>alert(1)</script> \x1b[31mred", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: t, Slot: 1 + i%2})
			p.at = p.at.Add(time.Duration(20+i) * time.Second)
			p.add(ralph.TurnEnded{
				Task: t, Stage: ralph.KindBuild, Agent: "claude", Iteration: 1, Took: time.Duration(20+i) * time.Second,
				Exit: ralph.ExitOK, Usage: ralph.Usage{Input: 900, Output: 100, Cost: 0.5, Known: true},
			}, ralph.ChecksRan{Task: t, Pass: i%2 == 0})
			status := ralph.TaskDone
			if i%3 == 2 {
				status = ralph.TaskFailed
			}
			p.add(ralph.TaskEnded{ID: t, Status: status, Slot: 1 + i%2, Why: ralph.Why{Rule: "B-020", Text: "so it is"}}, ralph.Noted{Task: t, Text: fmt.Sprintf("note %d of %d", i, n)})
		}
		p.add(ralph.SessionEnded{Reason: ralph.ReasonComplete})
		p.at = p.at.Add(30 * time.Hour)
	}
	return p
}

// boardOf is a dashboard that has read the whole past.
func boardOf(t *testing.T, p *pastSource, root string) *Server {
	t.Helper()
	x := New(Options{Source: p, Backend: p, Root: root})
	t.Cleanup(x.Close)
	x.index.Start()
	if err := x.index.Reach(t.Context(), p.state.Seq); err != nil {
		t.Fatal(err)
	}
	return x
}

func lookAt(x *Server, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w
}

// B-100 to B-103: the page says what `ralph query stats` says, of the session and of all.
func TestHistoryHasTheStatisticsOfQuery(t *testing.T) {
	t.Parallel()
	p := pastOf(3, 7)
	body := lookAt(boardOf(t, p, "shop"), "/history?days=all").Body.String()
	row := regexp.MustCompile(`(?s)<th scope="row">\s*(.*?)\s*</th>\s*<td class="num">\s*(.*?)\s*</td>\s*<td class="num">\s*(.*?)\s*</td>`)
	got := map[string][2]string{}
	for _, m := range row.FindAllStringSubmatch(body, -1) {
		got[m[1]] = [2]string{m[2], m[3]}
	}
	s := status.QueryStats(p.state, status.Engine{Alive: true}, p.at)
	number := func(a, b int) [2]string { return [2]string{fmt.Sprint(a), fmt.Sprint(b)} }
	want := map[string][2]string{
		"Tasks completed": number(s.This.TasksDone, s.Overall.TasksDone), "Tasks failed": number(s.This.TasksFailed, s.Overall.TasksFailed),
		"Iterations": number(s.This.Iterations, s.Overall.Iterations), "Merges clean": number(s.This.MergesClean, s.Overall.MergesClean),
		"Tasks remaining": {fmt.Sprint(s.Remaining), ""}, "Merges pending": {fmt.Sprint(s.MergesPending), ""},
		"Checks red": number(s.This.ChecksRed, s.Overall.ChecksRed), "Cost": {ralph.Dollars(s.This.Cost), ralph.Dollars(s.Overall.Cost)},
		"Iteration, fastest": {ralph.Elapsed(time.Duration(s.This.FastestSeconds * float64(time.Second))), ralph.Elapsed(time.Duration(s.Overall.FastestSeconds * float64(time.Second)))}, "Iteration, slowest": {ralph.Elapsed(time.Duration(s.This.SlowestSeconds * float64(time.Second))), ralph.Elapsed(time.Duration(s.Overall.SlowestSeconds * float64(time.Second)))},
		"Iteration, average": {ralph.Elapsed(time.Duration(s.This.AverageSeconds * float64(time.Second))), ralph.Elapsed(time.Duration(s.Overall.AverageSeconds * float64(time.Second)))}, "Runtime": {"2m 41s", "8m 3s"},
	}
	if s.Overall.Iterations != 21 || s.This.TasksFailed != 2 {
		t.Fatalf("the past is not as planned: %+v", s)
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %q, want %q", name, got[name], w)
		}
	}
}

// past sessions are listed, the newest first, and each leads to its log.
func TestHistoryListsSessions(t *testing.T) {
	t.Parallel()
	x := boardOf(t, pastOf(30, 2), "shop")
	link := regexp.MustCompile(`href="(/session/s-\d+/log)"`)
	var all []string
	for address := "/history?days=all"; address != ""; {
		w := lookAt(x, address)
		if w.Code != http.StatusOK || w.Body.Len() > 400<<10 {
			t.Fatalf("%s: %d, %d bytes", address, w.Code, w.Body.Len())
		}
		for _, m := range link.FindAllStringSubmatch(w.Body.String(), -1) {
			all = append(all, m[1])
		}
		address = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(w.Body.String()); m != nil {
			address = html.UnescapeString(m[1])
		}
	}
	if len(all) != 30 || all[0] != "/session/s-29/log" || all[29] != "/session/s-00/log" {
		t.Errorf("%d sessions, from %v", len(all), all)
	}
	if w := lookAt(x, "/session/s-00/log"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "note 1 of 0") || strings.Contains(w.Body.String(), "of 1<") {
		t.Errorf("the log of s-00 is %d\n%s", w.Code, w.Body)
	}
	if n := strings.Count(lookAt(x, "/history?days=7").Body.String(), `/log"`); n < 5 || n > 8 { // one every 30 hours, and the log of all
		t.Errorf("%d links to logs of seven days", n)
	}
}

// A session's page has its report, made in the background; what agents wrote is only text.
func TestSessionPage(t *testing.T) {
	t.Parallel()
	x := boardOf(t, pastOf(3, 5), "shop")
	if first := lookAt(x, "/session/s-01").Body.String(); !strings.Contains(first, "Making the report") && !strings.Contains(first, "What the slots did") {
		t.Errorf("neither a report nor its progress: %s", first)
	}
	x.reports.Wait()
	w := lookAt(x, "/session/s-01")
	body := w.Body.String()
	for _, want := range []string{"What the slots did", "slot 2", "Cost over time", "t-0104", "Decisions", "← session before", "session after →", "B-020", "&lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, never := range []string{"<script>alert", "\x1b", " style=", "t-0001", "t-0201"} {
		if strings.Contains(body, never) {
			t.Errorf("it has %q", never)
		}
	}
	if w := lookAt(x, "/session/s-99"); w.Code != http.StatusNotFound {
		t.Errorf("a session that never was: %d", w.Code)
	}
}

// The files of the report are those of `ralph report`, and are kept, not shown: the HTML
// has its own style.
func TestReportFiles(t *testing.T) {
	t.Parallel()
	p := pastOf(12, 40) // long enough that a report does not begin at the first fact
	x := boardOf(t, p, "shop")
	if x.index.Before(2000).Seq == 0 {
		t.Fatal("no state is kept on the way")
	}
	for _, id := range []ralph.SessionID{"s-00", "s-07", "s-11"} {
		r, s := sessionreport.NewReport(sessionreport.ReportOptions{Session: id}), &ralph.State{}
		for _, e := range p.facts {
			s.Apply(e)
			r.Add(e, s)
		}
		result, err := r.Result()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := result.JSON(&want); err != nil {
			t.Fatal(err)
		}
		if got := lookAt(x, "/session/"+string(id)+"/report.json"); got.Body.String() != want.String() {
			t.Errorf("report.json of %s is\n%s\nwant\n%s", id, got.Body, want.String())
		}
	}
	for name, kind := range map[string]string{"report.md": "text/markdown", "report.html": "text/html"} {
		w := lookAt(x, "/session/s-01/"+name)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), kind) || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
	for _, address := range []string{"/session/s-99/report.md", "/session/s-00/report.exe", "/session/s-00/agent.log"} {
		if w := lookAt(x, address); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", address, w.Code)
		}
	}
}

// linesOf are the texts of a log page, the newest first.
func linesOf(body string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?s)<li id="line-[^"]*"[^>]*>.*?</time>\s*<span[^>]*>(.*?)</span>`).FindAllStringSubmatch(body, -1) {
		out = append(out, html.UnescapeString(m[1]))
	}
	return out
}

// Whoever goes back page by page sees every line once, with a filter and without; forth
// likewise.
func TestLogPages(t *testing.T) {
	t.Parallel()
	p := pastOf(12, 40)
	x := boardOf(t, p, "shop")
	var every, notes []string
	log, s := report.Log{}, &ralph.State{}
	for _, e := range p.facts {
		s.Apply(e)
		for _, words := range log.Lines(e, s) {
			every = append(every, text.Visible(words))
			if strings.Contains(words, "note 7 of") {
				notes = append(notes, text.Visible(words))
			}
		}
	}
	walk := func(address, rel string, back bool) []string {
		var out []string
		for n := 0; address != "" && n < 100; n++ {
			w := lookAt(x, address)
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d", address, w.Code)
			}
			lines := linesOf(w.Body.String())
			if !back {
				slices.Reverse(lines)
			}
			out = append(out, lines...)
			address = ""
			if m := regexp.MustCompile(`rel="` + rel + `" href="([^"]*)"`).FindStringSubmatch(w.Body.String()); m != nil {
				address = html.UnescapeString(m[1])
			}
		}
		if back {
			slices.Reverse(out)
		}
		return out
	}
	if got := walk("/log", "prev", true); !slices.Equal(got, every) {
		t.Errorf("back: %d lines, want %d", len(got), len(every))
	}
	if got := walk("/log?from=1", "next", false); !slices.Equal(got, every) {
		t.Errorf("forth: %d lines, want %d", len(got), len(every))
	}
	if got := walk("/log?q=NOTE+7+of", "prev", true); !slices.Equal(got, notes) {
		t.Errorf("filtered: %q, want %q", got, notes)
	}
	if got := walk("/log?task=t-0307&kind=noted", "prev", true); len(got) != 1 || got[0] != "NOTE: note 7 of 3" {
		t.Errorf("a task's notes: %q", got)
	}
	if w := lookAt(x, "/log?kind=nonsense"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("an event that is none: %d", w.Code)
	}
}

// The log file is sent as text, and only from the folder of logs.
func TestLogFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "build/ralph-logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"build/ralph-logs/agent-0.log": "<b>hello", "secret": "secret"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../secret", filepath.Join(root, "build/ralph-logs/agent-1.log")); err != nil {
		t.Fatal(err)
	}
	p := pastOf(2, 1)
	for _, name := range []string{"secret", "build/ralph-logs/../../secret", "../secret", "/etc/passwd"} {
		p.add(ralph.SessionStarted{ID: ralph.SessionID(fmt.Sprintf("s-bad-%d", len(p.facts))), Mode: "agent", Log: name})
	}
	x := boardOf(t, p, root)
	w := lookAt(x, "/session/s-00/agent.log")
	if w.Code != http.StatusOK || w.Body.String() != "<b>hello" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	for _, s := range x.index.Sessions() {
		if w := lookAt(x, "/session/"+string(s.ID)+"/agent.log"); s.ID != "s-00" && (w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "secret\n")) {
			t.Errorf("%s with %s: %d", s.ID, s.Log, w.Code)
		}
	}
}
