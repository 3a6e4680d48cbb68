package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Threads: agents that go on turn after turn by themselves (`ralph auto`).

func newThread(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "thread", Short: "The threads of ralph auto: see them, add one, steer each by itself",
		Long: `A thread is an agent that goes on turn after turn by itself (` + "`ralph auto`" + `). These commands
work beside the session that runs them, and without one. A thread is a task of the plan as
well: ` + "`ralph task`, `ralph why` and `ralph log <id>`" + ` know it by the same id.`,
		Example: "  ralph thread list\n  ralph thread add \"write the missing docs\"\n  ralph thread message t-1a2b \"leave the parser alone\"\n  ralph thread pause t-1a2b",
		Args:    flags.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return runThreadList(env, false) },
	}
	cmd.AddCommand(newThreadList(env), newThreadShow(env), newThreadAdd(env), newThreadMessage(env), newThreadTakeover(env))
	for _, name := range []string{"thread-pause", "thread-resume", "thread-stop"} {
		c := saying(env, name, func(args []string) action.Input { return action.Input{ID: args[0]} })
		c.Args, c.Example = cobra.ExactArgs(1), "  ralph "+strings.Replace(action.Named(name).Command, "<id>", "t-1a2b", 1)
		cmd.AddCommand(c)
	}
	return cmd
}

func newThreadList(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "The threads with what was decided last", Args: cobra.NoArgs, Example: "  ralph thread list --json"}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error { return runThreadList(env, *asJSON) }
	return cmd
}

func runThreadList(env workspace.Env, asJSON bool) error {
	s, j, err := workspace.ReadState(env, false, false)
	if err != nil {
		return err
	}
	list := status.Threads(s, j.Holder() != nil)
	if asJSON {
		return workspace.PrintJSON(env.Stdout, list)
	}
	if len(list) == 0 {
		_, err := io.WriteString(env.Stdout, "There are no threads. `ralph auto \"<prompt>\"` begins one.\n")
		return err
	}
	for _, t := range list {
		fmt.Fprintf(env.Stdout, "%s  %-11s %s\n", t.ID, t.State, report.OneLine(t.Name))
		fmt.Fprintf(env.Stdout, "          %s\n", t.Words())
	}
	return nil
}

func newThreadShow(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "show <id>", Short: "One thread: goal, state, limits, its agent's plan, the last decisions", Args: cobra.ExactArgs(1), Example: "  ralph thread show t-1a2b"}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, j, err := workspace.ReadState(env, false, false)
		if err != nil {
			return err
		}
		t, err := status.ThreadOf(s, ralph.TaskID(args[0]), j.Holder() != nil)
		if err != nil {
			return err
		}
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, t)
		}
		_, err = io.WriteString(env.Stdout, t.Text(time.Now()))
		return err
	}
	return cmd
}

func newThreadAdd(env workspace.Env) *cobra.Command {
	var name string
	cmd := commandOf("thread-add")
	cmd.Args, cmd.Example = cobra.ExactArgs(1), "  ralph thread add \"write the missing docs\" --name docs"
	cmd.Long = "Adds a thread. A session of `ralph auto` that runs takes it as soon as a slot is free; without one, the next `ralph auto` does."
	cmd.Flags().StringVar(&name, "name", "", "what it is called (default: the first line of the prompt)")
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in := action.Input{Text: args[0]}
		if name != "" {
			in.Name = &name
		}
		_, err := actOnTask(cmd, env, "thread-add", in, *asJSON)
		return err
	}
	return cmd
}

func newThreadMessage(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "message <id> <text>", Short: "Say something to the agent of a thread; it reads it in its next turn", Args: cobra.ExactArgs(2),
		Example: "  ralph thread message t-1a2b \"leave the parser alone\"",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, err := actOnTask(cmd, env, "message", action.Input{ID: args[0], Text: args[1]}, false)
		return err
	}
	return cmd
}

func newThreadTakeover(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "takeover <id>", Short: "Pause a thread, and say where its work and its agent's session are", Args: cobra.ExactArgs(1),
		Example: "  ralph thread takeover t-1a2b",
		Long: `Pauses a thread at the end of its turn and says where you can go on by hand: the folder of
its work, and the session of its agent. ` + "`ralph thread resume`" + ` gives it back: its agent goes on with
what it finds.`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, j, err := workspace.ReadState(env, false, false)
		if err != nil {
			return err
		}
		t, err := status.ThreadOf(s, ralph.TaskID(args[0]), j.Holder() != nil)
		if err != nil {
			return err
		}
		state, back := "pauses at the end of its turn", fmt.Sprintf("`ralph thread resume %s` gives it back.", t.ID)
		switch task := s.Task(t.ID); {
		case task.Status == ralph.TaskDone:
			state, back = "is done", "`ralph auto` begins another thread for what is still wanted."
		case task.Status.Ended():
			state, back = "has ended: it is "+string(task.Status), fmt.Sprintf("`ralph continue %s` has its agent go on with what it finds.", t.ID)
		case t.State != status.ThreadPaused:
			if _, _, err := perform(cmd, env, "thread-pause", action.Input{ID: args[0]}); err != nil {
				return err
			}
		}
		fmt.Fprintf(env.Stdout, "%s %s.\nIts work is in %s.\n", t.ID, state, cmp.Or(t.Dir, "your checkout"))
		if t.Session != "" {
			fmt.Fprintf(env.Stdout, "The session of %s is %s.\n", t.Agent, t.Session)
		}
		fmt.Fprintln(env.Stdout, back)
		return nil
	}
	return cmd
}

func newContinue(env workspace.Env) *cobra.Command {
	var past string
	x := &session.Session{Env: env, Mode: ralph.ModeAuto}
	cmd := commandOf("thread-continue")
	cmd.Use, cmd.Args = "continue [id]", cobra.MaximumNArgs(1)
	cmd.Long = `Has a thread go on: one that waits for you after a decision to pause, or one that a stop
condition has ended, past that condition. Past a budget it needs an amount: dollars, tokens, turns
or seconds. Without an id it is the only thread that waits or has stopped. It is recorded as your decision.

Where no session runs, this one begins and works until it stops again (--no-run only records it).`
	cmd.Example = "  ralph continue\n  ralph continue t-1a2b --past budget.cost=5\n  ralph continue t-1a2b --past no_progress"
	noRun := cmd.Flags().Bool("no-run", false, "only record it; the next ralph auto goes on")
	cmd.Flags().StringVar(&past, "past", "", "the stop condition, with how much more of a `budget`, as budget.cost=5")
	webFlag(x, cmd)
	unattendedFlag(x, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, file, err := workspace.ReadState(env, false, false)
		if err != nil {
			return err
		}
		id, err := chooseThread(s, args)
		if err != nil {
			return err
		}
		done, _, err := perform(cmd, env, "thread-continue", action.Input{ID: id, Past: past})
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "%s: %s\n", id, lower(done.Said))
		if *noRun || file.Holder() != nil {
			return nil
		}
		return x.Run(cmd.Context())
	}
	return cmd
}

// chooseThread is the thread that is named, or the only one that could go on.
func chooseThread(s *ralph.State, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	var ids []string
	for _, t := range status.Threads(s, true) {
		if t.State == status.ThreadPaused || t.State == status.ThreadStopped || t.State == status.ThreadWaits {
			ids = append(ids, string(t.ID))
		}
	}
	switch len(ids) {
	case 0:
		return "", &ralph.Refusal{Why: "no thread waits for you or has stopped", Hint: "`ralph thread list` shows them", Kind: ralph.ErrNotFound}
	case 1:
		return ids[0], nil
	}
	return "", &ralph.Refusal{Why: "several threads could go on: " + strings.Join(ids, ", "), Hint: "name one: ralph continue " + ids[0], Kind: ralph.ErrUsage}
}
