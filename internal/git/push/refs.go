package push

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/regular"
)

// Refs are those of a remote that no branch is: what machines that work together hand each other.
// The person's own settings and credentials are used, none of the repository's: an agent may have
// written them.
type Refs struct {
	Repo  *git.Repo
	URL   string
	Fence *Fence // nil: whoever may push does
}

// AddressOf is where a remote is, by its name; an address stays as it is.
func AddressOf(ctx context.Context, r *git.Repo, remote string) (string, error) {
	if strings.ContainsAny(remote, "/:") {
		return remote, nil
	}
	return Branch{Repo: r, Remote: remote}.address(ctx, false)
}

// Send pushes refspecs, all or none: commit:ref makes or moves a ref, :ref takes it away.
func (p Refs) Send(ctx context.Context, specs ...string) error {
	specs = slices.Clone(specs) // whoever sends may send the same again
	for i, s := range specs {
		from, ref, ok := strings.Cut(s, ":")
		if !ok || !strings.HasPrefix(ref, Space) || from != "" && !git.IsHash(from) {
			return fmt.Errorf("%w: %q is none of ralph's refs", ErrRefused, s)
		}
		specs[i] = "+" + s
		if from == "" {
			specs[i] = s
		}
	}
	push := func(options []string, more ...string) error {
		return beside(p.Repo.Common(), func(at string) error {
			args := slices.Concat([]string{"push", "-q", "--no-verify"}, options, []string{"--", p.URL}, specs, more)
			_, err := said(ctx, p.Repo, at, pushEnv(p.Repo, at), args...)
			return err
		})
	}
	var err error
	if p.Fence == nil {
		err = push(nil)
	} else {
		err = p.Fence.guard(ctx, p.URL, func(options []string, spec string) error { return push(options, spec) })
	}
	if err != nil {
		return fmt.Errorf("push to the remote that all machines reach: %w", err)
	}
	return nil
}

// Space is where these refs are: no branch, no tag, nothing that a clone fetches.
const Space = "refs/ralph/fleet/"

// Bring fetches the commit of a ref into this repository.
func (p Refs) Bring(ctx context.Context, ref, commit string) error {
	err := git.CheckHash("commit", commit)
	if err == nil && !strings.HasPrefix(ref, Space) {
		err = fmt.Errorf("%w: %q is none of ralph's refs", ErrRefused, ref)
	}
	if err != nil {
		return err
	}
	if _, err := p.Repo.ReadCommit(ctx, commit); err == nil {
		return nil
	}
	return beside(p.Repo.Common(), func(at string) error {
		env := append(pushEnv(p.Repo, at), "GIT_OBJECT_DIRECTORY="+filepath.Join(p.Repo.Common(), "objects"))
		_, err := said(ctx, p.Repo, at, env, "fetch", "-q", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head", "--", p.URL, "+"+ref+":refs/ralph/fetched")
		if err != nil {
			return fmt.Errorf("fetch from the remote that all machines reach: %w", err)
		}
		is, err := regular.ReadFile(filepath.Join(at, "refs/ralph/fetched"), regular.Large)
		if err == nil && strings.TrimSpace(string(is)) != commit {
			err = fmt.Errorf("%s is at %s, and the word was %s: somebody else moved it", ref, strings.TrimSpace(string(is)), commit)
		}
		return err
	})
}

// List are the refs below a prefix.
func (p Refs) List(ctx context.Context, prefix string) (refs []string, err error) {
	err = beside(p.Repo.Common(), func(at string) error {
		out, err := said(ctx, p.Repo, at, pushEnv(p.Repo, at), "ls-remote", "--", p.URL, prefix+"*")
		for line := range strings.Lines(out) {
			if _, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				refs = append(refs, ref)
			}
		}
		return err
	})
	return refs, err
}
