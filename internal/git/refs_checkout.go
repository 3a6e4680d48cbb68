package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Checkout is a work tree of the repository, as its git folder shows it.
type Checkout struct {
	GitDir string
	Dir    string // the work tree; "" for the main one when only git can tell
	Branch string // what is checked out, "" when HEAD is detached
	// rebasing is the branch that a rebase under way will move at its end, while
	// HEAD is detached.
	Rebasing string
}

// ours reports whether ralph made the work tree.
func (c Checkout) ours() bool {
	up := filepath.Dir(c.Dir)
	return filepath.Base(up) == ".worktrees" && filepath.Base(filepath.Dir(up)) == "ralph"
}

// Checkouts lists the work trees by reading their files: `git worktree list` may
// fail while somebody adds or removes one.
func (r *Repo) Checkouts() []Checkout {
	gitDirs := []string{r.common}
	entries, _ := os.ReadDir(filepath.Join(r.common, "worktrees"))
	for _, e := range entries {
		gitDir := filepath.Join(r.common, "worktrees", e.Name())
		if Stat(filepath.Join(gitDir, "gitdir")) != nil { // without it the worktree is taken away
			gitDirs = append(gitDirs, gitDir)
		}
	}
	var list []Checkout
	for _, gitDir := range gitDirs {
		head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
		if err != nil {
			continue
		}
		c := Checkout{GitDir: gitDir, Branch: HeadBranch(string(head))}
		for _, state := range []string{"rebase-merge", "rebase-apply"} {
			if name, err := os.ReadFile(filepath.Join(gitDir, state, "head-name")); err == nil {
				c.Rebasing = strings.TrimPrefix(strings.TrimSpace(string(name)), "refs/heads/")
			}
		}
		c.Dir = r.workTree(gitDir)
		list = append(list, c)
	}
	return list
}

// HeadBranch reads the branch from the text of a HEAD.
func HeadBranch(head string) string {
	branch, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// workTree returns the folder that a git folder belongs to.
func (r *Repo) workTree(gitDir string) string {
	if gitDir == r.gitDir {
		return r.root
	}
	if gitDir == r.common {
		return filepath.Dir(gitDir) // the usual place; Open tells when it is not
	}
	if file := Backlink(gitDir); file != "" {
		return filepath.Dir(file)
	}
	return ""
}

// OpenCheckout opens the work tree that a checkout is, r itself when that is it.
func (r *Repo) OpenCheckout(ctx context.Context, c Checkout) (*Repo, error) {
	if c.GitDir == r.gitDir {
		return r, nil
	}
	if c.ours() {
		if t, err := r.Tree(c.Dir); err == nil {
			return t, nil
		}
	}
	t, err := Open(ctx, r.p, c.Dir, r.env)
	if err != nil {
		return nil, err
	}
	if !Same(t.gitDir, c.GitDir) {
		return nil, fmt.Errorf("%s is not the work tree of %s", c.Dir, c.GitDir)
	}
	return t, nil
}
