package views

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/queue"
)

// SessionVersion is the version of ralph/.state/session.json that this program
// writes, and the only one that it reads.
const SessionVersion = 1

const (
	SessionFile = StateDir + "/session.json"
	OldFile     = ".old" // ends the name of one that was set aside
)

// Session is ralph/.state/session.json: the session for other
// programs to read. It is made from the journal and never read for work: who deletes
// it loses nothing.
type Session struct {
	Version     int             `json:"version"`
	SessionID   ralph.SessionID `json:"session_id"`
	PlanID      string          `json:"plan_id"` // the plan's spec, a file in ralph/specs; "" for none
	Mode        string          `json:"mode"`    // agent, autopilot, construct, plan
	Autonomy    ralph.Autonomy  `json:"autonomy"`
	Status      string          `json:"status"` // as `ralph status` has it; "completed" at the end
	Cause       string          `json:"cause,omitempty"`
	Pause       ralph.PauseKind `json:"pause,omitempty"`
	StartedAt   time.Time       `json:"started_at"`
	UpdatedAt   time.Time       `json:"updated_at"` // of the newest fact
	EndedAt     time.Time       `json:"ended_at,omitzero"`
	EndReason   ralph.Reason    `json:"end_reason,omitempty"`
	PhaseIndex  int             `json:"current_phase_index"` // from 0: of the step at work, else the next; -1 when none is left
	StepIndex   int             `json:"current_step_index"`  // within the phase, likewise
	Completed   int             `json:"completed_steps"`     // tasks of the plan
	Failed      int             `json:"failed_steps"`        // failed, blocked or out of time
	Skipped     []ralph.TaskID  `json:"skipped_step_ids"`
	ActiveAgent string          `json:"active_agent"`
	Fallback    string          `json:"fallback_reason,omitempty"`
	Pid         int             `json:"pid,omitempty"`
	SpecsDone   int             `json:"specs_completed"`
	SpecsFailed int             `json:"specs_failed"`
	Iterations  int             `json:"iterations"`
	TotalCost   float64         `json:"total_cost"`
	Elapsed     time.Duration   `json:"elapsed_ns"`
	Spec        string          `json:"spec,omitempty"`
	SpecID      ralph.SpecID    `json:"spec_id,omitempty"`
	Round       int             `json:"round,omitempty"`
	Queue       []string        `json:"queue"`  // specs that wait in the inbox, in its order
	Gates       []SessionGate   `json:"gates"`  // what waits for a person, oldest first
	Config      json.RawMessage `json:"config"` // the settings that policy decides with; null before there are any
	// Services are the trackers that have been called; `ralph breaker list` has the rest of them.
	Services []SessionService `json:"services,omitempty"`
}

// SessionService is how the breaker of a tracker stands.
type SessionService struct {
	Service  ralph.Service      `json:"service"`
	State    ralph.BreakerState `json:"state"`
	Failures int                `json:"failures"`           // that count
	OpenedAt time.Time          `json:"opened_at,omitzero"` // of an open one
	Until    time.Time          `json:"until,omitzero"`     // no call before: the breaker's, or the service's own limit
}

// SessionGate is a gate that waits; `ralph gates` has the rest of it.
type SessionGate struct {
	ID       ralph.ApprovalID `json:"id"`
	Kind     string           `json:"kind"`
	Task     ralph.TaskID     `json:"task,omitempty"`
	Text     string           `json:"text"`
	AskedAt  time.Time        `json:"asked_at"`
	Deadline time.Time        `json:"deadline,omitzero"` // zero: no limit
}

// ReadSession reads session.json; nil without an error when there is none.
// Another version is a *ralph.Refusal, anything else that is no session a
// *ralph.CorruptError.
func ReadSession(root string) (*Session, error) {
	b, err := os.ReadFile(filepath.Join(root, SessionFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", SessionFile, err)
	}
	var version struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, &ralph.CorruptError{File: SessionFile, Line: 1, Why: err.Error()}
	}
	if v := version.Version; v == nil || *v != SessionVersion {
		return nil, wrongVersion(v)
	}
	var x Session
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, &ralph.CorruptError{File: SessionFile, Line: 1, Why: err.Error()}
	}
	return &x, nil
}

func wrongVersion(v *int) error {
	has := "has no version"
	if v != nil {
		has = fmt.Sprintf("has version %d", *v)
	}
	return &ralph.Refusal{
		Why:  fmt.Sprintf("%s %s, this ralph knows version %d: another ralph has worked here", SessionFile, has, SessionVersion),
		Hint: "the next start of an engine sets it aside and makes it anew", Kind: ralph.ErrUsage,
	}
}

// CanResume reports whether the session was interrupted, so that the next start may
// go on with it. While an engine holds the lock it is that one's.
func (x *Session) CanResume() bool {
	s := ralph.Session{ID: x.SessionID, Ended: x.EndReason, Auto: x.Autonomy}
	return s.Resumable()
}

// writeSteps writes session.json where facts show in it. The end of a task of the plan
// is in the file before anything else happens; its start and its turns may
// wait for plan.jsonl, as each write makes the next fsync of the journal slower, and
// stages come and go without it.
func (v *Views) writeSteps(s *ralph.State, facts []ralph.Fact, t touched, later bool) error {
	ended, began := false, t.sessionSoon
	for _, fact := range facts {
		switch f := fact.(type) {
		case ralph.TaskStarted:
			began = began || inPlan(s, f.ID)
		case ralph.TaskEnded:
			ended = ended || inPlan(s, f.ID)
		}
	}
	switch {
	case t.session, s.Session.ID != "" && (ended || t.services || began && !later):
		return v.writeSession(s)
	case s.Session.ID != "" && began:
		v.sessionLater = true
	}
	return nil
}

func inPlan(s *ralph.State, id ralph.TaskID) bool {
	t := s.Task(id)
	return t != nil && t.IsBuild()
}

func sessionOf(s *ralph.State) Session {
	x, p := s.Session, s.Progress()
	view := Session{
		Version: SessionVersion, SessionID: x.ID, PlanID: s.Plan.File, Mode: x.Mode, Autonomy: x.Auto, Status: s.Mode(), Cause: x.Cause, Pause: x.Pause,
		StartedAt: x.StartedAt, UpdatedAt: s.At, EndedAt: x.EndedAt, EndReason: x.Ended,
		PhaseIndex: p.PhaseAt, StepIndex: p.StepAt, Completed: p.Completed, Failed: p.Failed, Skipped: p.Skipped,
		ActiveAgent: x.ActiveAgent(), Fallback: x.Fallback, Pid: x.Pid, SpecsDone: x.Completed, SpecsFailed: x.Failed,
		Iterations: x.Turns, TotalCost: math.Round(x.Usage.Cost*1e6) / 1e6, Elapsed: s.Running(s.At), Config: x.Config,
	}
	view.Queue = []string{}
	for _, spec := range queue.Waiting(s) {
		view.Queue = append(view.Queue, spec.File)
	}
	view.Gates = []SessionGate{}
	for _, g := range s.Approvals {
		view.Gates = append(view.Gates, SessionGate{g.ID, g.Kind, g.Task, g.Text, g.AskedAt, g.Deadline})
	}
	for _, x := range s.Outsides {
		until := x.Breaker.Until
		if x.Until.After(until) {
			until = x.Until
		}
		view.Services = append(view.Services, SessionService{x.Service, x.Breaker.Now(), len(x.Breaker.Failures), x.Breaker.Opened, until})
	}
	if s.Job != nil {
		view.Spec, view.SpecID, view.Round = s.Job.File, s.Job.Spec, s.Job.Round
	}
	return view
}

func (v *Views) writeSession(s *ralph.State) error {
	v.sessionLater = false
	return v.writeJSON(filepath.Join(v.root, SessionFile), sessionOf(s))
}

// AgentFile is what agent mode leaves to be resumed from.
const AgentFile = "ralph/.agent-session"

// agentSession is ralph/.agent-session: five fields, exactly: other programs read it.
type agentSession struct {
	StartedAt      time.Time `json:"started_at"`
	SpecsCompleted int       `json:"specs_completed"`
	SpecsFailed    int       `json:"specs_failed"`
	TotalCost      float64   `json:"total_cost"`
	CurrentSpecID  string    `json:"current_spec_id"`
}

// writeAgentSession keeps D's session file while agent mode has something to
// go on with: it is gone after a normal end, and stays after SIGINT.
func (v *Views) writeAgentSession(s *ralph.State) error {
	x := s.Session
	if x.Mode != "agent" {
		return nil
	}
	path := filepath.Join(v.root, AgentFile)
	if !x.Live() && x.Ended != ralph.ReasonInterrupted && x.Ended != ralph.ReasonError {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove ralph/.agent-session: %w", err)
		}
		return nil
	}
	return v.writeJSON(path, agentSession{
		StartedAt: x.StartedAt.UTC().Truncate(time.Second), SpecsCompleted: x.Completed, SpecsFailed: x.Failed,
		TotalCost: math.Round(x.Usage.Cost*1e6) / 1e6, CurrentSpecID: string(x.Current),
	})
}
