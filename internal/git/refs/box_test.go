package refs

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

func TestMain(m *testing.M) { os.Exit(ralphtest.InMemory(m)) }

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo    *git.Repo
	program *gittest.Program // of repo
}

func newBox(t testing.TB) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t)}
	b.program, b.Env = gittest.NewProgram(t, b.Env)
	b.repo = b.open()
	return b
}

// open opens the repository as a process does that begins.
func (b *testRepo) open() *git.Repo {
	b.T.Helper()
	r, err := git.Open(b.T.Context(), b.P, b.Dir, b.Env)
	b.Must(err)
	return r
}

// integration is where tests merge to.
const integration = "ralph/merged-1"

func write(name, text string) func(*gittest.Box) { return func(b *gittest.Box) { b.Write(name, text) } }
