package cli

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/spf13/cobra"
)

// exitWords are the exit codes for --help, in lines that fit a terminal.
func exitWords() string {
	line, lines := "Exit codes:", []string{}
	codes := exit.Codes()
	for i, x := range codes {
		if x.Short == "" {
			continue
		}
		word := fmt.Sprintf(" %d %s,", x.Code, x.Short)
		if i == len(codes)-1 {
			word = strings.TrimSuffix(word, ",") + "."
		}
		if len(line)+len(word) > 88 {
			lines = append(lines, line)
			line, word = "", strings.TrimPrefix(word, " ")
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// newExitCodes is a page of the help, not a command.
func newExitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes, the same for every command:\n\n")
	for _, x := range exit.Codes() {
		fmt.Fprintf(&b, "  %3d  %s\n", x.Code, x.Long)
	}
	b.WriteString("\nThey keep their meaning between versions (docs/compatibility.md).")
	return &cobra.Command{Use: "exit-codes", Short: "What the number says that ralph ends with", Long: b.String()}
}
