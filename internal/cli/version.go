package cli

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newVersion(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Stdout, "ralph", env.Version)
			return err
		},
	}
}
