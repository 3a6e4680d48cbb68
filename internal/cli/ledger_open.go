package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
)

func openLedger(ctx context.Context, env Env) (*git.Repo, []entry, error) {
	j, err := openReader(env, false, false)
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

// findEntry takes an id, a whole ref, a task with a single entry, or the beginning
// of a commit.
func findEntry(list []entry, name string) (entry, error) {
	var found []entry
	for _, match := range []func(entry) bool{
		func(e entry) bool { return e.ID == name || e.Ref == name && name != "" },
		func(e entry) bool { return len(name) >= 7 && strings.HasPrefix(e.Commit, name) },
		func(e entry) bool { return string(e.Task) == name && e.State != workGone },
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
		return entry{}, &ralph.Refusal{Why: fmt.Sprintf("nothing is put aside as %s", name), Hint: "`ralph recover list --all` lists all there is", Kind: ralph.ErrNotFound}
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return entry{}, &ralph.Refusal{Why: fmt.Sprintf("%s names %d things", name, len(found)), Hint: "name one: " + strings.Join(ids, ", "), Kind: ralph.ErrUsage}
}

// shownEntry is an entry with what it changes.
type shownEntry struct {
	entry
	Message string `json:"message,omitempty"`
	Patch   string `json:"patch,omitempty"` // at most 64 KiB
	Restore string `json:"restore,omitempty"`
}

// read adds the message and the patch against where the work began.
func (x *shownEntry) read(ctx context.Context, repo *git.Repo) error {
	if x.Gone {
		x.Restore = ""
	}
	if x.State == workGone {
		return nil
	}
	const most = 64 << 10
	found, err := repo.Commits(ctx, []string{x.Commit})
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
	patch, err := repo.Diff(ctx, from, x.Commit, most)
	x.Patch = string(patch)
	return err
}
