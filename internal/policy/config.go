// Package policy owns every decision: the next step of a task, what the engine
// does next, both matrices, scores, backoff and limits. All of it is pure: it
// looks at the state and the time, and says what to do and why. It owns no
// effect, and it reads no clock.
package policy

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
)

// Config is what policy needs of the settings. It is written into
// session.started, so that replay decides with the very same values.
type Config struct {
	Revision int `json:"revision,omitempty"` // of the rules that decided; set by Encode

	Session  string `json:"session"`             // agent, autopilot, construct, plan
	Only     string `json:"only,omitempty"`      // construct, plan: the spec's file
	PlanOnly bool   `json:"plan_only,omitempty"` // plan, --dry-run
	Commit   bool   `json:"commit,omitempty"`    // one commit per spec (agent mode)
	Checks   bool   `json:"checks,omitempty"`    // there are check commands
	// Commands are these, in order. Baseline says what becomes of those that were red before
	// the work: strict, also "", or known.
	Commands []string `json:"commands,omitempty"`
	Baseline string   `json:"baseline,omitempty"`
	// CheckNames are these commands, for people: nothing is decided by them.
	CheckNames []string `json:"check_names,omitempty"`
	Parallel   int      `json:"parallel"` // slots

	// With worktrees.
	Isolated        bool   `json:"isolated,omitempty"`
	MaxConsecutive  int    `json:"max_consecutive,omitempty"`  // failed tasks in a row that pause; 0: none do
	Batch           int    `json:"batch,omitempty"`            // tasks merged and checked together; 0 is 1
	ConflictRetries int    `json:"conflict_retries,omitempty"` // tries of an agent to resolve a merge
	Resolver        string `json:"resolver,omitempty"`         // agent, human
	AskToMerge      bool   `json:"ask_to_merge,omitempty"`     // merge.auto: false

	Agents         []string `json:"agents"` // primary, then the fallback chain
	RecoverPrimary bool     `json:"recover_primary,omitempty"`
	Continue       bool     `json:"continue,omitempty"` // context: continue

	MaxIterations   int           `json:"max_iterations"`
	StuckThreshold  int           `json:"stuck_threshold,omitempty"`
	NoProgressTurns int           `json:"no_progress_turns,omitempty"`
	OnlyCommits     bool          `json:"only_commits,omitempty"` // task.progress: commit; a changed tree is none
	SameErrorTurns  int           `json:"same_error_turns,omitempty"`
	TaskTimeout     time.Duration `json:"task_timeout,omitempty"`
	StageTimeout    time.Duration `json:"stage_timeout,omitempty"`
	MaxRounds       int           `json:"max_rounds"`
	TaskDelay       time.Duration `json:"task_delay,omitempty"`
	AutoCommit      bool          `json:"auto_commit,omitempty"`

	Strategy        string            `json:"strategy"` // retry, skip, abort
	MaxRetries      int               `json:"max_retries"`
	RetryBase       time.Duration     `json:"retry_base"`
	MaxLimitRetries int               `json:"max_limit_retries"`
	LimitBase       time.Duration     `json:"limit_base"`
	Patience        time.Duration     `json:"rate_limit_patience,omitempty"` // of an agent that tries again by itself; 0: none
	NetworkRetry    time.Duration     `json:"network_retry,omitempty"`       // between two tries of an agent without a connection; 0: a minute
	Logins          map[string]string `json:"logins,omitempty"`              // by agent: the command that logs in
	InputTimeout    time.Duration     `json:"input_timeout,omitempty"`       // 0: a question waits without limit
	LimitWait       string            `json:"limit_wait,omitempty"`          // auto, ask, off: what happens when every agent is at its limit
	CountTimeouts   bool              `json:"count_timeouts,omitempty"`      // timeouts count into MaxConsecutive

	ApproveStart bool `json:"approve_start,omitempty"` // the start waits for a person

	// What an agent asks in the middle of a turn.
	Approvals   string        `json:"approvals,omitempty"`    // auto (with Sandbox), ask, policy, never
	Sandbox     string        `json:"sandbox,omitempty"`      // the kind that agents run in, "" for none
	Write       []string      `json:"write,omitempty"`        // what it lets them write beside their work tree, absolute
	Unattended  bool          `json:"unattended,omitempty"`   // nobody will come: what waits for a person expires at once
	Allow       []string      `json:"allow,omitempty"`        // policy: commands, tools and folders that need nobody
	Patterns    []string      `json:"patterns,omitempty"`     // operations that wait for a person; the never list is none of the settings
	PreApproved []string      `json:"pre_approved,omitempty"` // what the patterns do not hold all the same
	GateTimeout time.Duration `json:"gate_timeout,omitempty"` // of an approval; 0: it waits without limit
	OnTimeout   string        `json:"on_timeout,omitempty"`   // skip, stop: what an expired gate does
	GateScope   string        `json:"gate_scope,omitempty"`   // agent, session: who waits while a gate is open

	// The test gate, and the checks of a task's own diff.
	Coverage    float64    `json:"coverage,omitempty"`     // percent that tests must reach; 0: any
	CoverageSet bool       `json:"coverage_set,omitempty"` // by a person; else it is enough not to lower it
	TestRetries int        `json:"test_retries,omitempty"` // red runs of the tests after the first
	TestRetry   string     `json:"test_retry,omitempty"`   // agent, rerun
	Diff        DiffChecks `json:"diff,omitzero"`

	// Threads: when they commit in the checkout (end, also "", turn, never), and whether their
	// changes are reviewed before they stop (off: no).
	ThreadCommit string `json:"thread_commit,omitempty"`
	ThreadReview string `json:"thread_review,omitempty"`
	// What decides on threads: the confidence of advice that is followed, the rest after a turn
	// that changed nothing, and compactions in five turns before a stop (0: any).
	MinConfidence  float64       `json:"min_confidence,omitempty"`
	Guidance       bool          `json:"guidance,omitempty"` // the first message of threads goes through guidance
	Cooldown       time.Duration `json:"cooldown,omitempty"`
	MaxCompactions int           `json:"max_compactions,omitempty"`

	// Shares of an agent's context window; 0 is never.
	ContextWarn    float64 `json:"context_warn,omitempty"`
	ContextCompact float64 `json:"context_compact,omitempty"`
	ContextKill    float64 `json:"context_kill,omitempty"`

	OnFailure   string  `json:"on_failure,omitempty"` // stash, reset, keep
	Watch       bool    `json:"watch,omitempty"`      // an empty inbox ends nothing: issues may come
	MaxSpecs    int     `json:"max_specs,omitempty"`  // 0: no limit
	MaxCost     float64 `json:"max_cost,omitempty"`   // dollars, 0: no limit
	MaxFailures int     `json:"max_failures,omitempty"`

	Budget     Budget  `json:"budget,omitzero"`      // of the session
	SpecBudget Budget  `json:"spec_budget,omitzero"` // of each spec; in autopilot of the plan
	TaskBudget Budget  `json:"task_budget,omitzero"` // of each task
	Scoring    Scoring `json:"scoring"`
}

// onPlan reports whether the session works on the plan that is there, as ralph.Session.OnPlan.
func (c Config) onPlan() bool { return ralph.Session{Mode: c.Session}.OnPlan() }

// Approval is what of it requests are answered by.
func (c Config) Approval() approval.Settings {
	return approval.Settings{
		Approvals: c.Approvals, Sandbox: c.Sandbox, Write: c.Write, Allow: c.Allow, Patterns: c.Patterns, PreApproved: c.PreApproved, Commands: c.Commands,
	}
}

// Budget limits one session, spec or task; zero is no limit. Cost is in dollars.
type Budget struct {
	Tokens     int64         `json:"tokens,omitempty"`
	Cost       float64       `json:"cost,omitempty"`
	Time       time.Duration `json:"time,omitempty"`
	Iterations int           `json:"iterations,omitempty"`
}

// Scoring weighs ready tasks.
type Scoring struct {
	Unblocks     int `json:"unblocks"`
	Critical     int `json:"critical"`
	QuickWin     int `json:"quick_win"`
	NearComplete int `json:"near_complete"`
	Retry        int `json:"retry"`
}

// Revision numbers the rules of this package. It rises when a rule changes, so that
// a history decided by older rules is told from one that was tampered with.
const Revision = 8

// StrictRules is the first revision that compares how checks are red, and not which.
const StrictRules = 6

// Encode returns c for session.started, with the revision of the rules.
func (c Config) Encode() (json.RawMessage, error) {
	c.Revision = Revision
	return json.Marshal(c)
}

// Decode reads what Encode wrote.
func Decode(b json.RawMessage) (Config, error) {
	var c Config
	if err := json.Unmarshal(b, &c); err != nil {
		return Config{}, fmt.Errorf("read the settings recorded in session.started: %w", err)
	}
	return c, nil
}
