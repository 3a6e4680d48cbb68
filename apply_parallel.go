package ralph

import (
	"slices"
	"time"
)

// GateMerge is the kind of a gate before a merge that no agent can or may make.
const GateMerge = "merge"

// CheckConflicts is the name of the check of a resolve that is red while conflicts
// are left in the files.
const CheckConflicts = "conflicts"

// applyParallel folds what belongs to work in worktrees.
func (s *State) applyParallel(e Event) {
	switch f := e.Fact.(type) {
	case IntegrationStarted:
		old := s.Plan.Integration
		s.Plan.Integration = &Integration{Branch: f.Branch, Base: f.Base, Tip: f.Tip, Tree: f.Tree, Landed: f.From}
		if old != nil && f.Tip != f.From {
			s.Plan.Integration.Waiting = old.Waiting
		}
	case MergeQueued:
		s.editTask(f.Task, func(t *Task) {
			if t.Status != TaskDone {
				return // sent back meanwhile: its new attempt must not end on the old commit
			}
			t.Run.Queue.State, t.Run.Queue.Since, t.Run.Queue.Merged = MergeWaiting, e.Seq, nil
			t.Run.Place.Branch, t.Run.Commit = f.Branch, f.Commit
		})
	case Merged:
		s.merged(f)
	case Advanced:
		s.editTask(f.Task, func(t *Task) {
			t.Run.InFlight, t.Run.StepError = 0, f.Error
			if f.Moved != "" || f.Error != "" {
				t.Run.Queue.Merged, t.Run.Checks = nil, nil // from the start, on the new tip
				t.Run.Commits++
			}
		})
		s.tipMoved(f.Moved)
		if f.Moved == "" && f.Error == "" {
			s.advanced(f.Task, f.Commit, f.Tree)
		}
	case BaselineRan:
		s.baselineRan(f)
	case Landed:
		s.landed(f, e)
	default:
		s.applyRecovery(e)
	}
}

// applyRecovery folds what people do with tasks (B-076 to B-082, B-091).
func (s *State) applyRecovery(e Event) {
	switch f := e.Fact.(type) {
	case TaskRetried:
		s.editTask(f.ID, func(t *Task) {
			t.Status, t.Run = TaskPending, t.Run.again()
			if !f.Free {
				t.RetryCount++
			}
		})
	case SkipWanted:
		s.editTask(f.ID, func(t *Task) { t.Run.Skip = f.Reason })
	case TaskRolledBack:
		s.editTask(f.ID, func(t *Task) {
			rejects := t.Run.Rejects
			t.Status, t.Run = TaskPending, Run{Approvals: Approvals{Rejects: rejects}, Place: Place{Dir: t.Run.Place.Dir}}
			t.RetryCount++
		})
	case TaskCleaned:
		s.editTask(f.ID, func(t *Task) {
			t.Run.Place.Dir, t.Run.Place.Ready = "", false
			if len(f.Saved) > 0 {
				t.Run.Place.Branch, t.Run.Place.Base, t.Run.Place.Head = "", "", ""
			}
		})
	case TaskExtended:
		s.editTask(f.ID, func(t *Task) {
			t.MaxIterations, t.Line = f.MaxIterations, ""
			if f.Timeout > 0 {
				t.Timeout = f.Timeout
			}
		})
	case TaskTold:
		s.editTask(f.ID, func(t *Task) { t.Run.Words = append(slices.Clone(t.Run.Words), f.Text) })
	case TaskAssigned:
		s.editTask(f.ID, func(t *Task) { t.Run.Assigned = true })
	default:
		s.applyControl(e)
	}
}

// isolated reports whether a task works in a worktree of its own.
func (s *State) isolated(id TaskID) bool {
	t := s.Task(id)
	return t != nil && (t.Run.Place.Dir != "" || s.Plan.Integration != nil && t.Kind != KindPrepare)
}

// started gives a task its slot and worktree. One that had a worktree keeps it.
func (t *Task) started(f TaskStarted) {
	p := &t.Run.Place
	p.Slot, p.Ready = f.Slot, false
	if f.Dir != "" {
		p.Dir = f.Dir
	}
	t.Run.Assigned = false
	t.Run.Away, t.Run.AwayTries, t.Run.Here, t.Run.Refused = "", 0, false, "" // whoever starts it looks anew
}

// left takes a task out of its slot. Only work that the engine saw done, and that
// its branch holds, frees the worktree: all others keep theirs (B-033, B-073, B-075).
func (t *Task) left(f TaskEnded) {
	p := &t.Run.Place
	p.Slot, p.Ready = 0, false
	if f.Status == TaskDone && f.Saw > 0 {
		p.Dir = ""
	}
}

// again is the run of a fresh attempt: its counters begin anew (B-080), what it
// has learnt and made stays (B-076).
func (r Run) again() Run {
	fresh := Run{
		Approvals: Approvals{Rejects: r.Rejects, Answers: r.Answers, Words: r.Words},
		Checking:  Checking{Red: r.Red}, Committing: Committing{Stash: r.Stash}, Place: r.Place,
	}
	fresh.Place.Slot, fresh.Place.Ready, fresh.Place.Fails = 0, false, 0
	if r.Queue.State == MergeMerged {
		fresh.Place = Place{Dir: fresh.Place.Dir} // its branch is history: begin a new one
	}
	return fresh
}

// placed folds a worktree that was made ready, or could not be.
func (s *State) placed(f Prepared, at time.Time) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.StepError = 0, f.Error
		r.Spent += f.Took
		p := &r.Place
		if f.Error != "" {
			p.Fails++
			r.LastAt = at
			return
		}
		p.Ready, p.Fails, p.Conflicts = true, 0, f.Conflicts
		p.Branch, p.Head = f.Branch, f.Head
		if f.Base != "" {
			p.Base = f.Base
		}
		if r.Last == nil || r.Tree == "" {
			r.Tree = f.Tree
		}
		r.Stash = "" // it was given back
	})
}

func (s *State) editIntegration(edit func(*Integration)) {
	if s.Plan.Integration != nil {
		c := *s.Plan.Integration
		edit(&c)
		s.Plan.Integration = &c
	}
}

// merged folds an attempt to merge.
func (s *State) merged(f Merged) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.StepError, r.Queue.Merged, r.Checks = 0, f.Error, &f, nil
		r.Tree = f.Tree
		if f.Error != "" || f.Moved != "" {
			r.Commits++
			r.Queue.Merged = nil
		}
	})
	s.tipMoved(f.Moved)
	if f.Conflict != nil {
		s.count(func(t *Totals) { t.Conflicts++ })
	}
	if f.Advanced {
		s.advanced(f.Task, f.Commit, f.Tree)
	}
}

// tipMoved takes up that the integration branch is elsewhere than was known.
func (s *State) tipMoved(to string) {
	if to != "" {
		s.editIntegration(func(i *Integration) { i.Tip, i.Tree = to, "" })
	}
}

// advanced moves the tip; the stage's members are merged.
func (s *State) advanced(stage TaskID, commit, tree string) {
	s.editIntegration(func(i *Integration) {
		i.Tip = commit
		if tree != "" {
			i.Tree = tree
		}
		if t := s.Task(stage); t != nil {
			i.Waiting += len(t.Members)
			if len(t.Members) == 0 && i.Moved != "" {
				i.Landed, i.Moved = i.Moved, "" // this merge was the base's own commits
			}
		}
	})
	t := s.Task(stage)
	if t == nil {
		return
	}
	s.editTask(stage, func(t *Task) { t.Run.InFlight, t.Run.Queue.State, t.Run.Queue.Commit = 0, MergeMerged, commit })
	s.keepBaseline(s.mergedBaseline(t, commit, tree))
	for _, id := range t.Members {
		s.editTask(id, func(m *Task) {
			q := &m.Run.Queue
			q.State, q.Commit, q.Merged = MergeMerged, commit, nil
			s.count(func(c *Totals) {
				if q.Resolves > 0 {
					c.MergesResolved++
				} else {
					c.MergesClean++
				}
			})
		})
	}
}

// mergedBaseline is what the checks said of a merge: what was passed over is red there.
func (s *State) mergedBaseline(stage *Task, commit, tree string) Baselined {
	checks := stage.Run.Checks
	for _, id := range stage.Members { // no check ran: the tree is one that a member was checked on
		if m := s.Task(id); m != nil && checks == nil {
			checks = m.Run.Checks
		}
	}
	b := Baselined{Commit: commit, Tree: tree}
	if checks != nil {
		b.Checks, b.Covered = commandsOf(checks.Results), PercentOf(checks.Results)
		b.Reds = redsOf(checks.Results, func(r GateResult) bool { return slices.Contains(checks.Known, r.Name) })
	}
	return b
}

// landed folds what came of bringing the base branch up to date.
func (s *State) landed(f Landed, e Event) {
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight, t.Run.StepError = 0, f.Error
		t.Run.LastAt = e.At
		if f.Error != "" {
			t.Run.Commits++
		}
		if f.Moved != "" {
			t.Run.Commit, t.Run.CommitKey = "", "" // the one commit has to be made again, on the new base
		}
	})
	s.editIntegration(func(i *Integration) {
		i.LandedAt, i.Held, i.Moved = e.At, f.Dirty, f.Moved
		switch {
		case f.How != "":
			if f.Task == "" && i.Tip == f.From { // a rollback, which no stage lands: the tip goes along
				i.Tip, i.Tree = f.To, ""
			}
			i.Landed = f.To
			i.Waiting -= i.Landing // what was merged meanwhile is not on it
			if f.To == i.Tip {
				i.Waiting = 0
			}
		case f.Error != "":
			i.Held = []string{f.Error}
		}
		i.Landing, i.HeldTries = 0, i.HeldTries+1
		if len(i.Held) == 0 {
			i.HeldTries = 0
		}
	})
}

// stageEnded folds the end of the stages that belong to a task of the plan, and
// forgets them: a plan of thousands of tasks has thousands of merges.
func (s *State) stageEnded(f TaskEnded) {
	t := s.Task(f.ID)
	if t == nil || !f.Status.Ended() {
		return
	}
	switch t.Kind {
	case KindMerge:
		s.mergeEnded(t, f)
	case KindResolve:
		s.resolveEnded(t, f)
	case KindLand:
		if s.Session.Mode != "autopilot" {
			return // the spec's own end follows from it
		}
	default:
		return
	}
	s.Stages = slices.DeleteFunc(slices.Clone(s.Stages), func(x *Task) bool { return x.ID == f.ID })
}

// mergeEnded: a batch that does not merge or is red goes again in halves; a single
// task is to be resolved.
func (s *State) mergeEnded(stage *Task, f TaskEnded) {
	if f.Status == TaskDone {
		return
	}
	if len(stage.Members) == 0 {
		s.editIntegration(func(i *Integration) {
			i.Moved, i.Denied, i.Held = "", f.Why.Text, []string{f.Why.Text}
		})
	}
	for _, id := range stage.Members {
		s.editTask(id, func(m *Task) {
			q := &m.Run.Queue
			if q.State == MergeMerged || m.Status != TaskDone { // a person sent it back or left it out
				return
			}
			if n := len(stage.Members); n > 1 {
				q.Most = max(1, n/2)
				return
			}
			q.Merged = stage.Run.Queue.Merged
			if q.ResolvedAt != "" && q.Merged != nil && q.Merged.From == q.ResolvedAt {
				q.Tries++
			}
			q.State = MergeRed
			if q.Merged != nil && q.Merged.Conflict != nil {
				q.State = MergeConflict
			}
			m.Run.Red = stage.Run.Red
			if f.Status != TaskFailed { // a person ended it
				q.GaveUp = f.Why.Text
			}
		})
	}
}

// resolveEnded: done, and the branch goes into the queue again (its merge.queued
// follows); otherwise a person has to look.
func (s *State) resolveEnded(stage *Task, f TaskEnded) {
	s.editTask(stage.Parent, func(t *Task) {
		if t.Status != TaskDone {
			return
		}
		if f.Status == TaskDone {
			t.Run.Queue.ResolvedAt = stage.Run.Place.Base
			t.Run.Queue.Weakened = stage.Run.Queue.Weakened
			t.Run.Queue.Settings, t.Run.Queue.Shown = stage.Run.Queue.Settings, stage.Run.Queue.Shown
			if w := stage.Run.Waived; w != nil {
				t.Run.Queue.Let = append(slices.Clone(t.Run.Queue.Let), w.Reds...)
			}
			t.Run.Queue.Approved = false // nobody has looked at what came of it
			return
		}
		t.Run.Queue.GaveUp = f.Why.Text
	})
}

// mergeAnswered folds a person's word on a merge: approved, it is tried again as
// it is now; what denial means is said by the facts beside it.
func (s *State) mergeAnswered(gate *Gate, f Answered) {
	if f.Verdict != Approved {
		return
	}
	s.editTask(gate.Task, func(t *Task) {
		t.Run.Queue.Merged, t.Run.Checks, t.Run.Queue.Approved, t.Run.Commits = nil, nil, true, 0
	})
	s.editTask(gate.About, func(t *Task) {
		if t.Status != TaskDone { // sent back or left out meanwhile
			return
		}
		q := &t.Run.Queue
		s.sawSettings(q.Settings)
		q.State, q.Merged, q.Approved, q.GaveUp = MergeWaiting, nil, true, ""
	})
}
