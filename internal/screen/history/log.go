package history

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// Log is a page of the log, of all sessions or of one.
type Log struct {
	Read    Reading
	Session ralph.SessionID // "" is all
	LogFile bool
	Path    string // of the page, for its form
	Task    string
	Text    string
	Kind    string
	Kinds   []string
	Lines   []LogLine // the newest first
	Live    bool      // new lines come by themselves
	Note    string    // of what these are
	Older   string
	Newer   string
	Newest  string
}

// LogLine is one line.
type LogLine struct {
	At   time.Time
	Seq  int64
	Task string // of the plan, "" for none
	Rule string
	Text string
	Tone string // good, bad, warn, or ""
	Head bool   // a session begins
}

const (
	// linesAPage is how many lines of the log a page shows.
	linesAPage = 200
	// plainWindow and searchWindow are how many facts a page looks through at most,
	// without and with a filter.
	plainWindow  = 2_000
	searchWindow = 20_000
)

// logAsk is what a page of the log is asked for.
type logAsk struct {
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

// Window reads the lines of the facts from first to last that match, at most so many: the oldest of
// them, or the newest. Its key names what is matched.
type Window func(ctx context.Context, key string, first, last int64, match func(*index.Line) bool, most int, oldest bool) ([]index.Line, error)

// LogOf is a page of the log, of everything or of a session: the newest lines, or older ones by their facts.
// s is the session, nil while nobody knows of it.
func LogOf(ctx context.Context, l page.Look, x *index.Index, path string, id ralph.SessionID, s *index.Session, q url.Values, read Window) (Log, error) {
	a := logAsk{task: ralph.TaskID(q.Get("task")), text: q.Get("q"), kind: q.Get("kind"), least: 1, most: x.Progress().Read}
	a.from, _ = strconv.ParseInt(q.Get("from"), 10, 64)
	a.to, _ = strconv.ParseInt(q.Get("to"), 10, 64)
	m := Log{Session: id, Path: path, Task: string(a.task), Text: a.text, Kind: a.kind, Kinds: eventNames()}
	if a.kind != "" {
		if err := eventname.Check(a.kind); err != nil {
			return m, err
		}
	}
	newest := true // the end of what is asked for is the end of the journal
	if l.Past {
		a.most, newest = min(a.most, l.State.Seq), false
	}
	if s != nil {
		newest = s.Last == a.most
		a.least, a.most = s.First, s.Last
	}
	if first, last, ok := x.Task(a.task); ok {
		a.least, a.most = max(a.least, first), min(a.most, last)
	}
	lines, err := a.lines(ctx, x, newest, &m, q, read)
	for _, l := range slices.Backward(lines) {
		m.Lines = append(m.Lines, lineOf(&l))
	}
	return m, err
}

// lines finds the lines, and says in the model which they are and what leads on.
func (a *logAsk) lines(ctx context.Context, x *index.Index, newest bool, m *Log, q url.Values, read Window) ([]index.Line, error) {
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
		feed := x.Newest()
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
	var lines []index.Line
	var err error
	if first <= last {
		lines, err = read(ctx, fmt.Sprintf("%q %q %q", a.task, a.text, a.kind), first, last, a.match, linesAPage, a.from > 0)
	}
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

// lineOf is a line as it is shown: what would steer a terminal or hide is made visible.
func lineOf(l *index.Line) LogLine {
	out := LogLine{At: l.At, Seq: l.Seq, Rule: l.Rule, Text: text.Visible(l.Text)}
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
	for _, n := range eventname.All() {
		out = append(out, n.Name)
		if short := n.Short(); short != "" {
			out = append(out, short)
		}
	}
	out = append(out, ralph.Kinds()...)
	slices.Sort(out)
	return slices.Compact(out)
}
