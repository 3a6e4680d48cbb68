package page_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// Numbers are written shortly, each in its own way.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for have, want := range map[string]string{
		page.Dollars(0): "$0.00", page.Dollars(0.001): "<$0.01", page.Dollars(0.01): "$0.01", page.Dollars(12.345): "$12.35",
		page.Amount(0): "0", page.Amount(999): "999", page.Amount(1000): "1.0k", page.Amount(9_949): "9.9k", page.Amount(10_000): "10k", page.Amount(9_950): "10k", page.Amount(19_980): "20k", page.Amount(999_499): "999k", page.Amount(999_999): "1.0M", page.Amount(9_990_000): "10M",
		page.Amount(1_000_000): "1.0M", page.Amount(9_900_000): "9.9M", page.Amount(12_345_678): "12M",
		page.Bytes(1023): "1023 bytes", page.Bytes(1024): "1 KiB", page.Bytes(1<<20 - 1): "1023 KiB", page.Bytes(3 << 19): "1.5 MiB",
		page.Short(0): "0 ms", page.Short(999 * time.Millisecond): "999 ms", page.Short(83 * time.Second): "1m 23s",
		page.Titled(""): "", page.Titled("running"): "Running",
		page.TurnsTitle(true): "Turns", page.TurnsTitle(false): "Iterations",
	} {
		if have != want {
			t.Errorf("%q, want %q", have, want)
		}
	}
}

// An address keeps the filters that pages have, takes one out with "", and passes on nothing else.
func TestWith(t *testing.T) {
	t.Parallel()
	q := url.Values{"status": {"done"}, "q": {"a b"}, "secret": {"x"}, "page": {"3"}}
	for _, tt := range []struct {
		changes []string
		want    string
	}{
		{nil, "/plan?page=3&q=a+b&status=done"},
		{[]string{"page", ""}, "/plan?q=a+b&status=done"},
		{[]string{"status", "failed", "sort", "name"}, "/plan?page=3&q=a+b&sort=name&status=failed"},
		{[]string{"page", "", "q", "", "status", ""}, "/plan"},
	} {
		if have := page.With("/plan", q, tt.changes...); have != tt.want {
			t.Errorf("%v: %s, want %s", tt.changes, have, tt.want)
		}
	}
	if q.Get("page") != "3" {
		t.Error("the query that was asked with is another one")
	}
}

// A search finds what has all words, names that begin with it first, and counts what it does not show.
func TestFound(t *testing.T) {
	t.Parallel()
	list := []page.Hit{{ID: "t-1", Name: "Read the header", Status: "done"}, {ID: "t-2", Name: "Header of mails", Status: "active"}, {ID: "t-3", Name: "Docs"}}
	for q, want := range map[string][]string{
		"header": {"t-2", "t-1"}, "HEADER done": {"t-1"}, "t-3": {"t-3"}, "header docs": nil, "": {"t-1", "t-2", "t-3"},
	} {
		var have []string
		g := page.Found("Tasks", q, list)
		for _, x := range g.List {
			have = append(have, x.ID)
		}
		if !slices.Equal(have, want) || g.Total != len(want) || g.Title != "Tasks" {
			t.Errorf("%q finds %v of %d, want %v", q, have, g.Total, want)
		}
	}
	many := page.Found("", "", slices.Repeat(list, 30))
	if len(many.List) != 12 || many.Total != 90 {
		t.Errorf("of 90 it shows %d of %d", len(many.List), many.Total)
	}
}

// An output is for programs when its last whole lines are objects.
func TestIsRecords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "words\n": false, "{\"a\":1}\n": true, "{\"a\":1}": false, "words\n{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n": true,
		"{\"a\":1}\nwords\n": false, "{broken\n": false, "cut}\n{\"a\":1}\n": true, "[1]\n": false, "{\"a\":1}\n{\"b\":": true,
	} {
		if have := page.IsRecords([]byte(text)); have != want {
			t.Errorf("%q: %t", text, have)
		}
	}
}

// Turns are the newest first: the one that runs, those that the journal tells of, and before them those
// that only left a folder.
func TestTurnRows(t *testing.T) {
	t.Parallel()
	told := []page.TurnRow{{Record: "2", Iteration: 2}, {Record: "3", Iteration: 3}}
	records := []page.TurnRecord{{Name: "1", Iteration: 1}, {Name: "2", Iteration: 2}, {Name: "3.2", Iteration: 3, Try: 2}, {Name: "4.2", Iteration: 4, Try: 2}}
	var have []string
	for _, x := range page.TurnRows(told, records, "4.2") {
		have = append(have, fmt.Sprintf("%s %d %s", x.Record, x.Iteration, x.Exit))
	}
	if want := []string{"4.2 4 running", "3 3 ", "2 2 ", "3.2 3 unknown", "1 1 unknown"}; !slices.Equal(have, want) {
		t.Errorf("the turns are %q, want %q", have, want)
	}
	if n := len(page.TurnRows(slices.Repeat(told, 500), nil, "")); n != page.MaxTurns {
		t.Errorf("%d turns are shown", n)
	}
}

// The checks of a run: what does not count is told, outputs are HTML and stand nowhere else, and what is
// left out is counted.
func TestChecksIn(t *testing.T) {
	t.Parallel()
	if m := page.ChecksIn(nil, nil); m.Ran || len(m.Rows) != 0 {
		t.Errorf("without a run there is %+v", m)
	}
	ran := &ralph.ChecksRan{Took: time.Second, Known: []string{"lint"}, Waived: []string{"slow"}, Results: []ralph.CheckResult{
		{Name: "test", Pass: true, Output: "<b>ok</b>"}, {Name: "lint"}, {Name: "slow"},
	}}
	m := page.ChecksIn(ran, []ralph.Finding{{}})
	if !m.Ran || m.Pass || m.Took != time.Second || len(m.Findings) != 1 || m.More != 0 || len(m.Rows) != 3 {
		t.Fatalf("the checks are %+v", m)
	}
	if !m.Rows[1].Known || m.Rows[1].Waived || !m.Rows[2].Waived || m.Rows[2].Known || m.Rows[0].Known || m.Rows[0].Waived {
		t.Errorf("what does not count is %+v", m.Rows)
	}
	if x := m.Rows[0]; x.Result.Output != "" || strings.Contains(x.HTML, "<b>") || !strings.Contains(x.HTML, "&lt;b&gt;ok") {
		t.Errorf("the output is %q and %q", x.Result.Output, x.HTML)
	}
	if ran.Results[0].Output == "" {
		t.Error("the output of the fact itself is gone")
	}
	ran.Results = slices.Repeat(ran.Results, 20)
	if m := page.ChecksIn(ran, nil); len(m.Rows) != 50 || m.More != 10 {
		t.Errorf("of 60 checks it shows %d and leaves out %d", len(m.Rows), m.More)
	}
}

// look is a session with one of everything at a moment.
func look(alive bool) page.Look {
	x := storytest.Sample()
	engine := storytest.Alive()
	engine.Alive = alive
	return page.Look{State: x.S, Engine: engine, Now: x.Now, World: func() action.Context { return action.Context{Engine: alive, Now: x.Now} }}
}

// Gates that wait are the oldest first, each with what can be done about it; what was decided by a person
// and what a rule answered stand in two lists; the rules are the newest first.
func TestGatesOf(t *testing.T) {
	t.Parallel()
	l := look(true)
	l.State.Approvals = []*ralph.Approval{
		{ID: "g-2", Kind: ralph.ApprovalOperation, Task: "t-0006", Text: "later", AskedAt: l.Now},
		{ID: "g-1", Kind: ralph.ApprovalOperation, Task: "t-0004", About: "t-0005", Text: "earlier", AskedAt: l.Now.Add(-time.Minute), InTurn: true},
	}
	l.State.Rules = []*ralph.AnswerRule{{ID: "r-1"}, {ID: "r-2"}}
	ends := slices.Repeat([]gates.End{{Gate: ralph.Approval{ID: "g-0", Task: "t-0001"}}, {Gate: ralph.Approval{Task: "t-0002"}}}, 40)
	m := page.GatesOf(l, ends, 7)
	if len(m.Open) != 2 || m.Open[0].Gate.ID != "g-1" || m.Open[0].Task != "Drop the old tests" || m.Open[0].Gone || len(m.Open[0].Offers) == 0 {
		t.Errorf("what waits is %+v", m.Open)
	}
	if len(m.Ends) != 30 || len(m.Auto) != 30 || m.Ends[0].Task != "Read the header" || m.Auto[0].Gate.ID != "" || m.From != 7 {
		t.Errorf("%d were decided (%+v), %d without a person", len(m.Ends), m.Ends[0], len(m.Auto))
	}
	if len(m.Rules) != 2 || m.Rules[0].Rule.ID != "r-2" {
		t.Errorf("the rules are %+v", m.Rules)
	}
	dead := look(false)
	dead.State.Approvals = l.State.Approvals
	for _, row := range page.GatesOf(dead, nil, 0).Open {
		if gone := row.Gate.InTurn; row.Gone != gone || gone && len(row.Offers) != 0 {
			t.Errorf("without an engine %s is gone: %t, with %d offers", row.Gate.ID, row.Gone, len(row.Offers))
		}
	}
}

// The bar counts what waits for a person, and the gates among that; its clock stands while no engine works.
func TestBarOf(t *testing.T) {
	t.Parallel()
	for _, alive := range []bool{true, false} {
		l := look(alive)
		l.State.Approvals = []*ralph.Approval{{ID: "g-1", Kind: ralph.ApprovalOperation, Task: "t-0004", AskedAt: l.Now}, {ID: "g-2", Kind: ralph.ApprovalOperation, Task: "t-0004", AskedAt: l.Now, InTurn: true}}
		l.State.Session.Ended, l.State.Session.RestAt, l.State.Session.EndedAt = "", time.Time{}, time.Time{}
		m := page.BarOf(l)
		if gates := map[bool]int{true: 2, false: 1}[alive]; m.Gates != gates || m.Needs < gates {
			t.Errorf("alive %t: %d gates of %d needs", alive, m.Gates, m.Needs)
		}
		if m.Since.IsZero() == alive && l.State.Session.Live() {
			t.Errorf("alive %t: the clock counts from %s", alive, m.Since)
		}
		if !m.Since.IsZero() && l.Now.Sub(m.Since) != m.Running {
			t.Errorf("the clock is at %s, and the session at %s", l.Now.Sub(m.Since), m.Running)
		}
	}
}

// Who asks for a task that is not there is told the one that was probably meant.
func TestNoTask(t *testing.T) {
	t.Parallel()
	l := look(true)
	if err := page.NoTask(l.State, "t-0010"); !strings.Contains(fmt.Sprintf("%v %+v", err, err), "t-0010") {
		t.Errorf("it says %v", err)
	}
	refusal, ok := errors.AsType[*ralph.Refusal](page.NoTask(l.State, "t-00011"))
	if !ok || !errors.Is(refusal.Kind, ralph.ErrNotFound) || !strings.Contains(refusal.Hint, "did you mean t-0001") {
		t.Errorf("it says %+v", refusal)
	}
	hostile, ok := errors.AsType[*ralph.Refusal](page.NoTask(l.State, ralph.TaskID("\x1b[2J"+strings.Repeat("x", 300))))
	if !ok || strings.Contains(hostile.Why, "\x1b") || len(hostile.Why) > 160 {
		t.Errorf("what nobody knows is repeated as %q", hostile.Why)
	}
}

// The bar of a plan is as wide as it is, whatever the numbers, and its words count each stand.
func TestPlanHead(t *testing.T) {
	t.Parallel()
	h := page.PlanHead{Total: 7, Shares: []page.Share{{Stand: page.StandDone, Count: 2}, {Stand: page.StandActive, Count: 1}, {Stand: page.StandFailed}, {Stand: page.StandWaiting, Count: 4}}}
	if have := h.Words(); have != "2 done, 1 active, 4 waiting" {
		t.Errorf("the words are %q", have)
	}
	if h.Percent() != 28 || (page.PlanHead{}).Percent() != 0 {
		t.Errorf("%d and %d percent are done", h.Percent(), (page.PlanHead{}).Percent())
	}
	want := []page.BarShare{{Stand: "done", From: "0", Width: "285"}, {Stand: "active", From: "285", Width: "143"}, {Stand: "waiting", From: "428", Width: "572"}}
	if d := cmp.Diff(want, h.Bar()); d != "" {
		t.Error(d)
	}
}

// A task stands in one column of the board, by what became of it; what is rare has one only when there is
// some, and those that ended the newest first.
func TestColumns(t *testing.T) {
	t.Parallel()
	l := look(true)
	at := l.Now
	l.State.Plan.Tasks = []*ralph.Task{
		{ID: "t-1", Status: ralph.TaskPending},
		{ID: "t-2", Status: ralph.TaskPending, Deps: []ralph.TaskID{"t-3"}},
		{ID: "t-3", Status: ralph.TaskActive},
		{ID: "t-4", Status: ralph.TaskFailed},
		{ID: "t-5", Status: ralph.TaskTimeout},
		{ID: "t-6", Status: ralph.TaskDone},
	}
	l.State.Plan.Tasks[3].Run.EndedAt, l.State.Plan.Tasks[4].Run.EndedAt = at.Add(-time.Hour), at
	columns := func() []string {
		b := page.NewBoard(l)
		var out []string
		for _, c := range b.Columns(l.State.Plan.Tasks, nil) {
			ids := []string{c.Key + ":"}
			for _, card := range c.Cards {
				ids = append(ids, string(card.ID))
			}
			out = append(out, strings.Join(ids, " "))
		}
		return out
	}
	if have, want := columns(), []string{"waiting: t-2", "ready: t-1", "active: t-3", "failed: t-5 t-4", "done: t-6"}; !slices.Equal(have, want) {
		t.Errorf("the columns are %q, want %q", have, want)
	}
	l.State.Plan.Tasks = nil
	if have, want := columns(), []string{"ready:", "active:", "done:"}; !slices.Equal(have, want) {
		t.Errorf("of nothing the columns are %q, want %q", have, want)
	}
}

// A form of settings changes what a person changed and nothing else: a box that is not ticked is not sent,
// and browsers write the ends of lines in their own way.
func TestSettingsSent(t *testing.T) {
	t.Parallel()
	file := page.SettingsFile{Settings: []page.Setting{{Key: "a", Kind: page.TextSetting}, {Key: "b", Kind: page.CheckSetting}, {Key: "c", Kind: page.AreaSetting}, {Key: "d", Kind: page.TextSetting}}}
	form := url.Values{"was.a": {"1"}, "set.a": {"2"}, "was.b": {"true"}, "was.c": {"x\ny"}, "set.c": {"x\r\ny\r\n"}, "set.d": {"not asked for"}}
	have := page.SentOf(form, file).Changes(file)
	if d := cmp.Diff([]page.SettingChange{{Key: "a", Value: "2"}, {Key: "b", Value: "false"}}, have); d != "" {
		t.Error(d)
	}
}
