// Package inspect owns the commands that only look: where the work stands, what happened, why,
// what was decided and whether that holds. They write no fact; what they show is made by
// status, report, screen, whatif and verify.
package inspect

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Status is `ralph status`.
func Status(env workspace.Env) *cobra.Command {
	var asJSON, watch bool
	var at string
	cmd := &cobra.Command{
		Use: "status", Short: "Where the work stands", Args: cobra.NoArgs,
		Long: `Says where the work stands: what waits for you first, then the engine, the plan, what
each agent is at and said last, budgets, and limits with the time they end.

With --watch it stays and shows each change, until Ctrl+C; that ends the view, not the
work. Without a terminal it prints a block for each change, with --json one object a line.

With --at it says where the work stood then: after the fact with that number
(` + "`ralph log --json`" + ` and ` + "`ralph receipts`" + ` have them), or at a time.`,
		Example: "  ralph status\n  ralph status --watch\n  ralph status --json | jq .current_step\n  ralph status --at 120\n  ralph status --at 22:30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := workspace.FindRoot(env)
			if err == nil {
				err = workspace.NeedsSetup(root)
			}
			if err != nil {
				return err
			}
			if at != "" {
				return runStatusAt(env, at, asJSON)
			}
			if watch {
				return console.Watch(cmd.Context(), env, asJSON)
			}
			return runStatus(env, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/status.md says what is in it)")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "stay, and show each change")
	atFlag(cmd, &at)
	cmd.MarkFlagsMutuallyExclusive("watch", "at")
	return cmd
}

// runStatusAt is the status as it was, with the clock of that fact.
func runStatusAt(env workspace.Env, at string, asJSON bool) error {
	s, newest, err := stateAt(env, at)
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.All(s, status.Then(s), s.At))
	}
	head := fmt.Sprintf("As it was after fact %d of %d, %s\n\n", s.Seq, newest, s.At.Local().Format("2006-01-02 15:04:05"))
	return printDressed(env, head+status.Text(s, status.Then(s), s.At))
}

func runStatus(env workspace.Env, asJSON bool) error {
	s, j, err := workspace.ReadState(env, true, true)
	if err != nil {
		return err
	}
	engine, now := observe.Engine(j), j.Now()
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.All(s, engine, now))
	}
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	engine.Words = observe.NewOutputTail(env, root).Words(s, engine)
	return printDressed(env, status.Text(s, engine, now))
}
