package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// taskVerb is the command of an action on a task: its id, then words.
type taskVerb struct {
	action      string
	long        string
	example     string
	least, most int // arguments, the id included
}

func newTaskVerbs(env workspace.Env) []*cobra.Command {
	verbs := taskVerbs()
	cmds := make([]*cobra.Command, len(verbs))
	for i, v := range verbs {
		cmd := commandOf(v.action)
		cmd.Long, cmd.Example, cmd.Args = v.long, "  ralph task "+v.example, cobra.RangeArgs(v.least, v.most)
		asJSON := flags.JSON(cmd)
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			_, err := actOnTask(cmd, env, v.action, action.Input{ID: args[0], Text: strings.Join(args[1:], " ")}, *asJSON)
			return err
		}
		cmds[i] = cmd
	}
	return cmds
}

// taskVerbs are a person's words on work and its order, then those for what ended badly.
func taskVerbs() []taskVerb {
	return []taskVerb{
		{action: "done", example: "done t-1a2b", least: 1, most: 1},
		{action: "accept", example: "accept t-1a2b", least: 1, most: 1},
		{action: "reject", example: `reject t-1a2b "the usage text is missing"`, least: 2, most: 2},
		{action: "prioritize", example: "prioritize t-1a2b", least: 1, most: 1},
		{
			action: "assign", example: "assign t-1a2b", least: 1, most: 1,
			long: `Chooses a pending task to be worked on next, before all that score higher. In
` + "`ralph autopilot --semi`" + ` nothing starts but what is assigned. A task that has to
wait for others starts when they are done and merged.`,
		},
		{action: "message", example: `message t-1a2b "use the parser that is there"`, least: 2, most: 2},
		{
			action: "retry", example: "retry t-1a2b", least: 1, most: 1,
			long: `Makes a failed, timed-out, blocked or skipped task pending again. Its iterations are
counted from 1, its worktree and branch stay as they are, and what the agent learnt
(red checks, answers, rejections) goes into its next prompt.`,
		},
		{action: "unblock", example: "unblock t-1a2b", least: 1, most: 1},
		{action: "skip", example: `skip t-1a2b "not needed after all"`, least: 1, most: 2},
	}
}

func newTaskOrder(env workspace.Env) *cobra.Command {
	cmd := saying(env, "order", func(args []string) action.Input { return action.Input{Names: args} })
	cmd.Example, cmd.Args = "  ralph task order t-3c4d t-1a2b", cobra.MinimumNArgs(1)
	cmd.Long = "Puts the tasks of the plan in this order; those that are not named stay behind them as they were."
	return cmd
}

func newTaskExtend(env workspace.Env) *cobra.Command {
	var in action.Input
	cmd := commandOf("extend")
	cmd.Long = `Gives one task what you say; with nothing said as much time again when it ran out of
time, else half as many iterations again. Other tasks keep task.max_iterations and task.timeout. A task that has ended needs
` + "`ralph task retry`" + ` as well, which counts both from the start.`
	cmd.Example = "  ralph task extend t-1a2b && ralph task retry t-1a2b\n  ralph task extend t-1a2b --to 100\n  ralph task extend t-1a2b --time 30m"
	cmd.Args = cobra.ExactArgs(1)
	asJSON := flags.JSON(cmd)
	cmd.Flags().IntVar(&in.To, "to", 0, "the new number of `iterations`")
	cmd.Flags().DurationVar(&in.Time, "time", 0, "`time` that it gets on top, such as 30m")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("to") && in.To < 1 {
			return flags.Errorf("--to %d: give a whole number from 1 up", in.To)
		}
		if cmd.Flags().Changed("time") && in.Time <= 0 {
			return flags.Errorf("--time %s: say how much time it gets on top, such as 30m", in.Time)
		}
		if _, err := workspace.SettingsOf(env); err != nil { // they say what it has by now
			return err
		}
		in.ID = args[0]
		done, err := actOnTask(cmd, env, "extend", in, *asJSON)
		if err == nil && !*asJSON {
			fmt.Fprintln(env.Stdout, lower(done.Said))
		}
		return err
	}
	return cmd
}

func newTaskDivide(env workspace.Env) *cobra.Command {
	cmd := commandOf("divide")
	cmd.Long = `Adds the smaller tasks with the notes, deps and tags of the one they come from, lets
what waited for it wait for all of them, and closes it as skipped.`
	cmd.Example, cmd.Args = `  ralph task divide t-1a2b "Parse the file" "Write the report"`, cobra.MinimumNArgs(3)
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, err := actOnTask(cmd, env, "divide", action.Input{ID: args[0], Names: args[1:]}, *asJSON)
		return err
	}
	return cmd
}

func newTaskRollback(env workspace.Env) *cobra.Command {
	var yes bool
	cmd := commandOf("rollback")
	cmd.Long = `Work that is not merged: the task's branch goes back to where it began; its commits
and changed files are kept in a recovery ref (` + "`ralph recover`" + ` lists them).
Merged work: a commit that reverts it is made beside your checkout and landed, while
no engine runs. Nothing is done while your checkout has changes in the way.
It can be run again when it was cut off.`
	cmd.Example, cmd.Args = "  ralph task rollback t-1a2b\n  ralph task rollback t-1a2b --yes --json", cobra.ExactArgs(1)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return repairing(env, cmd, "rollback", &yes)
}

func newTaskCleanup(env workspace.Env) *cobra.Command {
	cmd := commandOf("cleanup")
	cmd.Long = `Removes the worktree that a failed, timed-out or blocked task keeps. Files that no
commit holds go to a recovery ref first, and the branch stays (` + "`ralph recover`" + `).
It can be run again when it was cut off.`
	cmd.Example, cmd.Args = "  ralph task cleanup t-1a2b", cobra.ExactArgs(1)
	yes := true // nothing is lost: it was never asked for
	return repairing(env, cmd, "cleanup", &yes)
}

// repairing has a command work on what a task left, once a person at a terminal has said yes.
func repairing(env workspace.Env, cmd *cobra.Command, name string, yes *bool) *cobra.Command {
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*yes && env.Terminal {
			if err := confirm(env, name, args[0]); err != nil {
				return err
			}
		}
		done, err := actOnTask(cmd, env, name, action.Input{ID: args[0]}, *asJSON)
		if err == nil && !*asJSON && done.Said != "" {
			fmt.Fprintln(env.Stdout, strings.ReplaceAll(done.Said, "; ", "\n"))
		}
		return err
	}
	return cmd
}

// confirm asks a person at a terminal what the action asks before it is done. Where it may not
// be done there is no question: doing it says why.
func confirm(env workspace.Env, name, id string) error {
	x, err := openActing(env, name)
	if err != nil {
		return err
	}
	offer, may := action.AvailableAs(x.journal.State(), x.Context(), name, id)
	if err := x.journal.Close(); err != nil || !may {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s [y/N] ", offer.Confirm)
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &ralph.Refusal{Why: "nothing was changed", Kind: ralph.ErrUsage}
	}
	return nil
}

// printTask shows a task after it was changed: one line, or its record.
func printTask(env workspace.Env, s *ralph.State, id ralph.TaskID, asJSON bool) error {
	t := s.Task(id)
	switch {
	case t == nil:
		return nil
	case asJSON:
		return workspace.PrintJSON(env.Stdout, status.QueryTask(t))
	}
	more := ""
	switch {
	case t.Status == ralph.TaskActive && t.Run.Skip != "":
		more = " (is skipped at the end of its iteration)"
	case t.Status == ralph.TaskPending && t.Run.Assigned:
		more = " (is next)"
	}
	_, err := fmt.Fprintf(env.Stdout, "%s %s %s%s\n", t.ID, t.Status, t.Name, more)
	return err
}
