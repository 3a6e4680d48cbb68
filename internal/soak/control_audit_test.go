//go:build linux && soak

package soak

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
)

// audit folds the journal and looks at each fact with the state that it met.
type audit struct {
	s      ralph.State
	c      policy.Config
	wrong  []string
	counts map[string]int
	spec   map[ralph.TaskID]string // of each task of a plan
	kept   map[string]bool         // branches that hold work which is on no other
}

// checkFacts wants every fact to have been allowed when it was written: no turn on an
// agent at a hard limit, none while a pause or a stop is wanted, none over a budget,
// one step of a task at a time, no retry counted for a limit (A-072, A-073, B-039,
//
func (f *fleet) checkFacts() *audit {
	f.t.Helper()
	j, err := journal.Open(journal.Options{Root: f.root, Read: true})
	must(f.t, err)
	defer j.Close()
	a := &audit{counts: map[string]int{}, kept: map[string]bool{}, spec: map[ralph.TaskID]string{}}
	must(f.t, j.Each(0, func(e ralph.Event) error {
		a.look(e)
		a.s.Apply(e)
		return nil
	}))
	for n, w := range a.wrong {
		if n == 20 {
			f.t.Errorf("... and %d more", len(a.wrong)-n)
			break
		}
		f.t.Error(w)
	}
	return a
}

func (a *audit) says(e ralph.Event, format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf("fact %d, %s: ", e.Seq, e.Fact.Kind())+fmt.Sprintf(format, args...))
}

func (a *audit) look(e ralph.Event) {
	a.counts[e.Fact.Kind()]++
	if e.At.Before(a.s.At) {
		a.says(e, "it is %s before the fact ahead of it", a.s.At.Sub(e.At))
	}
	x := a.s.Session
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		c, err := policy.Decode(f.Config)
		if err != nil {
			a.says(e, "%v", err)
		}
		a.c = c
		a.counts["resumed"] += count(f.Resumed)
	case ralph.StepStarted:
		a.step(e, f)
	case ralph.TaskAdded:
		if f.Task.IsBuild() {
			a.spec[f.Task.ID] = f.Task.Spec
		}
	case ralph.TaskStarted:
		t := a.s.Task(f.ID)
		switch {
		case t == nil:
			a.says(e, "there is no task %s", f.ID)
			return
		case t.Status != ralph.TaskPending:
			a.says(e, "%s is %s", f.ID, t.Status)
		case !x.Live():
			a.says(e, "no session runs")
		case t.IsBuild() && x.Want != ralph.WantRun && x.Want != "":
			a.says(e, "%s is wanted", x.Want)
		case t.IsBuild() && a.c.ApproveStart && !x.Approved:
			a.says(e, "nobody approved the start")
		case t.IsBuild() && x.Auto == ralph.Stepwise && !t.Run.Approved && !t.Run.Assigned && t.Run.AnsweredAtIteration == 0:
			a.says(e, "nobody approved %s", f.ID)
		case t.IsBuild() && x.Auto == ralph.Semi && !t.Run.Assigned && t.Run.AnsweredAtIteration == 0:
			a.says(e, "nobody assigned %s", f.ID)
		}
		for _, other := range a.s.Plan.Tasks {
			if f.Slot > 0 && other.ID != f.ID && other.Run.Worktree.Slot == f.Slot {
				a.says(e, "slot %d is that of %s", f.Slot, other.ID)
			}
		}
	case ralph.TaskEnded:
		if t := a.s.Task(f.ID); t != nil && f.Why.Rule == "X-38" && (f.Retry || f.Status != ralph.TaskPending) {
			a.says(e, "a limit cost %s a retry or its end: %+v", f.ID, f)
		}
		a.counts["ended "+string(f.Status)]++
	case ralph.JobEnded:
		if f.Status == ralph.SpecFailed {
			a.keeps()
		}
	case ralph.SessionEnded:
		a.counts["end "+string(f.Reason)]++
		for _, t := range a.s.Plan.Tasks {
			if t.Status == ralph.TaskActive && f.Reason != ralph.ReasonError {
				a.says(e, "%s is still active", t.ID)
			}
		}
	case ralph.AllLimited:
		for _, agent := range f.Agents {
			if l := a.s.Limit(agent); l == nil || !l.Hard {
				a.says(e, "%s is at no hard limit", agent)
			}
		}
	}
}

// keeps notes the branches of a spec that failed: nothing of them has landed.
func (a *audit) keeps() {
	if i := a.s.Plan.Integration; i != nil {
		a.kept[i.Branch] = true
	}
	for _, t := range a.s.Plan.Tasks {
		a.kept[t.Run.Worktree.Branch] = true
	}
}

func count(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func (a *audit) step(e ralph.Event, f ralph.StepStarted) {
	x, t := a.s.Session, a.s.Task(f.Task)
	switch {
	case t == nil || t.Status != ralph.TaskActive:
		a.says(e, "a step of %s, which is not active", f.Task)
		return
	case t.Run.InFlight != 0:
		a.says(e, "a second step of %s beside fact %d", f.Task, t.Run.InFlight)
	case f.BasedOnSeq != a.s.Seq:
		a.says(e, "it saw fact %d and follows fact %d", f.BasedOnSeq, a.s.Seq)
	case !x.Live():
		a.says(e, "no session runs")
	}
	a.counts["step "+f.Step.StepName()]++
	turn, ok := f.Step.(ralph.Turn)
	if !ok {
		return
	}
	if l := a.s.Limit(turn.Agent); l != nil && !l.Over(f.DecidedAt) {
		a.says(e, "%s is at its limit (hard: %v) for another %s", turn.Agent, l.Hard, l.Until.Sub(f.DecidedAt).Round(time.Millisecond))
	}
	if x.Want == ralph.WantPause || x.Want == ralph.WantStop {
		a.says(e, "a turn of %s while %s is wanted", f.Task, x.Want)
	}
	if over, why := policy.OverBudget(&a.s, a.c, f.DecidedAt); over {
		a.says(e, "a turn of %s although the session ends: %s", f.Task, why)
	}
	if turn.Agent != a.c.Agents[0] {
		a.counts["turns on a fallback"]++
		if x.Auto.EndsAtError() {
			a.says(e, "a turn of %s on %s in mode %s (A-093)", f.Task, turn.Agent, x.Auto)
		}
	}
}
