package ralph

import (
	"time"
)

// The facts of work in worktrees: the integration branch, the merge queue, what
// people do with tasks that ended badly.

// IntegrationStarted says which branch a job's work is merged into before it
// lands on the base branch.
type IntegrationStarted struct {
	Branch string `json:"branch"` // without refs/heads/
	Base   string `json:"base"`   // the base branch; "" for a detached HEAD
	From   string `json:"from"`   // the base's commit
	Tip    string `json:"tip"`    // From, or further on when an earlier job's merges have not landed
	Tree   string `json:"tree"`
}

// MergeQueued puts a done task into the merge queue (B-006).
type MergeQueued struct {
	Task   TaskID `json:"task"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Merged is the outcome of Merge. Without Conflict and Error there is a commit;
// it counts when the integration branch has moved to it.
type Merged struct {
	Task     TaskID        `json:"task"` // the stage
	Members  []TaskID      `json:"members"`
	From     string        `json:"from"` // the tip before
	Commit   string        `json:"commit,omitempty"`
	Tree     string        `json:"tree,omitempty"`
	How      string        `json:"how,omitempty"` // merge, fast-forward, nothing
	Advanced bool          `json:"advanced,omitempty"`
	Conflict *Conflict     `json:"conflict,omitempty"`
	At       TaskID        `json:"at,omitempty"`    // the member that does not merge
	Moved    string        `json:"moved,omitempty"` // the integration branch is at this commit, not at From
	Error    string        `json:"error,omitempty"`
	Took     time.Duration `json:"took"`
}

// Advanced says that the integration branch is at a merge whose checks passed.
type Advanced struct {
	Task   TaskID        `json:"task"`
	Commit string        `json:"commit"`
	Tree   string        `json:"tree,omitempty"`
	Moved  string        `json:"moved,omitempty"` // it is at this commit instead: nothing was done
	Error  string        `json:"error,omitempty"`
	Took   time.Duration `json:"took"`
}

// BaselineRan says which checks are red without a task's work.
type BaselineRan struct {
	Task    TaskID        `json:"task"`
	Commit  string        `json:"commit"`
	Tree    string        `json:"tree,omitempty"` // of the commit
	Red     []string      `json:"red,omitempty"`  // commands
	Results []GateResult  `json:"results,omitempty"`
	Whole                 // where Results lie whole, where they are shortened here
	Covered float64       `json:"covered,omitempty"` // the coverage, where Results do not say
	Took    time.Duration `json:"took"`
	// Reused: the same checks ran on the same tree before; nothing was run.
	Reused bool `json:"reused,omitempty"`
	// Skipped says why nothing was run, and nothing is known: the checkout has changes.
	Skipped string `json:"skipped,omitempty"`
	// In the checkout: Restored are tracked files that the checks changed, given back what
	// the commit has in them, Saved what they held; Left are files that they made. After
	// is the work tree with these.
	Restored []string `json:"restored,omitempty"`
	Saved    []Saved  `json:"saved,omitempty"`
	Left     []string `json:"left,omitempty"`
	After    string   `json:"after,omitempty"`
	// Out says of Left what a commit in the checkout leaves out.
	Out []LeftFile `json:"out,omitempty"`
}

// Landed is the outcome of Land.
type Landed struct {
	Task  TaskID        `json:"task"`
	From  string        `json:"from"`
	To    string        `json:"to"`
	How   string        `json:"how,omitempty"`   // fast-forward, branch, already; "" when it did not land
	Dirty []string      `json:"dirty,omitempty"` // files that a person has changed in the checkout: it is not touched
	Moved string        `json:"moved,omitempty"` // the base branch went on to this commit: merge it first
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"took"`
	// Behind are submodules of the checkout that stay at the commit they were at.
	Behind []string `json:"behind,omitempty"`
}

// CleanedUp says what was taken away at the end of a session.
type CleanedUp struct {
	Removed  []string `json:"removed,omitempty"`  // worktrees
	Kept     []string `json:"kept,omitempty"`     // worktrees and branches that still hold work
	Branches []string `json:"branches,omitempty"` // deleted, all of them merged
	Saved    []Saved  `json:"saved,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// SavedWork notes something that was put under a recovery ref outside of a step
// that says so itself.
type SavedWork struct {
	Task  TaskID  `json:"task,omitempty"`
	Saved []Saved `json:"saved"`
}

// TaskRetried gives a task that ended badly another try, its worktree kept (B-076, B-080).
type TaskRetried struct {
	ID TaskID `json:"id"`
	// Free: what ended was no failure (blocked, skipped), so that retry_count stays.
	Free bool `json:"free,omitempty"`
}

// SkipWanted leaves a task out at the end of the iteration that it is in (B-065).
type SkipWanted struct {
	ID     TaskID `json:"id"`
	Reason string `json:"reason"`
}

// TaskRolledBack undoes a task's work and makes it pending (B-078, X-73).
type TaskRolledBack struct {
	ID     TaskID  `json:"id"`
	Revert string  `json:"revert,omitempty"` // merged: the commit that undoes it
	Saved  []Saved `json:"saved,omitempty"`  // unmerged: where its commits and changes are
}

// TaskCleaned takes the worktree of a task away; its status stays (B-079).
type TaskCleaned struct {
	ID    TaskID  `json:"id"`
	Dir   string  `json:"dir,omitempty"`
	Saved []Saved `json:"saved,omitempty"`
}

// TaskTold is what a person says to the agent of a task, unasked (B-021).
type TaskTold struct {
	ID   TaskID `json:"id"`
	Text string `json:"text"`
}

// TaskExtended raises the iterations or the time of one task (B-066, B-082).
type TaskExtended struct {
	ID            TaskID        `json:"id"`
	MaxIterations int           `json:"max_iterations"`    // as before where only its time is raised
	Timeout       time.Duration `json:"timeout,omitempty"` // 0: as before
}

// Words says what a task may take now.
func (f TaskExtended) Words() string {
	switch {
	case f.Timeout == 0:
		return Count(f.MaxIterations, "iteration")
	case f.MaxIterations == 0:
		return ClockTime(f.Timeout)
	}
	return Count(f.MaxIterations, "iteration") + " and " + ClockTime(f.Timeout)
}

// TaskAssigned is a person's choice of what is worked on next (B-091).
type TaskAssigned struct {
	ID TaskID `json:"id"`
}

// The names of these facts, "t" in the file.
func (IntegrationStarted) Kind() string { return "integration.started" }
func (MergeQueued) Kind() string        { return "merge.queued" }
func (Merged) Kind() string             { return "merged" }
func (Advanced) Kind() string           { return "advanced" }
func (BaselineRan) Kind() string        { return "baseline.ran" }
func (Landed) Kind() string             { return "landed" }
func (CleanedUp) Kind() string          { return "cleaned" }
func (SavedWork) Kind() string          { return "saved" }
func (TaskRetried) Kind() string        { return "task.retried" }
func (SkipWanted) Kind() string         { return "skip.wanted" }
func (TaskRolledBack) Kind() string     { return "task.rolledback" }
func (TaskCleaned) Kind() string        { return "task.cleaned" }
func (TaskExtended) Kind() string       { return "task.extended" }
func (TaskTold) Kind() string           { return "task.told" }
func (TaskAssigned) Kind() string       { return "task.assigned" }
