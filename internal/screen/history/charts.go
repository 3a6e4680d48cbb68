package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// maxColumns bounds the columns of a chart over days: with more days a column is a week,
// or several. maxSessions bounds those of a chart over sessions.
const (
	maxColumns  = 62
	maxSessions = 40
)

// charts are the charts of sessions, newest first, that were at work since from.
func charts(x *index.Index, sessions []index.Session, from, now time.Time) []chart.Chart {
	days, wide := spread(x.Days(), from, now)
	return []chart.Chart{
		costChart(days, wide), taskChart(sessions), slotChart(x, sessions), busyChart(days, wide),
		durationChart(sessions), iterationChart(x, sessions), agentChart(sessions), tokenChart(days, wide),
	}
}

// spread are all days from the first with work to that of now, also those without,
// several together when there are too many; wide is how many.
func spread(days []index.Day, from, now time.Time) (out []index.Day, wide int) {
	days = slices.DeleteFunc(days, func(d index.Day) bool { return d.At.Before(from) })
	if len(days) == 0 {
		return nil, 1
	}
	first, last := days[0].At, days[len(days)-1].At
	if today := now.In(last.Location()); today.After(last) {
		last = time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, last.Location())
	}
	n := daysBetween(first, last) + 1
	wide = 1
	for (n+wide-1)/wide > maxColumns {
		wide = max(7, 2*wide)
	}
	out = make([]index.Day, (n+wide-1)/wide)
	for i := range out {
		out[i].At = first.AddDate(0, 0, i*wide)
	}
	for _, d := range days {
		o := &out[daysBetween(first, d.At)/wide]
		o.Cost, o.Tokens, o.Turns, o.Busy = o.Cost+d.Cost, o.Tokens+d.Tokens, o.Turns+d.Turns, o.Busy+d.Busy
		o.Peak = max(o.Peak, d.Peak)
	}
	return out, wide
}

// daysBetween counts days as the calendar does: some have 23 or 25 hours.
func daysBetween(a, b time.Time) int { return int((b.Sub(a) + 12*time.Hour) / (24 * time.Hour)) }

// dayColumns name the columns of days.
func dayColumns(days []index.Day, wide int) []chart.Column {
	var out []chart.Column
	for _, d := range days {
		c := chart.Column{Name: d.At.Format("Jan 2"), Long: d.At.Format("Mon, 2 Jan 2006")}
		if wide > 1 {
			c.Long = fmt.Sprintf("%d days from %s", wide, d.At.Format("2 Jan 2006"))
		}
		out = append(out, c)
	}
	return out
}

// perTime says of what time a column is.
func perTime(what string, wide int) string {
	if wide == 1 {
		return what + " per day"
	}
	return fmt.Sprintf("%s per %d days", what, wide)
}

func values[T any](list []T, of func(*T) float64) []float64 {
	out := make([]float64, len(list))
	for i := range list {
		out[i] = of(&list[i])
	}
	return out
}

func sum(list []float64) float64 {
	total := 0.0
	for _, v := range list {
		total += v
	}
	return total
}

func number(v float64) string { return fmt.Sprintf("%.0f", v) }

func costChart(days []index.Day, wide int) chart.Chart {
	cost := values(days, func(d *index.Day) float64 { return d.Cost })
	c := chart.Chart{
		ID: "chart-cost", Title: perTime("Cost", wide), Total: ralph.Dollars(sum(cost)) + " in all", Empty: "Nothing was spent in this time.",
		Desc: fmt.Sprintf("Columns of US dollars spent, as the agents say, %s in all.", ralph.Dollars(sum(cost))),
	}
	return c.Columns(dayColumns(days, wide), []chart.Series{{Name: "cost", Class: "series-1", Values: cost}}, chart.Scale{Word: ralph.Dollars})
}

func tokenChart(days []index.Day, wide int) chart.Chart {
	tokens := values(days, func(d *index.Day) float64 { return float64(d.Tokens) })
	word := func(v float64) string { return page.Amount(int64(v)) }
	c := chart.Chart{
		ID: "chart-tokens", Title: perTime("Tokens", wide), Total: word(sum(tokens)) + " in all", Empty: "No tokens were used in this time.",
		Desc: "Columns of tokens, in and out and those of the cache, as the agents say.",
	}
	return c.Columns(dayColumns(days, wide), []chart.Series{{Name: "tokens", Class: "series-5", Values: tokens}}, chart.Scale{Whole: true, Word: word})
}

func busyChart(days []index.Day, wide int) chart.Chart {
	unit, sign := time.Hour, "h"
	most, total := time.Duration(0), time.Duration(0)
	for _, d := range days {
		most, total = max(most, d.Busy), total+d.Busy
	}
	if most < 2*time.Minute {
		unit, sign = time.Second, "s"
	} else if most < 2*time.Hour {
		unit, sign = time.Minute, "m"
	}
	busy := values(days, func(d *index.Day) float64 { return float64(d.Busy) / float64(unit) })
	word := func(v float64) string { return fmt.Sprintf("%.3g%s", v, sign) }
	c := chart.Chart{
		ID: "chart-busy", Title: perTime("Agents at work", wide), Total: ralph.Elapsed(total) + " in all", Empty: "No agent was at work in this time.",
		Desc: "Columns of time that agents were at work in slots; two at the same time count twice.",
	}
	return c.Columns(dayColumns(days, wide), []chart.Series{{Name: "at work", Class: "series-3", Values: busy}}, chart.Scale{Word: word})
}

// taskChart is what became of tasks, session by session, the oldest first.
func taskChart(sessions []index.Session) chart.Chart {
	newest := slices.Clone(sessions[:min(len(sessions), maxSessions)])
	slices.Reverse(newest)
	var columns []chart.Column
	for i := range newest {
		at := newest[i].StartedAt.Local()
		columns = append(columns, chart.Column{Name: at.Format("Jan 2"), Long: at.Format("2 Jan 15:04") + " " + newest[i].Mode})
	}
	done := values(newest, func(s *index.Session) float64 { return float64(s.Totals.TasksDone) })
	failed := values(newest, func(s *index.Session) float64 { return float64(s.Totals.TasksFail) })
	out := values(newest, func(s *index.Session) float64 { return float64(s.Totals.TasksOut) })
	c := chart.Chart{
		ID: "chart-tasks", Title: "Tasks per session", Empty: "No task ended in this time.",
		Total: fmt.Sprintf("%.0f done, %.0f not", sum(done), sum(failed)+sum(out)),
		Desc:  fmt.Sprintf("Columns of tasks by session, the newest %d at most: %.0f done, %.0f failed, %.0f timed out.", maxSessions, sum(done), sum(failed), sum(out)),
	}
	if len(sessions) > maxSessions {
		c.Title = fmt.Sprintf("Tasks, newest %d sessions", maxSessions)
	}
	return c.Columns(columns, []chart.Series{
		{Name: "done", Status: "done", Values: done}, {Name: "failed", Status: "failed", Values: failed}, {Name: "timed out", Status: "timeout", Values: out},
	}, chart.Scale{Whole: true, Word: number})
}

// durationChart counts iterations by how long they took.
func durationChart(sessions []index.Session) chart.Chart {
	var all index.Histogram
	for i := range sessions {
		for b, n := range sessions[i].Durations {
			all[b] += n
		}
	}
	edges, first, last, total := index.Edges(), -1, 0, 0
	for b, n := range all {
		if n > 0 {
			last = b
			if first < 0 {
				first = b
			}
		}
		total += n
	}
	c := chart.Chart{
		ID: "chart-durations", Title: "How long iterations take", Total: text.Count(total, "iteration"), Empty: "No iteration ended in this time.",
		Desc: "Columns of iterations by how long they took; each column reaches up to the time below it.",
	}
	if first < 0 {
		return c
	}
	var columns []chart.Column
	var counts []float64
	for b := first; b <= last; b++ {
		col := chart.Column{Name: ">2h", Long: "longer than 2h"}
		if b < len(edges) {
			col.Name, col.Long = "≤"+brief(edges[b]), "up to "+brief(edges[b])
			if b > 0 {
				col.Long = "longer than " + brief(edges[b-1]) + ", up to " + brief(edges[b])
			}
		}
		columns, counts = append(columns, col), append(counts, float64(all[b]))
	}
	return c.Columns(columns, []chart.Series{{Name: "iterations", Class: "series-1", Values: counts}}, chart.Scale{Whole: true, Word: number})
}

// brief writes a round duration.
func brief(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}

// maxIterations is the column that holds all tasks with so many and more.
const maxIterations = 10

// iterationChart counts tasks by how many iterations they took.
func iterationChart(x *index.Index, sessions []index.Session) chart.Chart {
	in := map[ralph.SessionID]bool{}
	for i := range sessions {
		in[sessions[i].ID] = true
	}
	var counts [maxIterations]float64
	tasks, iterations, most := 0, 0, 0
	for _, t := range x.Tasks() {
		if t.Build && t.Iterations > 0 && in[t.Session] {
			counts[min(t.Iterations, maxIterations)-1]++
			tasks++
			iterations += t.Iterations
			most = max(most, t.Iterations)
		}
	}
	c := chart.Chart{
		ID: "chart-iterations", Title: "Iterations per task", Empty: "No task had an iteration in this time.",
		Desc: "Columns of tasks by the number of their iterations.",
	}
	if tasks == 0 {
		return c
	}
	c.Total = fmt.Sprintf("%.1f on average, most %d", float64(iterations)/float64(tasks), most)
	var columns []chart.Column
	for i := range min(most, maxIterations) {
		name := fmt.Sprint(i + 1)
		if i+1 == maxIterations {
			name = fmt.Sprintf("%d+", maxIterations)
		}
		columns = append(columns, chart.Column{Name: name, Long: name + " iterations"})
	}
	columns[0].Long = "1 iteration"
	return c.Columns(columns, []chart.Series{{Name: "tasks", Class: "series-4", Values: counts[:len(columns)]}}, chart.Scale{Whole: true, Word: number})
}

// agentChart is what each agent cost, and in its table what it did.
func agentChart(sessions []index.Session) chart.Chart {
	var list []index.Share
	for i := range sessions {
		for _, a := range sessions[i].Agents {
			j := slices.IndexFunc(list, func(b index.Share) bool { return b.Agent == a.Agent })
			if j < 0 {
				list, j = append(list, index.Share{Agent: a.Agent}), len(list)
			}
			b := &list[j]
			b.Turns, b.Failed, b.Time, b.Cost, b.Tokens = b.Turns+a.Turns, b.Failed+a.Failed, b.Time+a.Time, b.Cost+a.Cost, b.Tokens+a.Tokens
		}
	}
	slices.SortStableFunc(list, func(a, b index.Share) int { return b.Turns - a.Turns })
	list = list[:min(len(list), 8)]
	good := values(list, func(a *index.Share) float64 { return float64(a.Turns - a.Failed) })
	bad := values(list, func(a *index.Share) float64 { return float64(a.Failed) })
	var columns []chart.Column
	for _, a := range list {
		columns = append(columns, chart.Column{Name: a.Agent})
	}
	c := chart.Chart{
		ID: "chart-agents", Title: "Iterations by agent", Total: fmt.Sprintf("%.0f, %.0f of them cut", sum(good)+sum(bad), sum(bad)), Empty: "No agent had an iteration in this time.",
		Desc: "Columns of iterations by agent, those that an error or a limit cut on top.",
	}
	c = c.Columns(columns, []chart.Series{{Name: "ended well", Class: "series-1", Values: good}, {Name: "cut by an error or a limit", Status: "failed", Values: bad}}, chart.Scale{Whole: true, Word: number})
	c.Head = []string{"agent", "iterations", "cut", "time", "cost", "tokens"}
	c.Rows = nil
	for _, a := range list {
		c.Rows = append(c.Rows, []string{a.Agent, fmt.Sprint(a.Turns), fmt.Sprint(a.Failed), ralph.Elapsed(a.Time), ralph.Dollars(a.Cost), page.Amount(a.Tokens)})
	}
	return c
}

// slotChart is how many slots of the newest session were at work over its time.
func slotChart(x *index.Index, sessions []index.Session) chart.Chart {
	c := chart.Chart{ID: "chart-slots", Title: "Slots at work", Empty: "No session in this time.", Desc: "Slots at work over the time of the newest session."}
	if len(sessions) == 0 {
		return c
	}
	s, _ := x.Session(sessions[0].ID)
	return SlotsOf(c, &s)
}

// SlotsOf draws the slots of one session.
func SlotsOf(c chart.Chart, s *index.Session) chart.Chart {
	w := s.Series.Width
	if len(s.Series.Buckets) == 0 || s.Busy == 0 {
		c.Empty = "No agent has been at work in it yet."
		return c
	}
	busy := values(s.Series.Buckets, func(b *index.Bucket) float64 { return b.Busy.Seconds() / w.Seconds() })
	if begun := s.LastAt.Sub(s.Series.From) - time.Duration(len(busy)-1)*w; begun > 0 && begun < w { // the newest stretch is not over
		busy[len(busy)-1] *= w.Seconds() / begun.Seconds()
	}
	if s.Running > 0 {
		c.Total = fmt.Sprintf("%.1f on average, most %d", s.Busy.Seconds()/s.Running.Seconds(), s.Peak)
	}
	c = c.Steps(chart.Even(busy), float64(max(s.Parallel, 1)), chart.Scale{Whole: true, Word: number})
	span := time.Duration(len(busy)) * w
	for i := range 5 {
		at := s.Series.From.Add(span * time.Duration(i) / 4).Local()
		text := at.Format("15:04")
		if span > 20*time.Hour {
			text = at.Format("Jan 2 15:04")
		} else if span < 5*time.Minute {
			text = at.Format(time.TimeOnly)
		}
		place := "mid"
		switch i {
		case 0:
			place = ""
		case 4:
			place = "end"
		}
		c.X = append(c.X, chart.Mark{At: fmt.Sprintf("%d%%", i*25), Text: text, Place: place, Few: i%2 == 1})
	}
	c.Head = []string{"from", "slots at work", "most", "iterations", "cost"}
	every := max(1, (len(busy)+23)/24)
	for group := range slices.Chunk(s.Series.Buckets, every) {
		i := len(c.Rows) * every
		var b index.Bucket
		for _, g := range group {
			b.Busy, b.Turns, b.Cost, b.Peak = b.Busy+g.Busy, b.Turns+g.Turns, b.Cost+g.Cost, max(b.Peak, g.Peak)
		}
		at := s.Series.From.Add(time.Duration(i) * w).Local()
		c.Rows = append(c.Rows, []string{at.Format("Jan 2 15:04:05"), fmt.Sprintf("%.1f", b.Busy.Seconds()/(w.Seconds()*float64(len(group)))), fmt.Sprint(b.Peak), fmt.Sprint(b.Turns), ralph.Dollars(b.Cost)})
	}
	return c
}
