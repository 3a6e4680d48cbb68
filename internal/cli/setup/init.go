// Package setup owns the commands by which a repository and a machine are made ready, and looked at
// for whether they are: settings, trust, notices, agents, checks, figures. What they find out is
// doctor's, agentcheck's and measure's; work begins in internal/cli.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Init is `ralph init`.
func Init(env workspace.Env) *cobra.Command {
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
