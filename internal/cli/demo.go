package cli

import (
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newDemo(env workspace.Env) *cobra.Command {
	var dir string
	var parallel, web, show bool
	cmd := &cobra.Command{
		Use: "demo", Short: "See it work: two specs in a throw-away repository, without an account or network",
		Long: `Makes a small real git repository in a temporary folder, queues two specs and runs
the whole loop on them with a built-in scripted agent: a plan, a check that fails
first and is mended in the next iteration, an issue that a review finds, a commit for
each spec. Everything but the agent's wits is real: processes, checks, git, journal.

With --parallel: seven tasks that depend on each other, worked on by three agents at the
same time in worktrees, merged, with a conflict that is resolved on the way.`,
		Example: "  ralph demo\n  ralph demo --parallel --ui\n  ralph demo --parallel --web\n  ralph demo --dir /tmp/try",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show {
				return runDemoUI(cmd.Context(), env, dir, parallel)
			}
			if parallel {
				return demo.RunParallel(cmd.Context(), env, dir, web)
			}
			return demo.Run(cmd.Context(), env, dir, web)
		},
	}
	cmd.Flags().BoolVar(&parallel, "parallel", false, "show ralph autopilot instead: several agents at once")
	cmd.Flags().BoolVar(&web, "web", false, "serve the dashboard of the demo; on a terminal it stays until you press Ctrl+C")
	cmd.Flags().BoolVar(&show, "ui", false, "show it on the terminal screen, slowly enough to look on (see ralph ui --help)")
	cmd.MarkFlagsMutuallyExclusive("ui", "web")
	cmd.Flags().StringVar(&dir, "dir", "", "where to make the repository (default: a new temporary folder)")
	return cmd
}
