package carry

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// machine is a repository with a worktree of a task.
type machine struct {
	gittest.Box
	repo, tree *git.Repo
	at         gittest.Box
}

func newMachine(t *testing.T, box gittest.Box, commit string) *machine {
	t.Helper()
	r, err := git.Open(t.Context(), box.P, box.Dir, box.Env)
	box.Must(err)
	dir := filepath.Join(box.Dir, "ralph/.worktrees/1")
	_, err = worktrees.Make(t.Context(), r, []string{dir}, commit)
	box.Must(err)
	tree, err := r.Tree(dir)
	box.Must(err)
	m := &machine{Box: box, repo: r, tree: tree, at: box}
	m.at.Dir = dir
	return m
}

// A worktree with a commit, changed, new and deleted files comes to another machine just so, over
// whatever was there; ignored files there stay. What is packed twice has one name.
func TestAWorktreeTravels(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	here := gittest.New(t)
	here.Write("a", "1\n")
	here.Write("gone", "1\n")
	here.Write(".gitignore", "cache\n")
	here.Git("add", "-A")
	here.Git("commit", "-q", "-m", "start")
	from := newMachine(t, here, here.Head())
	from.at.Git("checkout", "-q", "-b", "ralph/t-1")
	from.at.Write("b", "committed\n")
	from.at.Git("add", "-A")
	from.at.Git("commit", "-q", "-m", "by an agent")
	from.at.Write("a", "2\n")
	from.at.Write("new", "3\n")
	from.at.Git("rm", "-q", "gone")

	hub := t.TempDir()
	here.Git("init", "-q", "--bare", hub)
	place, err := Look(ctx, from.tree)
	here.Must(err)
	packed, err := Pack(ctx, from.tree, place, []byte("what is to be done"))
	here.Must(err)
	if again, err := Pack(ctx, from.tree, place, []byte("what is to be done")); err != nil || again != packed {
		t.Errorf("packed again: %s, %v, want %s", again, err, packed)
	}
	ref := push.Space + "j/k/in"
	here.Must(push.Refs{Repo: from.repo, URL: hub}.Send(ctx, packed+":"+ref))
	if err := (push.Refs{Repo: from.repo, URL: hub}).Send(ctx, packed+":refs/heads/main"); err == nil {
		t.Error("a branch was pushed")
	}

	there := gittest.New(t)
	there.Git("commit", "-q", "--allow-empty", "-m", "another history")
	to := newMachine(t, there, there.Head())
	to.at.Write("a", "mine\n")
	to.at.Write("left", "over\n")
	there.Must(push.Refs{Repo: to.repo, URL: hub}.Bring(ctx, ref, packed))
	back, note, err := Unpack(ctx, to.repo, packed)
	there.Must(err)
	back.Branch = place.Branch
	if back != place || string(note) != "what is to be done" {
		t.Fatalf("unpacked %+v %q, want %+v", back, note, place)
	}
	for range 2 { // as after a crash
		there.Must(Become(ctx, to.tree, Snapshot{}, back))
		to.at.Write("cache", "warm\n")
	}
	if is, err := Look(ctx, to.tree); err != nil || is != place {
		t.Errorf("the worktree is %+v, %v, want %+v", is, err, place)
	}
	for name, want := range map[string]bool{"a": true, "b": true, "new": true, "cache": true, "gone": false, "left": false} {
		if git.Stat(filepath.Join(to.at.Dir, name)) != nil != want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	if err := Become(ctx, to.repo, Snapshot{}, back); err == nil {
		t.Error("a person's checkout was changed")
	}
	here.Must(push.Refs{Repo: from.repo, URL: hub}.Send(ctx, ":"+ref))
	if left, err := (push.Refs{Repo: from.repo, URL: hub}).List(ctx, push.Space); err != nil || len(left) > 0 {
		t.Errorf("left at the remote: %v, %v", left, err)
	}
}
