package view

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
)

// What pages of threads show.
type (
	DecisionsModel    = history.Decisions
	ThreadModel       = page.ThreadModel
	ThreadsBriefModel = page.ThreadsBriefModel
)

func decisionsOf(id ralph.TaskID) string { return "/decisions?thread=" + string(id) }

// surely is a confidence as people read it.
func surely(c float64) string { return fmt.Sprintf("%.0f %% sure", 100*c) }

// decided is a decision in two words: what is done, by which stop condition.
func decided(d ralph.ThreadDecision) string {
	if d.Stop != "" {
		return string(d.Action) + ": " + text.OneLine(d.Stop)
	}
	return string(d.Action)
}

// advised says whose advice it was, and what the rules made of it.
func advised(d ralph.ThreadDecision) string {
	by := text.Visible(text.Clip(d.By, 60))
	if !d.Overridden {
		return by
	}
	if d.Advised == "" {
		return by + " said nothing that counts"
	}
	return by + " advised " + text.OneLine(string(d.Advised))
}

// decisionStatus is the colour of a decision.
func decisionStatus(d ralph.ThreadDecision) string {
	switch d.Action {
	case ralph.ThenPause:
		return "paused"
	case ralph.ThenStop:
		if d.Stop == ralph.StopFinished {
			return "done"
		}
		return "held"
	case ralph.ThenReview:
		return "checking"
	case ralph.ThenContinue:
	}
	return "running"
}

// turnOf says after which turn something was decided; the name is of a thread that is still in a list.
func turnOf(d screen.Decision) string {
	turn := fmt.Sprintf("turn %d", d.Turn)
	if name := text.Visible(text.Clip(text.FirstLine(d.Name), 60)); name != "" {
		return name + ", " + turn
	}
	return turn
}

// autoStatus is the colour of a switch.
func autoStatus(a screen.Auto, finished bool) string {
	switch {
	case a == screen.AutoPaused:
		return "paused"
	case a == screen.AutoRunning:
		return "running"
	case a == screen.AutoCut:
		return "interrupted"
	case a == screen.AutoIdle:
		return "waiting"
	case finished:
		return "done"
	}
	return "held"
}

// state is the word beside the switch, where it says more.
func threadWord(c screen.Thread) string {
	if string(c.State) == string(c.Auto) {
		return ""
	}
	return string(c.State)
}

// finished reports whether a thread has reached its goal.
func finished(c screen.Thread) bool { return c.State == "finished" }

// lastWords say what the last turn was.
func lastWords(l *screen.LastTurn) string {
	kind := "turn"
	if l.Review {
		kind = "review, turn"
	}
	parts := []string{fmt.Sprintf("%s %d", kind, l.Number)}
	for _, words := range []string{screen.ItemWords(l.Items), screen.DiffWords(l.Diff)} {
		if words != "" {
			parts = append(parts, words)
		}
	}
	if l.Took > 0 {
		parts = append(parts, elapsedShort(l.Took))
	}
	return strings.Join(parts, " · ")
}

// stepName is what a step of a run is called.
func stepName(x screen.RunStep) string {
	switch x.Kind {
	case screen.RunTurn:
		return fmt.Sprintf("Turn %d", x.Turn)
	case screen.RunReview:
		return fmt.Sprintf("Review, turn %d", x.Turn)
	case screen.RunDecision:
		return "Decision"
	case screen.RunPerson:
		return "You"
	case screen.RunStart, screen.RunChecks, screen.RunEnd:
	}
	return titled(string(x.Kind))
}

// stepMark is the sign of a step of a run, with its colour and in words.
func stepMark(x screen.RunStep) (sign, tone, words string) {
	switch x.State {
	case screen.StepDone:
		return "✓", "tone-good", "done"
	case screen.StepBad:
		return "✗", "tone-bad", "did not go well"
	case screen.StepNow:
		return "●", "tone-busy", "now"
	case screen.StepNext:
	}
	return "○", "muted", "to come"
}

// switches are the buttons that stand open on a card; the others unfold.
func switches(offers []action.Available) (first, rest []action.Available) {
	return split(offers, "thread-continue", "thread-resume", "thread-pause")
}
