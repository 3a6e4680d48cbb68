package worktrees

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/shelve"
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

func write(name, text string) func(*testRepo) { return func(b *testRepo) { b.Write(name, text) } }

func (b *testRepo) mustShelve(how, base string) shelve.Shelved {
	b.T.Helper()
	s, err := shelve.Shelve(b.T.Context(), b.repo, shelve.ShelveInput{
		How: how, Base: base, ID: "job-1", Message: "ralph: failed x", Agents: b.allAgents(base),
	})
	b.Must(err)
	return s
}

func (b *testRepo) commit(key string, change func(*commits.Input)) (commits.Commit, error) {
	in := commits.Input{
		Base: b.Head(), Trailer: "Ralph-Receipt", Key: key, Squash: true,
		Message: "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: " + key + "\n",
	}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(in.Base)
	}
	return commits.Make(b.T.Context(), b.repo, in)
}

// allAgents says of everything since base that agents did it.
func (b *testRepo) allAgents(base string) commits.Agents {
	var a commits.Agents
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

func (b *testRepo) mustCommit(key string, change func(*commits.Input)) commits.Commit {
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

// branch makes a branch at a commit in a worktree of a person's, lets change work
// in it, commits everything, and returns the tip.
func (b *testRepo) branch(name, at string, change func(*testRepo)) string {
	b.T.Helper()
	return b.Branch(name, at, func(w *gittest.Box) { change(b.within(*w)) })
}

// within is a worktree of the repository.
func (b *testRepo) within(box gittest.Box) *testRepo {
	b.T.Helper()
	w := &testRepo{Box: box}
	w.repo = w.open(w.Dir)
	return w
}
