package inspect

import (
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/verify"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Verify is `ralph verify`.
func Verify(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify", Short: "Prove the history: every link from decisions over checks to landed commits", Args: cobra.NoArgs,
		Long: `Looks offline that the journal's chain of hashes is whole, that each recorded decision
comes out the same when it is taken again, that each task counted done had the agent's
signal and green checks on exactly the tree that was committed, that each merge had
green checks on its tree, and that git has each landed commit with that tree and with
trailers that name the task and the receipt. Then that nothing is gone: each receipt that
a commit names is in the journal, each anchor that git keeps of it (below refs/ralph/journal,
made at the end of each session; commit.anchors: signed) is at its line, and the records of
turns (prompt, output, patch, checks) are as they were. The first link that does not hold is
named, and the exit code is 1.

A clone does not bring the anchors along, and a journal that was copied into it is not proven
without them: the exit code is 1 too, and the command that fetches them is named.

A check that was red and held nothing up, by a person's word or because it was red in
the same way before (quality.baseline: known), is counted and named. With --strict the
exit code is 1 when there is any.`,
		Example: "  ralph verify\n  ralph verify --strict\n  ralph verify --json | jq .broken",
	}
	asJSON := flags.JSON(cmd)
	strict := cmd.Flags().Bool("strict", false, "fail also when a red check was passed over")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v, err := verify.History(cmd.Context(), env, nil)
		if err != nil {
			return err
		}
		if *asJSON {
			err = workspace.PrintJSON(env.Stdout, v)
		} else {
			err = v.Print(env.Stdout, *strict)
		}
		if err == nil && (!v.Holds || *strict && (len(v.PassedOver) > 0 || v.Lost > 0)) {
			return exit.Error{Code: exit.Failures}
		}
		return err
	}
	return cmd
}
