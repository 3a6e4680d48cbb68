// Package ralph owns the words of the program: specs, tasks, steps, facts, the
// state that facts add up to, and the commands that people give. Everything in
// it is pure. It owns no file, no process, no clock and no decision: the file
// is internal/journal's, decisions are internal/policy's.
package ralph

import "time"

// The identifiers. Their shapes are part of the file formats (D-007).
type (
	SpecID    string // "q-a1b2", a record of the inbox
	TaskID    string // "t-1a2b", or "<kind>:<job>:<round>" for the stages of a job
	IssueID   string // "i-1a2b"
	GateID    string // "g-1a2b"
	SessionID string // "s-20250120T100000Z-1a2b"
	TreeID    string // where work happens: "." is the user's checkout
)

// SpecStatus is where an inbox record stands (D-010).
type SpecStatus string

// The inbox statuses of D-010; nothing else may stand in the file.
const (
	SpecPending SpecStatus = "pending"
	SpecActive  SpecStatus = "active"
	SpecDone    SpecStatus = "done"
	SpecFailed  SpecStatus = "failed"
)

// Valid reports whether s is one of the four statuses of D-010.
func (s SpecStatus) Valid() bool {
	return s == SpecPending || s == SpecActive || s == SpecDone || s == SpecFailed
}

// Spec is one record of the inbox (D-005 to D-013). One file may be queued
// several times; each time is a record of its own (D-031).
type Spec struct {
	ID        SpecID     `json:"id"`
	File      string     `json:"spec"` // relative to ralph/specs (D-008)
	Status    SpecStatus `json:"status"`
	AddedAt   time.Time  `json:"added_at"`
	StartedAt time.Time  `json:"started_at,omitzero"`
	EndedAt   time.Time  `json:"completed_at,omitzero"`
	Error     string     `json:"error,omitempty"`

	// Line is the record as a person wrote it, kept as long as nothing in the
	// record changes, so that a rewrite leaves it byte for byte (D-017, D-028).
	Line string `json:"line,omitempty"`
	// Extra holds the fields we do not know, as one JSON object (product 2).
	Extra RawObject `json:"extra,omitempty"`
}

// TaskKind says what a task is for. Build tasks are the plan that people see;
// the others are the stages of a job, so that planning, coding, checking and
// committing are one loop.
type TaskKind string

// The kinds. Every stage but build is a task of its own, made by policy.Schedule.
const (
	KindPrepare     TaskKind = "prepare" // looks at where the job starts
	KindPlan        TaskKind = "plan"
	KindInvestigate TaskKind = "investigate"
	KindBuild       TaskKind = "build"
	KindVerify      TaskKind = "verify"
	KindDecompose   TaskKind = "decompose"
	KindLand        TaskKind = "land"   // commits what the job made
	KindShelve      TaskKind = "shelve" // puts away what a failed job left

	// With worktrees: what is next in the merge queue, and what mends a merge
	// that does not fit.
	KindMerge   TaskKind = "merge"
	KindResolve TaskKind = "resolve"
)

// TaskStatus is where a task stands. Ready is derived, never stored.
type TaskStatus string

// The task statuses of product.md 1.
const (
	TaskPending TaskStatus = "pending"
	TaskActive  TaskStatus = "active"
	TaskDone    TaskStatus = "done"
	TaskFailed  TaskStatus = "failed"
	TaskBlocked TaskStatus = "blocked"
	TaskTimeout TaskStatus = "timeout"
	TaskSkipped TaskStatus = "skipped"
)

// Valid reports whether s is a status that plan.jsonl may hold.
func (s TaskStatus) Valid() bool {
	switch s {
	case TaskPending, TaskActive, TaskDone, TaskFailed, TaskBlocked, TaskTimeout, TaskSkipped:
		return true
	}
	return false
}

// Ended reports whether nothing will work on the task any more by itself.
func (s TaskStatus) Ended() bool { return s != TaskPending && s != TaskActive }

// Task is the smallest unit that one agent executes.
type Task struct {
	ID       TaskID   `json:"id"`
	Kind     TaskKind `json:"kind,omitempty"` // "" is build
	Spec     string   `json:"spec,omitempty"` // the spec's file
	Name     string   `json:"name"`
	Notes    string   `json:"notes,omitempty"`
	Accept   string   `json:"accept,omitempty"`
	Deps     []TaskID `json:"deps,omitempty"`
	Tags     []string `json:"tags,omitempty"`     // critical, quick-win, ...
	Priority string   `json:"priority,omitempty"` // high, medium, low
	Phase    string   `json:"phase,omitempty"`    // phases are barriers
	Parent   TaskID   `json:"parent,omitempty"`
	Members  []TaskID `json:"members,omitempty"` // merge: the tasks that are merged together

	Status        TaskStatus `json:"status"`
	RetryCount    int        `json:"retry_count,omitempty"`    // returns to pending after failed, timeout or crash
	MaxIterations int        `json:"max_iterations,omitempty"` // 0 = task.max_iterations
	// Timeout is the time that it may take; 0 = task.timeout.
	Timeout time.Duration `json:"timeout,omitempty"`

	Line  string    `json:"line,omitempty"`  // as in Spec
	Extra RawObject `json:"extra,omitempty"` // as in Spec
	Run   Run       `json:"run,omitzero"`    // folded, never edited by people
}

// TakesSlot reports whether the task is an agent at work on a task of the plan:
// what `parallel` counts. Merging and landing hold nobody up (B-049).
func (t *Task) TakesSlot() bool { return t.IsBuild() || t.Kind == KindResolve }

// IsBuild reports whether the task is part of the plan that people see.
func (t *Task) IsBuild() bool { return t.Kind == "" || t.Kind == KindBuild }

// LeftOut reports whether a person, or smaller tasks in its place, made the task
// needless: what depends on it goes on. One that was skipped for an error holds what
// depends on it back, as a failed one does (B-002).
func (t *Task) LeftOut() bool { return t.Status == TaskSkipped && !t.Run.GivenUp }

// Run is what the facts of a task's current attempt add up to, a part for each noun. Policy decides
// from it; nothing else writes it but State.Apply.
type Run struct {
	Attempt
	Turns
	Failures
	Checking
	Approvals
	Committing

	Place Place `json:"place,omitzero"` // with worktrees: where it works
	Queue Queue `json:"queue,omitzero"` // with worktrees: where its work is on the way to the base branch
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
	Tree   string   `json:"tree"`
	Checks []string `json:"checks"`
	Gate   GateID   `json:"gate,omitempty"`
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

// Hits returns how often the task has met the agent's limit in a row.
func (r *Run) Hits(agent string) int {
	for _, h := range r.LimitHits {
		if h.Agent == agent {
			return h.Count
		}
	}
	return 0
}

// Place is where a task works when it has a worktree of its own (B-005).
type Place struct {
	Slot   int    `json:"slot,omitempty"`   // from 1; 0: it holds none now
	Dir    string `json:"dir,omitempty"`    // the worktree, relative to the repository; its own until the work is done
	Branch string `json:"branch,omitempty"` // ralph/<task>
	Base   string `json:"base,omitempty"`   // commit at which the branch began
	Head   string `json:"head,omitempty"`   // newest commit on it that is known
	Ready  bool   `json:"ready,omitempty"`  // made ready since the task was started
	Fails  int    `json:"fails,omitempty"`  // times in a row that it could not be made ready
	// Conflicts are the files in which a resolve finds both sides.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Queue is a task's way through the merge queue. On a merge stage it is
// the newest attempt; the members have the rest.
type Queue struct {
	State    MergeState `json:"state,omitempty"`
	Since    int64      `json:"since,omitempty"`    // seq of merge.queued: the order of the queue
	Most     int        `json:"most,omitempty"`     // at most so many in its next batch, after a red one; 0: merge.batch
	Merged   *Merged    `json:"merged,omitempty"`   // the newest attempt to merge
	Resolves int        `json:"resolves,omitempty"` // how often an agent was asked to resolve it
	// ResolvedAt is the tip that the newest resolve brought in, and Tries how often the
	// merge did not work although nothing had come after it: only these use up
	// merge.conflict_retries, not the races that a resolve lost to other merges.
	ResolvedAt string    `json:"resolved_at,omitempty"`
	Tries      int       `json:"tries,omitempty"`
	GaveUp     string    `json:"gave_up,omitempty"`  // why no agent resolves it any more
	Weakened   []Finding `json:"weakened,omitempty"` // tests that its diff removes, skips or weakens
	Settings   []Finding `json:"settings,omitempty"` // settings that its diff changes (S2)
	Shown      string    `json:"shown,omitempty"`    // how, its beginning
	Approved   bool      `json:"approved,omitempty"` // a person looked at it and said: merge
	// Let is how checks were red that a person let pass while its merge was resolved.
	Let    []RedCheck `json:"let,omitempty"`
	Commit string     `json:"commit,omitempty"` // merged: the commit on the integration branch
}

// MergeState is where a task's work is on its way to the base branch. A task is
// done at once; what depends on it waits for the merge.
type MergeState string

// The merge states; "" is a task with nothing to merge.
const (
	MergeWaiting  MergeState = "queued"
	MergeConflict MergeState = "conflict" // does not merge: to be resolved
	MergeRed      MergeState = "red"      // merged, the checks fail: to be resolved
	MergeMerged   MergeState = "merged"
)

// Finding is a test that a diff removes, skips or weakens.
type Finding struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Kind string `json:"kind"` // deleted, removed, skipped, focused, weakened
	What string `json:"what"`
}

// Conflict is a merge that git cannot make.
type Conflict struct {
	Base   string         `json:"base,omitempty"` // commits
	Ours   string         `json:"ours"`
	Theirs string         `json:"theirs"`
	Files  []ConflictFile `json:"files"`
	// Whole is where Files lie whole, where they are shortened here.
	Whole
}

// ConflictFile is one file of a conflict, with both sides between markers.
type ConflictFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // content, add/add, modify/delete, rename, binary, submodule, ...
	Marked string `json:"marked,omitempty"`
	// Brief are the bytes left out of Marked here: the file has them that the fact names.
	Brief int64 `json:"brief,omitempty"`
}

// Saved is work that was put where nothing removes it (product.md 14).
type Saved struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
	What   string `json:"what"`
}

// QA is a question an agent asked with NEEDS_HUMAN and the answer it got.
type QA struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// Issue is something found while working that is not yet a task.
type Issue struct {
	ID     IssueID   `json:"id"`
	Spec   string    `json:"spec,omitempty"`
	Desc   string    `json:"desc"`
	Looked bool      `json:"looked,omitempty"` // an INVESTIGATE has seen it and left it
	Line   string    `json:"line,omitempty"`
	Extra  RawObject `json:"extra,omitempty"`
}

// Reject is the tombstone of a rejected task: why it had to be done again.
type Reject struct {
	ID     TaskID    `json:"id"`
	Reason string    `json:"reason"`
	Line   string    `json:"line,omitempty"`
	Extra  RawObject `json:"extra,omitempty"`
}

// Gate is a question or decision that waits for a person.
type Gate struct {
	ID       GateID    `json:"id"`
	Kind     string    `json:"kind"`            // question, approval, operation, test, merge, start, step
	Task     TaskID    `json:"task,omitempty"`  // the task or stage that waits; start: none
	About    TaskID    `json:"about,omitempty"` // merge: the task whose work it is
	Text     string    `json:"text"`
	Detail   string    `json:"detail,omitempty"` // what to decide by: both sides of a conflict, findings, output
	AskedAt  time.Time `json:"asked_at"`
	Deadline time.Time `json:"deadline,omitzero"` // zero: no limit
	// InTurn: an agent waits for the answer in the middle of a turn; its task goes on
	// and keeps its slot.
	InTurn  bool     `json:"in_turn,omitempty"`
	Options []string `json:"options,omitempty"` // question: answers to choose from
	// Request is what the agent wants to do or know, of a gate in the middle of a turn.
	Request *Request `json:"request,omitempty"`
	// Rule is what holds it, in words: the pattern, the entry of the never list, the check.
	Rule  string `json:"rule,omitempty"`
	Never bool   `json:"never,omitempty"` // on the never list: no rule can come of its approval
	// By is who waits, where it is not the engine: a hook of a person's own session.
	By string `json:"by,omitempty"`
}

// RawObject is a JSON object kept as text, so that unknown fields survive.
type RawObject string

// MarshalJSON writes the object as it was read.
func (r RawObject) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return []byte(r), nil
}

// UnmarshalJSON keeps the object as it stands.
func (r *RawObject) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*r = ""
		return nil
	}
	*r = RawObject(b)
	return nil
}
