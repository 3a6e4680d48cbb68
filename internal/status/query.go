package status

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// The results of `ralph query`, as they are encoded to JSON. Lists are never null.

// InboxRecord is one element of `ralph query inbox`.
type InboxRecord struct {
	ID          ralph.SpecID     `json:"id"`
	Spec        string           `json:"spec"`
	Status      ralph.SpecStatus `json:"status"`
	AddedAt     time.Time        `json:"added_at"`
	StartedAt   time.Time        `json:"started_at,omitzero"`
	CompletedAt time.Time        `json:"completed_at,omitzero"`
	Error       string           `json:"error,omitempty"`
}

// QueryInbox lists the records in file order.
func QueryInbox(s *ralph.State) []InboxRecord {
	out := make([]InboxRecord, 0, len(s.Inbox))
	for _, x := range s.Inbox {
		out = append(out, InboxRecord{x.ID, x.File, x.Status, x.AddedAt, x.StartedAt, x.EndedAt, x.Error})
	}
	return out
}

// TaskRecord is one element of `ralph query tasks`.
type TaskRecord struct {
	ID            ralph.TaskID     `json:"id"`
	Spec          string           `json:"spec,omitempty"`
	Name          string           `json:"name"`
	Notes         string           `json:"notes,omitempty"`
	Accept        string           `json:"accept,omitempty"`
	Deps          []ralph.TaskID   `json:"deps,omitempty"`
	Tags          []string         `json:"tags,omitempty"`
	Worker        []string         `json:"worker,omitempty"` // labels that a worker of a fleet must have for it
	Priority      string           `json:"priority,omitempty"`
	Phase         string           `json:"phase,omitempty"`
	Parent        ralph.TaskID     `json:"parent,omitempty"`
	Status        ralph.TaskStatus `json:"status"`
	RetryCount    int              `json:"retry_count"`
	MaxIterations int              `json:"max_iterations,omitempty"`
	Timeout       string           `json:"timeout,omitempty"` // the time of its own that it may take
	RanOut        ralph.RanOut     `json:"ran_out,omitempty"` // timeout: iterations, time, budget, context
	Iterations    int              `json:"iterations"`
	Reason        string           `json:"reason,omitempty"`
	Accepted      bool             `json:"accepted,omitempty"`
	// NothingToChange: it was done before, the checks say so as well as its agent.
	NothingToChange bool      `json:"nothing_to_change,omitempty"`
	Cost            float64   `json:"cost"`
	Seconds         float64   `json:"seconds"`
	Commit          string    `json:"commit,omitempty"`
	Output          string    `json:"output,omitempty"` // folder of the last turn
	StartedAt       time.Time `json:"started_at,omitzero"`
	EndedAt         time.Time `json:"ended_at,omitzero"`
	Progress        int       `json:"progress,omitempty"` // percent, as the agent says
	Note            string    `json:"note,omitempty"`
	Stuck           bool      `json:"stuck,omitempty"`    // the stuck warning is out (B-017)
	Assigned        bool      `json:"assigned,omitempty"` // a person chose it to be next
	Skip            string    `json:"skip,omitempty"`     // a person wants it left out after this iteration

	// With worktrees.
	Slot        int              `json:"slot,omitempty"`
	Worktree    string           `json:"worktree,omitempty"` // relative to the repository
	Branch      string           `json:"branch,omitempty"`
	Merge       ralph.MergeState `json:"merge,omitempty"`
	MergeHow    string           `json:"merge_how,omitempty"`    // clean, resolved
	MergeCommit string           `json:"merge_commit,omitempty"` // on the integration branch
	MergeWaits  string           `json:"merge_waits,omitempty"`  // why a person has to look
	Resolves    int              `json:"resolves,omitempty"`     // tries of an agent to resolve its merge
	Conflicts   []string         `json:"conflicts,omitempty"`    // files
	Weakened    []ralph.Finding  `json:"weakened,omitempty"`     // tests that its work takes away
}

// QueryTask is one task.
func QueryTask(t *ralph.Task) TaskRecord {
	r := TaskRecord{
		ID: t.ID, Spec: t.Spec, Name: t.Name, Notes: t.Notes, Accept: t.Accept, Deps: t.Deps, Tags: t.Tags, Worker: t.Worker,
		Priority: t.Priority, Phase: t.Phase, Parent: t.Parent, Status: t.Status, RetryCount: t.RetryCount,
		MaxIterations: t.MaxIterations, Iterations: t.Run.Iterations, Reason: t.Run.Reason, Accepted: t.Run.Accepted,
		Cost: report.Cents(t.Run.Usage.Cost), Seconds: t.Run.Spent.Seconds(), Commit: t.Run.Commit,
	}
	if t.Timeout > 0 {
		r.Timeout = ralph.ClockTime(t.Timeout)
	}
	if t.Status == ralph.TaskTimeout {
		r.RanOut = t.Run.RanOut
	}
	if t.Run.Last != nil {
		r.Output = t.Run.Last.Dir
	}
	x, q := t.Run, t.Run.Queue
	r.NothingToChange = t.NothingToChange()
	r.StartedAt, r.EndedAt, r.Progress, r.Note, r.Stuck, r.Assigned, r.Skip = x.StartedAt, x.EndedAt, x.Progress, x.Note, x.Warned, x.Assigned, x.Skip
	r.Slot, r.Worktree, r.Branch = x.Worktree.Slot, x.Worktree.Dir, x.Worktree.Branch
	r.Merge, r.MergeCommit, r.Resolves, r.Weakened = q.State, q.Commit, q.Resolves, q.Weakened
	switch {
	case q.State == ralph.MergeMerged:
		r.MergeHow = report.MergeHow(t, "")
	case q.Merged != nil && q.Merged.Conflict != nil:
		r.Conflicts = report.ConflictPaths(q.Merged.Conflict)
	}
	if q.State != ralph.MergeMerged {
		r.MergeWaits = q.GaveUp
	}
	return r
}

// QueryTasks lists the plan in order.
func QueryTasks(s *ralph.State) []TaskRecord {
	out := make([]TaskRecord, 0, len(s.Plan.Tasks))
	for _, t := range s.Plan.Tasks {
		out = append(out, QueryTask(t))
	}
	return out
}

// IssueRecord is one element of `ralph query issues`.
type IssueRecord struct {
	ID   ralph.IssueID `json:"id"`
	Spec string        `json:"spec,omitempty"`
	Desc string        `json:"desc"`
}

// QueryIssues lists the open issues.
func QueryIssues(s *ralph.State) []IssueRecord {
	out := make([]IssueRecord, 0, len(s.Plan.Issues))
	for _, i := range s.Plan.Issues {
		out = append(out, IssueRecord{i.ID, i.Spec, i.Desc})
	}
	return out
}
