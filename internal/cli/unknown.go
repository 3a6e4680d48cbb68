package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noSuchCommand is the argument check of commands that only hold others: what
// stands there is a mistyped name, so the nearest ones are named.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const typos = 2
	cmd.SuggestionsMinimumDistance = typos
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(`; did you mean "%s"?`, strings.Join(near, `" or "`))
	}
	return fmt.Errorf("unknown command %q for %q%s\nTry `%s --help`", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
}
