package ralph

import (
	"time"
)

// again is the run of a fresh attempt: its counters begin anew, what it
// has learnt and made stays (B-076).
func (r Run) again() Run {
	fresh := Run{
		Approvals: Approvals{Rejects: r.Rejects, Answers: r.Answers, Words: r.Words},
		Checking:  Checking{Red: r.Red}, Committing: Committing{Stash: r.Stash}, Worktree: r.Worktree, Thread: r.Thread.again(),
	}
	fresh.Worktree.Slot, fresh.Worktree.Ready, fresh.Worktree.Fails = 0, false, 0
	if r.Queue.State == MergeMerged {
		fresh.Worktree = Worktree{Dir: fresh.Worktree.Dir} // its branch is history: begin a new one
	}
	return fresh
}

// The parts of Run, in attempt.go by noun; where its work lies and how it is merged are Worktree
// and Queue. In JSON they are one: their fields are those of Run.

// Attempt is how far a task's attempt is, and how it ended.
type Attempt struct {
	InFlight  int64     `json:"in_flight,omitempty"` // seq of the receipt whose step has no outcome yet
	Doing     string    `json:"doing,omitempty"`     // the name of that step, or of the last one
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Reason    string    `json:"reason,omitempty"`     // why the task ended, for people
	GivenUp   bool      `json:"given_up,omitempty"`   // errors.strategy skipped it: it is not done, and nobody said that it need not be
	RanOut    RanOut    `json:"ran_out,omitempty"`    // of what, when it ended as timeout
	Counted   Counted   `json:"counted,omitzero"`     // in the totals
	StepError string    `json:"step_error,omitempty"` // why the last prepare, commit, shelve, merge or landing did not work
	Told      int       `json:"told,omitempty"`       // the retry that Retrying has told of
	RetryAt   time.Time `json:"retry_at,omitzero"`    // and when it comes
}

// Turns are the agent turns of an attempt.
type Turns struct {
	Iterations int           `json:"iterations,omitempty"` // agent turns that ended
	Errored    int           `json:"errored,omitempty"`    // of these, cut by an error or a limit: they use up none of max_iterations
	Spent      time.Duration `json:"spent,omitempty"`      // time in steps; waits do not count
	Usage      Usage         `json:"usage,omitzero"`
	Last       *TurnEnded    `json:"last,omitempty"`    // the latest turn
	LastAt     time.Time     `json:"last_at,omitzero"`  // when the last turn ended: backoff counts from here
	Agent      string        `json:"agent,omitempty"`   // the agent that the task is on
	Session    string        `json:"session,omitempty"` // the agent's own session, to resume
	// Signalled is what the agent has signalled in the turn under way by a command or a
	// tool, the newest; the end of the turn takes it.
	Signalled Signal     `json:"signalled,omitzero"`
	TurnAt    time.Time  `json:"turn_at,omitzero"`    // when the turn under way began
	Reserved  Usage      `json:"reserved,omitzero"`   // what the turn under way may use
	Context   ContextUse `json:"context,omitzero"`    // of the agent's session
	Shortened int        `json:"shortened,omitempty"` // the iteration after which it was compacted
	Handover  string     `json:"handover,omitempty"`  // what the next session of the agent is told
	Alerts    []string   `json:"alerts,omitempty"`    // warnings that are out: each is said once
	Tree      string     `json:"tree,omitempty"`      // tree hash at the end of the last turn
	Unchanged int        `json:"unchanged,omitempty"` // turns since the last progress
	Warned    bool       `json:"warned,omitempty"`    // the stuck warning is out (B-017)
	Progress  int        `json:"progress,omitempty"`  // percent, from PROGRESS signals
	Note      string     `json:"note,omitempty"`
}

// Failures are what went wrong in its turns, in a row: what retries and limits go by.
type Failures struct {
	ErrorTries int    `json:"error_tries,omitempty"`
	LimitHits  []Hits `json:"limit_hits,omitempty"` // of each agent in a row; a good turn of the agent ends them
	SameError  int    `json:"same_error,omitempty"` // errors in a row of the same kind, their retries and limits left out, with no change between them
	ErrorKind  string `json:"error_kind,omitempty"` // which kind that is
	ErrorSaid  string `json:"error_said,omitempty"` // the words of the newest error
	SaidTimes  int    `json:"said_times,omitempty"` // how often in a row: people read it once, with the number
	Mismatches int    `json:"mismatches,omitempty"` // structured answers in a row that were not accepted
}

// Checking is what checks said of its work.
type Checking struct {
	Checks *ChecksRan `json:"checks,omitempty"` // the checks of the latest turn, nil before they ran
	Red    *ChecksRan `json:"red,omitempty"`    // the last red checks, for the next prompt
	// TestReds counts the red runs of the test gate since the last green one or a
	// person's word.
	TestReds int `json:"test_reds,omitempty"`
	// Hangs counts in a row the runs of checks that were over their time: a second one is
	// for a person.
	Hangs int `json:"hangs,omitempty"`
	// Waived is the tree whose red or doubtful checks a person has let pass, by check.
	Waived *Waiver `json:"waived,omitempty"`
	// Began is the tree at the task's first turn in the checkout: its own diff begins there.
	// BeganAt is the commit then.
	Began   string `json:"began,omitempty"`
	BeganAt string `json:"began_at,omitempty"`
	// RedTold: the agent of the newest turn was told that all that is red was red in the
	// same way before its work.
	RedTold bool `json:"red_told,omitempty"`
	// Clean: as in Prepared. Baselined: the checks ran before the work, or could not.
	Clean     bool `json:"clean,omitempty"`
	Baselined bool `json:"baselined,omitempty"`
	// Empty counts in a row how often the task was said to be complete with an empty diff,
	// and its agent told that this is not enough.
	Empty int `json:"empty,omitempty"`
}

// Approvals are what people and VERIFY said of it.
type Approvals struct {
	Rejects             []string   `json:"rejects,omitempty"`  // reasons of VERIFY or a person, oldest first
	Answers             []QA       `json:"answers,omitempty"`  // questions of the agent with people's answers
	Words               []string   `json:"words,omitempty"`    // what people said to its agent, unasked
	PendingReplies      []Answered `json:"replies,omitempty"`  // to what is asked in the turn under way
	AnsweredAtIteration int        `json:"answered,omitempty"` // the iteration whose question has been answered
	Accepted            bool       `json:"accepted,omitempty"` // by VERIFY or a person
	Approved            bool       `json:"approved,omitempty"` // mode step: a person said yes
	Skip                string     `json:"skip,omitempty"`     // a person wants it left out at the end of this iteration
	Assigned            bool       `json:"assigned,omitempty"` // a person chose it to be next (B-091)
}

// Committing is its way into a commit, or into a stash.
type Committing struct {
	StepFailures int    `json:"commits,omitempty"`    // commit attempts that failed
	CommitKey    string `json:"commit_key,omitempty"` // receipt of the first commit attempt: the trailer that proves it
	Hook         string `json:"hook,omitempty"`       // what a hook said that refused the newest attempt
	Rewritten    bool   `json:"rewritten,omitempty"`  // it refused nothing, and changed what was committed
	Commit       string `json:"commit,omitempty"`     // the commit made
	Away         string `json:"away,omitempty"`       // why it is not made where the work began, as in Committed
	Lost         string `json:"lost,omitempty"`       // the commit of an agent that is not there, as in Committed
	AwayTries    int    `json:"away_tries,omitempty"` // how often that was so
	Here         bool   `json:"here,omitempty"`       // a person said: commit on what is checked out
	Refused      string `json:"refused,omitempty"`    // a person said: no commit
	Stash        string `json:"stash,omitempty"`      // the stash made, by commit id
	Shelved      bool   `json:"shelved,omitempty"`
	Published    bool   `json:"published,omitempty"` // it was tried to push the branch of the spec
	WentOut      string `json:"went_out,omitempty"`  // the commit that goes out on a branch of the task's own
}

// RanOut is what a task that timed out had used up.
type RanOut string

// What a task can run out of.
const (
	OutOfIterations RanOut = "iterations" // task.max_iterations
	OutOfTime       RanOut = "time"       // task.timeout
	OutOfBudget     RanOut = "budget"     // budget.task
	OutOfContext    RanOut = "context"    // the agent's window
)

// Waiver is a person's word that checks which are not green shall not hold a task up, on
// exactly the tree that the person saw.
type Waiver struct {
	Tree   string     `json:"tree"`
	Checks []string   `json:"checks"`
	Gate   ApprovalID `json:"gate,omitempty"`
	// Reds is how the commands among them were red: exactly that may pass.
	Reds []RedCheck `json:"reds,omitempty"`
	Rule RuleID     `json:"rule,omitempty"` // the rule that said so, made of a person's answer
	// Findings are what the person saw of the diff: nobody is asked for them again.
	Findings []Finding `json:"findings,omitempty"`
}

// Hits counts how often a task has met an agent's limit in a row.
type Hits struct {
	Agent string `json:"agent"`
	Count int    `json:"count"`
}

// QA is a question an agent asked with NEEDS_HUMAN and the answer it got.
type QA struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}
