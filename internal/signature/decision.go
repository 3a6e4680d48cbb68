package signature

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Action is what becomes of a thread after a turn.
type Action = ralph.ThreadAction

// The actions.
const (
	ActionContinue = ralph.ThenContinue
	ActionPause    = ralph.ThenPause
	ActionStop     = ralph.ThenStop
	ActionReview   = ralph.ThenReview
)

// maxNext is how long the words for a next turn may be, in bytes.
const maxNext = 16 << 10

// PlanStep is a step of the agent's own plan.
type PlanStep struct {
	Text   string `json:"text" jsonschema:"what the step is"`
	Status string `json:"status" jsonschema:"pending, in_progress or completed"`
}

// Diff is what has changed so far, in numbers.
type Diff struct {
	Files   int   `json:"files" jsonschema:"changed files"`
	Added   int64 `json:"added" jsonschema:"added lines"`
	Deleted int64 `json:"deleted" jsonschema:"deleted lines"`
}

// Tokens is what the thread has used.
type Tokens struct {
	Input   int64   `json:"input" jsonschema:"tokens read, all turns"`
	Output  int64   `json:"output" jsonschema:"tokens written, all turns"`
	Cost    float64 `json:"cost" jsonschema:"US dollars, all turns"`
	Context int64   `json:"context" jsonschema:"tokens in the agent's context window now, 0 if not known"`
	Window  int64   `json:"window" jsonschema:"size of that window, 0 if not known"`
}

// Past is an earlier decision on the thread.
type Past struct {
	Turn   int    `json:"turn" jsonschema:"the number of the turn that it came after"`
	Action Action `json:"action" jsonschema:"what was done"`
	Reason string `json:"reason" jsonschema:"why"`
	Stop   string `json:"stop,omitempty" jsonschema:"the stop condition that was hit, if any"`
}

// DecisionIn is a turn that has ended.
type DecisionIn struct {
	ThreadID          string     `json:"thread_id" jsonschema:"the thread"`
	TurnID            string     `json:"turn_id" jsonschema:"the turn that ended"`
	Goal              string     `json:"goal" jsonschema:"what the person asked the agent for"`
	LastTurnStatus    string     `json:"last_turn_status" jsonschema:"completed, interrupted or failed"`
	TurnError         string     `json:"turn_error,omitempty" jsonschema:"why the turn failed, if it did"`
	LastMessage       string     `json:"last_message" jsonschema:"the agent's last words"`
	TurnPlan          []PlanStep `json:"turn_plan" jsonschema:"the agent's own plan"`
	DiffSummary       Diff       `json:"diff_summary" jsonschema:"what has changed in the files"`
	TokenUsage        Tokens     `json:"token_usage" jsonschema:"what the thread has used"`
	PendingApprovals  []string   `json:"pending_approvals" jsonschema:"what the agent wants to do and nobody has answered"`
	PendingToolInputs []string   `json:"pending_tool_inputs" jsonschema:"questions of the agent that nobody has answered"`
	RecentActions     []Past     `json:"recent_actions" jsonschema:"the last decisions, oldest first"`
	CompactionEvents  []int      `json:"compaction_events" jsonschema:"the turns in which the agent shortened its history by itself, one number for each time"`
}

// DecisionOut is advice on what comes next.
type DecisionOut struct {
	Action     Action  `json:"action" jsonschema:"what comes next"`
	NextInput  string  `json:"next_input" jsonschema:"with continue: the message to the agent for its next turn; else empty"`
	Reason     string  `json:"reason" jsonschema:"why, in one short sentence for a person"`
	Confidence float64 `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o DecisionOut) Check(DecisionIn) error {
	if len(o.NextInput) > maxNext {
		return fmt.Errorf("next_input has %d bytes, at most %d are taken", len(o.NextInput), maxNext)
	}
	return judged(o.Reason, o.Confidence)
}

// judged is what every answer must have: a reason, and how sure the model is.
func judged(reason string, confidence float64) error {
	if strings.TrimSpace(reason) == "" {
		return errors.New("reason is empty: say why in one short sentence")
	}
	if !(confidence >= 0 && confidence <= 1) {
		return fmt.Errorf("confidence is %v: it must be a number from 0 to 1", confidence)
	}
	return nil
}

// Decision asks what comes after a turn of a thread.
func Decision() Signature[DecisionIn, DecisionOut] {
	return Signature[DecisionIn, DecisionOut]{
		name: "decision", version: 1, purpose: "What comes after a turn: go on, pause, stop or review",
		instructions: `A coding agent works on a goal, turn by turn, without a person beside it. A turn has ended.
Decide what comes next:
- continue: there is work left that the agent can do. Write next_input: what to do next, in a few sentences, toward the goal and nothing else.
- review: the work looks finished and files have changed that nobody has looked at.
- stop: the goal is reached, or the agent cannot get closer to it.
- pause: only a person can decide. Say in reason what they have to decide.
When you are not sure, give a low confidence: a person is asked then.`,
	}
}

// Asked is one question of an agent.
type Asked struct {
	ID      string   `json:"id" jsonschema:"the question's name"`
	Text    string   `json:"text" jsonschema:"the question"`
	Options []string `json:"options" jsonschema:"answers to choose from; empty: any words"`
}

// ToolInputIn are questions that an agent waits with in the middle of its turn.
type ToolInputIn struct {
	ThreadID    string     `json:"thread_id" jsonschema:"the thread"`
	TurnID      string     `json:"turn_id" jsonschema:"the turn under way"`
	Goal        string     `json:"goal" jsonschema:"what the person asked the agent for"`
	LastMessage string     `json:"last_message" jsonschema:"the agent's last words"`
	TurnPlan    []PlanStep `json:"turn_plan" jsonschema:"the agent's own plan"`
	Questions   []Asked    `json:"questions" jsonschema:"what the agent asks"`
}

// Given is the answer to one question.
type Given struct {
	ID     string `json:"id" jsonschema:"the question's name, as it was given"`
	Answer string `json:"answer" jsonschema:"the answer; where there are options, one of them word for word"`
}

// ToolInputOut are answers to all of them.
type ToolInputOut struct {
	Answers    []Given `json:"answers" jsonschema:"one for each question, in their order"`
	Reason     string  `json:"reason" jsonschema:"why, in one short sentence for a person"`
	Confidence float64 `json:"confidence" jsonschema:"how sure you are, from 0 to 1: that of the least certain answer"`
}

// Check implements Answer.
func (o ToolInputOut) Check(in ToolInputIn) error {
	if len(o.Answers) != len(in.Questions) {
		return fmt.Errorf("answers has %d entries, and %d questions were asked", len(o.Answers), len(in.Questions))
	}
	for i, q := range in.Questions {
		a := o.Answers[i]
		switch {
		case a.ID != q.ID:
			return fmt.Errorf("answers[%d] is for %q: the question there is %q", i, a.ID, q.ID)
		case strings.TrimSpace(a.Answer) == "":
			return fmt.Errorf("answers[%d] is empty", i)
		case len(a.Answer) > maxNext:
			return fmt.Errorf("answers[%d] has %d bytes, at most %d are taken", i, len(a.Answer), maxNext)
		case len(q.Options) > 0 && !slices.Contains(q.Options, a.Answer):
			return fmt.Errorf("answers[%d] is %q, which is none of its options %q", i, a.Answer, q.Options)
		}
	}
	return judged(o.Reason, o.Confidence)
}

// ToolInput asks for answers to an agent's questions. It never answers what an agent wants
// to be allowed: approvals are no questions.
func ToolInput() Signature[ToolInputIn, ToolInputOut] {
	return Signature[ToolInputIn, ToolInputOut]{
		name: "tool_input", version: 1, purpose: "Answers to the questions that an agent asks in the middle of a turn",
		instructions: `A coding agent works on a goal without a person beside it, and asks questions in the middle of its turn.
Answer each as the person would who set the goal: choose what serves the goal, changes least and can be taken back.
Give a low confidence when an answer depends on taste, money, accounts, secrets or other people, or when a wrong one
could not be undone: a person is asked then.`,
	}
}

// Verdict is what a review comes to.
type Verdict string

// The verdicts.
const (
	VerdictAccept Verdict = "accept" // the changes do what was asked
	VerdictRevise Verdict = "revise" // the agent has to go on
)

// ReviewIn is work that is said to be finished.
type ReviewIn struct {
	ThreadID    string   `json:"thread_id" jsonschema:"the thread"`
	TurnID      string   `json:"turn_id" jsonschema:"the turn that ended"`
	Goal        string   `json:"goal" jsonschema:"what the person asked the agent for"`
	LastMessage string   `json:"last_message" jsonschema:"the agent's last words"`
	DiffSummary Diff     `json:"diff_summary" jsonschema:"what has changed in the files"`
	Patch       string   `json:"patch" jsonschema:"the changes as a patch, perhaps only its beginning"`
	Checks      []string `json:"checks" jsonschema:"what the checks said, one line each"`
}

// Finding is something that a review found.
type Finding struct {
	File string `json:"file" jsonschema:"the path, empty if it is about no single file"`
	Line int    `json:"line" jsonschema:"the line in the new file, 0 if it is about no single line"`
	Text string `json:"text" jsonschema:"what is wrong and what to do about it"`
}

// ReviewOut is what a review comes to.
type ReviewOut struct {
	Verdict    Verdict   `json:"verdict" jsonschema:"accept: the changes do what was asked; revise: the agent has to go on"`
	Findings   []Finding `json:"findings" jsonschema:"what has to change; empty with accept"`
	Reason     string    `json:"reason" jsonschema:"why, in one short sentence for a person"`
	Confidence float64   `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o ReviewOut) Check(ReviewIn) error {
	for i, f := range o.Findings {
		if strings.TrimSpace(f.Text) == "" || f.Line < 0 {
			return fmt.Errorf("findings[%d] needs a text, and a line of 0 or more", i)
		}
	}
	if (o.Verdict == VerdictRevise) != (len(o.Findings) > 0) {
		return fmt.Errorf("verdict is %s with %d findings: revise needs one at least, accept has none", o.Verdict, len(o.Findings))
	}
	return judged(o.Reason, o.Confidence)
}

// Decision is the review as advice on what comes next: it is held to the same rules.
func (o ReviewOut) Decision() DecisionOut {
	d := DecisionOut{Action: ActionStop, Reason: o.Reason, Confidence: o.Confidence}
	if o.Verdict == VerdictAccept {
		return d
	}
	words := "A review of your changes found what has to change first:"
	for _, f := range o.Findings {
		words += "\n- "
		switch {
		case f.File != "" && f.Line > 0:
			words += fmt.Sprintf("%s:%d: ", f.File, f.Line)
		case f.File != "":
			words += f.File + ": "
		}
		words += f.Text
	}
	d.Action, d.NextInput = ActionContinue, text.Cut(words, maxNext-16)
	return d
}

// Review asks whether changes do what was asked, where the agent has no review of its own.
func Review() Signature[ReviewIn, ReviewOut] {
	return Signature[ReviewIn, ReviewOut]{
		name: "review", version: 1, purpose: "Whether the changes do what was asked, and what has to change",
		instructions: `A coding agent says that it has reached a goal. Look at its changes: do they do what was asked, all of it and
nothing else? Are there mistakes, missing tests, tests that were removed or weakened, leftovers? Name only what has to
change before the work can be used, not what you would have written another way.`,
	}
}
