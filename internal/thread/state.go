// Package thread owns what is decided about threads, agents that go on turn after turn by
// themselves: what is known of one, when it stops, and what becomes of advice on what comes
// next. All of it is pure: time is an argument, and the same state and settings give the same
// decisions. It does not own the facts of a thread (the root), when a decision is due nor what
// is done then (internal/policy), nor how a model is asked (internal/advice).
package thread

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// What a State shows at the most, so that it stays small whatever an agent says.
const (
	maxMessage = 8 << 10 // bytes of the agent's last words
	maxHeld    = 10
	maxLine    = 500 // bytes of a reason or a request
)

// Want is what a person wants of a thread.
type Want = ralph.ThreadWant

// What a person can want.
const (
	WantRun   = ralph.ThreadRun
	WantPause = ralph.ThreadPause
	WantStop  = ralph.ThreadStop
)

// Decision is what comes after a turn, and why.
type Decision = ralph.ThreadDecision

// State is what is known of a thread after a turn: it is all that is decided by.
type State struct {
	ID      string `json:"id"`
	Goal    string `json:"goal"` // the person's own words, repeated to the agent in each turn
	Want    Want   `json:"want,omitempty"`
	Session string `json:"session,omitempty"` // the agent's own name of the thread

	Turn   int               `json:"turn"` // how many have ended
	TurnID string            `json:"turn_id,omitempty"`
	Open   bool              `json:"open,omitempty"` // a turn is under way
	Status ralph.TurnStatus  `json:"status,omitempty"`
	Err    *ralph.AgentError `json:"error,omitempty"` // why the last turn failed

	Items   []ralph.ItemCount `json:"items,omitempty"` // of the last turn
	Plan    []ralph.PlanStep  `json:"plan,omitempty"`  // the agent's own, the last one
	Diff    ralph.DiffSummary `json:"diff,omitzero"`
	Errors  []string          `json:"errors,omitempty"`  // of the last turn
	Message string            `json:"message,omitempty"` // the agent's last words
	Usage   ralph.Usage       `json:"usage,omitzero"`    // of all turns
	Context ralph.ContextUse  `json:"context,omitzero"`
	Spent   time.Duration     `json:"spent,omitempty"` // in turns, without waits for people

	Pending     []Pending            `json:"pending,omitempty"`     // what the agent waits for
	Held        []string             `json:"held,omitempty"`        // what it wanted to do in its last turn and nobody may allow unasked
	Compactions []int                `json:"compactions,omitempty"` // the turns in which it shortened its history by itself
	Decisions   []ralph.PastDecision `json:"decisions,omitempty"`   // the last ten

	Idle     int    `json:"idle,omitempty"`     // turns in a row that changed neither plan nor files
	Failing  int    `json:"failing,omitempty"`  // turns in a row that failed in the same way
	Finished bool   `json:"finished,omitempty"` // the agent says so, and neither checks nor a review say otherwise
	Blocked  string `json:"blocked,omitempty"`  // why the agent says that it cannot go on
	Red      bool   `json:"red,omitempty"`      // it said that it is finished, and a check says otherwise
	Changed  bool   `json:"changed,omitempty"`  // files have changed since the last review
	More     Budget `json:"more,omitzero"`      // what a person has added to the budget

	Review   *ralph.Reviewed `json:"review,omitempty"`    // what a review has just come to
	NoReview bool            `json:"no_review,omitempty"` // the last turn was a review that gave no answer
}

// Pending is a request of the agent that waits for an answer.
type Pending struct {
	ID       string    `json:"id"`
	Question bool      `json:"question,omitempty"` // it wants words, not to be allowed something
	Text     string    `json:"text"`
	Since    time.Time `json:"since"`
}

// Of is what is known of the thread that a task is; the task must be one.
func Of(s *ralph.State, t *ralph.Task) State {
	r, th := t.Run, t.Run.Thread
	x := State{
		ID: string(t.ID), Goal: t.Goal(), Want: th.Want, Session: r.Session, Turn: r.Iterations, Open: !r.TurnAt.IsZero(),
		Plan: th.Plan, Usage: r.Usage, Context: r.Context, Spent: r.Spent, Compactions: th.Compactions, Decisions: th.Past,
		Idle: th.Idle, Failing: r.SameError, Changed: th.Changed, Review: th.Review, More: budgetOf(th.More),
	}
	for _, g := range s.Approvals {
		if g.InTurn && g.Task == t.ID {
			x.Pending = append(x.Pending, Pending{ID: string(g.ID), Question: g.Kind == ralph.ApprovalQuestion, Text: line(g.Text), Since: g.AskedAt})
		}
	}
	if r.Last != nil {
		x.last(t, r.Last)
	}
	return x
}

// last adds what the last turn was.
func (s *State) last(t *ralph.Task, f *ralph.TurnEnded) {
	s.TurnID, s.Status, s.Err = fmt.Sprintf("%s/%d", t.ID, f.Iteration), ralph.TurnCompleted, f.Err
	switch {
	case f.Exit == ralph.ExitUser:
		s.Status = ralph.TurnInterrupted
	case f.Failed():
		s.Status = ralph.TurnFailed
	}
	s.NoReview = f.Stage == ralph.KindReview && s.Review == nil
	s.Items, s.Errors, s.Message = f.Summary.Items, f.Summary.Errors, text.Tail(f.Tail, maxMessage)
	if f.Summary.Diff != nil {
		s.Diff = *f.Summary.Diff
	}
	for _, h := range f.Denied[:min(len(f.Denied), maxHeld)] {
		s.Held = append(s.Held, line(h))
	}
	switch checks := t.Run.Checks; {
	case f.Failed():
	case t.Run.Thread.Claimed:
		s.Red = checks != nil && !checks.Pass
		s.Finished = !s.Red && !t.Run.Thread.Doubted
	case f.Signal.Kind == ralph.SignalBlocked:
		s.Blocked = line(f.Signal.Text)
		if s.Blocked == "" {
			s.Blocked = "it gave no reason"
		}
	}
}

func budgetOf(l ralph.ThreadLimits) Budget {
	return Budget{Tokens: l.Tokens, Time: l.Time, Cost: l.Cost, Iterations: l.Turns}
}

// Input is what a model is shown of the thread.
func (s *State) Input() signature.DecisionIn {
	in := signature.DecisionIn{
		ThreadID: s.ID, TurnID: s.TurnID, Goal: s.Goal, LastTurnStatus: string(s.Status), LastMessage: s.Message,
		DiffSummary: signature.Diff{Files: s.Diff.Files, Added: s.Diff.Added, Deleted: s.Diff.Deleted},
		TokenUsage: signature.Tokens{
			Input: s.Usage.Input, Output: s.Usage.Output, Cost: s.Usage.Cost, Context: s.Context.Used, Window: s.Context.Window,
		},
		CompactionEvents: slices.Clone(s.Compactions),
	}
	if s.Err != nil {
		in.TurnError = string(s.Err.Class) + ": " + s.Err.Message
	}
	for _, p := range s.Plan {
		in.TurnPlan = append(in.TurnPlan, signature.PlanStep{Text: p.Text, Status: p.Status})
	}
	for _, p := range s.Pending {
		if p.Question {
			in.PendingToolInputs = append(in.PendingToolInputs, p.Text)
		} else {
			in.PendingApprovals = append(in.PendingApprovals, p.Text)
		}
	}
	for _, d := range s.Decisions {
		in.RecentActions = append(in.RecentActions, signature.Past{Turn: d.Turn, Action: d.Action, Reason: d.Reason, Stop: d.Stop})
	}
	return in
}

// line is a text of others in one line that steers no terminal.
func line(s string) string {
	return strings.Clone(text.Cut(text.SafeLine(text.Head(s, 4*maxLine)), maxLine))
}
