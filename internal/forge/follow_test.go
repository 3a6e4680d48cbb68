package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/demo/hub"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
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
	x.journal = enginetest.NewMem(func() time.Time { return x.at })
	x.Watcher = &Watcher{
		Journal: x.journal, Client: client, Repo: "o/r", Root: t.TempDir(), Redact: redact.New(nil, nil),
		Breaker: breaker.Config{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2},
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

// C-055: where tasks go out on their own, what comes back of one goes round on its branch, in a spec that says which
// task it is of and closes nothing. What is built on it is not merged by ralph before it, though it is green.
func TestTasksComeBack(t *testing.T) {
	t.Parallel()
	x := newProposal(t)
	x.Set.AutoMerge = true
	asked := []byte("---\nissue: o/r#7\n---\n\n# Greet\n\nBy name.\n")
	if err := os.WriteFile(filepath.Join(x.Root, "ralph/specs/a.md"), asked, 0o600); err != nil {
		t.Fatal(err)
	}
	out := ralph.Outgoing{How: ralph.LandPull, Branch: "ralph/a-all", Remote: "origin", Onto: "main", Tasks: "ralph/a-{id}"}
	x.write(t, ralph.JobStarted{Job: "j-2", File: "a.md"}, ralph.PlanStarted{File: "a.md"}, ralph.IntegrationStarted{Branch: "ralph/integration", From: "m1", Tip: "m1", Out: out})
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		commit := "c-" + string(id)
		x.write(t, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "Task " + string(id), Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id}, ralph.TaskEnded{ID: id, Status: ralph.TaskDone},
			ralph.MergeQueued{Task: id, Commit: commit}, ralph.TaskAdded{Task: ralph.Task{ID: "merge-" + id, Kind: ralph.KindMerge, Members: []ralph.TaskID{id}}}, ralph.Merged{Task: "merge-" + id, Members: []ralph.TaskID{id}, Commit: commit, How: "fast-forward", Advanced: true},
			ralph.Landed{From: "m1", To: commit, How: "branch"})
		x.pushed(t, "ralph/a-"+string(id), commit)
	}
	x.write(t, ralph.Published{Branch: "ralph/a-t-1", Remote: "origin", Commit: "c-t-1"}, ralph.Published{Branch: "ralph/a-t-2", Remote: "origin", Commit: "c-t-2", On: []string{"ralph/a-t-1"}})
	x.round(t) // while the job goes on
	one, two := x.journal.State().Pull("ralph/a-t-1"), x.journal.State().Pull("ralph/a-t-2")
	if one.Request.State != ralph.PullOpen || two.Request.State != ralph.PullOpen || !strings.Contains(x.hub.Tell(), "Greet: Task t-2\n") {
		t.Fatalf("%+v\n%+v\n%s", one, two, x.hub.Tell())
	}
	x.hub.Review(one.Request.Number, "mia", "MEMBER", "say it louder")
	x.hub.Check("lint", "success", "ok")
	x.round(t)
	x.round(t)
	one, two = x.journal.State().Pull("ralph/a-t-1"), x.journal.State().Pull("ralph/a-t-2")
	if one.Round != 2 || two.Round != 0 || two.Request.Checks != ralph.ChecksGreen || two.Request.State != ralph.PullOpen {
		t.Fatalf("%+v\n%+v", one, two)
	}
	spec, err := os.ReadFile(filepath.Join(x.Root, "ralph/specs", fmt.Sprintf("a.pull-%d.round-2.md", one.Request.Number)))
	if err != nil || !strings.Contains(string(spec), "# Greet: Task t-1 (round 2)") || !strings.Contains(string(spec), "> One task of what is below: Task t-1.") || !strings.Contains(string(spec), "branch: ralph/a-t-1\n") || strings.Contains(string(spec), "o/r#7") {
		t.Errorf("%v\n%s", err, spec)
	}
	if err := x.hub.Merge(one.Request.Number); err != nil {
		t.Fatal(err)
	}
	x.round(t)
	x.round(t)
	if two = x.journal.State().Pull("ralph/a-t-2"); two.Request.State != ralph.PullMerged {
		t.Errorf("what it is built on is merged: %+v", two)
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

// The end of a session cuts what is on its way, and does it at once for the last time: a cut is no failure that is
// waited for.
func TestWhatIsCutIsDoneAtTheEnd(t *testing.T) {
	t.Parallel()
	x := newProposal(t)
	ctx, cut := context.WithCancel(t.Context())
	over := make(chan struct{}) // the answer does not come before the cut: who asked may take either
	x.hub.Fill = func(_ string, o map[string]any) map[string]any { cut(); <-over; return o }
	err := x.Round(ctx)
	close(over)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if p := x.journal.State().Pull("ralph/a"); ctx.Err() == nil || p.Request.Number != 0 {
		t.Fatalf("it was not cut: %+v", p.Request)
	}
	if err = x.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := x.journal.State().Pull("ralph/a"); p.Request.Number != 1 {
		t.Errorf("it is not open: %+v", p.Request)
	}
}
