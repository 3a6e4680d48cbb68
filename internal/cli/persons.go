package cli

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// personOnly are the commands that only a person may give, each by its path.
func personOnly() []string {
	return []string{
		"approve", "deny", "answer", "rules revoke", "resume", "mode", "unlock", "continue", "thread resume", "thread message",
		"config edit", "trust", "trust revoke",
		"task done", "task accept", "task reject", "task retry", "task unblock", "task rollback", "task cleanup", "task extend", "task skip", "task message",
		"recover restore", "recover journal", "submit", "worker", "fleet drain",
	}
}

// forPersons has these commands refuse whoever comes from a turn, before all else.
func forPersons(root *cobra.Command, env workspace.Env) {
	only := personOnly()
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		if run := cmd.RunE; run != nil && slices.Contains(only, path) {
			cmd.RunE = func(c *cobra.Command, args []string) error {
				if err := person.Required(env); err != nil {
					return err
				}
				return run(c, args)
			}
		}
		for _, c := range cmd.Commands() {
			walk(c, strings.TrimSpace(path+" "+c.Name()))
		}
	}
	walk(root, "")
}
