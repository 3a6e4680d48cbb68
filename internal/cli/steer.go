package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
)

// The commands that steer a running engine. There is no daemon protocol: they
// append facts, and the loop wakes when the journal moves.

func newPause(env Env) *cobra.Command {
	return steer(env, "pause", "Pause the running engine at the end of the current iteration", ralph.WantPause)
}

func newResume(env Env) *cobra.Command {
	return steer(env, "resume", "Go on after a pause", ralph.WantRun)
}

func newStop(env Env) *cobra.Command {
	return steer(env, "stop", "Stop the running engine at the end of the current iteration; the spec is resumed at the next start", ralph.WantStop)
}

func steer(env Env, name, short string, want ralph.Want) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			j, err := openJournal(env, false, false)
			if err != nil {
				return err
			}
			defer j.Close()
			if j.Holder() == nil {
				return &ralph.Refusal{Why: "no engine is running here", Hint: "`ralph agent` starts one", Kind: ralph.ErrNotFound}
			}
			err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
				return s.Steer(want, "ralph "+name)
			})
			if err == nil {
				fmt.Fprintf(env.Stdout, "%s wanted; `ralph status` shows when it is so\n", name)
			}
			return err
		},
	}
}

func newAnswer(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "answer <id> <text>", Short: "Answer an agent's question; its next prompt holds the answer",
		Example: "  ralph query gates\n  ralph answer g-1a2b \"Use the second design\"",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := openJournal(env, false, false)
			if err != nil {
				return err
			}
			defer j.Close()
			err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
				return s.AnswerGate(ralph.GateID(args[0]), strings.Join(args[1:], " "))
			})
			if err == nil {
				fmt.Fprintf(env.Stdout, "Answered: %s\n", args[0])
			}
			return err
		},
	}
}
