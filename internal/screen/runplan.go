package screen

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// RunStep is a step of a thread's own run: not of the work, which is its agent's plan, but of what
// ralph does with the thread.
type RunStep struct {
	Kind    RunStepKind
	State   RunStepState
	Turn    int   // that it belongs to; 0 for none
	Seq     int64 // of its newest fact; 0 for what is still to come
	Receipt int64 // its number; 0 for none
	At      time.Time
	Took    time.Duration // of a turn
	Text    string
	Rule    string // by which it was decided
}

// RunStepKind is what a step of a run is.
type RunStepKind string

// The steps of a thread's run.
const (
	RunStart    RunStepKind = "start"
	RunTurn     RunStepKind = "turn"
	RunReview   RunStepKind = "review"
	RunChecks   RunStepKind = "checks"
	RunDecision RunStepKind = "decision"
	RunPerson   RunStepKind = "person" // a person's word
	RunEnd      RunStepKind = "end"
)

// RunStepState is how far a step is.
type RunStepState string

// How far a step is.
const (
	StepDone RunStepState = "done"
	StepNow  RunStepState = "now"
	StepNext RunStepState = "next"
	StepBad  RunStepState = "bad" // over, and not well
)

// RunPlan gathers the steps of one thread's run, which is ralph's own plan for it. It is given the
// facts in order; those of other threads leave it alone.
type RunPlan struct {
	Thread ralph.TaskID
	Most   int // steps that are kept, the newest; 0 for all

	steps []RunStep
	cut   int // that were left out
}

// Add takes in the next event.
func (p *RunPlan) Add(e ralph.Event) {
	if e.Fact.About() != p.Thread {
		return
	}
	x := RunStep{State: StepDone, Seq: e.Seq, Receipt: e.Answers, At: e.At}
	switch f := e.Fact.(type) {
	case ralph.ThreadStarted:
		x.Kind, x.Text = RunStart, "it was asked for"
	case ralph.ThreadWanted:
		x.Kind, x.Text = RunPerson, map[ralph.ThreadWant]string{
			ralph.ThreadRun: "you had it go on", ralph.ThreadPause: "you paused it", ralph.ThreadStop: "you had it stop",
		}[f.Want]
	case ralph.ThreadContinued:
		x.Kind, x.Text = RunPerson, "you had it go on"
		if f.Past != "" {
			x.Text += " past " + text.OneLine(f.Past)
		}
	case ralph.TaskMessaged:
		x.Kind, x.Text = RunPerson, "you told its agent something"
	case ralph.TurnEnded:
		x.turn(f)
	case ralph.ChecksRan:
		x.Kind, x.Text, x.Took = RunChecks, "green", f.Took
		if !f.Pass {
			x.State, x.Text = StepBad, "red"
		}
	case ralph.Decided:
		d := f.Decision
		x.Kind, x.Turn, x.Rule, x.Text = RunDecision, d.Turn, d.Rule, string(d.Action)
		if d.Stop != "" {
			x.Text += " (" + text.OneLine(d.Stop) + ")"
		}
		x.Text += ": " + report.OneLine(d.Reason)
	case ralph.TaskEnded:
		if !f.Status.Ended() { // it only gave its slot to another one
			return
		}
		x.Kind, x.Rule, x.Text = RunEnd, f.Why.Rule, string(f.Status)
		if f.Status != ralph.TaskDone {
			x.State = StepBad
		}
	default:
		return
	}
	p.steps = append(p.steps, x)
	if p.Most > 0 && len(p.steps) > 2*p.Most {
		p.cut += len(p.steps) - p.Most
		p.steps = slices.Clone(p.steps[len(p.steps)-p.Most:])
	}
}

func (x *RunStep) turn(f ralph.TurnEnded) {
	x.Kind, x.Turn, x.Took, x.Text = RunTurn, f.Iteration, f.Took, f.Agent
	if f.Stage == ralph.KindReview {
		x.Kind = RunReview
	}
	switch {
	case f.Failed():
		x.State = StepBad
		if f.Err != nil {
			x.Text += ": " + report.OneLine(f.Err.Message)
		}
	case f.Signal.Kind != "":
		x.Text += ": " + string(f.Signal.Kind)
	case !f.Changed && f.Stage != ralph.KindReview:
		x.Text += ": changed nothing"
	}
	if words := DiffWords(f.Summary.Diff); words != "" {
		x.Text += ", " + words
	}
}

// Steps are the steps so far, with what goes on at this moment and what comes next, and how many
// older ones are left out.
func (p *RunPlan) Steps(x *Thread) (steps []RunStep, cut int) {
	from := 0
	if p.Most > 0 {
		from = max(0, len(p.steps)-p.Most)
	}
	steps = append(steps, p.steps[from:]...)
	turn := x.Turns + 1
	add := func(k RunStepKind, s RunStepState, text string) {
		steps = append(steps, RunStep{Kind: k, State: s, Turn: turn, Text: text})
	}
	switch {
	case x.Auto == AutoStopped:
		return steps, p.cut + from
	case x.Auto == AutoPaused && x.Asks != "":
		add(RunPerson, StepNow, report.OneLine(x.Asks))
		add(RunTurn, StepNext, "")
	case x.Auto == AutoPaused:
		add(RunPerson, StepNow, "you paused it")
		add(RunTurn, StepNext, "")
	case !x.Turn.IsZero():
		steps = append(steps, RunStep{Kind: RunTurn, State: StepNow, Turn: turn, At: x.Turn, Text: x.Agent})
	default:
		add(RunTurn, StepNext, x.Doing)
	}
	add(RunDecision, StepNext, "what comes after "+fmt.Sprintf("turn %d", turn))
	steps = append(steps, RunStep{Kind: RunEnd, State: StepNext, Text: "when its goal is reached, or a stop condition holds"})
	return steps, p.cut + from
}
