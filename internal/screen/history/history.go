// Package history owns what pages of the past show: sessions, figures over time, the log, decisions. They are
// functions of State, what is remembered of the journal (web/index), and the filters of an address.
//
// It does NOT own what is remembered, or how pages look (web/view).
package history

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// Model is the page of past sessions.
type Model struct {
	Read     Reading
	Ranges   []Choice
	Figures  []FigureRow
	Session  ralph.SessionID // whose figures stand beside those of all
	Live     bool
	Since    time.Time // what a clock counts from; zero: it does not go on
	Charts   []chart.Chart
	Sessions []SessionRow
	From, Of int // the rows shown, of all
	Newer    string
	Older    string
}

// Reading is how far the history has been read.
type Reading struct {
	Read, Of int64
	Done     bool
	Trouble  string
}

// Choice is a link of several, one of which holds.
type Choice struct {
	Name, Href string
	On         bool
}

// FigureRow is one figure, of the session and of all time.
type FigureRow struct {
	Name, This, All string
	Clock           bool          // both are times that go on
	Before          time.Duration // what All has beside This
}

// SessionRow is one session in the list.
type SessionRow struct {
	ID         ralph.SessionID
	Mode       string
	Started    time.Time
	Status     string // of the badge
	Ended      string // its word
	Detail     string
	Ran        string
	Done       int
	Failed     int // and timed out
	Iterations int
	Merges     int
	Cost       string
	Tokens     string
}

// sessionsAPage is how many sessions one page lists.
const sessionsAPage = 25

// Since is the first day that a page of the history shows, by ?days=; zero for all.
func Since(l page.Look, q url.Values) time.Time {
	days := 30
	switch q.Get("days") {
	case "7":
		days = 7
	case "all":
		return time.Time{}
	}
	y, m, d := l.Now.Local().Date()
	return time.Date(y, m, d-days+1, 0, 0, 0, 0, time.Local)
}

// Of is the page of past sessions, with figures over time, as far as the journal has been read.
func Of(l page.Look, x *index.Index, read index.Progress, q url.Values) Model {
	from, all := Since(l, q), x.Sessions()
	sessions := slices.DeleteFunc(slices.Clone(all), func(s index.Session) bool { return s.LastAt.Before(from) })
	m := Model{Read: ReadingOf(l.State, read), Of: len(sessions), Figures: figures(l, all)}
	m.Session, m.Live = l.State.Session.ID, l.State.Session.Live()
	if m.Live && l.Engine.Alive && l.State.Session.RestAt.IsZero() {
		m.Since = l.State.At.Add(-l.State.Running(l.State.At))
	}
	for _, c := range []struct{ name, days string }{{"7 days", "7"}, {"30 days", "30"}, {"all", "all"}} {
		on := c.days == cmp.Or(q.Get("days"), "30")
		m.Ranges = append(m.Ranges, Choice{Name: c.name, Href: "/history?days=" + c.days, On: on})
	}
	nth, _ := strconv.Atoi(q.Get("page"))
	nth = min(max(nth, 1), max(1, (len(sessions)+sessionsAPage-1)/sessionsAPage))
	first := (nth - 1) * sessionsAPage
	last := min(first+sessionsAPage, len(sessions))
	m.From = first + 1
	for i := range sessions[first:last] {
		m.Sessions = append(m.Sessions, sessionRow(&sessions[first+i], l))
	}
	if nth > 1 {
		m.Newer = withPage(q, nth-1)
	}
	if last < len(sessions) {
		m.Older = withPage(q, nth+1)
	}
	m.Charts = charts(x, sessions, from, l.Now)
	return m
}

// ReadingOf is how far the history has been read, for people.
func ReadingOf(s *ralph.State, read index.Progress) Reading {
	out := Reading{Read: min(read.Read, s.Seq), Of: s.Seq, Done: read.Caught}
	if read.Err != nil {
		out.Trouble = read.Err.Error()
	}
	return out
}

// withPage is the address of another page.
func withPage(q url.Values, nth int) string {
	next := maps.Clone(q)
	next.Set("page", fmt.Sprint(nth))
	return "/history?" + next.Encode()
}

// sessionRow is a session in the list.
func sessionRow(s *index.Session, l page.Look) SessionRow {
	t := s.Totals
	out := SessionRow{
		ID: s.ID, Mode: cmp.Or(s.Mode, "session"), Started: s.StartedAt, Detail: s.Detail, Ran: ralph.Elapsed(s.Running),
		Done: t.TasksDone, Failed: t.TasksFail + t.TasksOut, Iterations: t.Turns, Merges: t.MergesClean + t.MergesResolved,
		Cost: t.Usage.Dollars(), Tokens: page.Amount(status.CountsOf(t).Tokens),
	}
	out.Status, out.Ended = EndOf(s, l)
	return out
}

// EndOf is how a session ended, as a status and in words.
func EndOf(s *index.Session, l page.Look) (status, words string) {
	switch s.Ended {
	case "":
		switch {
		case s.ID != l.State.Session.ID:
			return "failed", "cut off"
		case l.Engine.Alive:
			return "running", "running"
		}
		return "paused", "interrupted"
	case ralph.ReasonComplete, ralph.ReasonEmpty:
		return "done", string(s.Ended)
	case ralph.ReasonFailed, ralph.ReasonError, ralph.ReasonAborted:
		return "failed", string(s.Ended)
	case ralph.ReasonInterrupted:
		return "paused", string(s.Ended)
	}
	return "timeout", string(s.Ended) // a limit was reached, or a person said no
}

// figures are the statistics of `ralph query stats`, for people.
func figures(l page.Look, sessions []index.Session) []FigureRow {
	s := status.QueryStats(l.State, l.Engine, l.Now)
	var ran time.Duration
	for i := range sessions {
		if sessions[i].ID != s.Session {
			ran += sessions[i].Running
		}
	}
	running := l.State.Running(l.State.At)
	rows := []FigureRow{{Name: "Runtime", This: ralph.Elapsed(running), All: ralph.Elapsed(ran + running), Clock: true, Before: ran}}
	add := func(name string, of func(status.Counts) string) {
		rows = append(rows, FigureRow{Name: name, This: of(s.This), All: of(s.Overall)})
	}
	number := func(of func(status.Counts) int) func(status.Counts) string {
		return func(c status.Counts) string { return fmt.Sprint(of(c)) }
	}
	took := func(of func(status.Counts) float64) func(status.Counts) string {
		return func(c status.Counts) string {
			if c.Iterations == 0 {
				return "–"
			}
			return seconds(of(c))
		}
	}
	add("Tasks completed", number(func(c status.Counts) int { return c.TasksDone }))
	add("Tasks failed", number(func(c status.Counts) int { return c.TasksFailed }))
	add("Tasks timed out", number(func(c status.Counts) int { return c.TasksTimeout }))
	rows = append(rows, FigureRow{Name: "Tasks remaining", This: fmt.Sprint(s.Remaining)})
	add("Iterations", number(func(c status.Counts) int { return c.Iterations }))
	add("Iteration, average", took(func(c status.Counts) float64 { return c.AverageSeconds }))
	add("Iteration, fastest", took(func(c status.Counts) float64 { return c.FastestSeconds }))
	add("Iteration, slowest", took(func(c status.Counts) float64 { return c.SlowestSeconds }))
	add("Merges clean", number(func(c status.Counts) int { return c.MergesClean }))
	add("Merges with conflicts resolved", number(func(c status.Counts) int { return c.MergesResolved }))
	rows = append(rows, FigureRow{Name: "Merges pending", This: fmt.Sprint(s.MergesPending)})
	add("Conflicts met", number(func(c status.Counts) int { return c.Conflicts }))
	add("Checks green", number(func(c status.Counts) int { return c.ChecksGreen }))
	add("Checks red", number(func(c status.Counts) int { return c.ChecksRed }))
	add("Commits", number(func(c status.Counts) int { return c.Commits }))
	add("Cost", func(c status.Counts) string {
		if !c.CostKnown && c.Iterations > 0 {
			return "≥ " + ralph.Dollars(c.Cost) // an agent did not say
		}
		return ralph.Dollars(c.Cost)
	})
	add("Tokens", func(c status.Counts) string { return page.Amount(c.Tokens) })
	return rows
}

// seconds writes how long something took.
func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1fs", s)
	}
	return ralph.Elapsed(time.Duration(s * float64(time.Second)))
}
