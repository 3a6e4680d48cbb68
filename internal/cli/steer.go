package cli

import (
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The commands that steer a running engine. There is no daemon protocol: they
// append facts, and the loop wakes when the journal moves.

func newPause(env workspace.Env) *cobra.Command {
	cmd := steer(env, "pause")
	cmd.Long = `Agents at work finish their turn; then nothing new starts until ` + "`ralph resume`" + `. It may be
taken back at any time. The engine stays; ` + "`ralph stop`" + ` ends it.`
	cmd.Example = "  ralph pause\n  ralph resume"
	return cmd
}

func newResume(env workspace.Env) *cobra.Command {
	cmd := steer(env, "resume")
	cmd.Long = `Ends a pause, whatever it comes from: you, failures in a row, or agents at their limits.
An engine that has ended is started again: ` + "`ralph agent`, `ralph autopilot`" + `.`
	cmd.Example = "  ralph resume"
	return cmd
}

func steer(env workspace.Env, name string) *cobra.Command {
	cmd := commandOf(name)
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(c *cobra.Command, _ []string) error { return tellEngine(c, env, name, action.Input{}) }
	return cmd
}

func newStop(env workspace.Env) *cobra.Command {
	var now bool
	cmd := commandOf("stop")
	cmd.Example, cmd.Args = "  ralph stop\n  ralph stop --now", cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if now {
			return tellEngine(cmd, env, "stop-now", action.Input{})
		}
		return tellEngine(cmd, env, "stop", action.Input{})
	}
	cmd.Flags().BoolVar(&now, "now", false, "end agents in the middle of their turn; what they changed in a worktree is stashed and given back")
	return cmd
}
