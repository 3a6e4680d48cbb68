package report

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// threadLines are the lines of what is decided on a thread, and of a person's word to it.
func threadLines(f ralph.Fact, s *ralph.State) []string {
	switch f := f.(type) {
	case ralph.ThreadStarted:
		return []string{"THREAD: " + Called(s, f.Task)}
	case ralph.ThreadWanted:
		word := map[ralph.ThreadWant]string{ralph.ThreadRun: "goes on", ralph.ThreadPause: "pauses at the end of its turn", ralph.ThreadStop: "stops at the end of its turn"}[f.Want]
		return []string{fmt.Sprintf("THREAD: %s %s: you said so", Called(s, f.Task), word)}
	case ralph.ThreadContinued:
		line := fmt.Sprintf("THREAD: %s goes on", Called(s, f.Task))
		if f.Past != "" {
			line += " past " + OneLine(f.Past)
		}
		return []string{line + ": you said so"}
	case ralph.Reviewed:
		word := "accepted"
		if f.Action != ralph.ThenStop {
			word = "something has to change"
		}
		return []string{fmt.Sprintf("REVIEW: %s: %s: %s (confidence %.2g)", f.Task, word, OneLine(f.Reason), f.Confidence)}
	case ralph.Decided:
		return []string{fmt.Sprintf("DECIDED: %s: %s", f.Task, DecisionWords(f.Decision))}
	}
	return nil
}

// threadSummary is the last line of a session of threads.
func threadSummary(s *ralph.State) string {
	var done, stopped, open int
	for _, t := range s.Threads() {
		switch {
		case t.Status == ralph.TaskDone:
			done++
		case t.Status.Ended():
			stopped++
		default:
			open++
		}
	}
	words := text.Count(done, "thread") + " finished"
	if stopped > 0 {
		words += fmt.Sprintf(", %d stopped", stopped)
	}
	if open > 0 {
		words += fmt.Sprintf(", %d left", open)
	}
	return fmt.Sprintf("Session summary: %s, %s, %s", words, s.Session.Usage.Dollars(), ralph.Elapsed(s.Session.Elapsed))
}

// DecisionWords say in one line what was decided on a thread, why, and on whose advice.
func DecisionWords(d ralph.ThreadDecision) string {
	action := string(d.Action)
	if d.Stop != "" {
		action += " (" + d.Stop + ")"
	}
	by := fmt.Sprintf("%s, confidence %.2g", d.By, d.Confidence)
	if d.Overridden {
		advised := string(d.Advised)
		if advised == "" {
			advised = "nothing that counts"
		}
		by = fmt.Sprintf("%s advised %s, confidence %.2g: overridden", d.By, OneLine(advised), d.Confidence)
	}
	return fmt.Sprintf("%s: %s [%s; %s]", action, OneLine(d.Reason), OneLine(by), d.Rule)
}
