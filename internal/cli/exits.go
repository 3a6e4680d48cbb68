package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitMeaning is what the number that ralph ends with says to scripts.
type exitMeaning struct {
	code    int
	meaning string
}

// exitMeanings is the one list of exit codes: `ralph help exit-codes` prints it, and
// docs/compatibility.md has it. Codes of 126 and more are those that shells know.
func exitMeanings() []exitMeaning {
	return []exitMeaning{
		{exitOK, "done: the work has ended as it should, or the answer is yes"},
		{exitFailures, "work ended with failures, or the command was refused: the state does not allow it, or there is no such thing"},
		{exitUsage, "ralph cannot work here: a wrong command line or setting, a record that cannot be read, a full disk"},
		{exitLimit, "stopped by a limit: a budget, the agents' rate limits, a hook that stops the loop"},
		{exitHuman, "a person is needed: a question is open or its time is over, a commit cannot land"},
		{exitHeld, "of a command that ran through a shim: a person said no, or nobody answered"},
		{exitInterrupted, "interrupted: by a second Ctrl+C, or `ralph stop --now`"},
	}
}

// newExitCodes is a page of the help, not a command.
func newExitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes, the same for every command:\n\n")
	for _, x := range exitMeanings() {
		fmt.Fprintf(&b, "  %3d  %s\n", x.code, x.meaning)
	}
	b.WriteString("\nThey keep their meaning between versions (docs/compatibility.md).")
	return &cobra.Command{Use: "exit-codes", Short: "What the number says that ralph ends with", Long: b.String()}
}
