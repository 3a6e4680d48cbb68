package plumbing

import (
	"context"

	"github.com/ralph-loop/ralph/internal/agent/api"
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// OwnAgents are agents that ralph itself is: their drivers start them.
func OwnAgents(env workspace.Env) []*cobra.Command {
	own := func(use, short string, args int, run func(context.Context, []string) int) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Hidden: true, Args: cobra.ExactArgs(args), RunE: func(cmd *cobra.Command, args []string) error {
			if code := run(cmd.Context(), args); code != 0 {
				return exit.Error{Code: code}
			}
			return nil
		}}
	}
	play := func(ctx context.Context, args []string) int { return demo.Scenario(ctx, env, args[0]) }
	work := func(ctx context.Context, _ []string) int {
		return api.Run(ctx, env.Stdin, env.Stdout, env.Stderr, env.Environ, env.Dir)
	}
	return []*cobra.Command{
		own("scripted-agent <scenario>", "Play a scenario as an agent (what the scripted driver runs)", 1, play),
		own("api-agent", "Work with a model and a shell (what the api driver runs)", 0, work),
	}
}
