package plumbing

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/mcp"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// MCP is `ralph mcp`.
func MCP(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Short: "For agents: tools over MCP (signal, progress, ask_human, learnings, task_info)", Hidden: true,
		Long: `An MCP server on stdin and stdout, bound to the turn of ralph that started it; it
refuses to start anywhere else. ralph gives it to agents whose program takes MCP
servers; agent.mcp: false leaves it out.`,
		Example: "  ralph mcp", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			turn, err := turnOf(env)
			if err != nil {
				return err
			}
			if _, err := turn.Info(cmd.Context()); err != nil { // a turn that has ended, or another's nonce
				return fmt.Errorf("start the MCP server: %w", err)
			}
			return mcp.Serve(cmd.Context(), turn, env.Version, env.Stdin, env.Stdout)
		},
	}
}
