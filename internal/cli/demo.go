package cli

import (
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newDemo(env workspace.Env) *cobra.Command {
	var dir string
	var parallel, auto, issues, web, show bool
	cmd := &cobra.Command{
		Use: "demo", Short: "See it work: two specs in a throw-away repository, without an account or network",
		Long: `Makes a small real git repository in a temporary folder, queues two specs and runs
the whole loop on them with a built-in scripted agent: a plan, a check that fails
first and is mended in the next iteration, an issue that a review finds, a commit for
each spec. Everything but the agent's wits is real: processes, checks, git, journal.

With --parallel: seven tasks that depend on each other, worked on by three agents at the
same time in worktrees, merged, with a conflict that is resolved on the way.

With --auto: three goals, each an agent that goes on turn after turn by itself. A scripted
model advises after each turn, and the rules have the last word: a budget beats it, and
where it is not sure a person is asked.

With --issues: a tracker in the shape of GitHub on this machine. A labelled issue becomes a spec
and a pull request, a red check of the service sends it round once more, the service goes away
and comes back, and the merge closes the issue.`,
		Example: "  ralph demo\n  ralph demo --auto\n  ralph demo --issues\n  ralph demo --parallel --ui\n  ralph demo --parallel --web\n  ralph demo --dir /tmp/try",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show && !noScreen(env, "the demo is told line by line") {
				return runDemoUI(cmd.Context(), env, dir, parallel)
			}
			if auto {
				return demo.RunAuto(cmd.Context(), env, dir, web)
			}
			if issues {
				return demo.RunIssues(cmd.Context(), env, dir, web)
			}
			if parallel {
				return demo.RunParallel(cmd.Context(), env, dir, web)
			}
			return demo.Run(cmd.Context(), env, dir, web)
		},
	}
	cmd.Flags().BoolVar(&parallel, "parallel", false, "show ralph autopilot instead: several agents at once")
	cmd.Flags().BoolVar(&auto, "auto", false, "show ralph auto instead: three goals, decided turn by turn")
	cmd.Flags().BoolVar(&issues, "issues", false, "show issues in and pull requests out, with a tracker on this machine")
	cmd.Flags().BoolVar(&web, "web", false, "serve the dashboard of the demo; on a terminal it stays until you press Ctrl+C")
	cmd.Flags().BoolVar(&show, "ui", false, "show it on the terminal screen, slowly enough to look on (see ralph ui --help)")
	cmd.MarkFlagsMutuallyExclusive("ui", "web")
	cmd.MarkFlagsMutuallyExclusive("issues", "auto", "parallel")
	cmd.MarkFlagsMutuallyExclusive("issues", "ui")
	cmd.MarkFlagsMutuallyExclusive("auto", "ui")
	cmd.Flags().StringVar(&dir, "dir", "", "where to make the repository (default: a new temporary folder)")
	return cmd
}
