package report

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// The results of `ralph query`, as they are encoded to JSON. Lists are never null.

// InboxRecord is one element of `ralph query inbox` (D-030).
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
	Priority      string           `json:"priority,omitempty"`
	Phase         string           `json:"phase,omitempty"`
	Parent        ralph.TaskID     `json:"parent,omitempty"`
	Status        ralph.TaskStatus `json:"status"`
	RetryCount    int              `json:"retry_count"`
	MaxIterations int              `json:"max_iterations,omitempty"`
	Iterations    int              `json:"iterations"`
	Reason        string           `json:"reason,omitempty"`
	Accepted      bool             `json:"accepted,omitempty"`
	Cost          float64          `json:"cost"`
	Seconds       float64          `json:"seconds"`
	Commit        string           `json:"commit,omitempty"`
	Output        string           `json:"output,omitempty"` // folder of the last turn
}

// QueryTask is one task.
func QueryTask(t *ralph.Task) TaskRecord {
	r := TaskRecord{
		ID: t.ID, Spec: t.Spec, Name: t.Name, Notes: t.Notes, Accept: t.Accept, Deps: t.Deps, Tags: t.Tags,
		Priority: t.Priority, Phase: t.Phase, Parent: t.Parent, Status: t.Status, RetryCount: t.RetryCount,
		MaxIterations: t.MaxIterations, Iterations: t.Run.Iterations, Reason: t.Run.Reason, Accepted: t.Run.Accepted,
		Cost: t.Run.Usage.Cost, Seconds: t.Run.Spent.Seconds(), Commit: t.Run.Commit,
	}
	if t.Run.Last != nil {
		r.Output = t.Run.Last.Dir
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

// Stage is `ralph query stage`.
type Stage struct {
	Status string          `json:"status"`
	Mode   string          `json:"mode,omitempty"`
	Spec   string          `json:"spec,omitempty"`
	SpecID ralph.SpecID    `json:"spec_id,omitempty"`
	Round  int             `json:"round,omitempty"`
	Stage  string          `json:"stage,omitempty"`
	Tasks  []ralph.TaskID  `json:"tasks"` // active now
	Ended  ralph.Reason    `json:"ended,omitempty"`
	ID     ralph.SessionID `json:"session_id,omitempty"`
}

// QueryStage says where the session stands.
func QueryStage(s *ralph.State) Stage {
	out := Stage{Status: s.Mode(), Mode: s.Session.Mode, Ended: s.Session.Ended, ID: s.Session.ID, Tasks: []ralph.TaskID{}}
	if s.Job != nil {
		out.Spec, out.SpecID, out.Round, out.Stage = s.Job.File, s.Job.Spec, s.Job.Round, stageNow(s)
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskActive {
			out.Tasks = append(out.Tasks, t.ID)
		}
	}
	return out
}

// Stats is `ralph query stats`: all counted from the journal.
type Stats struct {
	Session        ralph.SessionID `json:"session_id,omitempty"`
	RuntimeSeconds float64         `json:"runtime_seconds"`
	SpecsCompleted int             `json:"specs_completed"`
	SpecsFailed    int             `json:"specs_failed"`
	Cost           float64         `json:"cost"`
	CostKnown      bool            `json:"cost_known"`
	Iterations     int             `json:"iterations"`
	TasksByStatus  map[string]int  `json:"tasks"`
	Totals         ralph.Totals    `json:"totals"`
	AverageSeconds float64         `json:"iteration_average_seconds"`
	Facts          int64           `json:"facts"`
}

// QueryStats counts.
func QueryStats(s *ralph.State, now time.Time) Stats {
	x := s.Session
	out := Stats{
		Session: x.ID, RuntimeSeconds: s.Running(now).Seconds(), SpecsCompleted: x.Completed, SpecsFailed: x.Failed,
		Cost: x.Usage.Cost, CostKnown: x.Usage.Known, Iterations: x.Turns, TasksByStatus: map[string]int{}, Totals: s.Totals, Facts: s.Seq,
	}
	for _, t := range s.Plan.Tasks {
		out.TasksByStatus[string(t.Status)]++
	}
	if s.Totals.Turns > 0 {
		out.AverageSeconds = s.Totals.TurnTime.Seconds() / float64(s.Totals.Turns)
	}
	return out
}
