package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/regular"
)

// progressFile is the log of what agents learned, which every task adds to.
const progressFile = "ralph/progress.md"

// unionLines makes git keep the lines of both sides in that log.
func unionLines() []string { return []string{"/" + progressFile + " merge=union"} }

// MergeHere merges a commit into the branch that is checked out in this worktree,
// one of ralph's own, and leaves conflict markers for an agent to resolve. It
// returns the paths in conflict; none when it was merged and committed with the
// message, or had been before. ralph/progress.md keeps both sides' lines, ralph's
// own files stay as the branch has them. Called again while its conflicts are
// open it returns those.
func MergeHere(ctx context.Context, r *git.Repo, commit, message string) ([]ConflictFile, error) {
	if err := git.CheckHash("commit", commit); err != nil || strings.TrimSpace(message) == "" {
		return nil, fmt.Errorf("merge here: %w", errors.Join(err, errors.New("a commit and a message are needed")))
	}
	r.Lock()
	defer r.Unlock()
	defer r.Elsewhere()
	files, err := mergeHere(ctx, r, commit, message)
	if err != nil {
		return nil, fmt.Errorf("merge here: %w", err)
	}
	return files, nil
}

func mergeHere(ctx context.Context, r *git.Repo, commit, message string) ([]ConflictFile, error) {
	if err := info.Attributes(r, unionLines()); err != nil {
		return nil, err
	}
	h, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	if op := r.Unfinished(); op != "" && (op != "merge" || mergeHead(r) != commit) {
		return nil, git.RefuseUnfinished(op)
	}
	if mergeHead(r) == "" {
		if ok, err := r.Contains(ctx, commit, h.Commit); err != nil || ok {
			return nil, err
		}
	}
	res, err := mergeTree(ctx, r, h.Commit, commit)
	if err != nil {
		return nil, err
	}
	res.files = res.open()
	if mergeHead(r) == "" {
		if err := noteConflicts(r, h.Commit, commit, res.files); err != nil {
			return nil, err
		}
		if err := startMerge(ctx, r, commit, message); err != nil {
			return nil, err
		}
	}
	if err := keepOwn(ctx, r, h.Commit); err != nil {
		return nil, err
	}
	if len(res.files) > 0 {
		c, err := conflict(ctx, r, res, h.Commit, commit)
		if err != nil {
			return nil, err
		}
		return c.Files, nil
	}
	_, err = r.Run(ctx, git.Call{
		Args: []string{"commit", "-q", "--cleanup=verbatim", "-F", "-"}, Stdin: message, Write: true, Hooks: true,
		Conf: []string{"maintenance.auto=false", "gc.auto=0", "i18n.commitEncoding=UTF-8"},
	})
	return nil, err
}

// mergeHead returns the commit that a merge under way brings in, "" for none.
func mergeHead(r *git.Repo) string {
	b, err := regular.ReadFile(filepath.Join(r.GitDir(), "MERGE_HEAD"), regular.Large)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// startMerge merges as far as git can, and commits nothing yet.
func startMerge(ctx context.Context, r *git.Repo, commit, message string) error {
	_, err := r.Run(ctx, git.Call{
		Args: []string{
			"merge", "-q", "--no-ff", "--no-commit", "--no-squash", "--no-autostash", "--no-rerere-autoupdate", "--no-verify-signatures",
			"--cleanup=verbatim", "-m", message, commit,
		},
		Conf: []string{"maintenance.auto=false", "gc.auto=0"}, Write: true,
	})
	if mergeHead(r) == commit { // exit 1 says that there are conflicts
		return nil
	}
	if err == nil {
		err = errors.New("git merge succeeded and left nothing to commit")
	}
	return err
}

// keepOwn gives ralph's own files, and the log that one side deleted, back the
// state of the branch.
func keepOwn(ctx context.Context, r *git.Repo, head string) error {
	args := append([]string{"diff-index", "--cached", "--no-renames", "--name-only", "-z", head, "--"}, git.OwnPaths()...)
	out, err := r.Run(ctx, git.Call{Args: args})
	if err != nil {
		return fmt.Errorf("compare ralph's own files: %w", err)
	}
	paths := strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
	unmerged, err := r.Unmerged(ctx, len(head)/2)
	if err != nil {
		return fmt.Errorf("look for conflicts: %w", err)
	}
	if slices.Contains(unmerged, progressFile) && git.Stat(r.File(progressFile)) != nil {
		out, err := r.Run(ctx, git.Call{Args: []string{"ls-files", "-u", "-z", "--", progressFile}})
		if err != nil {
			return fmt.Errorf("look for conflicts: %w", err)
		}
		if !strings.Contains(out, " 2\t") || !strings.Contains(out, " 3\t") {
			if _, err := r.Run(ctx, git.Call{Args: []string{"add", "-f", "--", progressFile}, Write: true}); err != nil {
				return fmt.Errorf("keep what was learned: %w", err)
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	_, err = r.Run(ctx, git.Call{
		Args:  []string{"restore", "--source=" + head, "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"},
		Stdin: strings.Join(slices.Compact(paths), "\x00"), Write: true,
	})
	if err != nil {
		return fmt.Errorf("leave ralph's own files out: %w", err)
	}
	return nil
}

func noteConflicts(r *git.Repo, ours, theirs string, files []staged) error {
	text := ours + "\x00" + theirs + "\x00"
	for _, f := range files {
		text += f.path + "\x00"
	}
	if err := git.WriteFile(filepath.Join(r.GitDir(), git.MergeNote), text); err != nil {
		return fmt.Errorf("note the conflicts: %w", err)
	}
	return nil
}

// Unresolved returns the paths that MergeHere left in conflict here and that are
// not resolved: git still has several versions of them, or their file still has
// a line with a conflict marker which neither side had. The same holds after the
// agent staged or committed them.
func Unresolved(ctx context.Context, r *git.Repo) ([]string, error) {
	r.Lock()
	defer r.Unlock()
	h, err := r.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for conflicts: %w", err)
	}
	paths, err := r.Unmerged(ctx, len(h.Commit)/2)
	if err != nil {
		return nil, fmt.Errorf("look for conflicts: %w", err)
	}
	b, err := regular.ReadFile(filepath.Join(r.GitDir(), git.MergeNote), regular.Large)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("look for conflicts: %w", err)
	}
	note := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if len(note) > 2 {
		marked, err := marked(ctx, r, h.Commit, note[0], note[1], note[2:])
		if err != nil {
			return nil, fmt.Errorf("look for conflict markers: %w", err)
		}
		paths = append(paths, marked...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// marked returns the paths whose files have marker lines of the merge. A note of
// a merge on another branch, from earlier work in this worktree, does not count.
func marked(ctx context.Context, r *git.Repo, head, ours, theirs string, paths []string) (list []string, err error) {
	if ok, err := r.Contains(ctx, ours, head); err != nil || !ok {
		return nil, err
	}
	for _, p := range paths {
		lines := markerLines(text(r, p))
		if len(lines) == 0 {
			continue
		}
		for _, commit := range []string{ours, theirs} {
			// A side without the file has no markers.
			text, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "blob", commit + ":" + p}})
			if err != nil && git.ExitOf(err) < 1 {
				return nil, err
			}
			for line := range markerLines(text) {
				delete(lines, line)
			}
		}
		if len(lines) > 0 {
			list = append(list, p)
		}
	}
	return list, nil
}

// text reads a file of the work tree, "" for what is no file.
func text(r *git.Repo, name string) string {
	if info, err := os.Lstat(r.File(name)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, _ := regular.ReadFile(r.File(name), regular.Large)
	return string(b)
}

func markerLines(text string) map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		if marker(line) != 0 {
			lines[strings.TrimRight(line, "\r\n")] = true
		}
	}
	return lines
}
