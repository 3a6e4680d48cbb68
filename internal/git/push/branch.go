package push

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
)

// ErrMoved: the remote has commits on a branch that are not in what was to be pushed.
var ErrMoved = errors.New("others have pushed to it")

// Branch is a branch of this repository and of a remote, under the same name.
type Branch struct {
	Repo   *git.Repo
	Remote string
	Name   string // without refs/heads/
	Fence  *Fence // nil: whoever may push does
}

func (b Branch) check() error {
	if err := git.CheckBranch(b.Name); err != nil {
		return err
	}
	if b.Name == "" || b.Remote == "" || strings.HasPrefix(b.Remote, "-") {
		return fmt.Errorf("%w: the branch %q of the remote %q", ErrRefused, b.Name, b.Remote)
	}
	return nil
}

// tracking is where git keeps what a remote had last.
func (b Branch) tracking() string { return "refs/remotes/" + b.Remote + "/" + b.Name }

// Known is what the remote was last known to have, "" for nothing. No remote is asked.
func (b Branch) Known(ctx context.Context) (string, error) {
	if err := b.check(); err != nil {
		return "", err
	}
	return b.Repo.Ref(ctx, b.tracking())
}

// Fetch brings what the remote has on the branch, and returns it; "" when it has no such
// branch. The person's own settings and credentials are used; the repository's own name the
// remote's address and nothing more: an agent may have written them.
func (b Branch) Fetch(ctx context.Context) (string, error) {
	if err := b.check(); err != nil {
		return "", err
	}
	tip, err := b.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("fetch %s of %s: %w", b.Name, b.Remote, err)
	}
	return tip, nil
}

func (b Branch) fetch(ctx context.Context) (tip string, err error) {
	url, err := b.address(ctx, false)
	if err != nil {
		return "", err
	}
	r := b.Repo
	err = beside(r.Common(), func(at string) error {
		there, err := said(ctx, r, at, pushEnv(r, at), "ls-remote", "--", url, "refs/heads/"+b.Name)
		if err != nil {
			return err
		}
		id, _, ok := strings.Cut(there, "\t")
		if !ok || !git.IsHash(id) {
			return b.forget(ctx)
		}
		// The objects go where this repository has its own, so that a ref here can hold them.
		env := append(pushEnv(r, at), "GIT_OBJECT_DIRECTORY="+filepath.Join(r.Common(), "objects"))
		if _, err := said(ctx, r, at, env, "fetch", "-q", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head", "--", url, "+refs/heads/"+b.Name+":refs/ralph/fetched"); err != nil {
			return err
		}
		if tip, err = said(ctx, r, at, env, "rev-parse", "--verify", "--quiet", "refs/ralph/fetched"); err != nil {
			return err
		}
		return b.note(ctx, tip)
	})
	return tip, err
}

// forget lets go of what the remote had: it has no such branch any more.
func (b Branch) forget(ctx context.Context) error {
	known, err := b.Repo.Ref(ctx, b.tracking())
	if err != nil || known == "" {
		return err
	}
	return b.Repo.UpdateRefs(ctx, "gone from "+b.Remote, "delete "+b.tracking())
}

// note keeps what the remote has, where git keeps it too.
func (b Branch) note(ctx context.Context, tip string) error {
	return b.Repo.UpdateRefs(ctx, "seen at "+b.Remote, "update "+b.tracking()+" "+tip)
}

// Push brings a commit to the branch of the remote. It is never forced: where the remote has
// more than the commit, it is ErrMoved and nothing has changed.
func (b Branch) Push(ctx context.Context, commit string) error {
	if err := errors.Join(b.check(), git.CheckHash("commit", commit)); err != nil {
		return err
	}
	url, err := b.address(ctx, true)
	if err != nil {
		return fmt.Errorf("push %s to %s: %w", b.Name, b.Remote, err)
	}
	if b.Fence == nil {
		err = b.send(ctx, url, commit, nil)
	} else {
		err = b.Fence.guard(ctx, url, func(options []string, spec string) error { return b.send(ctx, url, commit, options, spec) })
	}
	if err != nil {
		return fmt.Errorf("push %s to %s: %w", b.Name, b.Remote, err)
	}
	return b.note(ctx, commit)
}

// send pushes the branch, and more beside it.
func (b Branch) send(ctx context.Context, url, commit string, options []string, more ...string) error {
	r := b.Repo
	var words string
	var code int
	err := beside(r.Common(), func(at string) error {
		args := slices.Concat([]string{"push", "--porcelain", "--no-verify"}, options, []string{"--", url, commit + ":refs/heads/" + b.Name}, more)
		out, errs, res, err := r.Outside(ctx, at, pushEnv(r, at), args...)
		words, code = string(out)+string(errs), res.Code
		if err == nil && res.Ended != proc.EndedSelf {
			err = errors.New("git did not end by itself")
		}
		return err
	})
	switch {
	case err != nil || code == 0:
		return err
	case strings.Contains(words, "fetch first") || strings.Contains(words, "non-fast-forward"):
		return ErrMoved
	}
	return errors.New(lastWords(strings.ReplaceAll(words, url, b.Remote)))
}

// lastWords are what git says at the end, in one line.
func lastWords(words string) string {
	lines := strings.Split(strings.TrimSpace(words), "\n")
	var kept []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && l != "Done" && !strings.HasPrefix(l, "hint:") && !strings.HasPrefix(l, "To ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept[max(0, len(kept)-2):], "; ")
}

// Address is where the remote is.
func (b Branch) Address(ctx context.Context) (string, error) { return b.address(ctx, false) }

// PushAddress is where pushes to the remote go.
func (b Branch) PushAddress(ctx context.Context) (string, error) { return b.address(ctx, true) }

// address is where the remote is.
func (b Branch) address(ctx context.Context, push bool) (string, error) {
	r := b.Repo
	ask := func(args ...string) (string, error) {
		return said(ctx, r, r.Root(), r.Environ(true, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"), args...)
	}
	args := []string{"remote", "get-url"}
	if push {
		args = append(args, "--push")
	}
	url, err := ask(append(args, b.Remote)...)
	if err != nil {
		return "", fmt.Errorf("there is no remote %s here (`git remote add %s <address>` makes it, land.remote names another one)", b.Remote, b.Remote)
	}
	url, _, _ = strings.Cut(url, "\n")
	if strings.Contains(url, "::") || strings.HasPrefix(url, "-") {
		return "", fmt.Errorf("%w: the address %q", ErrRefused, url)
	}
	if strings.HasPrefix(url, ".") {
		url = filepath.Join(r.Root(), url) // git reads it from the work tree
	}
	return url, nil
}
