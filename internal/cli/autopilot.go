package cli

import (
	"fmt"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/cli/fleet"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newAutopilot(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	var parallel int
	var semi bool
	x := &session.Session{Env: env, Mode: "autopilot"}
	cmd := &cobra.Command{
		Use: "autopilot", Short: "Work on every ready task of the plan, several at once, each in a worktree of its own", Args: cobra.NoArgs,
		Long: `Takes the ready tasks of the plan, best score first (` + "`ralph why`" + ` explains), and has
an agent work on each in a git worktree of its own. Finished work goes through a merge
queue: merged beside your checkout, checked again, and only then landed on your branch.
Your checkout is never touched while it has changes.

Ctrl+C ends it at the end of the current iterations; the next start goes on where it
was. Ctrl+C again, or ` + "`ralph stop --now`" + `, ends it at once.

` + exitWords(),
		Example: "  ralph plan feature-x.md && ralph autopilot\n  ralph autopilot --parallel 8 --web\n  ralph autopilot --semi     then: ralph task assign t-1a2b",
	}
	f := cmd.Flags()
	f.IntVar(&parallel, "parallel", workspace.DefaultSlots, fmt.Sprintf("agents at work at the same time, `N` from 1 to %d (also `parallel` in ralph/config.yaml)", ralph.MostParallel))
	f.BoolVar(&semi, "semi", false, "start only what you assign (ralph task assign); ralph mode autopilot lets it go on alone")
	resumeFlags(x, cmd)
	modeFlag(x, cmd)
	webFlag(x, cmd)
	unattendedFlag(x, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if semi {
			x.Set("mode", string(ralph.Semi))
		}
		if f.Changed("parallel") {
			if parallel < 1 || parallel > ralph.MostParallel {
				return flags.Errorf("--parallel %d: give a whole number from 1 to %d", parallel, ralph.MostParallel)
			}
			x.Set("parallel", strconv.Itoa(parallel))
		}
		return x.Run(cmd.Context())
	}
	fleet.Flag(env, x, cmd, with)
	return cmd
}
