package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// sessionsAPage is how many sessions one page of the history lists.
const sessionsAPage = 25

// history is the page of past sessions, with figures over time.
func history(_ context.Context, r *request) (view.Page, error) {
	q := r.URL.Query()
	days := 30
	switch q.Get("days") {
	case "7":
		days = 7
	case "all":
		days = 0
	}
	from := time.Time{}
	if days > 0 {
		y, m, d := r.now.Local().Date()
		from = time.Date(y, m, d-days+1, 0, 0, 0, 0, time.Local)
	}
	x := r.server.index
	all := x.Sessions()
	sessions := slices.Clone(all)
	if days > 0 {
		sessions = slices.DeleteFunc(sessions, func(s index.Session) bool { return s.LastAt.Before(from) })
	}
	m := view.HistoryModel{Read: r.reading(), Of: len(sessions), Figures: statRows(r, all)}
	m.Session, m.Live = r.state.Session.ID, r.state.Session.Live()
	if m.Live && r.engine.Alive && r.state.Session.RestAt.IsZero() {
		m.Since = r.state.At.Add(-r.state.Running(r.state.At))
	}
	for _, c := range []struct{ name, days string }{{"7 days", "7"}, {"30 days", "30"}, {"all", "all"}} {
		on := c.days == cmp.Or(q.Get("days"), "30")
		m.Ranges = append(m.Ranges, view.Choice{Name: c.name, Href: "/history?days=" + c.days, On: on})
	}
	page, _ := strconv.Atoi(q.Get("page"))
	page = min(max(page, 1), max(1, (len(sessions)+sessionsAPage-1)/sessionsAPage))
	first := (page - 1) * sessionsAPage
	last := min(first+sessionsAPage, len(sessions))
	m.From = first + 1
	for i := range sessions[first:last] {
		m.Sessions = append(m.Sessions, sessionRow(&sessions[first+i], r))
	}
	if page > 1 {
		m.Newer = withQuery(q, "/history", "page", fmt.Sprint(page-1))
	}
	if last < len(sessions) {
		m.Older = withQuery(q, "/history", "page", fmt.Sprint(page+1))
	}
	m.Charts = historyCharts(x, sessions, from, r.now)
	return view.Page{Title: "History", Sections: []view.Section{
		{ID: "history-reading", Body: view.ReadingNote(m.Read)},
		{ID: "history-range", Body: view.HistoryRange(m)},
		{ID: "history-charts", Body: view.Charts(m.Charts)},
		{ID: "history-sessions", Class: "two-thirds", Body: view.SessionList(m)},
		{ID: "history-figures", Class: "third", Body: view.HistoryFigures(m)},
	}}, nil
}

// reading is how far the history has been read, for people.
func (r *request) reading() view.Reading {
	out := view.Reading{Read: min(r.read.Read, r.state.Seq), Of: r.state.Seq, Done: r.read.Caught}
	if r.read.Err != nil {
		out.Trouble = r.read.Err.Error()
	}
	return out
}

// withQuery is an address with its query and one value of it changed.
func withQuery(q url.Values, path, key, value string) string {
	next := url.Values{}
	for k, v := range q {
		next[k] = v
	}
	next.Set(key, value)
	return path + "?" + next.Encode()
}

// sessionRow is a session in the list.
func sessionRow(s *index.Session, r *request) view.SessionRow {
	t := s.Totals
	out := view.SessionRow{
		ID: s.ID, Mode: cmp.Or(s.Mode, "session"), Started: s.StartedAt, Detail: s.Detail, Ran: ralph.Elapsed(s.Running),
		Done: t.TasksDone, Failed: t.TasksFail + t.TasksOut, Iterations: t.Turns, Merges: t.MergesClean + t.MergesResolved,
		Cost: t.Usage.Dollars(), Tokens: view.Amount(status.CountsOf(t).Tokens),
	}
	out.Status, out.Ended = endOf(s, r)
	return out
}

// endOf is how a session ended, as a status and in words.
func endOf(s *index.Session, r *request) (status, words string) {
	switch s.Ended {
	case "":
		switch {
		case s.ID != r.state.Session.ID:
			return "failed", "cut off"
		case r.engine.Alive:
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

// statRows are the statistics of `ralph query stats`, for people.
func statRows(r *request, sessions []index.Session) []view.FigureRow {
	s := status.QueryStats(r.state, r.now)
	var ran time.Duration
	for i := range sessions {
		if sessions[i].ID != s.Session {
			ran += sessions[i].Running
		}
	}
	running := r.state.Running(r.state.At)
	rows := []view.FigureRow{{Name: "Runtime", This: ralph.Elapsed(running), All: ralph.Elapsed(ran + running), Clock: true, Before: ran}}
	add := func(name string, of func(status.Counts) string) {
		rows = append(rows, view.FigureRow{Name: name, This: of(s.This), All: of(s.Overall)})
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
	rows = append(rows, view.FigureRow{Name: "Tasks remaining", This: fmt.Sprint(s.Remaining)})
	add("Iterations", number(func(c status.Counts) int { return c.Iterations }))
	add("Iteration, average", took(func(c status.Counts) float64 { return c.AverageSeconds }))
	add("Iteration, fastest", took(func(c status.Counts) float64 { return c.FastestSeconds }))
	add("Iteration, slowest", took(func(c status.Counts) float64 { return c.SlowestSeconds }))
	add("Merges clean", number(func(c status.Counts) int { return c.MergesClean }))
	add("Merges with conflicts resolved", number(func(c status.Counts) int { return c.MergesResolved }))
	rows = append(rows, view.FigureRow{Name: "Merges pending", This: fmt.Sprint(s.MergesPending)})
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
	add("Tokens", func(c status.Counts) string { return view.Amount(c.Tokens) })
	return rows
}

// seconds writes how long something took.
func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1fs", s)
	}
	return ralph.Elapsed(time.Duration(s * float64(time.Second)))
}
