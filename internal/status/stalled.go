package status

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// StallReport is what the file of a stall says: what is needed to find why the engine did
// nothing, and nothing that anybody wrote. It has no names, texts, reasons, paths, settings,
// outputs or environment.
type StallReport struct {
	Ralph   string         `json:"ralph"`
	Stall   ralph.Stalled  `json:"stall"` // without its words
	Seq     int64          `json:"seq"`
	At      time.Time      `json:"at"`
	StepAt  time.Time      `json:"step_at,omitzero"`
	Session StallSession   `json:"session"`
	Job     *StallJob      `json:"job,omitempty"`
	Tasks   []StallTask    `json:"tasks"` // of the plan, then the stages
	Gates   []StallGate    `json:"gates"`
	Limits  []StallLimit   `json:"limits"`
	Inbox   map[string]int `json:"inbox,omitempty"` // records by status
	Unread  int            `json:"unreadable_files,omitempty"`
	Merge   *StallLanding  `json:"integration,omitempty"`
	Facts   []string       `json:"facts"` // the kinds of the newest, oldest first
}

// StallSession is the session of a stalled engine.
type StallSession struct {
	ID       ralph.SessionID `json:"id"`
	Mode     string          `json:"mode"`
	Autonomy ralph.Autonomy  `json:"autonomy,omitempty"`
	State    string          `json:"state"`
	Want     ralph.Want      `json:"want,omitempty"`
	Pause    ralph.PauseKind `json:"pause,omitempty"`
	Since    time.Time       `json:"since"`
	Approved bool            `json:"approved,omitempty"`
	PlanOnly bool            `json:"plan_only,omitempty"`
}

// StallJob is what is known of the spec at work.
type StallJob struct {
	ID    ralph.JobID `json:"id"`
	Round int         `json:"round,omitempty"`
	Since time.Time   `json:"since"`
}

// StallTask is one task or stage.
type StallTask struct {
	ID         ralph.TaskID     `json:"id"`
	Kind       ralph.TaskKind   `json:"kind,omitempty"`
	Status     ralph.TaskStatus `json:"status"`
	Deps       []ralph.TaskID   `json:"depends_on,omitempty"`
	Parent     ralph.TaskID     `json:"parent,omitempty"`
	InFlight   int64            `json:"in_flight,omitempty"`
	Doing      string           `json:"doing,omitempty"`
	Slot       int              `json:"slot,omitempty"`
	Iterations int              `json:"iterations,omitempty"`
	Retries    int              `json:"retries,omitempty"`
	Merge      ralph.MergeState `json:"merge,omitempty"`
	Ready      bool             `json:"place_ready,omitempty"`
	StartedAt  time.Time        `json:"started_at,omitzero"`
	LastAt     time.Time        `json:"last_at,omitzero"`
}

// StallGate is one open question, without what it asks.
type StallGate struct {
	ID     ralph.ApprovalID `json:"id"`
	Kind   string           `json:"kind"`
	Task   ralph.TaskID     `json:"task,omitempty"`
	InTurn bool             `json:"in_turn,omitempty"`
}

// StallLimit is an agent that cannot be used.
type StallLimit struct {
	Agent string           `json:"agent"`
	Class ralph.ErrorClass `json:"class,omitempty"`
	Until time.Time        `json:"until"`
}

// StallLanding is how far merged work has landed.
type StallLanding struct {
	Landed  bool `json:"landed"`
	Held    int  `json:"held,omitempty"` // things in the way
	Tries   int  `json:"tries,omitempty"`
	Waiting int  `json:"waiting,omitempty"`
	Moved   bool `json:"moved,omitempty"`
}

// NewStallReport makes the report of a stall from the state after its fact. kinds are
// those of the newest facts.
func NewStallReport(s *ralph.State, f ralph.Stalled, kinds []string, version string) StallReport {
	f.Why = "" // may quote an agent
	x := s.Session
	r := StallReport{
		Ralph: version, Stall: f, Seq: s.Seq, At: s.At, StepAt: s.StepAt, Unread: len(s.Unread), Facts: report.OrEmpty(kinds),
		Session: StallSession{x.ID, x.Mode, x.Auto, s.Mode(), x.Want, x.Pause, x.Since, x.Approved, x.PlanOnly},
		Tasks:   []StallTask{}, Gates: []StallGate{}, Limits: []StallLimit{}, Inbox: map[string]int{},
	}
	if j := s.Job; j != nil {
		r.Job = &StallJob{j.ID, j.Round, j.Since}
	}
	for t := range s.Work() {
		n := t.Run
		r.Tasks = append(r.Tasks, StallTask{
			t.ID, t.Kind, t.Status, t.Deps, t.Parent, n.InFlight, n.Doing, n.Worktree.Slot, n.Iterations, t.RetryCount,
			n.Queue.State, n.Worktree.Ready, n.StartedAt, n.LastAt,
		})
	}
	for _, g := range s.Approvals {
		r.Gates = append(r.Gates, StallGate{g.ID, g.Kind, g.Task, g.InTurn})
	}
	for _, l := range s.Limits {
		r.Limits = append(r.Limits, StallLimit{l.Agent, l.Class, l.Until})
	}
	for _, spec := range s.Inbox {
		r.Inbox[string(spec.Status)]++
	}
	if i := s.Plan.Integration; i != nil {
		r.Merge = &StallLanding{i.Landed == i.Tip, len(i.Held), i.HeldTries, i.Waiting, i.Moved != ""}
	}
	return r
}
