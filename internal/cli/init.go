package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph/internal/agent/api"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newInit(env workspace.Env) *cobra.Command {
	var share bool
	cmd := &cobra.Command{
		Use: "init", Short: "Set ralph up in this repository", Args: cobra.NoArgs,
		Long: `Writes ralph/config.yaml (every setting commented, with its default), makes
ralph/specs, and lists ralph's runtime files in .git/info/exclude. What is there
already stays as it is; your .gitignore is never touched.

The queue (ralph/inbox.jsonl) and the plan (ralph/plan.jsonl) change with every run: git
does not see them, unless you share them (--share). Then you commit them as you like, and
git merges two branches' files record by record, in each clone in which this was run.`,
		Example: "  ralph init\n  ralph init --share    commit the queue and the plan too",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runInit(cmd, env, share) },
	}
	cmd.Flags().BoolVar(&share, "share", false, "let git see the queue and the plan, and merge them record by record")
	return cmd
}

func runInit(cmd *cobra.Command, env workspace.Env, share bool) error {
	repo, err := git.Open(cmd.Context(), proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		return err
	}
	root := repo.Root()
	if err := os.MkdirAll(filepath.Join(root, "ralph/specs"), 0o755); err != nil {
		return fmt.Errorf("set up ralph: %w", err)
	}
	if err := info.Exclude(repo, workspace.RuntimePaths()); err != nil {
		return err
	}
	path := filepath.Join(root, "ralph/config.yaml")
	_, err = os.Stat(path)
	switch {
	case err == nil:
		fmt.Fprintln(env.Stdout, "kept     ralph/config.yaml")
	case errors.Is(err, fs.ErrNotExist):
		if err := renameio.WriteFile(path, config.Template(), 0o644); err != nil {
			return fmt.Errorf("write the settings: %w", err)
		}
		fmt.Fprintln(env.Stdout, "written  ralph/config.yaml")
	default:
		return fmt.Errorf("set up ralph: %w", err)
	}
	words, err := queueFiles(cmd.Context(), repo, share)
	if err != nil {
		return err
	}
	fmt.Fprint(env.Stdout, `ready    ralph/specs/
`+words+bootstrap.WhoAnswers(env, root)+`
Next:
  1. write a spec: ralph/specs/my-feature.md
  2. ralph doctor                       is an agent here, and are there checks?
  3. git add -A && git commit -m "Set up ralph"
                                        else the settings end up in the first spec's commit
  4. ralph inbox add my-feature.md
  5. ralph agent
`)
	return nil
}

// newOwnAgents are agents that ralph itself is: their drivers start them.
func newOwnAgents(env workspace.Env) []*cobra.Command {
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
