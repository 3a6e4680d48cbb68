// Package flags owns what command lines have in common: the flags of several commands, times as
// people type them, and the words about a command line that is wrong. What a flag does is its
// command's.
package flags

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/spf13/cobra"
)

// JSON gives a command --json.
func JSON(cmd *cobra.Command) *bool {
	asJSON := new(bool)
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
	return asJSON
}

// Errorf is the error of a command line that says what cannot be: ralph ends with the code of wrong usage.
func Errorf(format string, args ...any) error {
	return &ralph.Refusal{Why: fmt.Sprintf(format, args...), Kind: ralph.ErrUsage}
}
