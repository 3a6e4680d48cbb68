package inspect

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The questions that a model may be asked.

// Signature is `ralph signature`.
func Signature(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "signature", Short: "The questions that a model may be asked, with the type of each answer", Args: flags.NoSuchCommand,
		Long: `A signature is a question to a model whose answer has a type: what comes after a turn, what
to answer an agent, whether changes do what was asked. Prompt, JSON schema and the rules for an
answer come from one Go type; the version and the hash say by which of them was asked
(docs/decisions.md).`,
		Example: "  ralph signature list\n  ralph signature show decision --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSignatureList(env), newSignatureShow(env))
	return cmd
}

func newSignatureList(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "All signatures, with version and hash", Example: "  ralph signature list --json", Args: cobra.NoArgs}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all := signature.All()
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, all)
		}
		for _, i := range all {
			fmt.Fprintf(env.Stdout, "%-20s v%d  %s  %s\n", i.Name, i.Version, i.Hash, i.Purpose)
		}
		_, err := io.WriteString(env.Stdout, "`ralph signature show <name>` has the prompt and the schemas.\n")
		return err
	}
	return cmd
}

func newSignatureShow(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <name>", Short: "What a model is told, and what its answer must be", Example: "  ralph signature show decision", Args: cobra.ExactArgs(1),
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		all := signature.All()
		at := slices.IndexFunc(all, func(i signature.Info) bool { return i.Name == args[0] })
		if at < 0 {
			var names []string
			for _, i := range all {
				names = append(names, i.Name)
			}
			return &ralph.Refusal{Why: fmt.Sprintf("no signature %s", args[0]), Hint: "there are " + strings.Join(names, ", "), Kind: ralph.ErrNotFound}
		}
		i := all[at]
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, i)
		}
		_, err := fmt.Fprintf(env.Stdout, "%s, version %d, %s\n%s.\n\n%s\nThe JSON schema of the answer:\n%s\n", i.Name, i.Version, i.Hash, i.Purpose, i.Prompt, i.Output)
		return err
	}
	return cmd
}
