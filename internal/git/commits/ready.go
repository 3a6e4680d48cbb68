package commits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Ready reports whether ralph can commit here, as a *ralph.Refusal that says
// what to do: commits and a branch to go on from, nothing half done, an
// identity, a git folder that can be written.
func Ready(ctx context.Context, r *git.Repo) error {
	if op := r.Unfinished(); op != "" {
		return git.RefuseUnfinished(op)
	}
	h, err := r.Head(ctx)
	if errors.Is(err, git.ErrNoCommits) {
		return git.Refuse("the repository has no commits yet", "make a first one, for instance `git commit --allow-empty -m start`")
	}
	if err != nil {
		return err
	}
	if h.Branch == "" {
		return git.Refuse("HEAD is detached, commits made now would belong to no branch", "check out a branch, for instance `git switch -c work`")
	}
	paths, err := r.Unmerged(ctx, len(h.Commit)/2)
	if err != nil {
		return fmt.Errorf("look for conflicts: %w", err)
	}
	if len(paths) > 0 {
		return git.Refuse("files have unsolved conflicts: "+strings.Join(paths[:min(3, len(paths))], ", "),
			"solve them and `git add` them")
	}
	if err := identity(ctx, r); err != nil {
		return err
	}
	return writable(r)
}

// identity asks for the names that a commit carries. git is not asked about what
// the environment says in full, nor about the author where the environment does
// not mention one: then it has the committer's settings.
func identity(ctx context.Context, r *git.Repo) error {
	for _, who := range []string{"COMMITTER", "AUTHOR"} {
		name, email := r.Getenv("GIT_"+who+"_NAME"), r.Getenv("GIT_"+who+"_EMAIL")
		if plainWord.MatchString(name) && plainWord.MatchString(email) || who == "AUTHOR" && name == "" && email == "" {
			continue
		}
		_, err := r.Run(ctx, git.Call{Args: []string{"var", "GIT_" + who + "_IDENT"}})
		if git.ExitOf(err) > 0 {
			return git.Refuse("git does not know who commits here",
				"set `git config user.name \"Your Name\"` and `git config user.email you@example.com`")
		}
		if err != nil {
			return fmt.Errorf("read git identity: %w", err)
		}
	}
	return nil
}

// plainWord is what git takes for a name or an address without more ado.
var plainWord = lazyregexp.New(`[\pL\pN]`)

// writable reports whether files can be made in the git folder, as a *ralph.Refusal.
func writable(r *git.Repo) error {
	f, err := os.CreateTemp(r.GitDir(), "ralph-probe-*")
	if err != nil {
		return git.Refuse(fmt.Sprintf("the git folder cannot be written: %v", err), "change its owner or permissions")
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
