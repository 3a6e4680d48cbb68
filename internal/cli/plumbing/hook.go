// Package plumbing owns the commands that programs call, not people: an agent in its turn, the shims
// before what it starts, git, Claude's hooks, the sandbox, a driver. What they do is owned by
// claudehook, interceptor, mcp, sandbox and the agents themselves.
package plumbing

import (
	"github.com/ralph-loop/ralph/internal/claudehook"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Hook is `ralph hook`.
func Hook(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", Short: "What Claude Code calls in a session of your own", Hidden: true,
		Long: `Hooks for a Claude Code session that you start yourself. They never act in the turns
that ralph runs.

  id=$(uuidgen)
  claude --session-id $id --settings "$(ralph hook settings --session $id)"
  ralph hook settings                  for a settings file: no hook for Stop

pre-tool-use holds what gate.patterns and the never list name until you say yes or no:
` + "`ralph gates`" + ` in another terminal. stop keeps the session of --session at work while the
plan has a ready task, and says which.`,
		Example: "  ralph hook settings\n  ralph hook settings --session 5f0c...", Args: flags.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(c *cobra.Command, run func(*cobra.Command, *claudehook.Flags) error) *cobra.Command {
		f := &claudehook.Flags{}
		c.Args, c.Example = cobra.NoArgs, "  ralph hook "+c.Use+" --session 5f0c..."
		c.RunE = func(c *cobra.Command, _ []string) error { return run(c, f) }
		c.Flags().StringVar(&f.Session, "session", "", "the `id` of the session that it is for, and of no other")
		switch c.Use {
		case "stop":
			c.Flags().BoolVar(&f.Any, "any", false, "for every session of these settings")
		case "pre-tool-use":
			c.Flags().DurationVar(&f.Wait, "wait", claudehook.ClaudeWaits-claudehook.HookSpare, "wait for a person at most so long: less than the hook's timeout in claude's settings")
		}
		cmd.AddCommand(c)
		return c
	}
	add(&cobra.Command{
		Use: "stop", Short: "Stop hook: while a task is ready, block the stop and say which",
		Long: `Blocks a stop while the plan has a ready task, three times over one task at most. It
needs --session, or --any. Whatever goes wrong (its input, the journal) is a word on
stderr, and the session may end: a broken file must not keep a person in it.`,
	}, func(_ *cobra.Command, f *claudehook.Flags) error { return claudehook.Stop(env, f) })
	add(&cobra.Command{
		Use: "pre-tool-use", Short: "PreToolUse hook: hold what the rules name until a person has answered",
		Long: `Judges a tool call by the repository's settings. What the never list or gate.patterns
name is held as a gate, which ` + "`ralph approve`" + ` or ` + "`ralph deny`" + ` answers, for gate.timeout
at most; nobody's answer denies. All else goes claude's own way: nothing is printed.
Input that cannot be read, settings or a journal that are broken deny.

claude lets a call pass when its hook does not answer in time. The wait therefore ends
before that: --wait must be less than the timeout in claude's settings, which
` + "`ralph hook settings`" + ` sees to.`,
	}, func(c *cobra.Command, f *claudehook.Flags) error {
		return claudehook.PreTool(c.Context(), env, f)
	})
	add(&cobra.Command{Use: "settings", Short: "Print the settings that put both hooks into a session, or one into a settings file"},
		func(c *cobra.Command, f *claudehook.Flags) error {
			if c.Flags().Changed("session") && !claudehook.SessionID().MatchString(f.Session) {
				return flags.Errorf("--session needs the id that `claude --session-id` gets")
			}
			return claudehook.PrintSettings(env, f.Session)
		})
	return cmd
}
