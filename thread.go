package ralph

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/tally"
)

// Thread makes a task of the plan an agent that goes on turn after turn by itself, in one
// session of the agent: after each turn it is decided what comes next. It is a part of Run,
// so that what a person edits of the task leaves it alone.
type Thread struct {
	Agent  string       `json:"agent,omitempty"` // configured name; "": the session's, with its fallback chain
	Limits ThreadLimits `json:"limits,omitzero"`
	Want   ThreadWant   `json:"want,omitempty"`
	Stop   string       `json:"stop,omitempty"` // the stop condition that ended it
	More   ThreadLimits `json:"more,omitzero"`  // what a person has added to the limits

	Since int `json:"since,omitempty"` // the turns that had ended when it got its slot

	Plan        []PlanStep `json:"plan,omitempty"`        // the agent's own, the last one
	Said        string     `json:"said,omitempty"`        // the last words of its newest turn that did not fail, as short as turns keep them
	Idle        int        `json:"idle,omitempty"`        // turns in a row that changed neither plan nor files
	Compactions []int      `json:"compactions,omitempty"` // the turns in which the agent shortened its history by itself
	Changed     bool       `json:"changed,omitempty"`     // files have changed since the last review
	Claimed     bool       `json:"claimed,omitempty"`     // the agent said in its newest turn that it is finished
	Doubted     bool       `json:"doubted,omitempty"`     // a review did not find the last claim to be finished true
	Review      *Reviewed  `json:"review,omitempty"`      // the newest review, until it is decided what comes of it

	Guidance *Guidance       `json:"guidance,omitempty"` // nil: there is none
	Decision *ThreadDecision `json:"decision,omitempty"` // the newest one
	Past     []PastDecision  `json:"past,omitempty"`     // the last ten
}

// What a thread keeps at the most, so that it stays small whatever an agent says.
const (
	maxPastDecisions = 10
	maxCompactions   = 20
	maxThreadPlan    = 100
)

// ThreadLimits are what a thread may use; 0 is no limit.
type ThreadLimits struct {
	Tokens int64         `json:"tokens,omitempty"` // without cache reads
	Cost   float64       `json:"cost,omitempty"`   // US dollars
	Time   time.Duration `json:"time,omitempty"`   // in turns, without waits for people
	Turns  int           `json:"turns,omitempty"`
}

// ThreadWant is what a person wants of a thread.
type ThreadWant string

// What a person can want of a thread.
const (
	ThreadRun   ThreadWant = ""
	ThreadPause ThreadWant = "pause"
	ThreadStop  ThreadWant = "stop"
)

// ThreadAction is what becomes of a thread after a turn.
type ThreadAction string

// The actions.
const (
	ThenContinue ThreadAction = "continue" // the next turn begins
	ThenPause    ThreadAction = "pause"    // a person is waited for
	ThenStop     ThreadAction = "stop"     // the thread is over
	ThenReview   ThreadAction = "review"   // the changes are looked at, then it is decided again
)

// ThreadDecision is what comes after a turn of a thread, and why.
type ThreadDecision struct {
	Turn       int          `json:"turn"`   // that it comes after
	Action     ThreadAction `json:"action"` // what is done
	NextInput  string       `json:"next_input,omitempty"`
	Reason     string       `json:"reason"`
	Confidence float64      `json:"confidence"`
	By         string       `json:"by"`                   // whose advice it was: rules, a model, a review
	Advised    ThreadAction `json:"advised"`              // what the advice was
	Overridden bool         `json:"overridden,omitempty"` // the rules do something else
	Stop       string       `json:"stop,omitempty"`       // the stop condition that was hit
	Rule       string       `json:"rule"`
}

// PastDecision is what later decisions are told of one.
type PastDecision struct {
	Turn   int          `json:"turn"`
	Action ThreadAction `json:"action"`
	Reason string       `json:"reason"`
	Stop   string       `json:"stop,omitempty"`
}

// Goal is what the person asked a thread for, in their own words.
func (t *Task) Goal() string {
	if t.Notes != "" {
		return t.Notes
	}
	return t.Name
}

// Counted is what of the work on a task is counted, in words for people: a thread has turns.
func (t *Task) Counted() string {
	if t.Run.Thread != nil {
		return "turn"
	}
	return "iteration"
}

// edit changes the thread of a run; a state that others hold keeps the old one.
func (r *Run) editThread(change func(*Thread)) {
	if r.Thread != nil {
		fresh := *r.Thread
		change(&fresh)
		r.Thread = &fresh
	}
}

// again is the thread of a fresh attempt: its limits hold anew.
func (t *Thread) again() *Thread {
	if t == nil {
		return nil
	}
	return &Thread{Agent: t.Agent, Limits: t.Limits}
}

// threadTurn folds the end of a turn of a thread. r is the run before the turn's own
// counters: what is progress is a commit, a changed file or a changed plan.
func (r *Run) threadTurn(f TurnEnded) {
	r.editThread(func(th *Thread) {
		planned := len(f.Summary.Plan) > 0 && !slices.Equal(f.Summary.Plan, th.Plan)
		if planned {
			th.Plan = slices.Clone(f.Summary.Plan[:min(len(f.Summary.Plan), maxThreadPlan)])
		}
		switch {
		case f.Changed || planned:
			th.Idle = 0
		case !f.Failed() && f.Stage != KindReview:
			th.Idle++
		}
		th.Changed = th.Changed || f.Changed
		if f.Stage != KindReview && !f.Failed() && f.Tail != "" {
			th.Said = f.Tail
		}
		if f.Stage != KindReview {
			th.Claimed, th.Doubted = f.Signal.Kind == SignalComplete && !f.Failed(), false
		}
		for range min(max(f.Compacts, f.Summary.Compacts), maxCompactions) {
			th.Compactions = append(slices.Clip(th.Compactions), r.Iterations+1)
		}
		th.Compactions = th.Compactions[max(0, len(th.Compactions)-maxCompactions):]
	})
	if r.Thread != nil && f.Changed { // what there is to commit now is another commit
		r.Commit, r.CommitKey, r.StepFailures = "", "", 0
	}
}

// ThreadStarted makes a task that was added a thread.
type ThreadStarted struct {
	Task   TaskID       `json:"task"`
	Limits ThreadLimits `json:"limits,omitzero"`
	Agent  string       `json:"agent,omitempty"` // configured name; "": the session's
}

// Kind implements Fact.
func (ThreadStarted) Kind() string { return "thread.started" }

// About implements Fact.
func (f ThreadStarted) About() TaskID { return f.Task }

func (f ThreadStarted) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		t.Run.Thread = &Thread{Agent: f.Agent, Limits: f.Limits}
	})
}

// ThreadWanted is a person's word to one thread: to pause, to go on, to stop.
type ThreadWanted struct {
	Task TaskID     `json:"task"`
	Want ThreadWant `json:"want,omitempty"` // "": to go on
}

// Kind implements Fact.
func (ThreadWanted) Kind() string { return "thread.wanted" }

// About implements Fact.
func (f ThreadWanted) About() TaskID { return f.Task }

func (f ThreadWanted) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) { t.Run.editThread(func(th *Thread) { th.Want = f.Want }) })
}

// ThreadParked takes its slot from a thread that a person has paused: others get it meanwhile.
type ThreadParked struct {
	Task TaskID `json:"task"`
}

// Kind implements Fact.
func (ThreadParked) Kind() string { return "thread.parked" }

// About implements Fact.
func (f ThreadParked) About() TaskID { return f.Task }

func (f ThreadParked) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) { t.Run.Worktree.Slot = 0 })
}

// ThreadContinued is a person's decision that a thread goes on past a stop condition. Past a
// budget it goes on for more.
type ThreadContinued struct {
	Task TaskID       `json:"task"`
	Past string       `json:"past"`
	More ThreadLimits `json:"more,omitzero"`
}

// Kind implements Fact.
func (ThreadContinued) Kind() string { return "thread.continued" }

// About implements Fact.
func (f ThreadContinued) About() TaskID { return f.Task }

func (f ThreadContinued) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		if r.Thread == nil || t.Status == TaskActive || t.Status == TaskDone {
			return
		}
		t.Status, t.Line = TaskPending, ""
		r.EndedAt, r.Reason, r.RanOut, r.GivenUp, r.Skip = time.Time{}, "", "", false, ""
		r.editThread(func(th *Thread) {
			th.Want, th.Decision, th.Stop = ThreadRun, nil, ""
			th.More.Tokens += f.More.Tokens
			th.More.Cost += f.More.Cost
			th.More.Time += f.More.Time
			th.More.Turns += f.More.Turns
			if f.More == (ThreadLimits{}) {
				th.Idle, th.Compactions = 0, nil
			}
		})
		if r.Last != nil && r.Last.Failed() { // dealt with: the next step is a turn
			r.Last, r.ErrorTries, r.SameError, r.ErrorKind, r.Told = nil, 0, 0, "", 0
		}
	})
}

// Advised is the outcome of Decide: what was advised on what comes next. What the rules make
// of it is Decided, in the same write.
type Advised struct {
	Task       TaskID       `json:"task"`
	Turn       int          `json:"turn"` // that it comes after
	By         string       `json:"by"`   // rules, a model, a review
	Action     ThreadAction `json:"action"`
	NextInput  string       `json:"next_input,omitempty"`
	Reason     string       `json:"reason"`
	Confidence float64      `json:"confidence"`
	// Signature names the question and its version; Input is what was known of the thread,
	// and what a model was shown.
	Signature string          `json:"signature"`
	Input     json.RawMessage `json:"input,omitzero"`
	// Record is what was asked of models and answered, where one was asked.
	Record    json.RawMessage `json:"record,omitzero"`
	Usage     Usage           `json:"usage,omitzero"` // of the models that were asked
	Took      time.Duration   `json:"took"`
	DecidedAt time.Time       `json:"now"` // that it is decided on
}

// Kind implements Fact.
func (Advised) Kind() string { return "advised" }

// About implements Fact.
func (f Advised) About() TaskID { return f.Task }

func (f Advised) fold(s *State, _ Event) {
	s.advised(f.Task, f.Usage)
	s.editTask(f.Task, func(t *Task) { t.Run.InFlight = 0 })
}

// Decided is what comes after a turn of a thread: the rules' last word on advice.
type Decided struct {
	Task     TaskID         `json:"task"`
	Decision ThreadDecision `json:"decision"`
}

// Kind implements Fact.
func (Decided) Kind() string { return "decided" }

// About implements Fact.
func (f Decided) About() TaskID { return f.Task }

func (f Decided) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		r, d := &t.Run, f.Decision
		r.editThread(func(th *Thread) {
			if th.Review != nil && d.Action == ThenContinue {
				th.Doubted = true
			}
			if th.Decision = &d; d.Action != ThenStop { // past a stop it is decided again
				th.Review = nil
			}
			switch {
			case d.Action == ThenReview:
				th.Changed = false
			case r.Last != nil && r.Last.Stage == KindReview && d.Action != ThenStop:
				th.Changed = true // not accepted: what is there has to be looked at again
			}
			past := PastDecision{Turn: d.Turn, Action: d.Action, Reason: d.Reason, Stop: d.Stop}
			th.Past = append(slices.Clip(th.Past), past)
			th.Past = slices.Clone(th.Past[max(0, len(th.Past)-maxPastDecisions):])
		})
		if d.Action == ThenContinue && r.Last != nil && r.Last.Failed() { // the next failure has retries of its own
			r.ErrorTries, r.Told = 0, 0
		}
	})
}

// Reviewed is what a review of a thread's changes came to.
type Reviewed struct {
	Task       TaskID       `json:"task"`
	Turn       int          `json:"turn"` // of the review itself
	Action     ThreadAction `json:"action"`
	NextInput  string       `json:"next_input,omitempty"` // what has to change
	Reason     string       `json:"reason"`
	Confidence float64      `json:"confidence"`
}

// Kind implements Fact.
func (Reviewed) Kind() string { return "reviewed" }

// About implements Fact.
func (f Reviewed) About() TaskID { return f.Task }

func (f Reviewed) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) { t.Run.editThread(func(th *Thread) { th.Review = &f }) })
}

// NewThread is a thread that a person asks for.
type NewThread struct {
	ID     TaskID
	Name   string // "": the first line of the prompt
	Prompt string
	Agent  string
	Limits ThreadLimits
}

// maxThreadName is how many characters of a prompt become the name of its thread.
const maxThreadName = 72

// AddThread adds a thread to the plan.
func (s *State) AddThread(n NewThread) ([]Fact, error) {
	prompt := strings.TrimSpace(n.Prompt)
	if prompt == "" {
		return nil, &Refusal{Why: "a thread needs a prompt", Hint: "say what its agent is to reach", Kind: ErrUsage}
	}
	name := strings.TrimSpace(n.Name)
	if name == "" {
		name, _, _ = strings.Cut(prompt, "\n")
		if short := []rune(name); len(short) > maxThreadName {
			name = strings.TrimSpace(string(short[:maxThreadName])) + "..."
		}
	}
	facts, err := s.AddTask(Task{ID: n.ID, Name: name, Notes: prompt})
	if err != nil {
		return nil, err
	}
	return append(facts, ThreadStarted{Task: n.ID, Limits: n.Limits, Agent: n.Agent}), nil
}

// Threads are the threads of the plan, in its order.
func (s *State) Threads() []*Task {
	var all []*Task
	for t := range s.InPlan(tally.Thread) {
		all = append(all, t)
	}
	return all
}

// OpenThreads are those that have not ended.
func (s *State) OpenThreads() []*Task {
	return slices.DeleteFunc(s.Threads(), func(t *Task) bool { return t.Status.Ended() })
}

// LeftChanges reports whether a thread ended with changes that nobody has committed: in the
// checkout they would get into the commit of whoever works there next.
func (t *Task) LeftChanges() bool {
	r := t.Run
	return r.Thread != nil && t.Status.Ended() && t.Status != TaskDone && r.Worktree.Dir == "" && r.Commit == "" && r.Began != "" && r.Tree != "" && r.Tree != r.Began
}

// findThread is a thread by its id.
func (s *State) findThread(id TaskID) (*Task, error) {
	t, err := s.findTask(id)
	if err == nil && t.Run.Thread == nil {
		err = &Refusal{Why: fmt.Sprintf("%s is a task, no thread", id), Hint: "`[[threads]]` lists the threads", Kind: ErrUsage}
	}
	return t, err
}

// WantThread is a person's word to a thread: to pause, to go on, to stop at the end of its turn.
func (s *State) WantThread(id TaskID, want ThreadWant) ([]Fact, error) {
	t, err := s.findThread(id)
	if err != nil {
		return nil, err
	}
	th := t.Run.Thread
	switch {
	case t.Status == TaskDone:
		return nil, finishedThread(id)
	case t.Status.Ended():
		return nil, &Refusal{Why: fmt.Sprintf("thread %s has ended: it is %s", id, t.Status), Hint: fmt.Sprintf("`[[thread-continue %s]]` has it go on", id), Kind: ErrUsage}
	case th.Want == want && want == ThreadRun:
		return nil, &Refusal{Why: fmt.Sprintf("thread %s is not paused", id), Kind: ErrUsage}
	case th.Want == want:
		return nil, &Refusal{Why: fmt.Sprintf("thread %s is to %s already", id, want), Kind: ErrUsage}
	case th.Want == ThreadStop:
		return nil, &Refusal{Why: fmt.Sprintf("thread %s is to stop at the end of its turn", id), Kind: ErrUsage}
	}
	if want == ThreadStop && t.Status == TaskPending { // nobody is in the middle of a turn
		return []Fact{ThreadWanted{Task: id, Want: want}, TaskEnded{ID: id, Status: TaskSkipped, Why: Why{Rule: "E-068", Text: "you stopped it", Stop: StopUser}}}, nil
	}
	return []Fact{ThreadWanted{Task: id, Want: want}}, nil
}

// finishedThread refuses what only a thread can do that has not reached its goal.
func finishedThread(id TaskID) error {
	return &Refusal{Why: fmt.Sprintf("thread %s is done", id), Hint: "begin another one for what is still wanted", Kind: ErrUsage}
}

// StoppedBy is the stop condition that ended a thread, "" for none.
func (t *Task) StoppedBy() string {
	th := t.Run.Thread
	switch {
	case th == nil || !t.Status.Ended() || t.Status == TaskDone:
		return ""
	case th.Decision != nil:
		return cmp.Or(th.Stop, th.Decision.Stop)
	}
	return th.Stop
}

// PausedHere is the thread that a person has paused in the checkout, where its work lies, nil for
// none: others work there after it.
func (s *State) PausedHere() *Task {
	for t := range s.InPlan(tally.Thread) {
		if th := t.Run.Thread; th.Want == ThreadPause && t.Status == TaskActive && t.Run.Iterations > 0 && t.Run.Worktree.Dir == "" && t.Run.TurnAt.IsZero() {
			return t
		}
	}
	return nil
}

// ContinueThread has a thread go on: one that waits after a decision to pause, or one that a
// stop condition ended, past that condition. more is how much more of a budget it gets.
func (s *State) ContinueThread(id TaskID, past string, more float64) ([]Fact, error) {
	t, err := s.findThread(id)
	if err != nil {
		return nil, err
	}
	if t.Status == TaskDone {
		return nil, finishedThread(id)
	}
	if g := s.ApprovalOf(id); g != nil && g.Kind == ApprovalQuestion && !g.InTurn && past == "" {
		return s.Answer(g.ID, "Go on.")
	}
	stop := t.StoppedBy()
	switch {
	case !t.Status.Ended() && t.Run.Thread.Want == ThreadPause:
		return []Fact{ThreadWanted{Task: id}}, nil
	case !t.Status.Ended():
		return nil, &Refusal{Why: fmt.Sprintf("thread %s has not stopped", id), Kind: ErrUsage}
	case past == "":
		past = stop
	case past != stop && stop != "":
		return nil, &Refusal{Why: fmt.Sprintf("thread %s stopped by %s, not by %s", id, stop, past), Hint: "name that, or leave --past out", Kind: ErrUsage}
	}
	f := ThreadContinued{Task: id, Past: past}
	if f.More, err = moreOf(past, more); err != nil {
		return nil, err
	}
	return []Fact{f}, nil
}

// The names of stop conditions, as receipts and screens show them.
const (
	StopUser       = "user"
	StopFailed     = "failed"
	StopTokens     = "budget.tokens"
	StopTime       = "budget.time"
	StopCost       = "budget.cost"
	StopTurns      = "budget.iterations"
	StopUnanswered = "unanswered"
	StopFinished   = "finished"
	StopRepeated   = "repeated_error"
	StopCompaction = "compaction"
	StopNoProgress = "no_progress"
)

// isBudget reports whether a stop condition is a budget that is used up: to go on past it takes an amount.
func isBudget(stop string) bool {
	return slices.Contains([]string{StopTokens, StopTime, StopCost, StopTurns}, stop)
}

// moreOf is an amount of what a stop condition limits: tokens, dollars, turns, or seconds.
func moreOf(stop string, more float64) (ThreadLimits, error) {
	var m ThreadLimits
	budget := isBudget(stop)
	switch {
	case budget && !(more > 0 && more < 1e12):
		return m, &Refusal{Why: "say by how much the thread may go past " + stop, Hint: "--past " + stop + "=5", Kind: ErrUsage}
	case !budget && more != 0:
		return m, &Refusal{Why: fmt.Sprintf("%q has no amount", stop), Hint: "--past " + stop, Kind: ErrUsage}
	}
	switch stop {
	case StopTokens:
		m.Tokens = int64(more)
	case StopTime:
		m.Time = time.Duration(more * float64(time.Second))
	case StopCost:
		m.Cost = more
	case StopTurns:
		m.Turns = max(1, int(more))
	}
	return m, nil
}
