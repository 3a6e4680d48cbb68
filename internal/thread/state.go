// Package thread owns threads: an agent that goes on turn after turn by itself. What is
// known of one (folded from the normalised stream), when it stops, what becomes of advice
// on what comes next, and whose turn is next among many. All of it is pure: time is an
// argument, and the same events and settings give the same decisions. It does not own how
// turns are run, nor how a model is asked (internal/advice); the engine of `ralph auto`
// will stand on it.
package thread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/text"
)

// What a State keeps at the most, so that it stays small whatever an agent says.
const (
	maxMessage     = 8 << 10 // bytes of the agent's last words
	maxPending     = 20      // requests that wait for an answer
	maxPast        = 10      // decisions
	maxCompactions = 20
	maxHeld        = 10
	maxLine        = 500 // bytes of a reason or a request
)

// Want is what a person wants of a thread.
type Want string

// What a person can want.
const (
	WantRun   Want = ""
	WantPause Want = "pause"
	WantStop  Want = "stop" // its stop, or full auto switched off
)

// State is what is known of a thread. It is small, has a JSON form, and is the same read
// from a journal as it was live.
type State struct {
	ID      string `json:"id"`
	Goal    string `json:"goal"` // the person's own words, repeated to the agent in each turn
	Want    Want   `json:"want,omitempty"`
	Session string `json:"session,omitempty"` // the agent's own name of the thread

	Turn   int               `json:"turn"` // how many began
	TurnID string            `json:"turn_id,omitempty"`
	Open   bool              `json:"open,omitempty"`  // a turn is under way
	Ready  bool              `json:"ready,omitempty"` // a turn has ended, and nothing was decided since
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

	Pending     []Pending  `json:"pending,omitempty"`     // what the agent waits for
	Held        []string   `json:"held,omitempty"`        // what it wanted to do in its last turn and nobody may allow unasked
	Compactions []int      `json:"compactions,omitempty"` // the turns in which it shortened its history by itself
	Decisions   []Decision `json:"decisions,omitempty"`   // the last ten

	Tree     string `json:"tree,omitempty"`     // the files after the last turn, as a hash
	Head     string `json:"head,omitempty"`     // the commit that they stand on
	Idle     int    `json:"idle,omitempty"`     // turns in a row that changed neither plan nor files
	Failing  int    `json:"failing,omitempty"`  // turns in a row that failed in the same way
	Finished bool   `json:"finished,omitempty"` // the agent says so, and the checks do not say otherwise
	Changed  bool   `json:"changed,omitempty"`  // files have changed since the last review
	More     Budget `json:"more,omitzero"`      // what a person has added to the budget
}

// Pending is a request of the agent that waits for an answer.
type Pending struct {
	ID       string    `json:"id"`
	Question bool      `json:"question,omitempty"` // it wants words, not to be allowed something
	Text     string    `json:"text"`
	Since    time.Time `json:"since"`
}

// Thread is a thread at work: its state, and the turn under way. It is for one goroutine
// at a time.
type Thread struct {
	State    State
	live     *stream.Store // nil between turns
	previous string        // the agent's name of the turn before: what still comes of it is late
	planned  bool          // the last turn changed the plan
}

// New is a thread that has not begun.
func New(id, goal string) *Thread {
	return From(State{ID: id, Goal: goal})
}

// From is a thread as it was left. A turn that was under way is lost with its process.
func From(s State) *Thread {
	s.Open, s.Pending = false, nil
	return &Thread{State: s}
}

// Begin opens the next turn. A thread never has two.
func (t *Thread) Begin() error {
	s := &t.State
	if s.Open {
		return fmt.Errorf("thread %s has a turn under way: wait for its end", s.ID)
	}
	t.live, t.previous, t.planned = stream.New(), s.TurnID, false
	if s.Session != "" { // a subagent that speaks first is not the thread
		t.live.Add(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: s.Session})
	}
	s.Turn++
	s.TurnID, s.Open, s.Ready = "", true, false
	s.Pending, s.Held = nil, nil
	return nil
}

// Add folds an event of the agent. Between turns nothing counts: what comes then is late,
// or of a turn that a resume plays again.
func (t *Thread) Add(e ralph.StreamEvent, at time.Time) {
	s := &t.State
	if e.Kind == ralph.StreamSession && e.Thread != "" && s.Session == "" {
		s.Session = strings.Clone(e.Thread)
	}
	if t.live == nil || e.Turn != "" && e.Turn == t.previous {
		return
	}
	t.live.Add(e)
	switch e.Kind {
	case ralph.StreamTurn:
		if turn, ok := t.live.Main(); ok {
			s.TurnID, s.Session = turn.ID, cmp.Or(s.Session, turn.Thread)
		}
	case ralph.StreamApproval, ralph.StreamInput:
		s.ask(e, at)
	case ralph.StreamResolved:
		s.Pending = slices.DeleteFunc(slices.Clone(s.Pending), func(p Pending) bool { return p.ID == e.Request.ID })
	case ralph.StreamTurnDone:
		if t.live.Ended() {
			t.end()
		}
	}
}

// Live is the turn under way, as far as it is; false between turns.
func (t *Thread) Live() (stream.Turn, bool) {
	if t.live == nil {
		return stream.Turn{}, false
	}
	return t.live.Main()
}

func (s *State) ask(e ralph.StreamEvent, at time.Time) {
	q := e.Request
	known := slices.ContainsFunc(s.Pending, func(p Pending) bool { return p.ID == q.ID })
	if !known && len(s.Pending) < maxPending {
		words := q.Text
		if words == "" {
			words = strings.TrimSpace(q.Tool + " " + q.Command)
		}
		s.Pending = append(s.Pending, Pending{ID: strings.Clone(q.ID), Question: e.Kind == ralph.StreamInput, Text: line(words), Since: at})
	}
}

// end takes what a turn was from its stream. The thread is ready for a decision once
// Settle has said what the stream cannot know.
func (t *Thread) end() {
	turn, _ := t.live.Main()
	sum := t.live.Summary()
	s := &t.State
	if turn.ID != "" {
		s.TurnID = turn.ID
	}
	s.Failing = failing(s, turn.Status, turn.Err)
	s.Open, s.Ready, s.Status, s.Err = false, true, turn.Status, turn.Err
	s.Items, s.Errors, s.Message = sum.Items, sum.Errors, strings.Clone(text.Tail(t.live.Text(), maxMessage))
	if len(sum.Plan) > 0 {
		t.planned = !slices.Equal(sum.Plan, s.Plan)
		s.Plan = sum.Plan
	}
	s.Usage = s.Usage.Add(turn.Usage)
	if turn.Context != (ralph.ContextUse{}) {
		s.Context = turn.Context
	}
	for range min(sum.Compacts, maxCompactions) {
		s.Compactions = append(s.Compactions, s.Turn)
	}
	s.Compactions = slices.Clone(newest(s.Compactions, maxCompactions))
	s.Pending = nil
	t.live = nil
}

// failing counts the turns in a row that failed by the same kind of error.
func failing(s *State, status ralph.TurnStatus, err *ralph.AgentError) int {
	switch {
	case status != ralph.TurnFailed:
		return 0
	case s.Status == ralph.TurnFailed && class(err) == class(s.Err):
		return s.Failing + 1
	}
	return 1
}

func class(e *ralph.AgentError) ralph.ErrorClass {
	if e == nil {
		return ""
	}
	return e.Class
}

// Ended is what is known of a turn beside its stream.
type Ended struct {
	Tree, Head string // the files now, and the commit that they stand on
	Diff       ralph.DiffSummary
	Took       time.Duration // without waits for people
	Held       []string      // what the agent wanted to do and nobody may allow unasked
	// Finished: the agent says that it is finished, and no check says otherwise. Where there
	// are checks, they have run.
	Finished bool
}

// Settle adds what is known of the turn that has just ended. What is progress: a commit, a
// changed file, a changed plan. A failed turn is no idle one: it is counted as failing.
func (t *Thread) Settle(x Ended) {
	s := &t.State
	moved := x.Tree != s.Tree || x.Head != s.Head
	switch {
	case t.planned || moved:
		s.Idle = 0
	case s.Status != ralph.TurnFailed:
		s.Idle++
	}
	if moved {
		s.Changed = s.Changed || s.Tree != "" || x.Diff.Files > 0
		s.Failing = min(s.Failing, 1)
	}
	s.Tree, s.Head, s.Diff, s.Finished = x.Tree, x.Head, x.Diff, x.Finished
	s.Spent += max(0, x.Took)
	s.Held = nil
	for _, h := range x.Held[:min(len(x.Held), maxHeld)] {
		s.Held = append(s.Held, line(h))
	}
}

// Decided records what was decided.
func (s *State) Decided(d Decision) {
	s.Ready = false
	if d.Action == signature.ActionReview {
		s.Changed = false
	}
	d.NextInput = "" // it is in the receipt, and in the turn's prompt
	s.Decisions = slices.Clone(newest(append(s.Decisions, d), maxPast))
}

// Reviewed takes what a review came to, and makes advice of it for the second decision. That
// the agent says it is finished counts no more where the review does not say so too, or is
// not sure.
func (s *State) Reviewed(o signature.ReviewOut, l Limits) signature.DecisionOut {
	if o.Verdict != signature.VerdictAccept || o.Confidence < l.MinConfidence {
		s.Finished = false
	}
	return o.Decision()
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

func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
