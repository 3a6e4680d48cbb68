package landing

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo    *git.Repo
	program *gittest.Program // of repo
}

func newBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	return boxOf(gittest.New(t, initArgs...))
}

func boxOf(at gittest.Box) *testRepo {
	at.T.Helper()
	b := &testRepo{Box: at}
	program, env := gittest.NewProgram(at.T, at.Env)
	r, err := git.Open(at.T.Context(), at.P, at.Dir, env)
	b.Must(err)
	b.repo, b.program = r, program
	return b
}

func (b *testRepo) open(dir string) *git.Repo {
	b.T.Helper()
	r, err := git.Open(b.T.Context(), b.P, dir, b.Env)
	b.Must(err)
	return r
}

// pool excludes ralph's own files, as `ralph init` does, and makes worktrees.
func (b *testRepo) pool(names ...string) []string {
	b.T.Helper()
	b.Must(info.Exclude(b.repo, []string{"/ralph/.worktrees/", "/ralph/.state/"}))
	var dirs []string
	for _, n := range names {
		dirs = append(dirs, b.TreeDir(n))
	}
	_, err := worktrees.Make(b.T.Context(), b.repo, dirs, b.Head())
	b.Must(err)
	return dirs
}

// in is the same box in one of its worktrees.
func (b *testRepo) in(dir string) *testRepo {
	b.T.Helper()
	t, err := b.repo.Tree(dir)
	b.Must(err)
	return &testRepo{Box: gittest.Box{T: b.T, P: b.P, Dir: dir, Env: append(b.Env[:len(b.Env):len(b.Env)], b.repo.CeilingEnv())}, repo: t}
}

// task is what Enter gets for a new task.
func (b *testRepo) task(dir, id string) worktrees.EnterInput {
	return worktrees.EnterInput{Dir: dir, Branch: "ralph/" + id, From: b.Head(), Merged: "refs/heads/main", ID: id}
}

func (b *testRepo) mustEnter(in worktrees.EnterInput) worktrees.Entered {
	b.T.Helper()
	e, err := worktrees.Enter(b.T.Context(), b.repo, in)
	b.Must(err)
	return e
}
