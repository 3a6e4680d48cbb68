package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/trust"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// What comes with a repository and runs, or holds less than usual, is asked about once.

// Trust is `ralph trust`.
func Trust(env workspace.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use: "trust", Short: "Say yes to what this repository brings along: hooks, agents' commands and keys, checks, weaker gates", Args: cobra.NoArgs,
		Long: `A repository that comes from somebody else can bring along what runs on your machine, and
settings that hold less than usual. Before an engine runs any of it you are shown all of it,
and say yes once. It is remembered by its content, outside of the repository: what changes by
a commit that was not made in this clone is asked about again.

What you write yourself here, and commit here, needs no question.`,
		Example: "  ralph trust\n  ralph trust --yes     without a question, as in a script\n  ralph trust show\n  ralph trust revoke",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, c, err := trustIn(env)
			if err != nil {
				return err
			}
			return trust.Ask(cmd.Context(), env, root, c, sure)
		},
	}
	cmd.Flags().BoolVar(&sure, "yes", false, "do not ask")
	show := &cobra.Command{
		Use: "show", Short: "Show what this repository brings along, and what of it is trusted", Args: cobra.NoArgs,
		Example: "  ralph trust show",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, c, err := trustIn(env)
			if err != nil {
				return err
			}
			return showTrust(cmd.Context(), env, root, c)
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "List the repositories that you have said yes to", Args: cobra.NoArgs,
		Example: "  ralph trust list",
		RunE: func(*cobra.Command, []string) error {
			all, err := trust.Open(env.Environ).All()
			if err != nil {
				return err
			}
			for _, root := range slices.Sorted(maps.Keys(all)) {
				fmt.Fprintf(env.Stdout, "%s  %s, %s\n", text.Visible(root), text.Count(len(all[root].Items), "item"), all[root].At.Local().Format("2006-01-02 15:04"))
			}
			return nil
		},
	}
	revoke := &cobra.Command{
		Use: "revoke", Short: "Forget what was trusted in this repository: it is asked about again", Args: cobra.NoArgs,
		Example: "  ralph trust revoke",
		RunE: func(*cobra.Command, []string) error {
			root, err := workspace.FindRoot(env)
			if err != nil {
				return err
			}
			known, err := trust.Open(env.Environ).Revoke(root)
			if err == nil && !known {
				err = &ralph.Refusal{Why: "nothing is trusted in " + root, Hint: "`ralph trust list` shows where something is", Kind: ralph.ErrNotFound}
			}
			if err == nil {
				_, err = fmt.Fprintf(env.Stdout, "Revoked: %s\n", root)
			}
			return err
		},
	}
	cmd.AddCommand(list, show, revoke)
	return cmd
}

func trustIn(env workspace.Env) (string, config.Config, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return "", config.Config{}, err
	}
	c, err := workspace.LoadConfig(env, root, nil)
	return root, c, err
}

func showTrust(ctx context.Context, env workspace.Env, root string, c config.Config) error {
	items, _, err := trust.Brought(root, c)
	if err != nil {
		return err
	}
	missing, known, err := trust.Untrusted(ctx, env, root, c, nil)
	if err != nil {
		return err
	}
	if known.Items == nil {
		if known, _, err = trust.Open(env.Environ).Known(root); err != nil {
			return err
		}
	}
	for _, i := range items {
		state := string(known.Of(i))
		if state != string(trust.Trusted) && !slices.Contains(missing, i) {
			state = "made here"
		}
		fmt.Fprintf(env.Stdout, "%-9s  %s: %s\n", state, text.Visible(i.Key), text.Visible(i.What))
	}
	if len(items) == 0 {
		fmt.Fprintln(env.Stdout, "It brings along nothing that runs, and nothing that holds less than usual.")
	}
	return nil
}
