package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
)

// The commands that steer a running engine. There is no daemon protocol: they
// append facts, and the loop wakes when the journal moves.

func newPause(env Env) *cobra.Command {
	return steer(env, "pause", "Pause the running engine at the end of the current iterations", ralph.WantPause)
}

func newResume(env Env) *cobra.Command {
	return steer(env, "resume", "Go on after a pause", ralph.WantRun)
}

func steer(env Env, name, short string, want ralph.Want) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tellEngine(cmd, env, name, func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "ralph "+name) })
		},
	}
}

func newStop(env Env) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop the running engine at the end of the current iterations; the work is resumed at the next start",
		Example: "  ralph stop\n  ralph stop --now", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return tellEngine(cmd, env, "stop", func(s *ralph.State) ([]ralph.Fact, error) {
				if now {
					return s.StopNow("ralph stop --now")
				}
				return s.Steer(ralph.WantStop, "ralph stop")
			})
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "end agents in the middle of their turn; what they changed in a worktree is stashed and given back")
	return cmd
}

// tellEngine records what a person wants of the engine that runs here.
func tellEngine(cmd *cobra.Command, env Env, what string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	j, err := openJournal(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	if j.Holder() == nil {
		return &ralph.Refusal{Why: "no engine is running here", Hint: "`ralph agent` or `ralph autopilot` starts one", Kind: ralph.ErrNotFound}
	}
	if err := j.Update(cmd.Context(), "cli", decide); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s wanted; `ralph status` shows when it is so\n", what)
	return err
}
