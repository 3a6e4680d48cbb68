package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/recovery"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newTaskRollback(env workspace.Env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rollback <id>", Short: "Undo a task's work and make it pending (key R)",
		Long: `Work that is not merged: the task's branch goes back to where it began; its commits
and changed files are kept in a recovery ref (` + "`ralph recover`" + ` lists them).
Merged work: a commit that reverts it is made beside your checkout and landed, while
no engine runs. Nothing is done while your checkout has changes in the way.
It can be run again when it was cut off.`,
		Example: "  ralph task rollback t-1a2b\n  ralph task rollback t-1a2b --yes --json", Args: cobra.ExactArgs(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runTaskUndo(cmd.Context(), env, ralph.TaskID(args[0]), *asJSON, func(u *recovery.Undo) error { return u.Rollback(confirmed(env, yes)) })
	}
	return cmd
}

func newTaskCleanup(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cleanup <id>", Short: "Take the worktree of a task away; its status stays (key X)",
		Long: `Removes the worktree that a failed, timed-out or blocked task keeps. Files that no
commit holds go to a recovery ref first, and the branch stays (` + "`ralph recover`" + `).
It can be run again when it was cut off.`,
		Example: "  ralph task cleanup t-1a2b", Args: cobra.ExactArgs(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runTaskUndo(cmd.Context(), env, ralph.TaskID(args[0]), *asJSON, (*recovery.Undo).Cleanup)
	}
	return cmd
}

func runTaskUndo(ctx context.Context, env workspace.Env, id ralph.TaskID, asJSON bool, do func(*recovery.Undo) error) error {
	j, err := workspace.OpenJournal(env, false, true)
	if err != nil {
		return err
	}
	u, err := recovery.NewUndo(ctx, env, j, "cli", id)
	if err == nil {
		err = do(u)
	}
	s := j.State()
	if err := errors.Join(err, j.Close()); err != nil {
		return err
	}
	if err := printTask(env, s, id, asJSON); err != nil || asJSON {
		return err
	}
	for _, line := range u.Said() {
		fmt.Fprintln(env.Stdout, line)
	}
	return nil
}

// confirmed asks a person at a terminal; nil where nobody is to be asked.
func confirmed(env workspace.Env, yes bool) func(question string) error {
	if yes || !env.Terminal {
		return nil
	}
	return func(question string) error {
		fmt.Fprintf(env.Stdout, "%s [y/N] ", question)
		answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return &ralph.Refusal{Why: "nothing was changed", Kind: ralph.ErrUsage}
		}
		return nil
	}
}
