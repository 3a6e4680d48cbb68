package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo    *Repo
	program *gittest.Program // of repo
}

func newBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t, initArgs...)}
	program, env := gittest.NewProgram(t, b.Env)
	r, err := Open(t.Context(), b.P, b.Dir, env)
	b.Must(err)
	b.repo, b.program = r, program
	return b
}

func (b *testRepo) open(dir string) *Repo {
	b.T.Helper()
	r, err := Open(b.T.Context(), b.P, dir, b.Env)
	if err != nil {
		b.T.Fatal(err)
	}
	return r
}

func (b *testRepo) snapshot() string {
	b.T.Helper()
	tree, err := b.repo.Snapshot(b.T.Context())
	b.Must(err)
	return tree
}

// spawns counts the git processes that do starts.
func (b *testRepo) spawns(do func()) int {
	b.T.Helper()
	log := filepath.Join(b.T.TempDir(), "trace")
	env := b.repo.env
	b.repo.env = append(env[:len(env):len(env)], "GIT_TRACE2_EVENT="+log)
	do()
	_, err := b.repo.Run(b.T.Context(), Call{Args: []string{"version"}}) // there is a trace, whatever do did
	b.Must(err)
	b.repo.env = env
	raw, err := os.ReadFile(log)
	b.Must(err)
	n := -1
	for line := range strings.Lines(string(raw)) {
		// A child's session id has its parent's before a slash.
		if strings.Contains(line, `"event":"start"`) && !strings.Contains(strings.SplitN(line, `"thread"`, 2)[0], "/") {
			n++
		}
	}
	return n
}
