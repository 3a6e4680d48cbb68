package ralph

import (
	"slices"
	"time"
)

// Apply folds one event into the state. It is total: a fact about something
// that is not there (a person removed it meanwhile) changes nothing.
func (s *State) Apply(e Event) {
	before := s.At
	s.stand(e)
	s.rested(e, before)
	s.fold(e, before)
	s.withdrawn(e.At)
	s.inCheckout(e)
	s.restFrom(e.At)
}

// JournalID is the name of the journal whose first line has that hash.
func JournalID(first string) string { return first[:min(len(first), 12)] }

func (s *State) fold(e Event, before time.Time) {
	s.takeTally()
	s.Seq, s.Hash, s.At = e.Seq, e.Hash, e.At
	if e.Seq == 1 {
		s.Journal = JournalID(e.Hash)
	}
	if s.applyStall(e) || s.applyView(e) {
		return
	}
	switch f := e.Fact.(type) {
	case SessionStarted:
		s.turnsOver("")
		s.sessionStarted(f, e.At, before)
	case SessionEnded:
		s.sessionEnded(f, e.At)
	case Control:
		s.control(f)
	case SpecAdded:
		spec := f.Spec
		s.Inbox = append(s.Inbox, &spec)
	case SpecEdited:
		s.editSpec(f.Spec.ID, func(x *Spec) { *x = f.Spec })
	case SpecRemoved:
		s.Inbox = slices.DeleteFunc(slices.Clone(s.Inbox), func(x *Spec) bool { return x.ID == f.ID })
	case InboxOrdered:
		s.Inbox = ordered(s.Inbox, f.IDs, func(x *Spec) SpecID { return x.ID })
	case JobStarted:
		s.jobStarted(f, e.At)
	case JobEnded:
		s.jobEnded(f, e.At, before)
	case RoundStarted:
		s.editJob(func(j *Job) { j.Round = f.Round })
	case Asked:
		gate := f.Gate
		s.Gates = append(s.Gates, &gate)
		if gate.InTurn {
			return
		}
		s.editTask(gate.Task, func(t *Task) { t.Run.InFlight, t.Run.Place.Slot = 0, 0 }) // who waits holds no slot (B-054)
	case Answered:
		s.answered(f)
	default:
		s.applyPlan(e)
	}
}

// applyPlan folds what concerns the plan and its tasks.
func (s *State) applyPlan(e Event) {
	switch f := e.Fact.(type) {
	case PlanStarted:
		old := s.Plan
		s.Aside, s.Plan, s.shared = &old, Plan{File: f.File}, false
	case PlanOrdered:
		s.Plan.Tasks, s.shared = ordered(s.Plan.Tasks, f.IDs, func(t *Task) TaskID { return t.ID }), false
	case TaskAdded:
		task := f.Task
		if task.IsBuild() {
			s.addTask(&task)
		} else {
			s.Stages = append(s.Stages, &task)
			if task.Kind == KindResolve {
				s.editTask(task.Parent, func(t *Task) { t.Run.Queue.Resolves++ })
			}
		}
	case TaskEdited:
		s.editTask(f.Task.ID, func(t *Task) { taskEdited(t, f.Task) })
		s.dropStepGate(f.Task.ID)
		if f.Task.Status.Ended() {
			s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *Gate) bool { return g.Task == f.Task.ID })
		}
	case TaskRemoved:
		s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *Gate) bool { return g.Task == f.ID })
		s.Plan.Tasks, s.shared = slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(t *Task) bool { return t.ID == f.ID }), false
	case RejectAdded:
		reject := f.Reject
		s.Plan.Rejects = append(s.Plan.Rejects, &reject)
	case IssueAdded:
		issue := f.Issue
		s.Plan.Issues = append(s.Plan.Issues, &issue)
	case IssueRemoved:
		s.Plan.Issues = slices.DeleteFunc(slices.Clone(s.Plan.Issues), func(i *Issue) bool { return i.ID == f.ID })
	case TaskStarted:
		s.dropStepGate(f.ID)
		s.editTask(f.ID, func(t *Task) {
			t.Status = TaskActive
			t.started(f)
			if t.Run.StartedAt.IsZero() {
				t.Run.StartedAt = e.At
			}
		})
	case TaskEnded:
		s.taskEnded(f, e.At)
	case TaskRejected:
		s.Plan.Rejects = append(s.Plan.Rejects, &Reject{ID: f.ID, Reason: f.Reason})
		s.editTask(f.ID, func(t *Task) {
			t.Status = TaskPending
			rejects := append(slices.Clone(t.Run.Rejects), f.Reason)
			t.Run = t.Run.again()
			t.Run.Rejects = rejects
		})
	case TaskAccepted:
		s.editTask(f.ID, func(t *Task) { t.Run.Accepted = true })
	default:
		s.applyStep(e)
	}
}

// applyStep folds receipts and the outcomes of steps.
func (s *State) applyStep(e Event) {
	switch f := e.Fact.(type) {
	case StepStarted:
		s.turnsOver(f.Task)
		s.Totals.Receipts++
		s.decided(e, f)
		s.editTask(f.Task, func(t *Task) {
			t.Run.InFlight, t.Run.Doing, t.Run.Replies = e.Seq, f.Step.StepName(), nil
			if _, ok := f.Step.(Commit); ok && t.Run.CommitKey == "" {
				t.Run.CommitKey = e.Hash
			}
			if turn, ok := f.Step.(Turn); ok {
				t.Run.Agent, t.Run.TurnAt, t.Run.Reserved = turn.Agent, f.Now, turn.Reserve
				t.Run.RedTold = s.RedBefore(t, t.Run.Red)
				s.beganAt(t)
			}
		})
		if turn, ok := f.Step.(Turn); ok && s.Session.Agent == "" {
			s.Session.Agent = turn.Agent
		}
		if _, ok := f.Step.(Land); ok {
			s.editIntegration(func(i *Integration) { i.Landing = i.Waiting })
		}
	case Prepared:
		if f.Dir != "" || s.isolated(f.Task) {
			s.placed(f, e.At)
			return
		}
		s.editJob(func(j *Job) { j.Base, j.Branch, j.Head, j.Tree, j.Inside = f.Head, f.Branch, f.Head, f.Tree, f.Inside })
		s.editTask(f.Task, func(t *Task) { t.Run.InFlight, t.Run.Tree, t.Run.StepError, t.Run.Clean = 0, f.Tree, f.Error, f.Clean })
	case TurnEnded:
		s.turnsOver(f.Task)
		s.turnEnded(f, e.At)
	case ChecksRan:
		s.checksRan(f)
	case Committed:
		s.committed(f, e.At)
	case Shelved:
		s.editTask(f.Task, func(t *Task) {
			r := &t.Run
			r.InFlight, r.Stash, r.StepError, r.Shelved = 0, f.Stash, f.Error, f.Error == ""
			if f.Error != "" {
				r.Commits++
			}
		})
	case Noted:
		s.editTask(f.Task, func(t *Task) {
			if f.Rule == RuleStuck {
				t.Run.Warned = true
			}
		})
	default:
		s.applyParallel(e)
	}
}

// RuleGivenUp is why errors.strategy skips a task.
const RuleGivenUp = "X-16"

// RuleStuck marks the note that is the stuck warning (B-014, B-017).
const RuleStuck = "B-017"

func (s *State) sessionStarted(f SessionStarted, at, before time.Time) {
	if f.Resumed && s.Session.ID == f.ID {
		x := &s.Session
		if x.Live() { // it was cut: what ran until its last fact counts
			cut := max(0, before.Sub(x.Since))
			x.Elapsed += cut
			if s.Job != nil {
				s.Plan.Elapsed += max(0, before.Sub(s.Job.Since))
				s.editJob(func(j *Job) { j.Since = at })
			}
		}
		x.Since, x.Ended, x.Detail, x.EndedAt = at, "", "", time.Time{}
		x.Config, x.Pid, x.Host, x.Log, x.PlanOnly, x.Auto = f.Config, f.Pid, f.Host, f.Log, f.DryRun, f.Autonomy()
		x.Want, x.Cause, x.Now, x.Consecutive, x.TaskFailures, x.Streak, x.Planned = WantRun, "", false, 0, 0, nil, nil
		x.Pause, x.Ends, x.Approved, x.Bad, x.Errors, x.SpecErrors = "", "", false, nil, nil, 0
		x.Before = x.Completed
	} else {
		s.Totals.Sessions++
		s.Session = Session{
			ID: f.ID, Mode: f.Mode, StartedAt: at, Since: at, Config: f.Config,
			Pid: f.Pid, Host: f.Host, Log: f.Log, Want: WantRun, PlanOnly: f.DryRun, Auto: f.Autonomy(),
		}
		if c := f.Carry; c != nil {
			s.Session.StartedAt, s.Session.Completed, s.Session.Failed = c.StartedAt, c.Completed, c.Failed
			s.Session.Before = c.Completed
			s.Session.Usage, s.Session.Current = Usage{Cost: c.Cost, Known: true}, c.Current
		}
	}
	s.interruptTasks()
	s.unapprove()
	s.endLimits(true)
	s.forgetHits()
}

// interruptTasks puts tasks that a dead engine left active back to pending;
// what they had done so far stays. Their steps are safe to do again.
func (s *State) interruptTasks() {
	s.editTasks(func(t *Task) bool {
		if t.Status != TaskActive {
			return false
		}
		t.Status, t.Run.InFlight, t.Line = TaskPending, 0, ""
		t.Run.TurnAt, t.Run.Reserved = time.Time{}, Usage{}
		t.Run.Place.Slot, t.Run.Place.Ready = 0, false
		return true
	})
}

func (s *State) sessionEnded(f SessionEnded, at time.Time) {
	x := &s.Session
	x.Elapsed += max(0, at.Sub(x.Since))
	x.Ended, x.Detail, x.EndedAt = f.Reason, f.Detail, at
	s.dropGates(GateStart, GateStep) // there is nothing left to say yes to
}

func (s *State) jobStarted(f JobStarted, at time.Time) {
	s.Job = &Job{ID: f.Job, Spec: f.ID, File: f.File, Since: at, Round: 1}
	s.Stages = nil
	s.Session.Current = f.ID
	s.editSpec(f.ID, func(x *Spec) {
		x.Status, x.StartedAt, x.EndedAt, x.Error = SpecActive, at, time.Time{}, ""
	})
}

func (s *State) jobEnded(f JobEnded, at, before time.Time) {
	job := s.Job
	if job == nil {
		return
	}
	worked := at.Sub(job.Since)
	if f.Cut {
		worked = before.Sub(job.Since)
	}
	s.Plan.Elapsed += max(0, worked)
	s.Plan.Closed = f.Status != SpecPending
	s.editSpec(job.Spec, func(x *Spec) {
		x.Status, x.EndedAt, x.Error = f.Status, at, f.Error
		if f.Status == SpecPending {
			x.StartedAt, x.EndedAt, x.Error = time.Time{}, time.Time{}, ""
		}
	})
	switch f.Status {
	case SpecDone:
		s.Session.Completed++
		s.Session.Consecutive = 0
		s.Session.Current = ""
		s.Totals.SpecsDone++
	case SpecFailed:
		s.Session.Failed++
		s.Session.Consecutive++
		s.Session.SpecErrors++
		s.Session.Current = ""
		s.Totals.SpecsFail++
	case SpecPending:
		if s.Session.PlanOnly {
			s.Session.Planned = append(slices.Clone(s.Session.Planned), job.Spec)
		}
	}
	s.Job, s.Stages, s.Gates = nil, nil, s.gatesBeside(at)
	s.interruptTasks()
}

func taskEdited(t *Task, edited Task) {
	run := t.Run
	if t.Status.Ended() && !edited.Status.Ended() {
		run = run.again() // a person sends it back: a fresh attempt
	}
	*t = edited
	t.Run = run
}

func (s *State) taskEnded(f TaskEnded, at time.Time) {
	build, worked, slot := false, false, 0
	s.editTask(f.ID, func(t *Task) {
		build, worked, slot = t.IsBuild(), t.Status == TaskActive, t.Run.Place.Slot
		if t.Kind == KindInvestigate && f.Status == TaskDone {
			s.issuesLooked()
		}
		t.Status = f.Status
		t.Run.InFlight = 0
		t.Run.TurnAt, t.Run.Reserved = time.Time{}, Usage{} // of a turn that was not made or was cut
		t.Run.Reason, t.Run.RanOut = f.Why.Text, f.RanOut
		t.Run.GivenUp = f.Status == TaskSkipped && f.Why.Rule == RuleGivenUp
		t.left(f)
		switch {
		case f.Status == TaskPending && f.Retry:
			t.RetryCount++
			t.Run.Last, t.Run.Checks = nil, nil // the next attempt starts with a turn
			t.Run.ErrorTries, t.Run.SameError, t.Run.ErrorKind, t.Run.Told = 0, 0, "", 0
		case f.Status == TaskPending && f.Uncounted:
			t.Run.uncount()
		case f.Status == TaskPending && t.Run.Last != nil && (t.Run.Last.Exit == ExitUser || t.Run.Last.Limited()):
			t.Run.Last = nil // dealt with: the next start is a turn, not this end again
		case f.Status != TaskPending:
			t.Run.EndedAt = at
		}
	})
	s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *Gate) bool { return g.Task == f.ID })
	if !build {
		s.stageEnded(f)
		return
	}
	if worked { // what a person left out before it began is no end to wait after
		s.Session.leftSlot(slot, at)
	}
	s.editTask(f.ID, func(t *Task) { s.countEnd(t, f.Status) })
	if f.Status == TaskFailed || f.Status == TaskTimeout {
		s.Session.Errors = append(slices.Clone(s.Session.Errors), f.ID)
	}
	switch f.Status {
	case TaskDone:
		s.Session.TaskFailures, s.Session.Streak, s.Session.Bad = 0, nil, nil
	case TaskFailed:
		s.Session.TaskFailures++
		s.Session.Streak = append(slices.Clone(s.Session.Streak), f.ID)
		s.Session.Bad = append(slices.Clone(s.Session.Bad), f.ID)
	case TaskTimeout:
		s.Session.Bad = append(slices.Clone(s.Session.Bad), f.ID)
	}
}

// issuesLooked marks the issues that an INVESTIGATE saw and did not resolve, so
// that the next round does not ask about them again.
func (s *State) issuesLooked() {
	for i, x := range s.Plan.Issues {
		c := *x
		c.Looked = true
		s.Plan.Issues[i] = &c
	}
}

func (s *State) turnEnded(f TurnEnded, at time.Time) {
	usage := f.Spent()
	s.Session.Usage = s.Session.Usage.Add(usage)
	s.Session.Turns++
	s.Plan.Usage = s.Plan.Usage.Add(usage)
	if f.Stage != KindPlan {
		s.Plan.Turns++
	}
	s.editJob(func(j *Job) {
		if s.isolated(f.Task) {
			return // its worktree is not the job's
		}
		if f.Tree != "" {
			j.Tree = f.Tree
		}
		if f.Head != "" {
			j.Head = f.Head
		}
	})
	s.count(func(t *Totals) { t.AddTurn(f) })
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Checks, r.Last, r.LastAt = 0, nil, &f, at
		r.Agent, r.Reserved, r.Context = f.Agent, Usage{}, f.Context
		if f.Session != r.Session { // another session has another window
			r.Alerts = slices.DeleteFunc(slices.Clone(r.Alerts), func(a string) bool { return a == AlertContext })
		}
		r.Iterations++
		if f.Failed() {
			r.Errored++
		}
		if f.Err == nil || !f.Err.OfAgent() { // an agent that cannot be used takes none of the task's time (R-H4)
			r.Spent += max(0, f.Took-f.Summary.Waited) // the clock stands still while a person thinks
		}
		r.Usage = r.Usage.Add(usage)
		r.Session, r.Tree = f.Session, f.Tree
		if f.Head != "" {
			r.Place.Head = f.Head
		}
		switch {
		case f.Changed:
			r.Unchanged, r.Warned = 0, false
		case !f.Failed():
			r.Unchanged++
		}
		r.foldError(f)
		switch {
		case f.Mismatch != "":
			r.Mismatches++
		case !f.Failed():
			r.Mismatches = 0
		}
		if f.Signal.Kind == SignalProgress {
			r.Progress, r.Note = f.Signal.Percent, f.Signal.Text
		}
		if !f.Failed() {
			r.Told, r.Handover = 0, ""
			s.agentWorks(f.Agent, r.TurnAt)
		}
		r.TurnAt = time.Time{}
	})
}

// AddTurn counts one turn.
func (t *Totals) AddTurn(f TurnEnded) {
	t.Turns++
	t.TurnTime += f.Took
	t.Usage = t.Usage.Add(f.Spent())
	t.TurnMax = max(t.TurnMax, f.Took)
	if t.TurnMin == 0 || f.Took < t.TurnMin {
		t.TurnMin = f.Took
	}
}

// Spent is what the turn used. A program that did not start cost nothing.
func (f *TurnEnded) Spent() Usage {
	u := f.Usage
	if f.Exit == ExitSpawn {
		u.Known = true
	}
	return u.counted()
}

func (s *State) checksRan(f ChecksRan) {
	f.Results = withoutGreen(f.Results)
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		before := r.Checks
		r.InFlight, r.Checks, r.Red = 0, &f, nil
		r.Spent += f.Took
		r.countReds(before, f)
		if !f.Pass {
			r.Red = &f
		}
		switch { // what checks wrote is no progress of the agent
		case len(f.Taken) > 0 && r.Place.Dir != "":
			r.Tree = f.Tree
		case len(f.Out)+len(f.Taken) > 0 && f.After != "":
			r.Tree = f.After
		}
	})
	if len(f.Out)+len(f.Taken) > 0 && f.After != "" && !s.isolated(f.Task) {
		s.editJob(func(j *Job) { j.Tree = f.After })
	}
	s.passed(f)
	s.count(func(t *Totals) {
		if f.Pass {
			t.ChecksOK++
		} else {
			t.ChecksRed++
		}
	})
}

func (s *State) answered(f Answered) {
	i := slices.IndexFunc(s.Gates, func(g *Gate) bool { return g.ID == f.ID })
	if i < 0 {
		return // answered already: the first answer wins
	}
	gate := s.Gates[i]
	s.Gates = slices.Delete(slices.Clone(s.Gates), i, i+1)
	if gate.InTurn {
		s.answeredInTurn(gate, f)
		return
	}
	switch gate.Kind {
	case GateMerge:
		s.mergeAnswered(gate, f)
		return
	case GateTest:
		s.testAnswered(gate, f)
		return
	case GateCommit:
		s.commitAnswered(gate, f)
		return
	case GateStart:
		s.Session.Approved = f.Verdict == Approved
		return
	case GateStep:
		s.editTask(gate.Task, func(t *Task) { t.Run.Approved = f.Verdict == Approved })
		return
	}
	s.editTask(gate.Task, func(t *Task) {
		t.Run.Answers = append(slices.Clone(t.Run.Answers), QA{gate.Text, f.Text})
		t.Run.Answered = t.Run.Iterations
	})
}
