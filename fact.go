package ralph

import (
	"encoding/json"
	"time"
)

// Fact is one thing that happened. The set is closed: newFact knows every one,
// and docs/facts.md lists them. Facts never change once they are written, so a
// field is only ever added.
type Fact interface{ Kind() string }

// SessionStarted opens a session, or resumes one that was cut.
type SessionStarted struct {
	ID      SessionID       `json:"id"`
	Mode    string          `json:"mode"`           // agent, autopilot, construct, plan
	Semi    bool            `json:"semi,omitempty"` // as it was written before there was Auto
	Auto    Autonomy        `json:"autonomy,omitempty"`
	Plan    string          `json:"plan_id,omitempty"`     // the spec of the plan that is there
	Steps   int             `json:"total_steps,omitempty"` // and its tasks
	Resumed bool            `json:"resumed,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"` // policy.Config, so that replay has it
	Version string          `json:"version,omitempty"`
	Pid     int             `json:"pid,omitempty"`
	Host    string          `json:"host,omitempty"`
	Log     string          `json:"log,omitempty"` // the agent log, relative to the repository
	DryRun  bool            `json:"dry_run,omitempty"`
	Carry   *Carry          `json:"carry,omitempty"` // a session file without a journal beside it
	// Anchor is the commit that held in git how far the journal had come when the session
	// before this one ended (S9).
	Anchor string `json:"anchor,omitempty"`
}

// Carry is what ralph/.agent-session says of a session the journal does not
// know, as after a fresh clone of the folder (D-063).
type Carry struct {
	StartedAt time.Time `json:"started_at"`
	Completed int       `json:"specs_completed"`
	Failed    int       `json:"specs_failed"`
	Cost      float64   `json:"total_cost"`
	Current   SpecID    `json:"current_spec_id"`
}

// SessionEnded closes a session with its reason.
type SessionEnded struct {
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"` // in one word of document A: all_done, no_tasks, max_iterations, ...
	Task   TaskID `json:"task,omitempty"`  // aborted: the task that failed
}

// Reason is why a session ended (D-050).
type Reason string

// The reasons. Interrupted keeps ralph/.agent-session, the others delete it (D-061).
const (
	ReasonEmpty       Reason = "inbox empty"
	ReasonComplete    Reason = "complete"
	ReasonFailed      Reason = "failed"
	ReasonMaxSpecs    Reason = "max-specs reached"
	ReasonMaxCost     Reason = "max-cost exceeded"
	ReasonMaxFailures Reason = "max-failures reached"
	ReasonBudget      Reason = "budget exceeded"
	ReasonInterrupted Reason = "interrupted"
	ReasonAborted     Reason = "aborted"        // errors.strategy abort, or a mode that ends at the first error
	ReasonLimited     Reason = "agents limited" // limits.wait: off
	ReasonDenied      Reason = "start denied"
	ReasonHook        Reason = "stopped by a hook"
	ReasonUnanswered  Reason = "gate expired"       // gate.on_timeout: stop, and nobody answered an agent in time (E-071)
	ReasonPerson      Reason = "a person is needed" // nothing failed: finished work waits for the checkout
	ReasonError       Reason = "error"              // machinery failed: disk, git
)

// Control is what a person wants of the engine.
type Control struct {
	Want  Want      `json:"want"`
	Cause string    `json:"cause,omitempty"`
	From  PauseKind `json:"from,omitempty"` // pause: what it comes from; run: that this has ended by itself
	Now   bool      `json:"now,omitempty"`  // stop: without the end of the iteration (B-074)
	// Ends is the reason that a stop gives the session, where it is not a person's
	// interruption: a start denied, a hook.
	Ends Reason `json:"ends,omitempty"`
}

// Want is the wanted state of the engine.
type Want string

// What a person can want.
const (
	WantRun   Want = "run"
	WantPause Want = "pause"
	WantStop  Want = "stop"
)

// SpecAdded puts a spec into the inbox.
type SpecAdded struct {
	Spec Spec `json:"spec"`
}

// SpecEdited replaces a record that was changed in the file by a person.
type SpecEdited struct {
	Spec Spec `json:"spec"`
}

// SpecRemoved takes a record out of the inbox.
type SpecRemoved struct {
	ID SpecID `json:"id"`
}

// InboxOrdered gives the records a new order, after a person moved lines.
type InboxOrdered struct {
	IDs []SpecID `json:"ids"`
}

// JobStarted begins work on a spec: FETCH in agent mode (ID set: the record
// becomes active), or construct and plan on a file (ID empty: the inbox is not
// touched, D-122).
type JobStarted struct {
	Job    JobID  `json:"job"`
	ID     SpecID `json:"id,omitempty"`
	File   string `json:"file"`
	Resume bool   `json:"resume,omitempty"` // goes on with a plan that is there
}

// JobID names one piece of work on one spec; stage tasks carry it in their id.
type JobID string

// JobEnded ends the work on the current spec.
type JobEnded struct {
	Status SpecStatus `json:"status"` // done, failed; pending releases it
	Error  string     `json:"error,omitempty"`
	Rule   string     `json:"rule,omitempty"`
	Commit string     `json:"commit,omitempty"`
	// Cut: the engine that worked on it died, so what came after its last fact is no work.
	Cut bool `json:"cut,omitempty"`
}

// RoundStarted begins a round of INVESTIGATE, BUILD, VERIFY.
type RoundStarted struct {
	Round int `json:"round"`
}

// PlanStarted makes a spec the current one of the plan and drops the old tasks (D-041).
type PlanStarted struct {
	File string `json:"file"`
}

// TaskAdded adds a task to the plan, or a stage of the job.
type TaskAdded struct {
	Task Task `json:"task"`
}

// TaskEdited replaces what people may edit of a task; its Run stays.
type TaskEdited struct {
	Task Task `json:"task"`
}

// TaskRemoved drops a task, after a person deleted its line.
type TaskRemoved struct {
	ID TaskID `json:"id"`
}

// PlanOrdered gives the tasks a new order.
type PlanOrdered struct {
	IDs []TaskID `json:"ids"`
}

// TaskStarted makes a pending task active, in a slot and a worktree where there are some.
type TaskStarted struct {
	ID   TaskID `json:"id"`
	Slot int    `json:"slot,omitempty"`
	Dir  string `json:"dir,omitempty"` // relative to the repository
}

// TaskEnded ends a task's attempt. Status pending releases it.
type TaskEnded struct {
	ID     TaskID     `json:"id"`
	Status TaskStatus `json:"status"`
	Retry  bool       `json:"retry,omitempty"`
	// Uncounted: what ended the turn before was a limit of the session, no error of the
	// task. The next start begins with a turn, as if there had been none.
	Uncounted bool      `json:"uncounted,omitempty"`
	RanOut    RanOut    `json:"ran_out,omitempty"` // status timeout: what was used up
	Why       Why       `json:"why"`
	Slot      int       `json:"slot,omitempty"` // that it frees (B-006)
	Saw       int64     `json:"saw,omitempty"`  // the state the decision saw; 0: a person's word
	Now       time.Time `json:"now,omitzero"`
}

// TaskRejected sends a done task back with a tombstone (product.md 4b).
type TaskRejected struct {
	ID     TaskID `json:"id"`
	Reason string `json:"reason"`
}

// TaskAccepted notes that VERIFY or a person accepted a task.
type TaskAccepted struct {
	ID TaskID `json:"id"`
}

// RejectAdded adds a tombstone line that a person wrote.
type RejectAdded struct {
	Reject Reject `json:"reject"`
}

// IssueAdded notes an issue.
type IssueAdded struct {
	Issue Issue `json:"issue"`
}

// IssueRemoved drops an issue: resolved, turned into a task, or deleted by a person.
type IssueRemoved struct {
	ID IssueID `json:"id"`
}

// Why is the reason of a decision: the rule it follows and words for people.
type Why struct {
	Rule string `json:"rule,omitempty"` // a requirement ID
	Text string `json:"text,omitempty"`
	Stop string `json:"stop,omitempty"` // the stop condition that was hit, such as budget.cost (E-095)
}

// StepStarted is the receipt of a decision: the step, why, and exactly which
// state and time it was decided on. It is written before the step's effect.
type StepStarted struct {
	Task TaskID    `json:"task"`
	Step Step      `json:"-"`
	Why  Why       `json:"why"`
	Saw  int64     `json:"saw"` // seq of the last fact the decision saw
	Now  time.Time `json:"now"`
}

// Prepared is the outcome of Prepare.
type Prepared struct {
	Task   TaskID `json:"task"`
	Head   string `json:"head"` // commit that the work starts from
	Branch string `json:"branch,omitempty"`
	Tree   string `json:"tree"`
	Error  string `json:"error,omitempty"` // the spec is not there, ... (D-076)
	// Inside are the files that were changed inside submodules before the work began.
	Inside []string `json:"inside,omitempty"`

	// Clean: in the checkout, there is nothing but what the commit has.
	Clean bool `json:"clean,omitempty"`

	// With worktrees.
	Dir       string        `json:"dir,omitempty"`
	Base      string        `json:"base,omitempty"`      // where the branch began, when this start made it
	Fresh     bool          `json:"fresh,omitempty"`     // the worktree was made for it
	Conflicts []string      `json:"conflicts,omitempty"` // resolve: files with both sides in them
	Saved     []Saved       `json:"saved,omitempty"`     // what was found there and put away
	Took      time.Duration `json:"took,omitempty"`
}

// TurnEnded is the outcome of a Turn.
type TurnEnded struct {
	Task      TaskID        `json:"task"`
	Stage     TaskKind      `json:"stage"`
	Agent     string        `json:"agent"`
	Iteration int           `json:"iteration"`
	Exit      ExitKind      `json:"exit"`
	Code      int           `json:"code,omitempty"`
	Signal    Signal        `json:"signal,omitzero"`
	Session   string        `json:"session,omitempty"`
	Usage     Usage         `json:"usage,omitzero"`
	Context   ContextUse    `json:"context,omitzero"`   // of the agent's session at the end of the turn
	Compacts  int           `json:"compacts,omitempty"` // compactions that the agent began by itself
	Err       *AgentError   `json:"error,omitempty"`
	Mismatch  string        `json:"mismatch,omitempty"` // why a structured answer was not accepted
	Answer    string        `json:"answer,omitempty"`   // plan, verify, ...: what was accepted, in words
	Tree      string        `json:"tree,omitempty"`     // work tree after the turn
	Head      string        `json:"head,omitempty"`
	Commits   []string      `json:"commits,omitempty"` // that the agent made in the turn, as its git told
	Changed   bool          `json:"changed,omitempty"` // the turn changed the tree or made a commit
	Denied    []string      `json:"denied,omitempty"`
	Leftover  int           `json:"leftover,omitempty"`
	Dropped   int64         `json:"dropped,omitempty"`
	Dir       string        `json:"dir,omitempty"`  // where its output lies, relative to the repository
	Tail      string        `json:"tail,omitempty"` // the last words, for people: at most 500 bytes
	Took      time.Duration `json:"took"`
	Summary   TurnSummary   `json:"summary,omitzero"` // zero where the driver tells no items apart
	// Files are the files in Dir as they were then (S9).
	Files []FileSum `json:"files,omitempty"`
}

// FileSum is what a file of a turn's records held: the SHA-256 sum, in hexadecimal.
type FileSum struct {
	Name string `json:"name"`
	Sum  string `json:"sum"`
}

// ChecksRan is the outcome of Check.
type ChecksRan struct {
	Task    TaskID       `json:"task"`
	Pass    bool         `json:"pass"`
	Tree    string       `json:"tree"` // the tree hash they ran on
	Results []GateResult `json:"results,omitempty"`
	Known   []string     `json:"known,omitempty"` // red, and do not count: they were before, or a person let them pass
	// Empty: nothing has changed since the task began, where that was looked at.
	Empty bool `json:"empty,omitempty"`
	// Waived are those of Known that a person's word let pass, or a rule made of one.
	Waived []string `json:"waived,omitempty"`
	// Covered is the coverage that was there before the work, where that was below
	// test.coverage: the work must not lower it. 0: nothing is known of it.
	Covered float64 `json:"covered,omitempty"`
	// After is the tree of the checkout when they had ended, which what they write may have changed.
	After string `json:"after,omitempty"`
	// Restored are tracked files that the checks changed and that were given back what the
	// tree has, Saved what they held. Left are files that they made: gone from a worktree,
	// and in no commit. Other are tracked files that changed in the checkout meanwhile, by
	// the checks or by somebody. Out says of Left and Other what a commit in the checkout
	// leaves out. Taken are files that the checks changed and that are part of Tree
	// (quality.changes: keep).
	Restored []string   `json:"restored,omitempty"`
	Saved    []Saved    `json:"saved,omitempty"`
	Left     []string   `json:"left,omitempty"`
	Other    []string   `json:"other,omitempty"`
	Out      []LeftFile `json:"out,omitempty"`
	Taken    []string   `json:"taken,omitempty"`

	// Whole is where the results lie whole, in the folder of the turn before.
	Whole

	Took time.Duration `json:"took"`
}

// Committed is the outcome of Commit.
type Committed struct {
	Task    TaskID `json:"task"`
	Commit  string `json:"commit,omitempty"`
	Short   string `json:"short,omitempty"`
	Subject string `json:"subject,omitempty"`
	Tree    string `json:"tree,omitempty"`
	Error   string `json:"error,omitempty"`
	// Hook is what a hook of the repository said when it refused the commit, the end of it.
	Hook string `json:"hook,omitempty"`
	// Rewritten are files that a hook changed while the commit was made, which was taken
	// back: the checks have not seen them so.
	Rewritten []string `json:"rewritten,omitempty"`
	// Nothing: there was nothing to commit, and Commit is where the work stands.
	Nothing bool `json:"nothing,omitempty"`
	// Away says why no commit could be made where the work began, in a checkout that
	// somebody has taken elsewhere: to another branch, or into a rebase. A person decides.
	Away string `json:"away,omitempty"`
	// Kept are commits of others since the work began, newest first: the commit is on top
	// of them. KeptMore are not listed. Apart are commits of the agent that stay as they
	// are, since a commit of somebody else stands on them.
	Kept     []OtherCommit `json:"kept,omitempty"`
	KeptMore int           `json:"kept_more,omitempty"`
	Apart    []string      `json:"apart,omitempty"`
	// Folded are commits of the agent that became part of this one.
	Folded []string `json:"folded,omitempty"`
	// Gone is the commit on which the work began, when it is not in the history any more.
	Gone string `json:"gone,omitempty"`
	// Left are files with changes of others that are not in the commit; Shared are in it,
	// and commits of others changed them too.
	Left   []string `json:"left,omitempty"`
	Shared []string `json:"shared,omitempty"`
	// Weakened are the tests that the task's whole diff removes, skips or weakens.
	Weakened []Finding `json:"weakened,omitempty"`
	// Settings are the settings that it changes and nobody has approved. With Away nothing
	// is committed, and a person is asked.
	Settings []Finding     `json:"settings,omitempty"`
	Shown    string        `json:"shown,omitempty"` // the diff of Settings, its beginning
	Took     time.Duration `json:"took"`
}

// Shelved is the outcome of Shelve.
type Shelved struct {
	Task  TaskID `json:"task"`
	How   string `json:"how"`
	Stash string `json:"stash,omitempty"` // the stash's commit id
	Ref   string `json:"ref,omitempty"`   // refs/ralph/recovery/..., kept
	Error string `json:"error,omitempty"`
	// As in Committed: what stays on the branch, and in the files.
	Kept     []OtherCommit `json:"kept,omitempty"`
	KeptMore int           `json:"kept_more,omitempty"`
	Apart    []string      `json:"apart,omitempty"`
	Left     []string      `json:"left,omitempty"`
}

// Asked puts a gate before a task.
type Asked struct {
	Gate Gate `json:"gate"`
}

// Answered answers a gate; the first answer wins.
type Answered struct {
	ID      GateID  `json:"id"`
	Text    string  `json:"text,omitempty"`
	Verdict Verdict `json:"verdict,omitempty"` // of a gate that is approved or denied, or that nobody answered
	Rule    RuleID  `json:"rule,omitempty"`    // the rule that answered; "": a person, or nobody
	Who     Witness `json:"who,omitzero"`      // by what a person was known for one
}

// Verdict is a person's word on a gate.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Denied   Verdict = "denied"
)

// Noted is something to show to people: a stuck warning, a new agent.
type Noted struct {
	Task TaskID `json:"task,omitempty"`
	Text string `json:"text"`
	Rule string `json:"rule,omitempty"`
}

// The names of the facts, "t" in the file.
func (SessionStarted) Kind() string { return "session.started" }
func (SessionEnded) Kind() string   { return "session.ended" }
func (Control) Kind() string        { return "control" }
func (SpecAdded) Kind() string      { return "spec.added" }
func (SpecEdited) Kind() string     { return "spec.edited" }
func (SpecRemoved) Kind() string    { return "spec.removed" }
func (InboxOrdered) Kind() string   { return "inbox.ordered" }
func (JobStarted) Kind() string     { return "job.started" }
func (JobEnded) Kind() string       { return "job.ended" }
func (RoundStarted) Kind() string   { return "round.started" }
func (PlanStarted) Kind() string    { return "plan.started" }
func (PlanOrdered) Kind() string    { return "plan.ordered" }
func (TaskAdded) Kind() string      { return "task.added" }
func (TaskEdited) Kind() string     { return "task.edited" }
func (TaskRemoved) Kind() string    { return "task.removed" }
func (TaskStarted) Kind() string    { return "task.started" }
func (TaskEnded) Kind() string      { return "task.ended" }
func (TaskRejected) Kind() string   { return "task.rejected" }
func (TaskAccepted) Kind() string   { return "task.accepted" }
func (RejectAdded) Kind() string    { return "reject.added" }
func (IssueAdded) Kind() string     { return "issue.added" }
func (IssueRemoved) Kind() string   { return "issue.removed" }
func (StepStarted) Kind() string    { return "step.started" }
func (Prepared) Kind() string       { return "prepared" }
func (TurnEnded) Kind() string      { return "turn.ended" }
func (ChecksRan) Kind() string      { return "checks.ran" }
func (Committed) Kind() string      { return "committed" }
func (Shelved) Kind() string        { return "shelved" }
func (Asked) Kind() string          { return "asked" }
func (Answered) Kind() string       { return "answered" }
func (Noted) Kind() string          { return "noted" }
