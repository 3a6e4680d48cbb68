package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/queue"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
)

// Move is what the engine does next.
type Move interface{ move() }

// Record writes facts: something is due. Scheduling too is facts.
type Record struct {
	Facts []ralph.Fact
}

// Start gives an active task to a worker.
type Start struct {
	Task ralph.TaskID
}

// Hold waits until the state moves, or until an instant when that is not zero.
type Hold struct {
	Until  time.Time
	Why    string
	Person bool // it waits for a person, however long

	timed bool // Until is when what it waits for is over, and no bound of budgets
}

// Stop ends the session.
type Stop struct {
	Reason ralph.Reason
	Detail string
	Cause  string       // in one word, where the reason does not say it
	Task   ralph.TaskID // aborted: the task that failed
}

// Ended is the fact of the stop, with its cause in one word.
func (m Stop) Ended(s *ralph.State) ralph.SessionEnded {
	return ralph.SessionEnded{Reason: m.Reason, Detail: m.Detail, Cause: cmp.Or(m.Cause, cause(m.Reason, s)), Task: m.Task}
}

func cause(reason ralph.Reason, s *ralph.State) string {
	switch reason {
	case ralph.ReasonComplete:
		return "all_done"
	case ralph.ReasonEmpty:
		if s.Session.Completed > 0 {
			return "all_done"
		}
		return "no_tasks"
	case ralph.ReasonBudget:
		return "budget"
	case ralph.ReasonInterrupted:
		return "stopped"
	}
	return strings.NewReplacer(" reached", "", " exceeded", "", " ", "_", "-", "_").Replace(string(reason))
}

func (Record) move() {}
func (Start) move()  {}
func (Hold) move()   {}
func (Stop) move()   {}

func record(facts ...ralph.Fact) Move { return Record{facts} }

// Schedule says what the engine does next. mine are the tasks that this engine
// has started and that have not ended.
func Schedule(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) Move {
	c = c.under(s.Session.Auto)
	m := schedule(s, mine, c, now)
	if hold, ok := m.(Hold); ok {
		hold.timed = !hold.Until.IsZero()
		hold.Until = sooner(hold.Until, sooner(timeUp(s, c, now, nearly), timeUp(s, c, now, 1)))
		return hold
	}
	return m
}

func schedule(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) Move {
	if id, ok := orphan(s, mine); ok {
		return Start{id}
	}
	if stop, rule, ok := ending(s, c, now); ok && !settling(s) {
		return wrapUp(s, mine, stop, rule, now)
	}
	if f, ok := budgetWarning(s, c, now); ok {
		return record(f)
	}
	if s.Session.Want == ralph.WantPause {
		if s.Session.Pause == ralph.PauseLimits {
			return limitsOver(s, c, now)
		}
		return Hold{Why: "paused: " + s.Session.Cause}
	}
	if until, all := allLimited(s, c, now); all && !landing(s) && !s.Session.Auto.EndsAtError() {
		return pauseForLimits(s, c, until)
	}
	if c.ApproveStart && !s.Session.Approved {
		return startGate(s, c, now)
	}
	if s.Job == nil {
		return nextJob(s, c)
	}
	return inJob(s, mine, c, now)
}

// orphan is an active task that nobody works on yet: it was just started, or
// its facts came from elsewhere.
func orphan(s *ralph.State, mine []ralph.TaskID) (ralph.TaskID, bool) {
	for _, t := range s.Stages {
		if t.Status == ralph.TaskActive && !slices.Contains(mine, t.ID) {
			return t.ID, true
		}
	}
	for t := range s.InPlan(tally.Active) {
		if !slices.Contains(mine, t.ID) {
			return t.ID, true
		}
	}
	return "", false
}

// settling reports whether the commit or the shelving of the job has begun. Even
// a stop lets it come to its end: a spec released after its commit would be
// committed twice, one released after its shelving would go on without its changes.
func settling(s *ralph.State) bool {
	if s.Job == nil || s.Session.OnPlan() { // there every step can be done again
		return false
	}
	if i := s.Plan.Integration; i != nil && i.Moved != "" {
		return false // the commit is void: it is made again on what the base branch has got
	}
	for _, t := range []*ralph.Task{landStage(s), stageOf(s, ralph.KindShelve)} {
		waited := t != nil && t.Status == ralph.TaskPending && t.Run.Away != "" && t.Run.Commit == "" // given back by a stop: nothing has begun
		if t != nil && !mending(s, t) && !t.Run.StartedAt.IsZero() && !refused(s, t) && !waited {
			return true
		}
	}
	return false
}

// landing reports whether all that is left of the job costs nothing: its commit
// or its shelving. A limit does not stop that.
func landing(s *ralph.State) bool {
	if s.Job == nil || s.Session.OnPlan() {
		return false
	}
	if t := landStage(s); t != nil && !mending(s, t) || stageOf(s, ralph.KindShelve) != nil {
		return true
	}
	v := stageIn(s, ralph.KindVerify, s.Job.Round)
	return v != nil && v.Status == ralph.TaskDone && !workLeft(s)
}

// wrapUp ends the session at the next boundary: running turns end first, the
// spec goes back to pending with its plan kept (D-051, D-052).
func wrapUp(s *ralph.State, mine []ralph.TaskID, stop Stop, rule string, now time.Time) Move {
	switch {
	case len(mine) > 0:
		return Hold{Why: "finishing the current iteration"}
	case s.Job != nil && s.Session.OnPlan() && mayLand(s, now) && !refused(s, stageOf(s, ralph.KindLand)):
		return land(s)
	case s.Job != nil:
		return record(ralph.JobEnded{Status: ralph.SpecPending, Error: string(stop.Reason), Rule: rule})
	}
	return stop
}

// nextJob is FETCH, or the one spec of construct and plan.
func nextJob(s *ralph.State, c Config) Move {
	x := s.Session
	if c.onPlan() {
		return record(ralph.JobStarted{Job: ralph.JobID("a-" + string(x.ID)), File: s.Plan.File, Resume: true})
	}
	if c.Only != "" {
		switch {
		case x.Failed > 0:
			return Stop{Reason: ralph.ReasonFailed}
		case x.Completed > 0, len(x.Planned) > 0:
			return Stop{Reason: ralph.ReasonComplete}
		}
		return startJob(s, c, ralph.JobStarted{Job: ralph.JobID("c-" + string(x.ID)), File: c.Only})
	}
	switch {
	case c.MaxSpecs > 0 && x.Completed-x.Before >= c.MaxSpecs: // of this start alone
		return Stop{Reason: ralph.ReasonMaxSpecs, Detail: specs(x.Completed-x.Before) + " completed"}
	case c.MaxFailures > 0 && x.Consecutive >= c.MaxFailures:
		return Stop{Reason: ralph.ReasonMaxFailures, Detail: specs(x.Consecutive) + " in a row failed"}
	}
	spec := fetch(s, c)
	switch {
	case spec == nil && c.Watch:
		return Hold{Why: "the inbox is empty: waiting for issues and specs", Person: true}
	case spec == nil:
		return Stop{Reason: ralph.ReasonEmpty}
	}
	return startJob(s, c, ralph.JobStarted{Job: ralph.JobID(spec.ID), ID: spec.ID, File: spec.File})
}

func specs(n int) string { return text.Count(n, "spec") }

// fetch is the record that is active although nobody works on it (its session's
// journal is not here), else the spec an interrupted session was on, else
// the first that waits: by priority, then in the order of the inbox.
func fetch(s *ralph.State, c Config) *ralph.Spec {
	planned := func(x *ralph.Spec) bool { return c.PlanOnly && slices.Contains(s.Session.Planned, x.ID) }
	free := func(x *ralph.Spec) bool { return x.Status == ralph.SpecPending && !planned(x) }
	for _, x := range s.Inbox {
		if x.Status == ralph.SpecActive && !planned(x) {
			return x
		}
	}
	if x := s.Spec(s.Session.Current); x != nil && free(x) {
		return x
	}
	for _, x := range queue.Waiting(s) {
		if free(x) {
			return x
		}
	}
	return nil
}

// startJob goes on with a plan of the same spec that is not closed;
// any other plan makes room. construct also goes on with a plan that failed, and
// gives what failed another try: a person started it again.
func startJob(s *ralph.State, c Config, job ralph.JobStarted) Move {
	p := s.Plan
	again := retries(p)
	job.Resume = p.File == job.File && len(p.Tasks) > 0 && c.Session != "plan" &&
		(!p.Closed || c.Session == "construct" && (len(again) > 0 || p.Unfinished() > 0))
	// The job comes last: a write that a crash tore leaves a plan without a job,
	// which is made again, and never a job on another spec's plan.
	facts := []ralph.Fact{ralph.PlanStarted{File: job.File}}
	if job.Resume {
		facts = again
	}
	return record(append(facts, job)...)
}

// retries sends the tasks back to pending that ended without being done.
func retries(p ralph.Plan) []ralph.Fact {
	var facts []ralph.Fact
	for _, t := range p.Tasks {
		switch {
		case t.Run.GivenUp, t.Status == ralph.TaskFailed, t.Status == ralph.TaskTimeout, t.Status == ralph.TaskBlocked:
			again := *t
			again.Status, again.Line, again.Run = ralph.TaskPending, "", ralph.Run{}
			again.RetryCount++
			facts = append(facts, ralph.TaskEdited{Task: again})
		}
	}
	return facts
}

// stage makes a stage task. Its id is fixed by job, kind and round, so that a
// run that was cut finds it again.
func stage(job ralph.JobID, kind ralph.TaskKind, round int, name string) ralph.Task {
	id := fmt.Sprintf("%s:%s", kind, job)
	if round > 0 {
		id = fmt.Sprintf("%s:%d", id, round)
	}
	return ralph.Task{ID: ralph.TaskID(id), Kind: kind, Name: name, Status: ralph.TaskPending}
}
