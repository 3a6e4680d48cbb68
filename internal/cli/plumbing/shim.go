package plumbing

import (
	"github.com/ralph-loop/ralph/internal/interceptor"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Shim is `ralph shim`.
func Shim(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "shim <folder> <program> [argument ...]", Short: "What stands before a program that an agent starts", Hidden: true,
		Long: `An agent's PATH begins with a folder of small scripts that call this. It runs the real
program, or first asks you where gate.patterns or the never list hold the call.`,
		Example: "  ralph shim /tmp/ralph-1 git status", Args: cobra.MinimumNArgs(2), DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return interceptor.RunShim(cmd.Context(), env, args[0], args[1:])
		},
	}
}

// PrePush is `ralph pre-push`.
func PrePush(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "pre-push <folder> <remote> <url>", Short: "The git hook before an agent's push", Hidden: true,
		Example: "  ralph pre-push /tmp/ralph-1 origin https://example.com/x.git", Args: cobra.RangeArgs(2, 3), DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return interceptor.RunPrePush(cmd.Context(), env, args[0], args[1])
		},
	}
}
