package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// gather sorts specs and tasks into what landed, what needs a person and what is not
// done: each is in one of them.
func (m *Morning) gather(s *ralph.State, engine Engine, n *Night) {
	taken := map[ralph.TaskID]bool{}
	for _, x := range Needs(s, engine, m.To) {
		need := MorningNeed{Kind: x.Kind, What: x.What, Command: x.Command, Tasks: []ralph.TaskID{}}
		if x.Gate != nil {
			need.Gate = x.Gate.ID
		}
		for _, id := range x.Tasks {
			if t := s.Task(id); t != nil && t.IsBuild() && !taken[id] && t.Status != ralph.TaskDone {
				taken[id] = true
				need.Tasks = append(need.Tasks, id)
			}
		}
		m.Needs = append(m.Needs, need)
	}
	for _, t := range s.Plan.Tasks {
		if taken[t.ID] || !failed(t.Status) {
			continue
		}
		taken[t.ID] = true
		m.Needs = append(m.Needs, MorningNeed{
			Kind: "failed", Tasks: []ralph.TaskID{t.ID}, Command: action.Commands(t.Recovery()),
			What: strings.TrimSuffix(fmt.Sprintf("%s %s %s: %s", t.ID, report.OneLine(t.Name), report.EndedWord(t.Status), report.OneLine(t.Run.Reason)), ": "),
		})
	}
	m.specs(s, taken, n)
	for _, t := range s.Plan.Tasks {
		if taken[t.ID] || n.covered[t.ID] {
			continue
		}
		if row, ok := n.taskLanded(t, &s.Plan, s.Session.Mode == report.Pilot); ok {
			if !row.At.Before(m.From) {
				m.Landed = append(m.Landed, row)
			}
			continue
		}
		m.Open = append(m.Open, openTask(s, t))
	}
}

func failed(status ralph.TaskStatus) bool {
	return status == ralph.TaskFailed || status == ralph.TaskTimeout || status == ralph.TaskBlocked
}

// specs takes in the records of the inbox that are not done. The tasks of the one at work
// are in its row, but for those that need a person.
func (m *Morning) specs(s *ralph.State, taken map[ralph.TaskID]bool, n *Night) {
	for i, x := range s.Inbox {
		switch x.Status {
		case ralph.SpecFailed:
			if x.EndedAt.Before(m.From) || slices.ContainsFunc(s.Inbox[i+1:], func(y *ralph.Spec) bool { return y.File == x.File }) {
				continue // old news, or queued again
			}
			m.Needs = append(m.Needs, MorningNeed{
				Kind: "failed", Spec: x.ID, Tasks: []ralph.TaskID{}, What: strings.TrimSuffix(x.File+" failed: "+report.OneLine(x.Error), ": "), Command: action.Commands("[[queue " + x.File + "]]"),
			})
		case ralph.SpecPending, ralph.SpecActive:
			row := OpenRow{Spec: x.File, SpecID: x.ID, Name: x.File, Status: string(x.Status), Tasks: []ralph.TaskID{}}
			at := s.Plan.File == x.File && (x.Status == ralph.SpecActive || !s.Plan.Closed)
			if at && s.Session.Mode != report.Pilot {
				done := 0
				for _, t := range s.Plan.Tasks {
					if t.Status == ralph.TaskDone {
						done++
					}
					if !taken[t.ID] && !n.covered[t.ID] {
						taken[t.ID] = true
						row.Tasks = append(row.Tasks, t.ID)
					}
				}
				if row.Why = "not planned yet"; len(s.Plan.Tasks) > 0 {
					row.Why = fmt.Sprintf("%d of %s done", done, text.Count(len(s.Plan.Tasks), "task"))
				}
			}
			row.Why = cmp.Or(row.Why, "waits in the inbox")
			if !s.Session.Live() && s.Session.Ended != "" {
				row.Why += "; the session ended: " + string(s.Session.Ended)
			}
			m.Open = append(m.Open, row)
		}
	}
}

// openTask is the row of a task that is not done, or not landed.
func openTask(s *ralph.State, t *ralph.Task) OpenRow {
	row := OpenRow{Spec: t.Spec, Task: t.ID, Tasks: []ralph.TaskID{t.ID}, Name: report.OneLine(t.Name), Status: string(t.Status), Why: report.OneLine(t.Run.Reason)}
	switch q := t.Run.Queue.State; {
	case t.Status == ralph.TaskDone && q == "":
		row.Status, row.Why = "merging", "done, not committed yet"
	case t.Status == ralph.TaskDone && q == ralph.MergeMerged:
		row.Status, row.Why = "merging", "merged, and not landed on "+baseOf(s)+" yet"
		if i := s.Plan.Integration; i != nil && len(i.Held) > 0 {
			row.Why += ": " + text.List(i.Held, 3)
		}
	case t.Status == ralph.TaskDone:
		row.Status, row.Why = "merging", "done, not merged yet: "+string(q)
	case t.Status == ralph.TaskPending:
		if waits := unmet(s, t); len(waits) > 0 {
			row.Why = "waits for " + text.List(waits, 3)
		}
		row.Why = cmp.Or(row.Why, "not begun")
	case t.Status == ralph.TaskActive:
		row.Why = fmt.Sprintf("at work, %s %d", t.Counted(), IterationOf(t))
	}
	return row
}

func baseOf(s *ralph.State) string {
	if i := s.Plan.Integration; i != nil {
		return report.BaseWords(i.Base)
	}
	return "the branch"
}

// unmet are the tasks that a task waits for.
func unmet(s *ralph.State, t *ralph.Task) []string {
	var out []string
	for _, id := range t.Deps {
		x := s.Task(id)
		switch {
		case x == nil || x.LeftOut():
		case x.Status != ralph.TaskDone:
			out = append(out, fmt.Sprintf("%s (%s)", id, x.Status))
		case x.Run.Queue.State != "" && x.Run.Queue.State != ralph.MergeMerged:
			out = append(out, fmt.Sprintf("%s (done, not merged)", id))
		}
	}
	return out
}

const (
	// shortStill is below what a standstill is no row, only counted.
	shortStill = time.Minute
	// oneStill is up to which gap two standstills of the same kind are told as one.
	oneStill = 2 * time.Minute
	maxWhy   = 160
)

// stills are the rows of what stood still in the window, those of the same kind behind
// each other as one; and how long all of them were, without what went on meanwhile. list
// is in the order of their beginnings.
func (m *Morning) stills(list []ralph.Still, worked []ralph.Period, alive bool) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b ralph.Still) int { return a.From.Compare(b.From) })
	var inside []ralph.Still
	for _, y := range list {
		to := y.EndAt(m.To)
		if to.Before(m.From) || y.From.After(m.To) || !y.Open() && !m.From.Before(to) {
			continue
		}
		if y.From.Before(m.From) {
			y.From = m.From
		}
		inside = append(inside, y)
	}
	for _, p := range report.Idle(inside, worked, m.To) {
		m.Figures.StillSeconds += p.To.Sub(p.From).Seconds()
	}
	for _, y := range inside {
		m.still(y, alive)
	}
	all := m.Still
	m.Still = []StillRow{}
	for _, r := range all {
		r.Seconds = r.To.Sub(r.From).Seconds()
		if r.To.Sub(r.From) < shortStill && !r.Lasts {
			m.Figures.Short++
			continue
		}
		r.What = stillWords(&r)
		m.Still = append(m.Still, r)
	}
	m.Figures.Still = len(m.Still)
}

// still adds a row, or makes the one before it longer.
func (m *Morning) still(y ralph.Still, alive bool) {
	r := StillRow{
		Kind: y.Kind, From: y.From.UTC(), To: y.EndAt(m.To).UTC(), Lasts: y.Open() && y.TryAt.IsZero(), Agent: y.Agent, Task: y.Task, Gate: y.Gate,
		Why: report.Clip(y.Why, maxWhy), Ended: report.OneLine(y.Ended), Tries: y.Tries, Until: y.Until,
	}
	if y.Open() && !y.TryAt.IsZero() {
		r.Ended = "a turn that tries it goes on"
		if !alive {
			r.Ended = "a turn tried it when the engine died"
		}
	}
	if !r.Lasts || r.Until.Sub(m.To) > ralph.Never/2 {
		r.Until = time.Time{}
	}
	if r.Agent != "" {
		r.Task = "" // it was met by one task and meets all
	}
	for i := range slices.Backward(m.Still) {
		o := &m.Still[i]
		same := o.Kind == r.Kind && o.Agent == r.Agent && o.Gate == r.Gate && o.Task == r.Task
		if !same || r.From.Sub(o.To) > oneStill {
			continue
		}
		if r.To.After(o.To) {
			o.To, o.Ended, o.Lasts, o.Until = r.To, r.Ended, r.Lasts, r.Until
		}
		o.Why, o.Tries = cmp.Or(r.Why, o.Why), o.Tries+r.Tries
		return
	}
	m.Still = append(m.Still, r)
}

// stillWords say in short what stood still.
func stillWords(r *StillRow) string {
	switch r.Kind {
	case ralph.StillLimit:
		return r.Agent + " was at its limit"
	case ralph.StillBusy:
		return r.Agent + " was overloaded"
	case ralph.StillNetwork:
		return "no network: nothing answered " + r.Agent
	case ralph.StillLogin:
		return r.Agent + " was not logged in"
	case ralph.StillErrors:
		return r.Agent + " ended with errors: the wait before another try"
	case ralph.StillDisk:
		return "the disk was full"
	case ralph.StillBroken:
		return "the engine ended with an error"
	case ralph.StillPause:
		return "paused by a person"
	case ralph.StillFailures:
		return "paused after failures in a row"
	case ralph.StillAsleep:
		return "the machine slept"
	case ralph.StillCrash:
		return "no engine: the last one was cut"
	case ralph.StillStalled:
		return "the engine did nothing (watchdog)"
	case ralph.StillLanding:
		return "merged work could not land"
	}
	who := string(r.Gate)
	if r.Task != "" {
		who = string(r.Task)
	}
	return who + " waited for you"
}

// finish counts, sorts, and says it in one sentence.
func (m *Morning) finish(nothing bool) {
	slices.SortStableFunc(m.Landed, func(a, b LandedRow) int { return a.At.Compare(b.At) })
	f := &m.Figures
	for i := range m.Landed {
		m.Landed[i].At = m.Landed[i].At.UTC()
		if m.Landed[i].Task == "" {
			f.Specs++
		} else {
			f.Tasks++
		}
	}
	over := slices.DeleteFunc(slices.Clone(m.Needs), func(n MorningNeed) bool { return n.Kind != "failed" })
	f.Needs, f.Failed, f.Open = len(m.Needs)-len(over), len(over), len(m.Open) // needs: as every other list of what needs a person has
	m.Empty = len(m.Needs)+len(m.Landed)+f.Still == 0 && (nothing || f.Turns == 0)
	if m.Empty {
		m.Line = "nothing happened, and nothing waits for you"
		if f.Open > 0 {
			m.Line = fmt.Sprintf("nothing happened; %s", text.Plural(f.Open, "thing is not done", "things are not done"))
		}
		return
	}
	m.Line = m.sentence()
}

// sentence is the whole in one sentence.
func (m *Morning) sentence() string {
	f := m.Figures
	landed := slices.DeleteFunc([]string{text.Count(f.Specs, "spec"), text.Count(f.Tasks, "task")}, func(s string) bool { return strings.HasPrefix(s, "0 ") })
	parts := []string{cmp.Or(strings.Join(landed, " and "), "nothing") + " landed"}
	if f.Needs > 0 {
		parts = append(parts, text.Plural(f.Needs, "waits for you", "wait for you"))
	}
	if f.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed or blocked", f.Failed))
	}
	if f.Still > 0 {
		words := fmt.Sprintf("%d stood still", f.Still)
		if f.StillSeconds >= 1 {
			words += " for " + shortly(f.StillSeconds)
			if f.Still > 1 {
				words += " in all"
			}
		} else if slices.ContainsFunc(m.Still, func(r StillRow) bool { return r.Seconds >= shortStill.Seconds() }) {
			words += " while other work went on"
		}
		parts = append(parts, words)
	}
	if f.Open > 0 {
		parts = append(parts, fmt.Sprintf("%d not done", f.Open))
	}
	spent := ralph.Dollars(f.Cost)
	if !f.CostKnown {
		spent += " or more"
	}
	return fmt.Sprintf("%s; %s, %s tokens, %s at work", strings.Join(parts, ", "), spent, roundTokens(f.Tokens), shortly(f.WorkSeconds))
}

// shortly writes seconds for a sentence: 45s, 12m, 7h 42m.
func shortly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond) // cut to seconds, as every length of time is
	words := ralph.Elapsed(d)
	if d >= 10*time.Minute {
		words, _, _ = strings.Cut(words, "m ")
		words = strings.TrimSuffix(words, "m") + "m"
	}
	return strings.TrimSuffix(words, " 0s")
}

// roundTokens writes a number of tokens: 950, 12k, 4.5M.
func roundTokens(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprint(n)
}
