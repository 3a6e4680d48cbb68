package plumbing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// What an agent calls in its turn: a command, and a server of tools.

// Signal is `ralph signal`.
func Signal(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "signal <COMPLETE|BLOCKED|NEEDS_HUMAN|PROGRESS> [text]", Short: "For agents: say how the task stands, from a shell inside the turn", Hidden: true,
		Long: `Says what a tag in the agent's final message would say. It counts for the turn under
way, when that ends well; the newest signal wins, and a tag in the final message comes
last. PROGRESS ends nothing, and shows in ` + "`ralph status`" + ` at once. Whoever is not started
by a turn of ralph is not heard.`,
		Example: `  ralph signal COMPLETE
  ralph signal BLOCKED "the API key is missing"
  ralph signal NEEDS_HUMAN "Keep the old table, or drop it?"
  ralph signal PROGRESS 40 "the parser is done"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := signalOf(args)
			if err != nil {
				return err
			}
			turn, err := turnOf(env)
			if err != nil {
				return err
			}
			if err := turn.Signal(cmd.Context(), s, "command"); err != nil {
				return fmt.Errorf("signal %s: %w", s.Kind, err)
			}
			_, err = fmt.Fprintf(env.Stdout, "ralph heard %s\n", s.Kind)
			return err
		},
	}
}

// signalOf reads the words of a signal; whether they fit its kind is the turn's to say.
func signalOf(args []string) (ralph.Signal, error) {
	if len(args) == 0 {
		return ralph.Signal{}, flags.Errorf("say which signal: COMPLETE, BLOCKED, NEEDS_HUMAN or PROGRESS")
	}
	s := ralph.Signal{Kind: ralph.SignalKind(strings.ToUpper(args[0]))}
	words := args[1:]
	if s.Kind == ralph.SignalProgress {
		if len(words) == 0 {
			return s, flags.Errorf("PROGRESS needs a percentage: ralph signal PROGRESS 40 \"what is done\"")
		}
		n, err := strconv.Atoi(strings.TrimSuffix(words[0], "%"))
		if err != nil {
			return s, flags.Errorf("PROGRESS needs a percentage from 0 to 100, not %q", words[0])
		}
		s.Percent, words = n, words[1:]
	}
	s.Text = strings.Join(words, " ")
	return s, nil
}

// turnOf is the turn that this process belongs to.
func turnOf(env workspace.Env) (*agentsock.Client, error) {
	turn, err := agentsock.Find(env.Environ)
	if errors.Is(err, agentsock.ErrNoTurn) {
		return nil, &ralph.Refusal{Why: err.Error(), Hint: "it is for agents: ralph starts it, or an agent in its turn does", Kind: ralph.ErrUsage}
	}
	return turn, err
}
