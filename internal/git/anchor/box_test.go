package anchor

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo *git.Repo
}

func newBox(t testing.TB) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t)}
	r, err := git.Open(t.Context(), b.P, b.Dir, b.Env)
	b.Must(err)
	b.repo = r
	return b
}
