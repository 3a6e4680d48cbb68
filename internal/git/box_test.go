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
	// agents: what the test does is what agents do.
	agents bool
}

func newBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t, initArgs...), agents: true}
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

func (b *testRepo) commit(key string, change func(*CommitInput)) (Commit, error) {
	in := CommitInput{
		Base: b.Head(), Trailer: "Ralph-Receipt", Key: key, Squash: true,
		Message: "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: " + key + "\n",
	}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(in.Base)
	}
	return b.repo.Commit(b.T.Context(), in)
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

func (b *testRepo) mustCommit(key string, change func(*CommitInput)) Commit {
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

// integration is where tests merge to.
const integration = "ralph/merged-1"

func write(name, text string) func(*testRepo) { return func(b *testRepo) { b.Write(name, text) } }

// branch makes a branch at a commit in a worktree of a person's, lets change work
// in it, commits everything, and returns the tip.
func (b *testRepo) branch(name, at string, change func(*testRepo)) string {
	b.T.Helper()
	w := b.linked(name, at)
	change(w)
	w.Git("add", "-A", "-f")
	w.Git("commit", "-q", "--allow-empty", "-m", name)
	tip := w.Head()
	b.Git("worktree", "remove", "--force", w.Dir)
	return tip
}

// linked adds a worktree with a new branch, outside the box.
func (b *testRepo) linked(name, at string) *testRepo {
	b.T.Helper()
	w := &testRepo{Box: b.Linked(name, at)}
	w.repo = w.open(w.Dir)
	return w
}
