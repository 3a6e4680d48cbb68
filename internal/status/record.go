package status

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// StatusRecord is the top level of `ralph status --json`: ten fields that stay as they are,
// then what a person sees in `ralph status`. docs/status.md describes it.
type StatusRecord struct {
	Status           string          `json:"status" enum:"idle,running,pausing,paused,stopping,waiting_user,completed"`
	SessionID        ralph.SessionID `json:"session_id"`
	CurrentIteration int             `json:"current_iteration"` // turns of the session so far, those under way counted
	CurrentStep      *ralph.TaskID   `json:"current_step"`      // null when none runs
	CompletedSteps   int             `json:"completed_steps"`
	FailedSteps      int             `json:"failed_steps"`
	SkippedSteps     []ralph.TaskID  `json:"skipped_steps"` // ids
	StartedAt        *time.Time      `json:"started_at"`    // null without a session
	ActiveAgent      string          `json:"active_agent"`
	FallbackReason   string          `json:"fallback_reason,omitempty"` // only while on a fallback

	PlanID       string          `json:"plan_id"`
	CurrentPhase string          `json:"current_phase,omitempty"`
	TotalSteps   int             `json:"total_steps"`
	CanResume    bool            `json:"can_resume"`           // the next start goes on with this session
	Cut          []ralph.TaskID  `json:"cut"`                  // at work when the engine died
	PauseKind    ralph.PauseKind `json:"pause_kind,omitempty"` // person, failures, limits
	PauseCause   string          `json:"pause_cause,omitempty"`
	Limits       []LimitRecord   `json:"limits"`
	Waiting      []WaitRecord    `json:"waiting"`
	Budgets      []BudgetRecord  `json:"budgets"`
	Contexts     []ContextRecord `json:"contexts"`
	Retries      int             `json:"retries"`            // in a row, of the task at work that had the most
	Decision     *ralph.Decision `json:"decision,omitempty"` // the newest, with its reason
}

// ContextRecord is how full the window of an agent at work is.
type ContextRecord struct {
	Task    ralph.TaskID `json:"task"`
	Agent   string       `json:"agent"`
	Used    int64        `json:"used"` // tokens
	Window  int64        `json:"window"`
	Percent int          `json:"percent"`
	Warn    bool         `json:"warn"` // the warning of a filling window is out
}

// Of is the record of a state. A session whose engine died is idle: nothing runs.
func Of(s *ralph.State, engine Engine, now time.Time) StatusRecord {
	x, p := s.Session, s.Progress()
	alive := engine.Alive && x.Live()
	r := StatusRecord{
		Status: s.Mode(), SessionID: x.ID, CurrentIteration: x.Turns, CompletedSteps: p.Completed, FailedSteps: p.Failed, SkippedSteps: p.Skipped,
		ActiveAgent: x.ActiveAgent(), PlanID: s.Plan.File, TotalSteps: p.Total, CanResume: !engine.Alive && s.CanResume(engine.Carry), Cut: []ralph.TaskID{},
		Limits: limits(s, now), Waiting: []WaitRecord{}, Budgets: budgets(s, At(engine, s, now)), Contexts: []ContextRecord{},
	}
	r.Decision, r.FallbackReason = s.Decided, x.Fallback // also after the end: it says why active_agent is not the primary one
	if x.ID != "" {
		r.StartedAt = &x.StartedAt
	}
	if !alive {
		if x.Live() {
			r.Status, r.Cut = "idle", activeTasks(s)
		}
		return r
	}
	r.CurrentPhase, r.Waiting = p.Phase, waits(s, now)
	r.CurrentIteration += s.Turning()
	for t := range s.Work() {
		if t.Status == ralph.TaskActive {
			r.Retries = max(r.Retries, t.Run.Told)
		}
	}
	if p.Current != "" {
		r.CurrentStep = &p.Current
	}
	if r.PauseKind = pauseKind(s); r.PauseKind != "" {
		r.PauseCause = x.Cause
	}
	r.Contexts = contexts(s)
	return r
}

func activeTasks(s *ralph.State) []ralph.TaskID {
	out := []ralph.TaskID{}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskActive {
			out = append(out, t.ID)
		}
	}
	return out
}

func contexts(s *ralph.State) []ContextRecord {
	out := []ContextRecord{}
	for t := range s.Work() {
		if u := t.Run.Context; t.Status == ralph.TaskActive && u.Window > 0 {
			out = append(out, ContextRecord{t.ID, t.Run.Agent, u.Used, u.Window, report.InPercent(u.Part()), slices.Contains(t.Run.Alerts, ralph.AlertContext)})
		}
	}
	return out
}
