package ralph

import "time"

// The facts of control and resilience: modes, backoffs, limits of agents,
// budgets, the context window, and what people hooked into the loop.

// Autonomy is how much the engine does by itself: the config key `mode` (product.md 6).
type Autonomy string

// The modes of document A and B.
const (
	Manual    Autonomy = "manual"    // at full speed, ends at the first error; no pause, no retry, no other agent
	Stepwise  Autonomy = "step"      // each task waits for a person's approval, else like manual
	Semi      Autonomy = "semi"      // a person assigns the tasks
	Autopilot Autonomy = "autopilot" // on its own
)

// Autonomies are the modes that a person can choose.
func Autonomies() []Autonomy { return []Autonomy{Manual, Stepwise, Semi, Autopilot} }

// EndsAtError reports whether the first error ends the run.
func (a Autonomy) EndsAtError() bool { return a == Manual || a == Stepwise }

// PauseKind is what a pause comes from: `ralph status` names it, and each has its
// own sound.
type PauseKind string

// The kinds of pauses. Gates are no pauses of the engine: only their task waits.
const (
	PausePerson   PauseKind = "person"
	PauseFailures PauseKind = "failures" // too many tasks in a row failed (B-062)
	PauseLimits   PauseKind = "limits"   // every agent is at its limit
)

// ModeSet switches the mode while the engine runs (B-092, TOGGLE_AUTOPILOT).
type ModeSet struct {
	Semi bool     `json:"semi,omitempty"` // as it was written before there were more than two
	Mode Autonomy `json:"mode,omitempty"`
}

// Autonomy is the mode that the fact means, written now or before.
func (f ModeSet) Autonomy() Autonomy { return orSemi(f.Mode, f.Semi) }

// Autonomy is the mode that the session starts in, written now or before.
func (f SessionStarted) Autonomy() Autonomy { return orSemi(f.Auto, f.Semi) }

func orSemi(mode Autonomy, semi bool) Autonomy {
	switch {
	case mode != "":
		return mode
	case semi:
		return Semi
	}
	return Autopilot
}

// Retrying says that a turn ended in an error and another one follows after a
// wait. Attempt is which retry it is, from 1.
type Retrying struct {
	Task      TaskID    `json:"task"`
	Agent     string    `json:"agent"`
	Attempt   int       `json:"attempt"`
	Of        int       `json:"of"`
	BackoffMS int64     `json:"backoff_ms"`
	Until     time.Time `json:"until"`
	Error     string    `json:"error"`
}

// AgentLimited says that an agent cannot be used until a time. All tasks and
// slots heed it (product.md 14).
type AgentLimited struct {
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
	Since time.Time `json:"since,omitzero"` // by the clock that Until is of; a fact's own time never goes back
	Task  TaskID    `json:"task,omitempty"` // whose turn met the limit
	Try   int       `json:"try,omitempty"`  // which hit in a row of this agent and task
	// BackoffMS is the wait before the same agent is asked again; 0 on the hit after
	// which the task turns to another agent.
	BackoffMS int64 `json:"backoff_ms"`
	// Hard: waiting a little does not help, so other tasks turn to another agent at once.
	Hard    bool   `json:"hard,omitempty"`
	Message string `json:"message,omitempty"`
	// Class is authentication or connection where it is no limit that keeps the agent from
	// work. Without a login Until is never: only a person ends that (Away).
	Class ErrorClass `json:"class,omitempty"`
	Login string     `json:"login,omitempty"` // authentication: the command that logs in
	Again bool       `json:"again,omitempty"` // it was so at the last try too
}

// AgentRetries says that an agent tries again by itself in the middle of a turn, since it
// cannot be used now. Told once for as long as that lasts.
type AgentRetries struct {
	Task    TaskID     `json:"task"`
	Agent   string     `json:"agent"`
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"`
}

// AgentSwitched says that a task, and those that start after it, turn to another
// agent.
type AgentSwitched struct {
	Task   TaskID `json:"task"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"` // SwitchLimit, SwitchLogin, SwitchNetwork, SwitchBack
}

// Why the agent is another one.
const (
	SwitchLimit   = "rate-limit"
	SwitchLogin   = "not-logged-in"
	SwitchNetwork = "no-connection"
	SwitchBack    = "recovered" // the primary may be used again
)

// AllLimited says that no agent can be used before Until; the engine pauses.
type AllLimited struct {
	Task   TaskID    `json:"task,omitempty"` // whose turn met the last of the limits
	Agents []string  `json:"agents"`
	Until  time.Time `json:"until"`           // zero: not before a person has logged in
	Again  bool      `json:"again,omitempty"` // nothing has changed since the last pause but the time
}

// BudgetWarned says that most of a budget is used up; said once each.
type BudgetWarned struct {
	Scope string `json:"scope"`          // session, spec, task
	Task  TaskID `json:"task,omitempty"` // scope task
	What  string `json:"what"`           // tokens, cost, time, iterations
	Text  string `json:"text"`
}

// ContextWarned says that an agent's window is rather full; said once a session of the agent.
type ContextWarned struct {
	Task  TaskID     `json:"task"`
	Agent string     `json:"agent"`
	Use   ContextUse `json:"use"`
}

// ContextUse is how much of its context window an agent's session fills, in tokens.
type ContextUse struct {
	Used   int64 `json:"used"`
	Window int64 `json:"window"`
}

// Part is the filled part of the window, from 0 to 1; 0 when the window is not known.
func (u ContextUse) Part() float64 {
	if u.Window <= 0 {
		return 0
	}
	return float64(u.Used) / float64(u.Window)
}

// Compacted is the outcome of Compact: the agent has made its session shorter, or
// its session is left and the next one begins with a summary.
type Compacted struct {
	Task    TaskID        `json:"task"`
	Agent   string        `json:"agent"`
	How     string        `json:"how"` // CompactAgent, CompactHandover
	Before  ContextUse    `json:"before"`
	After   ContextUse    `json:"after,omitzero"` // zero: not known, or a new session
	Session string        `json:"session,omitempty"`
	Summary string        `json:"summary,omitempty"` // handover: what the next session is told
	Usage   Usage         `json:"usage,omitzero"`
	Error   string        `json:"error,omitempty"` // why the agent could not, so that it became a handover
	Took    time.Duration `json:"took"`
}

// How a session was made shorter.
const (
	CompactAgent    = "agent"
	CompactHandover = "handover"
)

// HookRan is what a person's executable in ralph/hooks did at an event. Stop: it
// was a pre- hook and said by exit code 2 that the loop shall end.
type HookRan struct {
	Hook   string        `json:"hook"`          // file name below ralph/hooks
	Seq    int64         `json:"for,omitempty"` // of the fact it was told of; 0 for a pre- hook
	Task   TaskID        `json:"task,omitempty"`
	Exit   int           `json:"exit"`
	Error  string        `json:"error,omitempty"`  // did not start, timed out, ended by exit code N
	Output string        `json:"output,omitempty"` // the end of what it printed
	Stop   bool          `json:"stop,omitempty"`
	Took   time.Duration `json:"took"`
}

// NoticeFailed says that a notice could not be brought to a person. Those that
// arrive leave no fact.
type NoticeFailed struct {
	Sink  string `json:"sink"` // desktop, sound, or a webhook's service and host
	Error string `json:"error"`
}

// RequestAnswered is the record of an answer that policy gave by itself (E-078).
type RequestAnswered struct {
	Task    TaskID  `json:"task"`
	Agent   string  `json:"agent"`
	Request Request `json:"request"`
	Verdict Verdict `json:"verdict,omitempty"` // "": a question, answered by Text
	Rule    string  `json:"rule"`              // which rule: a setting's key, with the pattern or path that decided, or `rule <id>`
	Text    string  `json:"text,omitempty"`    // the answer, or why not
	By      RuleID  `json:"by,omitempty"`      // of OpCheck: the rule that a person made
}

// The names of these facts, "t" in the file.
func (ModeSet) Kind() string         { return "mode.set" }
func (Retrying) Kind() string        { return "retrying" }
func (AgentLimited) Kind() string    { return "agent.limited" }
func (AgentRetries) Kind() string    { return "agent.retries" }
func (AgentSwitched) Kind() string   { return "agent.switched" }
func (AllLimited) Kind() string      { return "agents.limited" }
func (BudgetWarned) Kind() string    { return "budget.warned" }
func (ContextWarned) Kind() string   { return "context.warned" }
func (Compacted) Kind() string       { return "compacted" }
func (HookRan) Kind() string         { return "hook.ran" }
func (NoticeFailed) Kind() string    { return "notice.failed" }
func (RequestAnswered) Kind() string { return "request.answered" }

// CheckoutFound is a look at the checkout that showed what no agent did: commits, another
// branch, changed files. It is written before the next turn or the commit begins.
type CheckoutFound struct {
	Task    TaskID        `json:"task,omitempty"`
	Head    string        `json:"head"`
	Branch  string        `json:"branch,omitempty"`
	Tree    string        `json:"tree"`
	From    string        `json:"from,omitempty"`    // the branch before, when it is another now
	Commits []OtherCommit `json:"commits,omitempty"` // new on the branch, newest first, at most 20
	More    int           `json:"more,omitempty"`    // and so many
	Gone    bool          `json:"gone,omitempty"`    // the commit before is not in the history any more
	Left    []LeftFile    `json:"left,omitempty"`    // all that are to be left alone, now
	Files   []string      `json:"files,omitempty"`   // of them, those that are new or changed
	Mixed   []string      `json:"mixed,omitempty"`   // changed since a step was cut: taken for the agent's
	// Settings are settings that others have changed, as they are now (S2).
	Settings []LeftFile `json:"settings,omitempty"`
}

// Kind implements Fact.
func (CheckoutFound) Kind() string { return "checkout.found" }
