package cli

import (
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newMode(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "mode [manual, step, semi or autopilot]", Short: "Switch the mode of the running engine; what is at work goes on",
		Long: `manual     at full speed to the first error: no pause, no retry, no other agent
step       each task waits for your approval: ` + "`ralph approve <gate>`" + `
semi       nothing new starts but what you choose: ` + "`ralph task assign <id>`" + `
autopilot  on its own: retries, other agents when one is at its limit, pause and resume

Without a word it prints the mode. ` + "`mode`" + ` in ralph/config.yaml, or --mode, is what a start
begins with.`,
		Example: "  ralph mode\n  ralph mode step\n  ralph mode autopilot",
		Args:    cobra.MaximumNArgs(1), ValidArgs: []string{"manual", "step", "semi", "autopilot"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showMode(env)
			}
			if !slices.Contains(ralph.Autonomies(), ralph.Autonomy(args[0])) {
				return flags.Errorf("there is no mode %q: use manual, step, semi or autopilot", args[0])
			}
			return tellEngine(cmd, env, "mode", action.Input{Autonomy: args[0]})
		},
	}
}

// showMode prints the mode of the running session, else the one that a start begins with.
func showMode(env workspace.Env) error {
	s, j, err := workspace.ReadState(env, false, false)
	if err != nil {
		return err
	}
	mode := string(s.Session.Auto)
	if j.Holder() == nil {
		c, err := workspace.SettingsOf(env)
		if err != nil {
			return err
		}
		mode = c.Mode
	}
	_, err = fmt.Fprintln(env.Stdout, mode)
	return err
}
