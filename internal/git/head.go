package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Head is where a checkout stands.
type Head struct {
	Commit string // full id
	Branch string // without refs/heads/; "" when HEAD is detached
}

// Head reads HEAD, from its files where they say it all (0.02 ms) and through
// git otherwise: packed refs, reftable, symbolic branches. On a branch without
// commits it returns the branch and ErrNoCommits.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	if h, ok := r.headFile(); ok {
		return h, nil
	}
	out, err := r.Line(ctx, Call{Args: []string{"rev-parse", "HEAD", "--symbolic-full-name", "HEAD"}})
	if err != nil {
		if strings.Contains(StderrOf(err), "ambiguous argument 'HEAD'") {
			return r.unborn(ctx)
		}
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	commit, ref, _ := strings.Cut(out, "\n")
	if err := CheckHash("HEAD", commit); err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if ref == "HEAD" {
		ref = ""
	}
	return Head{Commit: commit, Branch: strings.TrimPrefix(ref, "refs/heads/")}, nil
}

func (r *Repo) unborn(ctx context.Context) (Head, error) {
	ref, err := r.Line(ctx, Call{Args: []string{"symbolic-ref", "-q", "HEAD"}})
	if err != nil {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	return Head{Branch: strings.TrimPrefix(ref, "refs/heads/")}, ErrNoCommits
}

// headFile reads HEAD and the loose ref it names; ok is false when only git can tell.
func (r *Repo) headFile() (h Head, ok bool) {
	text := strings.TrimSpace(ReadSmall(filepath.Join(r.gitDir, "HEAD"))) // "" of a link, the oldest form of a symbolic ref
	if IsHash(text) {
		return Head{Commit: text}, true
	}
	ref, symbolic := strings.CutPrefix(text, "ref: ")
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !symbolic || !isBranch || !filepath.IsLocal(branch) {
		return Head{}, false
	}
	commit, ok := r.LooseRef(ref)
	return Head{Commit: commit, Branch: branch}, ok
}

// Ref returns the commit that a full ref name points to, "" when there is none. As
// Head does, it reads files where they say it all, and asks git otherwise.
func (r *Repo) Ref(ctx context.Context, name string) (string, error) {
	if at, ok := r.refFile(name); ok {
		return at, nil
	}
	hash, err := r.Line(ctx, Call{Args: []string{"rev-parse", "--verify", "--quiet", name + "^{commit}"}})
	if ExitOf(err) == 1 {
		return "", nil
	}
	return hash, err
}

// refFile reads a ref that all work trees share; ok is false when only git can tell. It looks for
// packed refs last: who packs one writes it there before its own file goes.
func (r *Repo) refFile(name string) (at string, ok bool) {
	if !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/ralph/") || !filepath.IsLocal(name) {
		return "", false
	}
	if at, ok = r.LooseRef(name); ok {
		_, err := r.ReadLooseCommit(at) // it may have been lost with the machine, or be something else
		return at, err == nil
	}
	info, err := os.Lstat(filepath.Join(r.common, filepath.FromSlash(name)))
	none := errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() // of a ref with a longer name
	return "", none && Stat(filepath.Join(r.common, "packed-refs")) == nil && Stat(filepath.Join(r.common, "reftable")) == nil
}

// Descends reports whether commit has base among its ancestors, or is it.
func (r *Repo) Descends(ctx context.Context, commit, base string) (bool, error) {
	if commit == base {
		return true, nil
	}
	_, err := r.Run(ctx, Call{Args: []string{"merge-base", "--is-ancestor", base, commit}})
	if ExitOf(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MoveHead sets HEAD's branch from one commit to another, if it still is there.
func (r *Repo) MoveHead(ctx context.Context, why, from, to string) error {
	_, err := r.Run(ctx, Call{Args: []string{"update-ref", "-m", "ralph: " + why, "HEAD", to, from}, Write: true})
	if err != nil {
		return fmt.Errorf("%s: %w", why, err)
	}
	return nil
}

// FollowsFirst reports whether a commit comes after another along first parents,
// as far as that can be seen from a few loose objects: false says nothing.
func (r *Repo) FollowsFirst(commit, base string) bool { return r.FollowsWithin(commit, base, 32) }

// FollowsWithin is FollowsFirst, for as many commits back as far says.
func (r *Repo) FollowsWithin(commit, base string, far int) bool {
	for range far {
		if commit == base {
			return true
		}
		text, err := r.ReadLooseCommit(commit)
		if err != nil {
			return false
		}
		at, err := ParseCommit(text)
		if err != nil || len(at.Parents) == 0 {
			return false
		}
		commit = at.Parents[0]
	}
	return commit == base
}

// Contains reports whether tip is the commit or has it among its ancestors.
func (r *Repo) Contains(ctx context.Context, commit, tip string) (bool, error) {
	if r.FollowsFirst(tip, commit) {
		return true, nil
	}
	ok, err := r.Descends(ctx, tip, commit)
	if err != nil {
		return false, fmt.Errorf("compare %.12s and %.12s: %w", commit, tip, err)
	}
	return ok, nil
}
