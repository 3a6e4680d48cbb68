package status

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// Stage is `ralph query stage`.
type Stage struct {
	Status   string          `json:"status" enum:"idle,running,pausing,paused,stopping,waiting_user,completed"`
	Cause    string          `json:"cause,omitempty"` // of a pause or a stop
	Mode     string          `json:"mode,omitempty"`
	Autonomy ralph.Autonomy  `json:"autonomy,omitempty"` // manual, step, semi, autopilot
	Spec     string          `json:"spec,omitempty"`
	SpecID   ralph.SpecID    `json:"spec_id,omitempty"`
	Round    int             `json:"round,omitempty"`
	Stage    string          `json:"stage,omitempty"`
	Tasks    []ralph.TaskID  `json:"tasks"` // active now
	Ended    ralph.Reason    `json:"ended,omitempty"`
	ID       ralph.SessionID `json:"session_id,omitempty"`

	// With worktrees. Lists are never null.
	Slots    []SlotRecord   `json:"slots"` // the busy ones, by number
	Parallel int            `json:"parallel,omitempty"`
	Queue    []QueueRecord  `json:"merge_queue"`
	Landing  *LandingRecord `json:"landing,omitempty"`
	Failures []ralph.TaskID `json:"consecutive_failures"` // tasks that failed in a row
}

// SlotRecord is a busy slot.
type SlotRecord struct {
	Slot          int          `json:"slot"`
	Task          ralph.TaskID `json:"task"` // for a resolve, the one whose merge it mends
	Kind          string       `json:"kind"` // build, resolve
	Name          string       `json:"name"`
	Iteration     int          `json:"iteration"`       // that runs, is being checked or comes next, from 1
	Doing         string       `json:"doing,omitempty"` // between turns: "checking: go test ./..."
	MaxIterations int          `json:"max_iterations,omitempty"`
	Progress      int          `json:"progress,omitempty"` // percent
	Note          string       `json:"note,omitempty"`
	Agent         string       `json:"agent,omitempty"` // that it is on
	Worktree      string       `json:"worktree,omitempty"`
	StartedAt     time.Time    `json:"started_at,omitzero"`
	Stuck         bool         `json:"stuck,omitempty"`
	Unchanged     int          `json:"unchanged,omitempty"` // iterations since the last progress
	Progressless  string       `json:"-"`                   // "3 iterations without a change", or a commit where only that counts
	Waits         bool         `json:"waits,omitempty"`     // for a limit or a retry

	ContextPercent int          `json:"context_percent,omitempty"` // of the agent's window, as it was after its last turn
	at             ralph.TaskID // the task or stage that holds the slot
	counted        string       // what Iteration is a number of
	filling        bool         // the warning of a filling window is out
}

// At is the task or stage that holds the slot.
func (r SlotRecord) At() ralph.TaskID { return r.at }

// Filling reports whether the warning of a filling window is out.
func (r SlotRecord) Filling() bool { return r.filling }

// QueueRecord is a done task whose work is not merged yet.
type QueueRecord struct {
	Task  ralph.TaskID     `json:"task"`
	Name  string           `json:"name"`
	State ralph.MergeState `json:"state"`
	Doing string           `json:"doing"`          // waiting, merging, checking, resolving, held
	Words string           `json:"words"`          // why, for people
	Gate  ralph.ApprovalID `json:"gate,omitempty"` // that a person has to decide
}

// LandingRecord is how the base branch follows the integration branch.
type LandingRecord struct {
	Base   string   `json:"base"` // "" for a detached HEAD
	Branch string   `json:"branch"`
	Landed string   `json:"landed"` // commits
	Tip    string   `json:"tip"`
	Behind bool     `json:"behind"`
	Held   []string `json:"held,omitempty"`  // files in the way, or an error
	Moved  string   `json:"moved,omitempty"` // the base went on to this commit
}

// QueryStage says where the session stands.
func QueryStage(s *ralph.State) Stage {
	x := s.Session
	out := Stage{
		Status: s.Mode(), Mode: x.Mode, Autonomy: x.Auto, Ended: x.Ended, ID: x.ID,
		Slots: slots(s), Queue: mergeQueue(s), Landing: landing(s), Failures: append([]ralph.TaskID{}, x.Streak...),
	}
	if x.Live() {
		out.Cause, out.Parallel = x.Cause, report.SettingsOf(x.Config).Parallel
	}
	if s.Job != nil {
		out.Spec, out.SpecID, out.Round, out.Stage = s.Job.File, s.Job.Spec, s.Job.Round, stageNow(s)
	}
	out.Tasks = activeTasks(s)
	return out
}

// Stats is `ralph query stats`: all counted from the journal.
type Stats struct {
	Session        ralph.SessionID `json:"session_id,omitempty"`
	RuntimeSeconds float64         `json:"runtime_seconds"` // of the session
	SpecsCompleted int             `json:"specs_completed"`
	SpecsFailed    int             `json:"specs_failed"`
	Cost           float64         `json:"cost"`
	CostKnown      bool            `json:"cost_known"`
	Iterations     int             `json:"iterations"`
	TasksByStatus  map[string]int  `json:"tasks"` // of the plan
	Remaining      int             `json:"tasks_remaining"`
	MergesPending  int             `json:"merges_pending"`
	PerTask        PerTask         `json:"iterations_per_task"`
	This           Counts          `json:"session"` // of this session
	Overall        Counts          `json:"overall"` // of the whole journal
	Totals         ralph.Totals    `json:"totals"`
	AverageSeconds float64         `json:"iteration_average_seconds"`
	Facts          int64           `json:"facts"`
}

// Counts are what was counted of tasks, turns and merges.
type Counts struct {
	TasksDone        int     `json:"tasks_done"`
	TasksFailed      int     `json:"tasks_failed"`
	TasksTimeout     int     `json:"tasks_timeout"` // no failures
	Iterations       int     `json:"iterations"`
	AverageSeconds   float64 `json:"iteration_average_seconds"`
	FastestSeconds   float64 `json:"iteration_fastest_seconds"`
	SlowestSeconds   float64 `json:"iteration_slowest_seconds"`
	MergesClean      int     `json:"merges_clean"`
	MergesResolved   int     `json:"merges_resolved"`
	Conflicts        int     `json:"conflicts"`
	ChecksGreen      int     `json:"checks_green"`
	ChecksRed        int     `json:"checks_red"`
	PassedOver       int     `json:"checks_passed_over"` // of the green ones: a red check did not count
	Commits          int     `json:"commits"`
	Cost             float64 `json:"cost"`
	Tokens           int64   `json:"tokens"` // in and out, with the cache's
	CostKnown        bool    `json:"cost_known"`
	AgentTimeSeconds float64 `json:"agent_seconds"` // sum of all iterations
}

// PerTask says how many iterations the tasks of the plan took, those that began.
type PerTask struct {
	Average float64      `json:"average"`
	Most    int          `json:"most"`
	Task    ralph.TaskID `json:"task,omitempty"` // that took the most
}

// QueryStats counts.
func QueryStats(s *ralph.State, engine Engine, now time.Time) Stats {
	x := s.Session
	out := Stats{
		Session: x.ID, RuntimeSeconds: s.Running(At(engine, s, now)).Seconds(), SpecsCompleted: x.Completed, SpecsFailed: x.Failed,
		Cost: report.Cents(x.Usage.Cost), CostKnown: x.Usage.Known, Iterations: x.Turns, TasksByStatus: map[string]int{}, Totals: roundTotals(s.Totals), Facts: s.Seq,
		Remaining: s.Plan.Unfinished(), MergesPending: report.MergesPending(s), PerTask: perTask(s.Plan.Tasks),
		This: CountsOf(x.Count), Overall: CountsOf(s.Totals),
	}
	for _, t := range s.Plan.Tasks {
		out.TasksByStatus[string(t.Status)]++
	}
	out.AverageSeconds = out.Overall.AverageSeconds
	return out
}

// CountsOf are the counts as `ralph query stats` has them, of a session or of all.
func CountsOf(t ralph.Totals) Counts {
	out := Counts{
		TasksDone: t.TasksDone, TasksFailed: t.TasksFail, TasksTimeout: t.TasksOut,
		Iterations: t.Turns, FastestSeconds: t.TurnMin.Seconds(), SlowestSeconds: t.TurnMax.Seconds(), AgentTimeSeconds: t.TurnTime.Seconds(),
		MergesClean: t.MergesClean, MergesResolved: t.MergesResolved, Conflicts: t.Conflicts,
		ChecksGreen: t.ChecksOK, ChecksRed: t.ChecksRed, PassedOver: t.PassedOver, Commits: t.Commits,
		Cost: report.Cents(t.Usage.Cost), Tokens: report.Tokens(t.Usage), CostKnown: t.Usage.Known,
	}
	if t.Turns > 0 {
		out.AverageSeconds = t.TurnTime.Seconds() / float64(t.Turns)
	}
	return out
}

func roundTotals(t ralph.Totals) ralph.Totals {
	t.Usage.Cost = report.Cents(t.Usage.Cost)
	return t
}

func perTask(tasks []*ralph.Task) PerTask {
	var out PerTask
	began, sum := 0, 0
	for _, t := range tasks {
		n := t.Run.Iterations
		if n == 0 {
			continue
		}
		began++
		sum += n
		if n > out.Most {
			out.Most, out.Task = n, t.ID
		}
	}
	if began > 0 {
		out.Average = float64(sum) / float64(began)
	}
	return out
}
