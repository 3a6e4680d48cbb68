package setup

import (
	"context"

	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Doctor is `ralph doctor`.
func Doctor(env workspace.Env) *cobra.Command {
	var asJSON, run bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at git, agents, checks, settings, lock and leftovers; say how to mend what is wrong", Args: cobra.NoArgs,
		Example: "  ralph doctor\n  ralph doctor --run   # and run the checks once, to see what is red before any work",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), env, asJSON, run) },
	}
	cmd.Flags().BoolVar(&run, "run", false, "run the checks once at HEAD, without an agent; exit 1 when one is red")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runDoctor(ctx context.Context, env workspace.Env, asJSON, run bool) error {
	if root, err := workspace.FindRoot(env); err == nil {
		defer doctor.WithoutState(root)()
	}
	x := doctor.Examine(ctx, env, func(string) {})
	if run && !x.Strange {
		if err := x.RunChecks(ctx, env); err != nil {
			return err
		}
	}
	x.HideSecrets(env)
	if asJSON {
		if err := workspace.PrintJSON(env.Stdout, x.Findings); err != nil {
			return err
		}
	} else {
		x.Print(env.Stdout)
	}
	for _, f := range x.Findings {
		if f.Level == "problem" {
			return exit.Error{Code: exit.Failures}
		}
	}
	return nil
}
