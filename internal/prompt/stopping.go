package prompt

import "github.com/ralph-loop/ralph"

// Stopping is what an agent is told that is about to end its turn on a task with these
// last words; "" lets it end. A signal ends a turn, whatever it says: a COMPLETE goes to
// the checks, whose result is the next iteration's. told is what the agent was told.
func Stopping(t *ralph.Task, words, told string) string {
	if ReadSignal(words, told).Kind != ralph.SignalNone {
		return ""
	}
	return "The task " + string(t.ID) + " (" + t.Name + ") has no signal yet. If work is left, go on with it now. " +
		"Then end your message with exactly one of the signals that you were told of, alone on its last line: " +
		"COMPLETE when all is done and you saw the checks pass, BLOCKED or NEEDS_HUMAN with the reason, or PROGRESS with how far it is."
}
