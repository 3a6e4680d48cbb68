package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/refs"
)

// SquashInput says what becomes one commit.
type SquashInput struct {
	Base    string // commit to go on top of
	Tip     string // commit whose tree it gets
	Message string // complete, with the trailer line
	Trailer string
	Key     string // its value; it names the ref that holds the commit until Advance or Drop
}

// SquashOnto makes one commit of a spec's work in this worktree,
// which must be one of ralph's own with no tracked file changed: it ends detached
// at the new commit. Hooks and signing work as in a commit by hand; a hook that
// refuses is an *Error. Called again after a crash it finds the commit by its
// trailer.
func SquashOnto(ctx context.Context, r *git.Repo, in SquashInput) (commits.Commit, error) {
	line, err := commits.Input{Base: in.Base, Message: in.Message, Trailer: in.Trailer, Key: in.Key}.TrailerLine()
	if err := errors.Join(err, git.CheckHash("tip", in.Tip)); err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	r.Lock()
	defer r.Unlock()
	h, err := r.Head(ctx)
	if err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	held, _ := r.LooseRef(refs.MergeRef(in.Key))
	for _, c := range []string{held, h.Commit} {
		if c == "" {
			continue
		}
		at, err := r.ReadCommit(ctx, c)
		if err == nil && at.Carries(line) && len(at.Parents) == 1 && at.Parents[0] == in.Base && holdsWork(ctx, r, at, in) {
			return hold(ctx, r, in.Key, commits.Commit{Hash: c, Short: c[:7], Tree: at.Tree, Found: true, Parent: in.Base})
		}
	}
	if err := stageTip(ctx, r, in); err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	defer r.Elsewhere()
	before := commits.StagedIn(r.RealIndex())
	_, err = r.Run(ctx, git.Call{
		Args: []string{"commit", "-q", "--cleanup=verbatim", "--allow-empty", "-F", "-"}, Stdin: in.Message, Write: true, Hooks: true,
		Conf: []string{"maintenance.auto=false", "gc.auto=0", "i18n.commitEncoding=UTF-8"},
	})
	if err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	c, err := commits.Made(ctx, r, in.Base)
	if err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	files, err := commits.Rewritten(ctx, r, before, "", c, nil)
	if err != nil {
		return commits.Commit{}, fmt.Errorf("squash: %w", err)
	}
	if len(files) > 0 {
		// Its work is on the tip, and so is what becomes of it: nothing of the hook's stays here.
		if _, err := r.Run(ctx, git.Call{Args: []string{"reset", "-q", "--hard", in.Tip}, Write: true}); err != nil {
			return commits.Commit{}, fmt.Errorf("squash: %w", err)
		}
		return commits.Commit{}, &commits.RewrittenError{Files: files}
	}
	return hold(ctx, r, in.Key, c)
}

// holdsWork reports whether a commit has the files of the tip: a hook may have changed it, and
// the engine been killed before that was taken back.
func holdsWork(ctx context.Context, r *git.Repo, at git.CommitObject, in SquashInput) bool {
	tip, err := r.ReadCommit(ctx, in.Tip)
	if err != nil {
		return false
	}
	other, err := commits.OtherThan(ctx, r, commits.Input{Checked: tip.Tree}, at)
	return err == nil && len(other) == 0
}

// stageTip gives the worktree the files and index of the tip with HEAD at the base.
func stageTip(ctx context.Context, r *git.Repo, in SquashInput) error {
	out, err := r.Run(ctx, git.Call{Args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"}})
	if err != nil {
		return err
	}
	// What an earlier call staged before it was cut off is staged again.
	if h, err := r.Head(ctx); out != "" && (err != nil || h.Commit != in.Base || h.Branch != "" || !holdsTree(ctx, r, in.Tip)) {
		var names []string
		for record := range strings.SplitSeq(out, "\x00") {
			if len(record) > 3 {
				names = append(names, record[3:])
			}
		}
		return git.Refuse("files are changed in "+r.Root()+": "+strings.Join(names[:min(3, len(names))], ", "), "commit them or put them back")
	}
	for _, args := range [][]string{
		{"checkout", "-q", "--detach", in.Tip},
		{"update-ref", "-m", "ralph: make one commit", "--no-deref", "HEAD", in.Base, in.Tip},
	} {
		// What a hook thinks of the way there does not matter.
		if _, err := r.Run(ctx, git.Call{Args: args, Write: true, Conf: []string{"core.hooksPath=" + os.DevNull}}); err != nil {
			return err
		}
	}
	return nil
}

// holdsTree reports whether index and tracked files are as a commit has them.
func holdsTree(ctx context.Context, r *git.Repo, commit string) bool {
	for _, args := range [][]string{
		{"diff-index", "--quiet", "--cached", commit, "--"},
		{"diff-files", "--quiet", "--ignore-submodules=dirty"},
	} {
		if _, err := r.Run(ctx, git.Call{Args: args}); err != nil {
			return false
		}
	}
	return true
}

// hold keeps a commit that nothing else holds until it lands.
func hold(ctx context.Context, r *git.Repo, key string, c commits.Commit) (commits.Commit, error) {
	if held, _ := r.LooseRef(refs.MergeRef(key)); held == c.Hash {
		return c, nil
	}
	if err := r.UpdateRefs(ctx, "to land", "update "+refs.MergeRef(key)+" "+c.Hash); err != nil {
		return commits.Commit{}, fmt.Errorf("hold commit %.12s until it lands: %w", c.Hash, err)
	}
	return c, nil
}
