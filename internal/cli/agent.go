package cli

import (
	"math"
	"strconv"

	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/cli/fleet"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newAgent(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	var maxSpecs, maxFailures int
	var simple bool
	var maxCost string
	x := &session.Session{Env: env, Mode: "agent"}
	cmd := &cobra.Command{
		Use: "agent", Short: "Work on the specs of the inbox, one after another, until it is empty",
		Long: `Takes specs from the inbox, the highest priority first, then the oldest: plans each, builds its tasks, checks and
verifies the work, and makes one commit for it. Specs may be queued while it runs.

Ctrl+C ends it at the end of the current iteration; the spec is resumed at the
next start. Ctrl+C again ends it at once.

` + exitWords(),
		Example: "  ralph agent\n  ralph agent --web\n  ralph agent --watch\n  ralph agent --max-specs 5\n  ralph agent --max-cost 10.00\n  ralph agent --simple\n  ralph agent --dry-run",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.IntVar(&maxSpecs, "max-specs", 0, "stop after completing `N` specs (default unlimited)")
	f.StringVar(&maxCost, "max-cost", "", "stop when the summed cost exceeds `N` dollars, like 10.00 (default unlimited)")
	f.IntVar(&maxFailures, "max-failures", 3, "stop after `N` specs in a row failed")
	f.BoolVar(&x.DryRun, "dry-run", false, "plan each spec, execute nothing")
	resumeFlags(x, cmd)
	modeFlag(x, cmd)
	webFlag(x, cmd)
	f.BoolVar(&x.Watch, "watch", false, "stay when the inbox is empty: issues of inbox.sources, red checks and reviews queue more")
	unattendedFlag(x, cmd)
	f.BoolVar(&simple, "simple", false, simpleWords)
	f.BoolVar(&x.AllowDirty, "allow-dirty", false, "start with uncommitted changes; the first spec's commit takes them along")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.Changed("max-specs") {
			if maxSpecs < 1 {
				return flags.Errorf("--max-specs %d: give a whole number from 1 up", maxSpecs)
			}
			x.Set("agent_mode.max_specs", strconv.Itoa(maxSpecs))
		}
		if f.Changed("max-cost") {
			cost, err := strconv.ParseFloat(maxCost, 64)
			if err != nil || cost <= 0 || math.IsInf(cost, 0) || math.IsNaN(cost) {
				return flags.Errorf("--max-cost %s: give an amount in dollars above 0, like 10.00", maxCost)
			}
			x.Set("agent_mode.max_cost", maxCost)
		}
		if f.Changed("max-failures") {
			if maxFailures < 1 {
				return flags.Errorf("--max-failures %d: give a whole number from 1 up", maxFailures)
			}
			x.Set("agent_mode.max_failures", strconv.Itoa(maxFailures))
		}
		if simple {
			x.Simple()
		}
		return x.Run(cmd.Context())
	}
	fleet.Flag(env, x, cmd, with)
	return cmd
}
