package policy

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
)

// The watchdog: an engine that has work and does nothing says so. It is no timer beside
// the loop but a bound of the loop's own wait, so whatever loses a task (a fact of an old
// journal, an edit that no rule foresaw, a bug) is noticed by the loop itself.

// StallAfter is how long nothing may happen for no known reason: the loop needs
// moments from one step to the next.
const StallAfter = 2 * time.Minute

// Watch is what the loop keeps from one look to the next.
type Watch struct {
	since time.Time // of the first look that nothing explained; zero: all is explained
}

// Look takes in one more look at which there was nothing for Schedule to do, and returns
// the wait with a bound; a stall is returned until the state knows of this silence: a
// fact that somebody else wrote at the same moment keeps the loop from writing its own.
func (w *Watch) Look(s *ralph.State, hold Hold, c Config, now time.Time) (Hold, *ralph.Stalled) {
	if SilentFor(s, hold, c, now) != "" || now.Before(w.since) {
		*w = Watch{}
		return hold, nil
	}
	if w.since.IsZero() || s.StepAt.After(w.since) { // a step came and went between two looks
		*w = Watch{since: now}
	}
	if s.Stalled != nil && s.Stalled.Since.Equal(w.since) {
		return hold, nil
	}
	if at := w.since.Add(StallAfter); now.Before(at) {
		hold.Until = sooner(hold.Until, at)
		return hold, nil
	}
	f := &ralph.Stalled{Since: w.since, Why: hold.Why, Report: ralph.StallReport(s.Seq + 1)}
	for _, t := range Ready(s, c) {
		f.Ready = append(f.Ready, t.ID)
	}
	for t := range s.Marked(tally.Active) {
		if s.ApprovalOf(t.ID) == nil {
			f.Active = append(f.Active, t.ID)
		}
	}
	return hold, f
}

// SilentFor names what explains that nothing happens while the loop holds, "" when
// nothing does. What keeps one task from going on is no reason for another one that is
// at work without a step.
func SilentFor(s *ralph.State, hold Hold, c Config, now time.Time) string {
	c = c.under(s.Session.Auto)
	for t := range s.Marked(tally.Flying) {
		if t.Status == ralph.TaskActive {
			return "a step is under way"
		}
	}
	if s.Session.Want == ralph.WantPause {
		return "a pause is wanted"
	}
	active := 0
	for t := range s.Marked(tally.Active) {
		if active++; silentTask(s, t, c, now) == "" {
			return ""
		}
	}
	switch {
	case hold.Person:
		return "a person chooses"
	case active > 0:
		return "each task at work waits for something"
	case hold.timed && hold.Until.After(now):
		return hold.Why
	}
	return ""
}

// silentTask names what a task at work waits for, "" when it should go on.
func silentTask(s *ralph.State, t *ralph.Task, c Config, now time.Time) string {
	if gate := s.ApprovalOf(t.ID); gate != nil {
		return "an answer to " + string(gate.ID)
	}
	step, why := nextOf(s, t, c, now)
	wait, ok := step.(ralph.Wait)
	switch {
	case !ok:
		return ""
	case t.Run.Thread != nil && t.Run.Thread.Want == ralph.ThreadPause:
		return why.Text
	}
	if wait.Until.After(now) || wait.Until.IsZero() && len(s.Approvals) > 0 {
		return why.Text
	}
	return ""
}
