package cli

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/shim"
)

// The exit codes. exitCodes says what each means.
const (
	exitOK          = 0
	exitFailures    = 1
	exitUsage       = 2 // usage, config, corrupt state, a place where ralph cannot work
	exitLimit       = 3
	exitHuman       = 4
	exitStopped     = 5
	exitInterrupted = 130
)

// exitError ends the program with a code; its text was printed already.
type exitError struct{ code int }

// exitMeaning is an exit code of the commands that work, in words for a person.
type exitMeaning struct {
	code  int
	short string // for --help; "": no command for people ends so
	long  string // for the documents, which a test compares
}

// exitCodes is the one table of exit codes: help and documents say what stands here. Codes
// of 126 and more are those that shells know.
func exitCodes() []exitMeaning {
	return []exitMeaning{
		{exitOK, "done", "done: the inbox is empty, the plan is done and landed, or nothing was left when it was stopped"},
		{exitFailures, "work failed or is blocked", "work ended with failures: a spec or task failed, timed out, is blocked, was skipped after an error or can never start"},
		{exitUsage, "it could not start", "wrong usage or settings, state that cannot be read, or a place where ralph cannot work"},
		{exitLimit, "stopped by a limit", "stopped by a limit: of cost, time, failures, the agents, or a hook"},
		{exitHuman, "a person is needed", "a person is needed: a question, a merge, or a checkout in the way"},
		{exitStopped, "stopped by `ralph stop` with work left", "stopped from elsewhere (`ralph stop`, the dashboard) with work left"},
		{shim.ExitHeld, "", "of a command that ran through a shim: a person said no, or nobody answered"},
		{exitInterrupted, "ended by a signal with work left, or at once", "ended by Ctrl+C or SIGTERM with work left, or at once"},
	}
}

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }
