package prompt

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// C-002: a turn on a task that has no signal is given its next instruction, one with
// any signal ends; an echo of the prompt is no signal.
func TestStopping(t *testing.T) {
	t.Parallel()
	task := &ralph.Task{ID: "t-1a2b", Name: "say hello"}
	const told = "End with\n<ralph>COMPLETE</ralph>\nalone on a line."
	for words, ends := range map[string]bool{
		"":                                   false,
		"I stop.":                            false,
		told:                                 false,
		"Done.\n<ralph>COMPLETE</ralph>":     true,
		"<ralph>BLOCKED: no network</ralph>": true,
		"<ralph>NEEDS_HUMAN: which port?</ralph>":        true,
		"<ralph>PROGRESS: 40 the parser is done</ralph>": true,
	} {
		got := Stopping(task, words, told)
		if (got == "") != ends {
			t.Errorf("%q: %q", words, got)
		}
		if !ends && (!strings.Contains(got, "t-1a2b") || ReadSignal(got, "").Kind != ralph.SignalNone) {
			t.Errorf("%q: %q names no task, or is a signal itself", words, got)
		}
	}
}
