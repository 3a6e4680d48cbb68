package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"
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
		if Stat(filepath.Join(r.GitDir(), filepath.FromSlash(op.file))) != nil {
			return op.name
		}
	}
	return ""
}

// RefuseUnfinished says that an operation of git is under way.
func RefuseUnfinished(op string) error {
	return Refuse("a git "+op+" is unfinished", fmt.Sprintf("finish it, or undo it with `git %s --abort`", op))
}

// Unmerged returns the paths in the user's index that wait for a decision; a
// plain `git add -A` would take their conflict markers for a solution.
func (r *Repo) Unmerged(ctx context.Context, idLen int) ([]string, error) {
	b, err := regular.ReadFile(r.RealIndex(), regular.Large)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if e, err := index.Read(b, idLen, IsOwn); err == nil {
		return e.Unmerged, nil
	}
	out, err := r.Run(ctx, Call{Args: []string{"diff", "--name-only", "-z", "--diff-filter=U", "--ignore-submodules=dirty"}, Conf: []string{"core.quotepath=off"}})
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(c rune) bool { return c == 0 }), nil
}
