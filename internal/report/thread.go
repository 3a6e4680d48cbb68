package report

import (
	"cmp"
	"fmt"
	"strings"

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
		line := fmt.Sprintf("THREAD: %s %s: you said so", Called(s, f.Task), word)
		if f.Want == ralph.ThreadPause {
			line += fmt.Sprintf("; `[[thread-resume %s]]` has it go on", f.Task)
		}
		return []string{line}
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
	case ralph.Guided:
		return []string{fmt.Sprintf("GUIDANCE: %s: %s", f.Task, GuidedWords(f))}
	case ralph.Decided:
		return []string{fmt.Sprintf("DECIDED: %s: %s", f.Task, DecisionWords(f.Decision))}
	}
	return nil
}

// maxGuided is how much of each text of guidance a line shows.
const maxGuided = 600

// GuidedWords say in one line what a part of guidance has come to, and who says so.
func GuidedWords(f ralph.Guided) string {
	by := fmt.Sprintf("[%s, confidence %.2g]", f.By, f.Confidence)
	words := string(f.Part) + ": "
	switch {
	case f.Outcome != ralph.GuidedAnswered:
		return Clip(OneLine(words+"no answer that counts ("+f.Outcome+"): "+f.Reason), maxGuided)
	case f.Part == ralph.GuideResearch:
		return Clip(OneLine(words+f.Summary), maxGuided)
	case f.Part == ralph.GuideRoute && f.Response != "":
		words += f.Route + ": " + f.Response
	case f.Part == ralph.GuideRoute:
		words += f.Route + ": " + f.Reason
	case f.Part == ralph.GuideUnderstand:
		words += f.Understood
		if len(f.Assumptions) > 0 {
			words += "; taken for granted: " + strings.Join(f.Assumptions, "; ")
		}
	case f.Part == ralph.GuidePlan:
		for i, s := range f.Steps {
			words += fmt.Sprintf("%d. %s ", i+1, s.Text)
		}
	default:
		words += string(f.Action) + ": " + cmp.Or(f.Directive, f.Reason)
	}
	return Clip(OneLine(words), maxGuided) + " " + OneLine(by)
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
