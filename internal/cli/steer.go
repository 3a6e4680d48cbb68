package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The commands that steer a running engine. There is no daemon protocol: they
// append facts, and the loop wakes when the journal moves.

func newPause(env workspace.Env) *cobra.Command {
	return steer(env, ralph.WantPause, "pausing at the end of the current iterations", &cobra.Command{
		Use: "pause", Short: "Pause the running engine at the end of the current iterations",
		Long: `Agents at work finish their turn; then nothing new starts until ` + "`ralph resume`" + `. It may be
taken back at any time. The engine stays; ` + "`ralph stop`" + ` ends it.`,
		Example: "  ralph pause\n  ralph resume",
	})
}

func newResume(env workspace.Env) *cobra.Command {
	return steer(env, ralph.WantRun, "going on", &cobra.Command{
		Use: "resume", Short: "Go on after a pause",
		Long: `Ends a pause, whatever it comes from: you, failures in a row, or agents at their limits.
An engine that has ended is started again: ` + "`ralph agent`, `ralph autopilot`" + `.`,
		Example: "  ralph resume",
	})
}

func steer(env workspace.Env, want ralph.Want, said string, cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(c *cobra.Command, _ []string) error {
		return tellEngine(c, env, said, func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "ralph "+c.Name()) })
	}
	return cmd
}

func newStop(env workspace.Env) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "stop", Short: "Stop the running engine at the end of the current iterations; the work is resumed at the next start",
		Example: "  ralph stop\n  ralph stop --now", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			said := "stopping at the end of the current iterations"
			if now {
				said = "stopping at once"
			}
			return tellEngine(cmd, env, said, func(s *ralph.State) ([]ralph.Fact, error) {
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

// tellEngine records what a person wants of the engine that runs here, and says it.
func tellEngine(cmd *cobra.Command, env workspace.Env, said string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	if j.Holder() == nil {
		why := "no engine is running here"
		_, err := decide(&ralph.State{}) // as without a session: it names both states
		if refusal, ok := errors.AsType[*ralph.Refusal](err); ok {
			_, states, _ := strings.Cut(refusal.Why, ": ")
			why = strings.TrimSuffix(why+": "+states, ": ")
		}
		return &ralph.Refusal{Why: why, Hint: "`ralph agent` or `ralph autopilot` starts one", Kind: ralph.ErrNotFound}
	}
	if err := j.Update(cmd.Context(), "cli", decide); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s; `ralph status` shows where it is\n", said)
	return err
}
