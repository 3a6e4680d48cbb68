package signature

import (
	"errors"
	"fmt"
	"strings"
)

// Route is how a first message is dealt with.
type Route string

// The routes.
const (
	RouteRespond    Route = "respond"    // answer it, no work is needed
	RouteUnderstand Route = "understand" // find out first what is wanted
	RoutePlan       Route = "plan"       // it is clear: plan the work
)

// maxSteps is how many steps a plan may have.
const maxSteps = 50

// GuidanceIn is what a person said first, and where they stand.
type GuidanceIn struct {
	Goal        string `json:"goal" jsonschema:"what the person said"`
	Summary     string `json:"summary" jsonschema:"what the repository is, and how it stands"`
	State       string `json:"state" jsonschema:"what has happened so far"`
	Permissions string `json:"permissions" jsonschema:"what the agent may do"`
}

// RouterOut says which way a message goes.
type RouterOut struct {
	Route      Route   `json:"route" jsonschema:"respond: it can be answered without any work; understand: it is not clear what is wanted; plan: it is clear"`
	Response   string  `json:"response" jsonschema:"with respond: the answer; else empty"`
	Reason     string  `json:"reason" jsonschema:"why, in one short sentence for a person"`
	Confidence float64 `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o RouterOut) Check(GuidanceIn) error {
	if o.Route == RouteRespond && strings.TrimSpace(o.Response) == "" {
		return errors.New("route is respond, and response is empty")
	}
	return judged(o.Reason, o.Confidence)
}

// Router asks which way a first message goes.
func Router() Signature[GuidanceIn, RouterOut] {
	return Signature[GuidanceIn, RouterOut]{
		name: "guidance_router", version: 1, purpose: "How the first message is dealt with: answer, understand or plan",
		instructions: `A person sent the first message to a coding agent that then works by itself. Choose what happens to it first.
A question about the repository that the summary answers needs no work. A goal that could mean several things has to be
understood first. A goal that is clear is planned.`,
	}
}

// UnderstandingOut is a task in other words.
type UnderstandingOut struct {
	Task         string   `json:"task" jsonschema:"what is wanted, in a few sentences that somebody can work by who has not seen the message"`
	Requirements []string `json:"requirements" jsonschema:"what must be so at the end, each so that it can be checked"`
	Assumptions  []string `json:"assumptions" jsonschema:"what you took for granted where the message says nothing"`
	Reason       string   `json:"reason" jsonschema:"why you read it so, in one short sentence for a person"`
	Confidence   float64  `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o UnderstandingOut) Check(GuidanceIn) error {
	if strings.TrimSpace(o.Task) == "" {
		return errors.New("task is empty")
	}
	return judged(o.Reason, o.Confidence)
}

// Understanding asks what a message means.
func Understanding() Signature[GuidanceIn, UnderstandingOut] {
	return Signature[GuidanceIn, UnderstandingOut]{
		name: "task_understanding", version: 1, purpose: "What a message means: the task, its requirements, what was assumed",
		instructions: `A person sent a message to a coding agent that then works by itself. Say what they want, by the message first
and the repository second. With a message such as "go" the repository says what is next: what is red, unfinished or
written down as to do. Want no more than they want.`,
	}
}

// PlanningIn is a task that is understood.
type PlanningIn struct {
	GuidanceIn
	Task         string   `json:"task" jsonschema:"what is wanted"`
	Requirements []string `json:"requirements" jsonschema:"what must be so at the end"`
}

// Planned is a step of a plan.
type Planned struct {
	Text  string `json:"text" jsonschema:"what to do"`
	Check string `json:"check" jsonschema:"how to see that it is done: a command or what to look at"`
}

// PlanningOut is a plan.
type PlanningOut struct {
	Steps      []Planned `json:"steps" jsonschema:"what to do, in order, each small enough for one turn of the agent"`
	Reason     string    `json:"reason" jsonschema:"why this way, in one short sentence for a person"`
	Confidence float64   `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o PlanningOut) Check(PlanningIn) error {
	if n := len(o.Steps); n == 0 || n > maxSteps {
		return fmt.Errorf("steps has %d entries: from 1 to %d are wanted", n, maxSteps)
	}
	for i, s := range o.Steps {
		if strings.TrimSpace(s.Text) == "" {
			return fmt.Errorf("steps[%d] has no text", i)
		}
	}
	return judged(o.Reason, o.Confidence)
}

// Planning asks for a plan.
func Planning() Signature[PlanningIn, PlanningOut] {
	return Signature[PlanningIn, PlanningOut]{
		name: "planning", version: 1, purpose: "The steps to a goal, each with how to see that it is done",
		instructions: `Plan the work of a coding agent in a repository. Few steps, in the order in which they can be done, each of them
something that can be seen to be done. The last one checks the whole. Plan nothing that the permissions rule out.`,
	}
}

// DirectiveIn is a plan, and how far it has come.
type DirectiveIn struct {
	GuidanceIn
	Task        string   `json:"task" jsonschema:"what is wanted"`
	Steps       []string `json:"steps" jsonschema:"the plan"`
	LastMessage string   `json:"last_message" jsonschema:"the agent's last words; empty before its first turn"`
	DiffSummary Diff     `json:"diff_summary" jsonschema:"what has changed in the files"`
}

// DirectiveOut is what the agent is told for its next turn.
type DirectiveOut struct {
	Action     Action  `json:"action" jsonschema:"continue: the directive is sent; stop: the plan is done; pause: only a person can decide; review: the changes need a look first"`
	Directive  string  `json:"directive" jsonschema:"with continue: the message to the agent; else empty"`
	Reason     string  `json:"reason" jsonschema:"why, in one short sentence for a person"`
	Confidence float64 `json:"confidence" jsonschema:"how sure you are, from 0 to 1"`
}

// Check implements Answer.
func (o DirectiveOut) Check(DirectiveIn) error {
	switch {
	case o.Action == ActionContinue && strings.TrimSpace(o.Directive) == "":
		return errors.New("action is continue, and directive is empty")
	case len(o.Directive) > maxNext:
		return fmt.Errorf("directive has %d bytes, at most %d are taken", len(o.Directive), maxNext)
	}
	return judged(o.Reason, o.Confidence)
}

// Decision is the directive as advice on what comes next: it is held to the same rules.
func (o DirectiveOut) Decision() DecisionOut {
	return DecisionOut{Action: o.Action, NextInput: o.Directive, Reason: o.Reason, Confidence: o.Confidence}
}

// Directive asks what the agent is told next.
func Directive() Signature[DirectiveIn, DirectiveOut] {
	return Signature[DirectiveIn, DirectiveOut]{
		name: "guidance_directive", version: 1, purpose: "What the agent is told for its next turn, by the plan and how far it is",
		instructions: `A coding agent works through a plan, turn by turn, without a person beside it. Say what it does in its next turn:
one step of the plan, how to see that it is done, and what to leave alone. Repeat what it needs of the goal. When every
step is done and seen to be done, stop.`,
	}
}
