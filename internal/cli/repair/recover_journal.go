package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newRecoverJournal(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "journal", Short: "Make a corrupt journal usable again: keep what is good, move the rest aside", Args: cobra.NoArgs,
		Long: `Make a corrupt journal usable again.

Everything before the first line that cannot be read, or does not follow, is kept; that line
and all after it go to ralph/.state/journal-broken-<n>.jsonl. The plan and the inbox stay as
ralph/plan.jsonl and ralph/inbox.jsonl say. What was at work is pending again. Refused while
an engine runs here.`,
		Example: "  ralph recover journal",
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runRecoverJournal(cmd.Context(), env, *asJSON) }
	return cmd
}

func runRecoverJournal(ctx context.Context, env workspace.Env, asJSON bool) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	me, err := workspace.Owner(time.Now())
	if err != nil {
		return err
	}
	cut, err := journal.Repair(ctx, journal.Options{Root: root, Inbox: true, Plan: true, Now: time.Now, NewID: workspace.NewID, Me: me, Alive: proc.Alive})
	if locked, ok := errors.AsType[*journal.LockedError](err); ok {
		return &ralph.Refusal{Why: "the journal is in use: " + locked.Error() + "\n" + workspace.LockHint(locked), Kind: ralph.ErrActive}
	}
	switch {
	case err != nil && cut == nil:
		return err
	case asJSON:
		return errors.Join(err, workspace.PrintJSON(env.Stdout, map[string]any{"version": 1, "cut": cut}))
	case cut == nil:
		_, err = fmt.Fprintln(env.Stdout, "The journal is whole: nothing was changed.")
		return err
	}
	fmt.Fprintf(env.Stdout, "The journal can be read again.\n%s\n", report.CutWords(*cut))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, "The plan and the inbox are as ralph/plan.jsonl and ralph/inbox.jsonl say; what was at work is pending again.\nnext: ralph status")
	return err
}
