package shelve

import (
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

// cleanUp returns to the base: files, then HEAD, then the user's index.
func cleanUp(ctx context.Context, r *git.Repo, base, head string, left Leftover) error {
	if err := restoreFiles(ctx, r, base, left); err != nil {
		return err
	}
	if op := r.Unfinished(); op != "" { // what an agent began ends with its work
		if _, err := r.Run(ctx, git.Call{Args: []string{op, "--quit"}, Write: true}); err != nil {
			return err
		}
	}
	back, err := committedOwn(ctx, r, base, head)
	if err != nil {
		return err
	}
	if len(back) > 0 {
		if _, err := r.Run(ctx, git.Call{Args: append([]string{"reset", "-q", base, "--"}, back...), Write: true}); err != nil {
			return err
		}
	}
	if head != base {
		if err := r.MoveHead(ctx, "back to where the failed work began", head, base); err != nil {
			return err
		}
	}
	args := append([]string{"reset", "-q", base, "--"}, git.WithoutOwnFolders()...)
	for _, path := range left.others { // what is staged of them stays staged
		args = append(args, ":(top,exclude,literal)"+path)
	}
	if _, err := r.Run(ctx, git.Call{Args: args, Write: true}); err != nil {
		return err
	}
	// Only the stat data is missing now; exit 1 says that ralph/ has changes.
	_, err = r.Run(ctx, git.Call{Args: []string{"update-index", "-q", "--refresh"}, Write: true})
	if git.ExitOf(err) == 1 {
		return nil
	}
	return err
}

// committedOwn names the files in ralph's folders that the index has only because the
// commits between base and head, which are taken back, brought them: the files stay, but
// nobody staged them.
func committedOwn(ctx context.Context, r *git.Repo, base, head string) ([]string, error) {
	if base == head {
		return nil, nil
	}
	args := append([]string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head, "--"}, git.OwnFolders()...)
	committed, err := r.Run(ctx, git.Call{Args: args})
	if err != nil || committed == "" {
		return nil, err
	}
	args = append([]string{"diff-index", "--cached", "-z", "--name-only", "--no-renames", head, "--"}, git.OwnFolders()...)
	staged, err := r.Run(ctx, git.Call{Args: args})
	if err != nil {
		return nil, err
	}
	var back []string
	others := strings.Split(staged, "\x00")
	for name := range strings.SplitSeq(committed, "\x00") {
		if name != "" && !slices.Contains(others, name) {
			back = append(back, ":(top,literal)"+name)
		}
	}
	return back, nil
}

// restoreFiles makes the work tree, which is as left.files says, that of the
// base. git does it by comparing the two trees: it touches only paths that
// differ between them, and stops before it changes a file that is no longer as
// left.files has it. Ignored files are no obstacle to git, so they are looked
// for first.
func restoreFiles(ctx context.Context, r *git.Repo, base string, left Leftover) error {
	if left.Files == left.Base {
		return nil
	}
	changes, err := diff.Changes(ctx, r, left.Base, left.Files)
	if err != nil {
		return err
	}
	if lost := diff.InTheWay(r, changes); len(lost) > 0 {
		return git.Refuse("these are in the way of files to restore and in no commit: "+strings.Join(lost, ", "), "move them away")
	}
	_, err = r.Run(ctx, git.Call{
		Args:  []string{"read-tree", "-m", "-u", "--no-recurse-submodules", left.Files, base},
		Index: r.PrivateIndex(), Write: true,
	})
	return err
}
