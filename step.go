package ralph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// RuleStuck marks the note that is the stuck warning (B-017).
const RuleStuck = "B-017"

// receiptJSON is StepStarted with its step named.
type receiptJSON struct {
	Task       TaskID          `json:"task"`
	Step       json.RawMessage `json:"step"`
	Why        Why             `json:"why"`
	BasedOnSeq int64           `json:"saw"`
	DecidedAt  time.Time       `json:"now"`
}

// MarshalJSON writes the receipt with its step's name.
func (f StepStarted) MarshalJSON() ([]byte, error) {
	step, err := marshalStep(f.Step)
	if err != nil {
		return nil, err
	}
	return json.Marshal(receiptJSON{f.Task, step, f.Why, f.BasedOnSeq, f.DecidedAt})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *StepStarted) UnmarshalJSON(b []byte) error {
	var j receiptJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	step, err := unmarshalStep(j.Step)
	if err != nil {
		return err
	}
	*f = StepStarted{Task: j.Task, Step: step, Why: j.Why, BasedOnSeq: j.BasedOnSeq, DecidedAt: j.DecidedAt}
	return nil
}

// SameStep reports whether two steps are equal, field by field.
func SameStep(a, b Step) bool {
	x, errX := marshalStep(a)
	y, errY := marshalStep(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// Why is the reason of a decision: the rule it follows and words for people.
type Why struct {
	Rule string `json:"rule,omitempty"` // a requirement ID
	Text string `json:"text,omitempty"`
	Stop string `json:"stop,omitempty"` // the stop condition that was hit, such as budget.cost
}

// StepStarted is the receipt of a decision: the step, why, and exactly which
// state and time it was decided on. It is written before the step's effect.
type StepStarted struct {
	Task       TaskID    `json:"task"`
	Step       Step      `json:"-"`
	Why        Why       `json:"why"`
	BasedOnSeq int64     `json:"saw"` // seq of the last fact the decision saw
	DecidedAt  time.Time `json:"now"`
}

// Kind implements Fact.
func (StepStarted) Kind() string { return "step.started" }

// About implements Fact.
func (f StepStarted) About() TaskID { return f.Task }

func (f StepStarted) fold(s *State, e Event) {
	s.StepAt, s.Stalled = e.At, nil
	s.turnsOver(f.Task)
	s.Totals.Receipts++
	s.decided(e, f)
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight, t.Run.Doing, t.Run.PendingReplies = e.Seq, f.Step.StepName(), nil
		if _, ok := f.Step.(Commit); ok && t.Run.CommitKey == "" {
			t.Run.CommitKey = e.Hash
		}
		if turn, ok := f.Step.(Turn); ok {
			t.Run.Agent, t.Run.TurnAt, t.Run.Reserved = turn.Agent, f.DecidedAt, turn.Reserve
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
}

// Noted is something to show to people: a stuck warning, a new agent.
type Noted struct {
	Task TaskID `json:"task,omitempty"`
	Text string `json:"text"`
	Rule string `json:"rule,omitempty"`
}

// Kind implements Fact.
func (Noted) Kind() string { return "noted" }

// About implements Fact.
func (f Noted) About() TaskID { return f.Task }

func (f Noted) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		if f.Rule == RuleStuck {
			t.Run.Warned = true
		}
	})
}

// Step is one thing to do for a task. The set is closed: MarshalStep and
// UnmarshalStep know every one.
type Step interface{ StepName() string }

// Prepare looks at the place of work before the first turn of a job: the spec
// is there, HEAD and tree are what the job starts from. With worktrees it makes
// the pool of them (job) or the task's own ready (task).
type Prepare struct{}

// Turn is one agent turn.
type Turn struct {
	Stage     TaskKind `json:"stage"`
	Agent     string   `json:"agent"`     // configured name
	Iteration int      `json:"iteration"` // from 1
	Resume    string   `json:"resume,omitempty"`
	// Feedback goes into the prompt: red checks, the mismatch of an answer, a
	// rejection, a person's answer. The prompt also reads Task.Run.
	Feedback string        `json:"feedback,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	// Reserve is what the turn is expected to use of the budgets: it counts as used until
	// the turn has ended. MaxCost is what it may cost at most, 0 without a limit.
	Reserve Usage   `json:"reserve,omitzero"`
	MaxCost float64 `json:"max_cost,omitempty"`
}

// Compact makes the agent's session shorter: by the agent itself where its driver
// can, else the next turn begins a new one with a summary. Without a
// Session there is only the summary.
type Compact struct {
	Agent   string     `json:"agent"`
	Session string     `json:"session"`
	Use     ContextUse `json:"use"`
	// From is the task that worked in the session when another one takes it over, as
	// the first task of a phase does; "" is the task itself.
	From    TaskID  `json:"from,omitempty"`
	MaxCost float64 `json:"max_cost,omitempty"` // dollars that it may cost; 0: no limit
}

// Emit writes a fact that people and other tasks need before the task goes on: a
// retry that waits, another agent. It needs no executor and leaves no receipt.
type Emit struct {
	Fact Fact `json:"-"`
}

// Decide asks what comes after the turn of a thread: the rules, and where they would go on a
// model, if one is set. It changes nothing.
type Decide struct{}

// Check runs the quality commands and the test command on the tree of the last
// turn; for a merge, on the merged tree. What is red in the way of Before or of Let
// neither stops the others nor counts. Covered is the coverage before the work, 0 when
// none is known: to keep it is enough.
type Check struct {
	Known   []string   `json:"known,omitempty"`  // in older journals: commands that were red before, by name alone
	Before  []RedCheck `json:"before,omitempty"` // red before the work, where quality.baseline is known
	Let     []RedCheck `json:"let,omitempty"`    // let pass for what is merged, by a person or a rule
	Covered float64    `json:"covered,omitempty"`
}

// Baseline runs all check commands on the commit that the work began at, so that it is
// known what was red before it. In the checkout that is only so while it is clean.
type Baseline struct {
	Commit string `json:"commit"`
}

// Merge merges the members' branches into the integration branch, as a commit
// beside every checkout. Without checks, or when the result is a tree whose
// checks passed already, the branch moves to it at once.
type Merge struct {
	Members []TaskID `json:"members"`
	Into    string   `json:"into"`            // the tip that the decision saw
	Green   []string `json:"green,omitempty"` // trees whose checks passed
	Free    bool     `json:"free,omitempty"`  // there is nothing to check
	Tips    bool     `json:"tips,omitempty"`  // a person may have worked on the branches: merge what they hold now
}

// Advance moves the integration branch to the merge that passed its checks.
type Advance struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Land brings the base branch, and a clean checkout of it, up to the integration
// branch (fast-forward, never half).
type Land struct{}

// Publish pushes the branch of a spec to its remote, and keeps the text of its pull request.
// What others have pushed there is merged, never overwritten.
type Publish struct {
	Branch string `json:"branch"`
	Remote string `json:"remote"`
	Commit string `json:"commit"` // what the branch has at least
	// Of is the task whose branch it is, "" for that of a spec: the branch is brought to Commit first.
	Of TaskID `json:"of,omitempty"`
	// Later: only the text is kept. The remote could not be reached just now, and is not waited for again.
	Later bool `json:"later,omitempty"`
}

// Commit commits the job's changes, or one task's with Task set.
type Commit struct {
	OnlyTask bool `json:"only_task,omitempty"` // task.auto_commit: the task's own commit
	Here     bool `json:"here,omitempty"`      // on the branch that is checked out now: a person said so
}

// Shelve puts the uncommitted changes of a failed job away (D-072).
type Shelve struct {
	How string `json:"how"` // stash, reset, keep
}

// Ask puts a question to a person; the task goes on when it is answered.
type Ask struct {
	Kind   string `json:"kind"` // question, merge, start, step, test
	Text   string `json:"text"`
	About  TaskID `json:"about,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Red is how the checks are red that a person may let pass for good (--always).
	Red []RedCheck `json:"red,omitempty"`
}

// Wait lets time pass until the given instant or until the state moves; a zero
// Until means only the latter. It needs no executor and leaves no receipt.
type Wait struct {
	Until time.Time `json:"until,omitzero"`
}

// Finish ends the task with an outcome. It needs no executor.
type Finish struct {
	Status TaskStatus `json:"status"`          // TaskPending releases it
	Retry  bool       `json:"retry,omitempty"` // a release that counts into retry_count
}

// Done says that the task needs nothing more from this engine.
type Done struct{}

func (Prepare) StepName() string { return "prepare" }

func (Turn) StepName() string { return "turn" }

func (Compact) StepName() string { return "compact" }

func (Emit) StepName() string { return "tell" }

func (Check) StepName() string { return "check" }

func (Decide) StepName() string { return "decide" }

func (Baseline) StepName() string { return "baseline" }

func (Merge) StepName() string { return "merge" }

func (Advance) StepName() string { return "advance" }

func (Land) StepName() string { return "land" }

func (Publish) StepName() string { return "publish" }

func (Commit) StepName() string { return "commit" }

func (Shelve) StepName() string { return "shelve" }

func (Ask) StepName() string { return "ask" }

func (Wait) StepName() string { return "wait" }

func (Finish) StepName() string { return "finish" }

func (Done) StepName() string { return "done" }

// stepJSON is a step in the journal: its name beside its fields.
type stepJSON struct {
	Name string          `json:"step"`
	Args json.RawMessage `json:"args,omitempty"`
}

func marshalStep(s Step) ([]byte, error) {
	args, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stepJSON{s.StepName(), args})
}

func unmarshalStep(b []byte) (Step, error) {
	var j stepJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, err
	}
	var s Step
	var err error
	switch j.Name {
	case "prepare":
		s, err = decodeStep[Prepare](j.Args)
	case "turn":
		s, err = decodeStep[Turn](j.Args)
	case "compact":
		s, err = decodeStep[Compact](j.Args)
	case "check":
		s, err = decodeStep[Check](j.Args)
	case "land":
		s, err = decodeStep[Land](j.Args)
	case "decide":
		s, err = decodeStep[Decide](j.Args)
	case "guide":
		s, err = decodeStep[Guide](j.Args)
	case "baseline":
		s, err = decodeStep[Baseline](j.Args)
	case "merge":
		s, err = decodeStep[Merge](j.Args)
	case "advance":
		s, err = decodeStep[Advance](j.Args)
	case "publish":
		s, err = decodeStep[Publish](j.Args)
	case "commit":
		s, err = decodeStep[Commit](j.Args)
	case "shelve":
		s, err = decodeStep[Shelve](j.Args)
	case "ask":
		s, err = decodeStep[Ask](j.Args)
	case "wait":
		s, err = decodeStep[Wait](j.Args)
	case "finish":
		s, err = decodeStep[Finish](j.Args)
	case "done":
		s, err = decodeStep[Done](j.Args)
	default:
		return nil, fmt.Errorf("unknown step %q", j.Name)
	}
	return s, err
}

func decodeStep[S Step](args json.RawMessage) (Step, error) {
	var s S
	if len(args) > 0 {
		if err := json.Unmarshal(args, &s); err != nil {
			return nil, err
		}
	}
	return s, nil
}
