package cli

import (
	"fmt"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/forge"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// runInboxAddIssue queues an issue, or another round of a pull request.
func runInboxAddIssue(cmd *cobra.Command, env workspace.Env, name string) (err error) {
	x, err := openActing(env, "queue")
	if err != nil {
		return err
	}
	defer x.journal.Close()
	w, err := openWatcher(cmd, env, x.journal)
	if err != nil {
		return err
	}
	said, err := w.Add(cmd.Context(), name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, said)
	return err
}

// openWatcher is a watcher beside that of a session.
func openWatcher(cmd *cobra.Command, env workspace.Env, j forge.Journal) (*forge.Watcher, error) {
	w, err := bootstrap.OpenWatcher(cmd.Context(), env, j)
	if err == nil {
		w.By = fmt.Sprintf("command %d", os.Getpid())
	}
	return w, err
}

func newInboxPull(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "pull", Short: "Look at the issues of inbox.sources and at pull requests once, now",
		Long: `Queues what is new of inbox.sources, tells what has changed of issues that are queued, pushes
branches that wait, opens and follows pull requests: once, as a session does beside its work.`,
		Example: "  ralph inbox pull",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := openActing(env, "queue")
			if err != nil {
				return err
			}
			defer x.journal.Close()
			w, err := openWatcher(cmd, env, x.journal)
			if err != nil {
				return err
			}
			if s := x.journal.State(); !w.Wants(s) {
				return &ralph.Refusal{Why: "there is nothing to look at: no inbox.sources, and no branch or pull request is open", Hint: "docs/issues.md tells how issues come in", Kind: ralph.ErrUsage}
			}
			said := 0
			w.Said = func(f ralph.Fact, s *ralph.State) {
				for _, line := range report.Lines(ralph.Event{Fact: f}, s) {
					said++
					fmt.Fprintln(env.Stdout, line)
				}
			}
			if err := w.Round(cmd.Context()); err != nil {
				return err
			}
			if said == 0 {
				fmt.Fprintln(env.Stdout, "Nothing new.")
			}
			return nil
		},
	}
}
