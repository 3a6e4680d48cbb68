package cli

import (
	"fmt"
	"io"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/verify"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newReplay(env workspace.Env) *cobra.Command {
	var asJSON, current bool
	cmd := &cobra.Command{
		Use: "replay [session]", Short: "Decide every receipt again and show differences",
		Long: `Folds the journal and decides every receipt again from exactly the state and time it
was decided on, with the settings recorded then. No difference means that the record
explains itself. With --current-config the settings of now are used instead: what
would have been decided otherwise?`,
		Example: "  ralph replay\n  ralph replay --current-config",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			session := ""
			if len(args) == 1 {
				session = args[0]
			}
			return runReplay(env, session, asJSON, current)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&current, "current-config", false, "decide with the settings of now")
	return cmd
}

func runReplay(env workspace.Env, session string, asJSON, current bool) error {
	result, err := verify.Replay(env, ralph.SessionID(session), current, nil)
	if err != nil {
		return err
	}
	if asJSON {
		err = workspace.PrintJSON(env.Stdout, result)
	} else {
		err = printReplay(env.Stdout, result)
	}
	if err == nil && result.Differ > 0 {
		return exit.Error{Code: exit.Failures}
	}
	return err
}

func printReplay(w io.Writer, r policy.Replayed) error {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "fact %d, %s\n  then: %s\n  now:  %s\n", d.Seq, d.Task, d.Was, d.Now)
	}
	_, err := fmt.Fprintf(w, "%d receipts decided again, %d differ\n", r.Receipts, r.Differ)
	return err
}
