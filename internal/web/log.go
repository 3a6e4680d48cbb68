package web

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	// linesAPage is how many lines of the log a page shows.
	linesAPage = 200
	// plainWindow and searchWindow are how many facts a page looks through at most,
	// without and with a filter.
	plainWindow  = 2_000
	searchWindow = 20_000
	// maxWindows is how many pages of the past are kept: a page that somebody looks at
	// is made anew again and again, and the past does not change.
	maxWindows = 16
)

// logAsk is what a page of the log is asked for.
type logAsk struct {
	session     ralph.SessionID
	task        ralph.TaskID
	text, kind  string
	from, to    int64 // the first fact, or the last; 0: the newest
	least, most int64 // the facts that there are: of the session, of the task
}

func (a *logAsk) filtered() bool { return a.task != "" || a.text != "" || a.kind != "" }

func (a *logAsk) match(l *index.Line) bool {
	return (a.task == "" || slices.Contains(l.Tasks, a.task)) && (a.kind == "" || slices.Contains(l.Names, a.kind)) &&
		(a.text == "" || strings.Contains(strings.ToLower(l.Text), strings.ToLower(a.text)))
}

// logPage is the log, of everything or of a session, by parts: the newest lines live,
// older ones by their facts.
func logPage(ctx context.Context, r *request) (view.Page, error) {
	q := r.URL.Query()
	a := logAsk{session: ralph.SessionID(r.PathValue("id")), task: ralph.TaskID(q.Get("task")), text: q.Get("q"), kind: q.Get("kind"), least: 1, most: r.read.Read}
	a.from, _ = strconv.ParseInt(q.Get("from"), 10, 64)
	a.to, _ = strconv.ParseInt(q.Get("to"), 10, 64)
	if a.kind != "" {
		if err := ralph.CheckName(a.kind); err != nil {
			return view.Page{}, err
		}
	}
	m := view.LogModel{Read: r.reading(), Session: a.session, Path: r.URL.Path, Task: string(a.task), Text: a.text, Kind: a.kind, Kinds: eventNames()}
	a.most = r.server.index.Progress().Read
	newest := true // the end of what is asked for is the end of the journal
	if r.past {
		a.most, newest = min(a.most, r.state.Seq), false
	}
	if a.session != "" {
		s, ok := r.server.index.Session(a.session)
		if !ok && r.read.Caught {
			return view.Page{}, noSession(a.session)
		}
		m.LogFile = ok && logFile(r.server.opt.Root, &s) != ""
		newest = !ok || s.Last == a.most
		a.least, a.most = s.First, s.Last
	}
	if first, last, ok := r.server.index.Task(a.task); ok {
		a.least, a.most = max(a.least, first), min(a.most, last)
	}
	lines, err := r.server.logLines(ctx, &a, newest, &m, q)
	if err != nil {
		return view.Page{}, err
	}
	for _, l := range slices.Backward(lines) {
		m.Lines = append(m.Lines, logLine(&l))
	}
	return view.Page{Title: "Log", Sections: []view.Section{
		{ID: "log-tools", Body: view.LogTools(m)},
		{ID: "log-lines", Body: view.LogLines(m)},
	}}, nil
}

// logLines finds the lines, and says in the model which they are and what leads on.
func (x *Server) logLines(ctx context.Context, a *logAsk, newest bool, m *view.LogModel, q url.Values) ([]index.Line, error) {
	link := func(key string, seq int64) string {
		next := maps.Clone(q)
		next.Del("from")
		next.Del("to")
		if key != "" {
			next.Set(key, fmt.Sprint(seq))
		}
		return m.Path + "?" + next.Encode()
	}
	if newest && a.from == 0 && a.to == 0 {
		feed := x.index.Newest()
		lines := slices.DeleteFunc(slices.Clone(feed), func(l index.Line) bool { return l.Seq < a.least || !a.match(&l) })
		m.Live, m.Note = true, "the newest lines"
		oldest := a.least
		lines = index.NewestWhole(lines, linesAPage)
		if a.filtered() {
			m.Note = fmt.Sprintf("of the newest %d lines, those that match", len(feed))
		}
		if len(feed) > 0 {
			oldest = feed[0].Seq
		}
		if len(lines) >= linesAPage {
			oldest = lines[0].Seq
		}
		if oldest > a.least {
			m.Older = link("to", oldest-1)
		}
		return lines, nil
	}
	wide := int64(plainWindow)
	if a.filtered() {
		wide = searchWindow
	}
	var first, last int64
	if a.from > 0 {
		first = max(a.from, a.least)
		last = min(first+wide-1, a.most)
	} else {
		last = a.most
		if a.to > 0 {
			last = min(a.to, a.most)
		}
		first = max(last-wide+1, a.least)
	}
	lines, err := x.window(ctx, a, first, last)
	if err != nil {
		return nil, err
	}
	if len(lines) >= linesAPage { // there were more: the page ends where its lines do
		first, last = lines[0].Seq, max(lines[len(lines)-1].Seq, lines[0].Seq)
	}
	m.Note = fmt.Sprintf("facts %d to %d", first, last)
	if first > a.least {
		m.Older = link("to", first-1)
	}
	if last < a.most {
		m.Newer = link("from", last+1)
	}
	if m.Newer != "" || newest {
		m.Newest = link("", 0)
	}
	return lines, nil
}

// windows keeps pages of the past.
type windows struct {
	mu   sync.Mutex
	keys []string // the one that was used last comes first
	list map[string][]index.Line
}

// window reads a page of the past. One at a time is read: each is bounded.
func (x *Server) window(ctx context.Context, a *logAsk, first, last int64) ([]index.Line, error) {
	if first > last {
		return nil, nil
	}
	key := fmt.Sprintf("%d %d %t %q %q %q", first, last, a.from > 0, a.task, a.text, a.kind)
	w := &x.windows
	w.mu.Lock()
	defer w.mu.Unlock()
	lines, ok := w.list[key]
	if !ok {
		var err error
		if lines, err = x.index.Window(ctx, first, last, a.match, linesAPage, a.from > 0); err != nil {
			return nil, err
		}
	}
	if w.list == nil {
		w.list = map[string][]index.Line{}
	}
	w.list[key] = lines
	w.keys = slices.Insert(slices.DeleteFunc(w.keys, func(k string) bool { return k == key }), 0, key)
	for _, k := range w.keys[min(len(w.keys), maxWindows):] {
		delete(w.list, k)
	}
	w.keys = w.keys[:min(len(w.keys), maxWindows)]
	return lines, nil
}

// logLine is a line as it is shown: what would steer a terminal or hide is made visible.
func logLine(l *index.Line) view.LogLine {
	out := view.LogLine{At: l.At, Seq: l.Seq, Rule: l.Rule, Text: text.Visible(l.Text)}
	if strings.HasPrefix(string(l.Task), "t-") {
		out.Task = string(l.Task)
	}
	switch has := func(name string) bool { return slices.Contains(l.Names, name) }; {
	case has("session.started"):
		out.Head = true
	case has("step-failed"), has("iteration:failed"), has("step-timeout"):
		out.Tone = "bad"
	case has("asked"), has("step-blocked"), strings.HasPrefix(l.Text, "NEEDS YOU"):
		out.Tone = "warn"
	case has("step-complete"), has("landed"):
		out.Tone = "good"
	}
	return out
}

// eventNames are the names that events go by, for the filter.
func eventNames() []string {
	var out []string
	for _, n := range ralph.EventNames() {
		out = append(out, n.Name)
		if short := n.Short(); short != "" {
			out = append(out, short)
		}
	}
	out = append(out, ralph.Kinds()...)
	slices.Sort(out)
	return slices.Compact(out)
}
