package commits

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo    *git.Repo
	program *gittest.Program // of repo
	// agents: what the test does is what agents do.
	agents bool
}

func newBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t, initArgs...), agents: true}
	program, env := gittest.NewProgram(t, b.Env)
	r, err := git.Open(t.Context(), b.P, b.Dir, env)
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

func (b *testRepo) commit(key string, change func(*Input)) (Commit, error) {
	in := Input{
		Base: b.Head(), Trailer: "Ralph-Receipt", Key: key, Squash: true,
		Message: "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: " + key + "\n",
	}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(in.Base)
	}
	return Make(b.T.Context(), b.repo, in)
}

// allAgents says of everything since base that agents did it.
func (b *testRepo) allAgents(base string) Agents {
	var a Agents
	h, err := b.repo.Head(b.T.Context())
	if err != nil || len(base) != len(h.Commit) {
		return a
	}
	if a.On = h.Branch; a.On == "" {
		a.On = h.Commit
	}
	if op := b.repo.Unfinished(); op != "" {
		a.Ops = []string{op}
	}
	if h.Commit != base {
		list, _ := b.Try("rev-list", "HEAD", "--branches", "^"+base)
		a.Commits = strings.Fields(list)
		if _, err := b.Try("merge-base", "--is-ancestor", base, "HEAD"); err != nil {
			a.Rewrote = []string{base}
		}
	}
	return a
}

func (b *testRepo) mustCommit(key string, change func(*Input)) Commit {
	b.T.Helper()
	c, err := b.commit(key, change)
	b.Must(err)
	return c
}

func (b *testRepo) snapshot() string {
	b.T.Helper()
	tree, err := b.repo.Snapshot(b.T.Context())
	b.Must(err)
	return tree
}

func (b *testRepo) treeID() string {
	b.T.Helper()
	id, err := b.repo.TreeID(b.T.Context())
	b.Must(err)
	return id
}
