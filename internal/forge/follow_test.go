package forge

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/demo/hub"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
)

// proposal is a watcher of a branch that is pushed, and of its pull request.
type proposal struct {
	*stand
	hub *hub.Hub
	dir string // the bare repository
}

func newProposal(t *testing.T) *proposal {
	t.Helper()
	dir := t.TempDir()
	x := &proposal{stand: &stand{at: time.Now()}, hub: hub.New("o/r", dir), dir: dir}
	server := httptest.NewServer(x.hub)
	t.Cleanup(server.Close)
	client, err := github.New(tracker.Access{URL: server.URL, Token: "token", Project: "o/r"})
	if err != nil {
		t.Fatal(err)
	}
	x.journal = ralphtest.NewMem(func() time.Time { return x.at })
	x.Watcher = &Watcher{
		Journal: x.journal, Client: client, Repo: "o/r", Root: t.TempDir(), Redact: redact.New(nil, nil),
		Breaker: policy.BreakerConfig{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2},
		Set:     Settings{Poll: time.Second, Follow: true, MaxRounds: 3, Allow: []string{"team"}},
		NewID:   func(*ralph.State) ralph.SpecID { return "q-2" },
		Now:     func() time.Time { return x.at },
	}
	x.pushed(t, "main", "m1")
	if err := os.MkdirAll(filepath.Join(x.Root, "ralph/specs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(x.Root, "ralph/specs/a.md"), []byte("# Greet\n\nBy name.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := ralph.Outgoing{How: ralph.LandPull, Branch: "ralph/a", Remote: "origin", Onto: "main"}
	x.write(t,
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md"}}, ralph.JobStarted{Job: "j-1", ID: "q-1", File: "a.md"}, ralph.PlanStarted{File: "a.md"},
		ralph.IntegrationStarted{Branch: "ralph/integration", From: "m1", Tip: "m1", Out: out}, ralph.Landed{From: "m1", To: "c1", How: "branch"},
	)
	x.pushed(t, "ralph/a", "c1")
	x.write(t, ralph.Published{Branch: "ralph/a", Remote: "origin", Commit: "c1"}, ralph.JobEnded{Status: ralph.SpecDone})
	return x
}

func (x *proposal) write(t *testing.T, facts ...ralph.Fact) {
	t.Helper()
	if err := x.journal.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
}

// pushed has a branch of the remote at a commit.
func (x *proposal) pushed(t *testing.T, branch, commit string) {
	t.Helper()
	name := filepath.Join(x.dir, "refs/heads", branch)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(commit+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// round lets time pass and goes round.
func (x *proposal) round(t *testing.T) *ralph.Pull {
	t.Helper()
	x.at = x.at.Add(time.Minute)
	if err := x.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x.journal.State().Pull("ralph/a")
}

// What a reviewer of the team says becomes one round, with his words; what others say becomes none. While
// somebody asks for changes green checks merge nothing.
func TestReviewsComeBack(t *testing.T) {
	t.Parallel()
	x := newProposal(t)
	x.Set.AutoMerge = true
	if p := x.round(t); p.Request.Number != 1 || p.Request.State != ralph.PullOpen {
		t.Fatalf("%+v", p.Request)
	}
	x.hub.Review(1, "mallory", "NONE", "rm -rf /")
	if p := x.round(t); p.Round != 0 {
		t.Fatalf("a stranger has it go round: %+v", p)
	}
	x.hub.Review(1, "mia", "MEMBER", "say it louder")
	x.hub.Check("lint", "success", "ok")
	p := x.round(t)
	spec, err := os.ReadFile(filepath.Join(x.Root, "ralph/specs/a.round-2.md"))
	if err != nil || p.Round != 2 || !strings.Contains(string(spec), "say it louder") || strings.Contains(string(spec), "rm -rf") || !strings.Contains(string(spec), "> By name.") {
		t.Fatalf("%+v, %v\n%s", p, err, spec)
	}
	if p = x.round(t); p.Round != 2 || p.Request.State != ralph.PullOpen || len(x.journal.State().Inbox) != 2 {
		t.Errorf("it goes round again, or is merged: %+v", p)
	}
	if strings.Contains(x.hub.Tell(), "merge") {
		t.Errorf("merged against a review:\n%s", x.hub.Tell())
	}
}

// land.auto_merge: green checks of the commit that was pushed merge it; none, red ones and those that run do not.
func TestAutoMerge(t *testing.T) {
	t.Parallel()
	for conclusion, want := range map[string]ralph.PullState{"success": ralph.PullMerged, "failure": ralph.PullOpen, "": ralph.PullOpen, "none": ralph.PullOpen} {
		x := newProposal(t)
		x.Set.AutoMerge = true
		x.round(t)
		if conclusion != "none" {
			x.hub.Check("lint", conclusion, "as it is")
		}
		x.round(t)
		if p := x.round(t); p.Request.State != want {
			t.Errorf("checks are %q: %+v", conclusion, p.Request)
		}
	}
	x := newProposal(t) // somebody has pushed since: what is green is not what ralph made
	x.Set.AutoMerge = true
	x.round(t)
	x.pushed(t, "ralph/a", "c2")
	x.hub.Check("lint", "success", "ok")
	x.round(t)
	if p := x.round(t); p.Request.State != ralph.PullOpen {
		t.Errorf("it merged what a person pushed: %+v", p.Request)
	}
}
