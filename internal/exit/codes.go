// Package exit owns the codes that ralph ends with, and what each means.
package exit

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/shim"
)

// The exit codes. exitCodes says what each means.
const (
	OK          = 0
	Failures    = 1
	Usage       = 2 // usage, config, corrupt state, a place where ralph cannot work
	Limit       = 3
	Human       = 4
	Stopped     = 5
	Interrupted = 130
)

// Error ends the program with a code; its text was printed already.
type Error struct{ Code int }

// Meaning is an exit code of the commands that work, in words for a person.
type Meaning struct {
	Code  int
	Short string // for --help; "": no command for people ends so
	Long  string // for the documents, which a test compares
}

// Codes is the one table of exit codes: help and documents say what stands here. Codes
// of 126 and more are those that shells know.
func Codes() []Meaning {
	return []Meaning{
		{OK, "done", "done: the inbox is empty, the plan is done and landed, or nothing was left when it was stopped"},
		{Failures, "work failed or is blocked", "work ended with failures: a spec or task failed, timed out, is blocked, was skipped after an error or can never start"},
		{Usage, "it could not start", "wrong usage or settings, state that cannot be read, or a place where ralph cannot work"},
		{Limit, "stopped by a limit", "stopped by a limit: of cost, time, failures, the agents, or a hook"},
		{Human, "a person is needed", "a person is needed: a question, a merge, or a checkout in the way"},
		{Stopped, "stopped by `ralph stop` with work left", "stopped from elsewhere (`ralph stop`, the dashboard) with work left"},
		{shim.ExitHeld, "", "of a command that ran through a shim: a person said no, or nobody answered"},
		{Interrupted, "ended by a signal with work left, or at once", "ended by Ctrl+C or SIGTERM with work left, or at once"},
	}
}

func (e Error) Error() string { return fmt.Sprintf("exit code %d", e.Code) }
