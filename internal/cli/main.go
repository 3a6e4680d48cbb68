// Package cli owns the commands that make something happen, and the way from what a person types
// to a command and back to an exit code. Commands of other kinds are in the packages below it, and
// what all of them call in those beside it. It decides nothing about the work itself: that is
// policy's.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/cli/fleet"
	"github.com/ralph-loop/ralph/internal/cli/inspect"
	"github.com/ralph-loop/ralph/internal/cli/plumbing"
	"github.com/ralph-loop/ralph/internal/cli/repair"
	"github.com/ralph-loop/ralph/internal/cli/setup"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Main runs one command line and returns its exit code.
func Main(ctx context.Context, env workspace.Env) int { return run(ctx, env) }

// WithFleet is Main in the program that can carry steps out on other machines.
func WithFleet(ctx context.Context, env workspace.Env, fleet fleetcmd.Fleet) int {
	return run(ctx, env, fleet)
}

func run(ctx context.Context, env workspace.Env, with ...fleetcmd.Fleet) int {
	env, err := inDirectory(env)
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph:", err)
		return exit.Usage
	}
	env = workspace.OwnPath(env)
	out, notes := action.NewWriter(env.Stdout, action.Commands), action.NewWriter(env.Stderr, action.Commands)
	defer func() { _, _ = out.Flush(), notes.Flush() }()
	env.Stdout, env.Stderr = out, notes
	root := newRoot(env, with...)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err = root.ExecuteContext(ctx)
	if err == nil {
		return exit.OK
	}
	var code exit.Error
	if errors.As(err, &code) {
		return code.Code
	}
	fmt.Fprintln(env.Stderr, "ralph:", redact.New(workspace.SecretVars(env.Environ), nil).String(message(env, err)))
	return exitCode(err)
}

// inDirectory carries out a leading -C, as git has it: every command then works
// as if it had been started there.
func inDirectory(env workspace.Env) (workspace.Env, error) {
	for {
		named, rest, ok := leadingDirectory(env.Args)
		if !ok {
			return env, nil
		}
		dir := named
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(env.Dir, dir)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return env, fmt.Errorf("-C %s: there is no such folder", named)
		}
		env.Dir, env.Args = dir, rest
	}
}

// leadingDirectory is the folder that a command line begins with, in each way to write a flag, and
// what follows it.
func leadingDirectory(args []string) (dir string, rest []string, ok bool) {
	if len(args) == 0 {
		return "", nil, false
	}
	if args[0] == "-C" || args[0] == "--directory" {
		if len(args) == 1 {
			return "", nil, false // the command line says what is missing
		}
		return args[1], args[2:], true
	}
	if dir, ok = strings.CutPrefix(args[0], "--directory="); !ok {
		dir, ok = strings.CutPrefix(args[0], "-C")
	}
	return dir, args[1:], ok
}

// directoryFirst refuses a -C behind the command: what was looked up by then is of the folder that ralph
// was started in.
func directoryFirst(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup("directory")
	if f == nil || !f.Changed {
		return nil
	}
	return fmt.Errorf("-C must stand first: ralph -C %s %s", f.Value, strings.TrimPrefix(cmd.CommandPath(), "ralph "))
}

// message is the error for a person: the cause, then the next step.
func message(env workspace.Env, err error) string {
	var corrupt *ralph.CorruptError
	var locked *journal.LockedError
	var full *workspace.FullDisk
	var stale *views.ViewError
	switch {
	case errors.As(err, &full):
		return full.Error()
	case errors.As(err, &corrupt):
		return corrupt.Error() + journalHint(corrupt, "\nNothing was changed. Mend the line (or take it out) and start again.")
	case errors.As(err, &locked):
		return locked.Error() + "\n" + workspace.LockHint(locked)
	}
	switch {
	case step.NoSpace(err) && errors.As(err, &stale):
		return err.Error() + "\n" + workspace.FullDisks(env) + ": free some space."
	case step.NoSpace(err):
		return err.Error() + "\n" + workspace.FullDisks(env) + ": free some space, then do it again; what is recorded stays."
	}
	return err.Error()
}

// journalHint is the next step after a corrupt journal, or what is to be done about
// any other file. To take a line out of the journal would break its chain of hashes.
func journalHint(e *ralph.CorruptError, other string) string {
	switch {
	case !strings.HasPrefix(e.File, "ralph/.state/journal"):
		return other
	case errors.Is(e, ralph.ErrNewer):
		return "\nNothing was changed. Work with the ralph that wrote it, or a newer one."
	}
	return "\nNothing was changed. The facts hang together by hashes, so no line can be mended or taken out by hand:\n`ralph recover journal` keeps all before it, moves the rest aside and says what that was; the plan and the inbox stay as their files say."
}

func exitCode(err error) int {
	var refusal *ralph.Refusal
	if errors.As(err, &refusal) && !errors.Is(err, ralph.ErrUsage) {
		return exit.Failures // not found, active: the command was fine, the state was not
	}
	return exit.Usage
}

func newRoot(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	root := &cobra.Command{
		Use:   "ralph",
		Short: "ralph runs coding agents on a queue of specs until the work is done, tested and committed",
		Long: `ralph runs coding agents (Claude Code, Codex, any that speaks ACP, or any command) on
a queue of specs until the work is done, tested, committed and accounted for.

Write a spec, queue it, start the agent, walk away:

  ralph init                         once per repository
  ralph inbox add feature-x.md       the file lies in ralph/specs/
  ralph auto                         plan, build, check, commit, next, until the inbox is empty
  ralph auto "make the tests pass"   one goal, turn after turn, until it is reached
  ralph autopilot                    the tasks of a plan, several at once
  ralph status                       from any other terminal`,
		Example:       "  ralph demo            see it work in a throw-away repository\n  ralph doctor          what is missing here, and how to mend it",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       env.Version,
		Args:          flags.NoSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("ralph {{.Version}}\n")
	root.SetFlagErrorFunc(flags.Wrong)
	root.PersistentFlags().StringP("directory", "C", "", "work in this `folder` (must stand first)")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddGroup(&cobra.Group{ID: "start", Title: "Start here:"}, &cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "steer", Title: "Steer:"}, &cobra.Group{ID: "see", Title: "See:"}, &cobra.Group{ID: "set", Title: "Set up:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("start", withUI(env, newAuto(env, with...))) // each group is sorted by name: this one stays first
	add("work", withUI(env, newAgent(env, with...)), withUI(env, newAutopilot(env, with...)), newInbox(env), newPlan(env), withUI(env, newConstruct(env)), newTask(env), newThread(env), fleet.Submit(env, with...), fleet.Worker(env, with...))
	add("steer", fleet.Anywhere(env, with, newPause(env)), fleet.Anywhere(env, with, newResume(env)), fleet.Anywhere(env, with, newStop(env)), newContinue(env), newMode(env), newGates(env), fleet.Anywhere(env, with, newApprove(env)), fleet.Anywhere(env, with, newDeny(env)), fleet.Anywhere(env, with, newAnswer(env)), newRules(env), newBreaker(env), newSync(env), repair.Unlock(env))
	add("see", fleet.Anywhere(env, with, inspect.Status(env)), newUI(env), newServe(env), inspect.Why(env), inspect.Query(env), fleet.Anywhere(env, with, inspect.Log(env)), inspect.Report(env), inspect.Receipts(env), inspect.Signature(env), inspect.Decide(env), inspect.Guidance(env), inspect.Replay(env), inspect.Verify(env), repair.Recover(env), fleet.Command(env, with...))
	add("set", newDemo(env), setup.Init(env), setup.Doctor(env), setup.Bench(env), setup.AgentCheck(env), setup.Config(env), setup.Trust(env), setup.Notify(env), newVersion(env))
	root.AddCommand(plumbing.OwnAgents(env)...)
	root.AddCommand(newExitCodes(), setup.MergeDriver(env), plumbing.Hook(env), plumbing.Signal(env), plumbing.MCP(env), plumbing.Shim(env), plumbing.PrePush(env), plumbing.SandboxExec(env))
	ownCompletion(root)
	forPersons(root, env)
	sayArguments(root)
	return root
}

// ownCompletion has cobra's command refuse a shell that it does not know, where it shows its help
// as if that had been asked for.
func ownCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, x := range c.Commands() {
			shells = append(shells, x.Name())
			x.Example = "  ralph completion " + x.Name() + " > completion." + x.Name()
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Args = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return flags.Errorf("there is no completion for %.40q; there is one for %s", args[0], text.List(shells, len(shells)))
		}
	}
}

// sayArguments has every command name its arguments when they are missing or too many, and refuse a
// -C that does not stand first.
func sayArguments(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if err := directoryFirst(c); err != nil {
			return err
		}
		err := check(c, args)
		if err != nil && strings.Contains(err.Error(), "arg(s)") {
			return fmt.Errorf("usage: %s\nTry `%s --help`", c.UseLine(), c.CommandPath())
		}
		return err
	}
	for _, c := range cmd.Commands() {
		sayArguments(c)
	}
}
