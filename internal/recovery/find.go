package recovery

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// OpenLedger lists all that was put aside in the repository that the person is in, whether or not it can still
// be brought back.
func OpenLedger(ctx context.Context, env workspace.Env) (*git.Repo, []Entry, error) {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return nil, nil, err
	}
	defer j.Close()
	l, err := readLedger(j)
	if err != nil {
		return nil, nil, err
	}
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		return nil, nil, err
	}
	list, err := l.entries(ctx, env, repo)
	return repo, list, err
}

// FindEntry takes an id, a whole ref, a task with a single entry, or the beginning
// of a commit.
func FindEntry(list []Entry, name string) (Entry, error) {
	var found []Entry
	for _, match := range []func(Entry) bool{
		func(e Entry) bool { return e.ID == name || e.Ref == name && name != "" },
		func(e Entry) bool { return len(name) >= 7 && strings.HasPrefix(e.Commit, name) },
		func(e Entry) bool { return string(e.Task) == name && e.State != WorkGone },
	} {
		for _, e := range list {
			if match(e) {
				found = append(found, e)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, &ralph.Refusal{Why: fmt.Sprintf("nothing is put aside as %s", name), Hint: "`ralph recover list --all` lists all there is", Kind: ralph.ErrNotFound}
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return Entry{}, &ralph.Refusal{Why: fmt.Sprintf("%s names %d things", name, len(found)), Hint: "name one: " + strings.Join(ids, ", "), Kind: ralph.ErrUsage}
}

// ShownEntry is an entry with what it changes.
type ShownEntry struct {
	Entry
	Message string `json:"message,omitempty"`
	Patch   string `json:"patch,omitempty"` // at most 64 KiB
	Restore string `json:"restore,omitempty"`
}

// Read adds the message and the patch against where the work began.
func (x *ShownEntry) Read(ctx context.Context, repo *git.Repo) error {
	if x.Gone {
		x.Restore = ""
	}
	if x.State == WorkGone {
		return nil
	}
	const most = 64 << 10
	found, err := commits.Commits(ctx, repo, []string{x.Commit})
	if err != nil {
		return err
	}
	r, ok := found[x.Commit]
	if !ok {
		return nil
	}
	x.Message = r.Message
	from := x.base
	if from == "" && len(r.Parents) > 0 {
		from = r.Parents[0]
	}
	if from == "" || from == x.Commit {
		return nil
	}
	patch, err := diff.Plain(ctx, repo, from, x.Commit, most)
	x.Patch = string(patch)
	return err
}
