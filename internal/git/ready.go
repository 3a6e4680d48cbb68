package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
)

// operation is something git was asked to do and that waits for an answer.
type operation struct {
	file string // in the git folder while it lasts
	name string // as the subcommand is called
}

// operations, in the order to look: a rebase uses the files of the others.
func operations() []operation {
	return []operation{
		{"rebase-merge", "rebase"},
		{"rebase-apply/applying", "am"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
	}
}

// Unfinished returns the operation that is under way, "" for none.
func (r *Repo) Unfinished() string {
	for _, op := range operations() {
		if Stat(filepath.Join(r.gitDir, filepath.FromSlash(op.file))) != nil {
			return op.name
		}
	}
	return ""
}

// RefuseUnfinished says that an operation of git is under way.
func RefuseUnfinished(op string) error {
	return Refuse("a git "+op+" is unfinished", fmt.Sprintf("finish it, or undo it with `git %s --abort`", op))
}

// Ready reports whether ralph can commit here, as a *ralph.Refusal that says
// what to do: commits and a branch to go on from, nothing half done, an
// identity, a git folder that can be written.
func (r *Repo) Ready(ctx context.Context) error {
	if op := r.Unfinished(); op != "" {
		return RefuseUnfinished(op)
	}
	h, err := r.Head(ctx)
	if errors.Is(err, ErrNoCommits) {
		return Refuse("the repository has no commits yet", "make a first one, for instance `git commit --allow-empty -m start`")
	}
	if err != nil {
		return err
	}
	if h.Branch == "" {
		return Refuse("HEAD is detached, commits made now would belong to no branch", "check out a branch, for instance `git switch -c work`")
	}
	paths, err := r.Unmerged(ctx, len(h.Commit)/2)
	if err != nil {
		return fmt.Errorf("look for conflicts: %w", err)
	}
	if len(paths) > 0 {
		return Refuse("files have unsolved conflicts: "+strings.Join(paths[:min(3, len(paths))], ", "),
			"solve them and `git add` them")
	}
	if err := r.identity(ctx); err != nil {
		return err
	}
	f, err := os.CreateTemp(r.gitDir, "ralph-probe-*")
	if err != nil {
		return Refuse(fmt.Sprintf("the git folder cannot be written: %v", err), "change its owner or permissions")
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Unmerged returns the paths in the user's index that wait for a decision; a
// plain `git add -A` would take their conflict markers for a solution.
func (r *Repo) Unmerged(ctx context.Context, idLen int) ([]string, error) {
	b, err := os.ReadFile(r.RealIndex())
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if e, err := readEntries(b, idLen); err == nil {
		return e.unmerged, nil
	}
	out, err := r.Run(ctx, Call{Args: []string{"diff", "--name-only", "-z", "--diff-filter=U", "--ignore-submodules=dirty"}, Conf: []string{"core.quotepath=off"}})
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), nil
}

// identity asks for the names that a commit carries. git is not asked about what
// the environment says in full, nor about the author where the environment does
// not mention one: then it has the committer's settings.
func (r *Repo) identity(ctx context.Context) error {
	for _, who := range []string{"COMMITTER", "AUTHOR"} {
		name, email := proc.Getenv(r.env, "GIT_"+who+"_NAME"), proc.Getenv(r.env, "GIT_"+who+"_EMAIL")
		if plainWord.MatchString(name) && plainWord.MatchString(email) || who == "AUTHOR" && name == "" && email == "" {
			continue
		}
		_, err := r.Run(ctx, Call{Args: []string{"var", "GIT_" + who + "_IDENT"}})
		if ExitOf(err) > 0 {
			return Refuse("git does not know who commits here",
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
