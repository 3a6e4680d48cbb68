package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Whether inbox.jsonl and plan.jsonl belong into git. They change with every run, and a
// pull refuses to go over a file that has changed: so they stay out, unless people want to
// share one plan. Then a merge driver brings two branches' files together.

// mergeDriver is the name of the driver in git's settings and attributes.
const mergeDriver = "ralph"

func sharedPaths() []string { return []string{"/ralph/inbox.jsonl", "/ralph/plan.jsonl"} }

// queueFiles sets up one of the two, and says which, once: with share and without a word
// about it when somebody tracks the files already.
func queueFiles(ctx context.Context, repo *git.Repo, share bool) (words string, err error) {
	tracked, err := repo.Line(ctx, git.Call{Args: []string{"ls-files", "--", "ralph/inbox.jsonl", "ralph/plan.jsonl"}})
	if err != nil {
		return "", fmt.Errorf("ask git which files it tracks: %w", err)
	}
	if !share && tracked == "" {
		if err := info.Exclude(repo, sharedPaths()); err != nil {
			return "", err
		}
		return `local    ralph/inbox.jsonl and ralph/plan.jsonl: the queue changes with every run, so git
         does not see it (` + "`ralph init --share`" + ` is for a queue that you want to commit)
`, nil
	}
	if err := info.Include(repo, sharedPaths()); err != nil {
		return "", err
	}
	lines := []string{"/ralph/inbox.jsonl merge=" + mergeDriver, "/ralph/plan.jsonl merge=" + mergeDriver}
	if err := info.Attributes(repo, lines); err != nil {
		return "", err
	}
	if err := info.MergeDriver(ctx, repo, mergeDriver, "queue and plan of ralph, record by record", "ralph merge-driver %O %A %B %P"); err != nil {
		return "", err
	}
	return `shared   ralph/inbox.jsonl and ralph/plan.jsonl: commit them as you like; in this clone git merges
         them record by record (each clone needs ` + "`ralph init --share`" + ` once)
`, nil
}

// MergeDriver is `ralph merge-driver`.
func MergeDriver(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "merge-driver <base> <ours> <theirs> <path>", Short: "Merge two versions of a queue or plan (what git runs)",
		Hidden: true, Args: cobra.ExactArgs(4),
		RunE: func(_ *cobra.Command, args []string) error { return runMergeDriver(env, args) },
	}
}

// inDir is a path of an argument, from where the command was called.
func inDir(env workspace.Env, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(env.Dir, path)
}

// runMergeDriver leaves the result in the file of ours, as git wants it. Exit 1 says that
// a person has to look: there are conflict markers, or a version cannot be read.
func runMergeDriver(env workspace.Env, args []string) error {
	var text [3]string
	for i := range text {
		b, err := os.ReadFile(inDir(env, args[i]))
		if err != nil {
			return fmt.Errorf("read a version of %s: %w", args[3], err)
		}
		text[i] = string(b)
	}
	merged, conflicts, err := views.MergeFile(args[3], text[0], text[1], text[2])
	if corrupt := (*ralph.CorruptError)(nil); errors.As(err, &corrupt) {
		fmt.Fprintf(env.Stderr, "ralph: %v: both versions stand in the file\n", err)
		merged, conflicts = "<<<<<<< ours\n"+text[1]+"=======\n"+text[2]+">>>>>>> theirs\n", 1
	} else if err != nil {
		return err
	}
	if err := renameio.WriteFile(inDir(env, args[1]), []byte(merged), 0o644); err != nil {
		return fmt.Errorf("write the merged %s: %w", args[3], err)
	}
	if conflicts > 0 {
		return exit.Error{Code: 1}
	}
	return nil
}
