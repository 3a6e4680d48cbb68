package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// syncTime bounds `ralph sync`: what has still to wait is left for the next one.
const syncTime = 5 * time.Minute

func newSync(env workspace.Env) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "sync", Short: "Send to trackers what waits, without an engine", Args: cobra.NoArgs,
		Long: `A running engine sends by itself; this is for what is left after its end. What cannot be sent
now (a limit, an open breaker, a try that may have arrived) stays in the journal for later, and
is listed.`,
		Example: "  ralph sync\n  ralph sync --dry-run",
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be sent, and send nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return runSync(cmd.Context(), env, dryRun) }
	return cmd
}

func runSync(ctx context.Context, env workspace.Env, dryRun bool) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return err
	}
	o := bootstrap.Trackers{Env: env, Root: root, Config: c, Procs: proc.NewRunner(filepath.Join(root, "ralph/.state/procs"))}.Outbox()
	if dryRun {
		return showOutbox(env, o)
	}
	if len(o.Services) == 0 {
		return &ralph.Refusal{Why: "no tracker is on", Hint: "set `sync.github.enabled`, `sync.jira.enabled` or `sync.ado.enabled` in ralph/config.yaml", Kind: ralph.ErrUsage}
	}
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		return err
	}
	o.Journal, o.From = j, j.State().Seq
	o.Note = func(words string) { fmt.Fprintln(env.Stderr, "sync:", words) }
	before := sent(j.State()) // it begins to send at once
	box, err := outbox.Start(o)
	if errors.Is(err, ralph.ErrActive) {
		return errors.Join(&ralph.Refusal{Why: "the engine that runs here sends by itself", Hint: "`ralph breaker list` shows what waits", Kind: ralph.ErrActive}, j.Close())
	}
	if err != nil {
		return errors.Join(err, j.Close())
	}
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	left := box.Close(ctx)
	fmt.Fprintf(env.Stdout, "%d sent, %d left\n", sent(j.State())-before, left)
	if rows := services.Query(j.State(), j.Now()); left > 0 {
		err = listServices(env.Stdout, rows)
	}
	return errors.Join(err, j.Close())
}

func sent(s *ralph.State) (n int) {
	for _, r := range s.Remotes {
		n += r.Sent
	}
	return n
}

// showOutbox lists what is to be sent: what waits in the journal, and what is to be entered there.
func showOutbox(env workspace.Env, o outbox.Options) error {
	s, j, err := workspace.ReadState(env, false, false)
	if err != nil {
		return err
	}
	if len(o.Services) > 0 {
		o.Journal, o.From = j, s.Seq
		if s, err = outbox.Preview(o); err != nil {
			return err
		}
	}
	n := 0
	for _, r := range services.List(s, j.Now()) {
		for _, e := range r.Entries {
			n++
			fmt.Fprintf(env.Stdout, "%s %s: %s\n", r.Title, e.Item, entryWords(e))
			if e.Kind != ralph.PushChange {
				fmt.Fprintf(env.Stdout, "%s\n\n", e.Text)
			}
		}
	}
	if n == 0 {
		_, err = fmt.Fprintln(env.Stdout, "Nothing waits to be sent.")
	}
	return err
}
