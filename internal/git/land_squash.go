package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// SquashInput says what becomes one commit.
type SquashInput struct {
	Base    string // commit to go on top of
	Tip     string // commit whose tree it gets
	Message string // complete, with the trailer line
	Trailer string
	Key     string // its value; it names the ref that holds the commit until Advance or Drop
}

// SquashOnto makes one commit of a spec's work (D-068, X-69) in this worktree,
// which must be one of ralph's own with no tracked file changed: it ends detached
// at the new commit. Hooks and signing work as in a commit by hand; a hook that
// refuses is an *Error. Called again after a crash it finds the commit by its
// trailer.
func (r *Repo) SquashOnto(ctx context.Context, in SquashInput) (Commit, error) {
	line, err := CommitInput{Base: in.Base, Message: in.Message, Trailer: in.Trailer, Key: in.Key}.trailer()
	if err := errors.Join(err, checkHash("tip", in.Tip)); err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	r.Lock()
	defer r.Unlock()
	h, err := r.Head(ctx)
	if err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	held, _ := r.looseRef(mergeRef(in.Key))
	for _, c := range []string{held, h.Commit} {
		if c == "" {
			continue
		}
		at, err := r.commit(ctx, c)
		if err == nil && at.carries(line) && len(at.parents) == 1 && at.parents[0] == in.Base && r.holdsWork(ctx, at, in) {
			return r.hold(ctx, in.Key, Commit{Hash: c, Short: c[:7], Tree: at.tree, Found: true, parent: in.Base})
		}
	}
	if err := r.stageTip(ctx, in); err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	defer r.elsewhere()
	before := stagedIn(r.realIndex())
	_, err = r.git(ctx, call{
		args: []string{"commit", "-q", "--cleanup=verbatim", "--allow-empty", "-F", "-"}, stdin: in.Message, write: true, hooks: true,
		conf: []string{"maintenance.auto=false", "gc.auto=0", "i18n.commitEncoding=UTF-8"},
	})
	if err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	c, err := r.made(ctx, in.Base)
	if err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	files, err := r.rewritten(ctx, before, "", c, nil)
	if err != nil {
		return Commit{}, fmt.Errorf("squash: %w", err)
	}
	if len(files) > 0 {
		// Its work is on the tip, and so is what becomes of it: nothing of the hook's stays here.
		if _, err := r.git(ctx, call{args: []string{"reset", "-q", "--hard", in.Tip}, write: true}); err != nil {
			return Commit{}, fmt.Errorf("squash: %w", err)
		}
		return Commit{}, &RewrittenError{Files: files}
	}
	return r.hold(ctx, in.Key, c)
}

// holdsWork reports whether a commit has the files of the tip: a hook may have changed it, and
// the engine been killed before that was taken back.
func (r *Repo) holdsWork(ctx context.Context, at commitObject, in SquashInput) bool {
	tip, err := r.commit(ctx, in.Tip)
	if err != nil {
		return false
	}
	other, err := r.otherThan(ctx, CommitInput{Checked: tip.tree}, at)
	return err == nil && len(other) == 0
}

// stageTip gives the worktree the files and index of the tip with HEAD at the base.
func (r *Repo) stageTip(ctx context.Context, in SquashInput) error {
	out, err := r.git(ctx, call{args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"}})
	if err != nil {
		return err
	}
	// What an earlier call staged before it was cut off is staged again.
	if h, err := r.Head(ctx); out != "" && (err != nil || h.Commit != in.Base || h.Branch != "" || !r.holdsTree(ctx, in.Tip)) {
		var names []string
		for record := range strings.SplitSeq(out, "\x00") {
			if len(record) > 3 {
				names = append(names, record[3:])
			}
		}
		return refuse("files are changed in "+r.root+": "+strings.Join(names[:min(3, len(names))], ", "), "commit them or put them back")
	}
	for _, args := range [][]string{
		{"checkout", "-q", "--detach", in.Tip},
		{"update-ref", "-m", "ralph: make one commit", "--no-deref", "HEAD", in.Base, in.Tip},
	} {
		// What a hook thinks of the way there does not matter.
		if _, err := r.git(ctx, call{args: args, write: true, conf: []string{"core.hooksPath=" + os.DevNull}}); err != nil {
			return err
		}
	}
	return nil
}

// holdsTree reports whether index and tracked files are as a commit has them.
func (r *Repo) holdsTree(ctx context.Context, commit string) bool {
	for _, args := range [][]string{
		{"diff-index", "--quiet", "--cached", commit, "--"},
		{"diff-files", "--quiet", "--ignore-submodules=dirty"},
	} {
		if _, err := r.git(ctx, call{args: args}); err != nil {
			return false
		}
	}
	return true
}

// hold keeps a commit that nothing else holds until it lands.
func (r *Repo) hold(ctx context.Context, key string, c Commit) (Commit, error) {
	if held, _ := r.looseRef(mergeRef(key)); held == c.Hash {
		return c, nil
	}
	if err := r.updateRefs(ctx, "to land", "update "+mergeRef(key)+" "+c.Hash); err != nil {
		return Commit{}, fmt.Errorf("hold commit %.12s until it lands: %w", c.Hash, err)
	}
	return c, nil
}
