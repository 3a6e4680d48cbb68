package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// trackedIn is a repository whose spec is about an issue of a server.
func trackedIn(t *testing.T, s *trackertest.Server, build string) (workspace.Env, fmt.Stringer) {
	t.Helper()
	env, out := engineIn(t, build, "sync:\n  every_tasks: 2\n  github:\n    enabled: true\n    repo: o/r\n    base_url: "+s.URL+
		"\n    labels: {start: 'works', done: '-works, finished'}\n    states: {done: closed}\nbreakers: {github: {reset: 1h}}\n")
	env.Environ = append(env.Environ, "GITHUB_TOKEN=token")
	spec := filepath.Join(env.Dir, "ralph/specs/shop.md")
	if err := os.WriteFile(spec, []byte("---\nissue: \"#1\"\n---\n# A shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return env, out
}

const builds = `echo x >> done.txt; echo '<ralph>COMPLETE</ralph>' ;; plan) printf '` + "```json\\n{\"tasks\":[{\"name\":\"Write\"}]}\\n```\\n" + `'`

func texts(x trackertest.Item) string {
	var all []string
	for _, c := range x.Comments {
		all = append(all, fmt.Sprintf("%d edits: %s", c.Edits, c.Text))
	}
	return strings.Join(all, "\n---\n")
}

// C-072, C-073, C-074, C-076: an item is told of the start and of the end by a comment each, and by one
// that is edited in place how things stand; its labels and its state are set.
func TestSyncOfARun(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A shop"})
	env, out := trackedIn(t, s, builds)
	ralphIn(t, env, 0, "inbox", "add", "shop.md")
	ralphIn(t, env, 0, "agent")
	x := s.Item("o/r#1")
	said := texts(x)
	if len(x.Comments) != 3 || strings.Count(said, "has begun") != 1 || strings.Count(said, "is done with this") != 1 || strings.Count(said, "**ralph: shop.md**") != 1 {
		t.Errorf("%d comments:\n%s\n%s", len(x.Comments), said, out)
	}
	if x.State != "closed" || strings.Join(x.Labels, " ") != "finished" {
		t.Errorf("state %s, labels %v", x.State, x.Labels)
	}
	ralphIn(t, env, 0, "breaker", "list")
	if !strings.Contains(out.String(), "GitHub        closed") || !strings.Contains(out.String(), "0 waiting, 0 parked") {
		t.Errorf("%s", out)
	}
	if !strings.Contains(said, "1 of 1 task done") { // the newest edit is of the end
		t.Errorf("how things stand:\n%s", said)
	}
}

// C-045, C-055, C-056, C-057, X-97: a service that is gone opens its breaker, holds nothing up and changes
// no exit code; what waits is listed, is sent once by `ralph sync` when a person says so, and is all there.
func TestSyncAfterAnOutage(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A shop"})
	s.Script(trackertest.Step{Status: http.StatusInternalServerError, Times: 1000})
	env, out := trackedIn(t, s, builds)
	ralphIn(t, env, 0, "inbox", "add", "shop.md")
	ralphIn(t, env, 0, "agent")
	if calls := len(s.Calls()); calls != 3 {
		t.Errorf("%d calls went out, want 3: then the breaker is open", calls)
	}
	if len(s.Item("o/r#1").Comments) != 0 {
		t.Errorf("%s", texts(s.Item("o/r#1")))
	}
	ralphIn(t, env, 0, "breaker", "list")
	for _, want := range []string{"GitHub        open", "nothing is sent before", "ralph has begun", "ralph is done"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	s.Unscript()
	ralphIn(t, env, 0, "sync") // the breaker is open
	if calls := len(s.Calls()); calls != 3 {
		t.Errorf("%d calls went out of an open breaker", calls)
	}
	ralphIn(t, env, 0, "breaker", "retry", "github")
	ralphIn(t, env, 0, "sync")
	x := s.Item("o/r#1")
	if len(x.Comments) != 3 || !strings.Contains(x.Comments[0].Text, "has begun") || x.State != "closed" {
		t.Errorf("%s\n%s\n%s", texts(x), x.State, out)
	}
	ralphIn(t, env, 0, "replay")
	ralphIn(t, env, 0, "verify")
}

// What a service refuses for good is parked with its reason, and what comes after it goes on.
func TestSyncParksWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A shop"})
	s.Script(trackertest.Step{On: "POST", Status: http.StatusGone, Body: `{"message":"This issue was locked"}`})
	env, out := trackedIn(t, s, builds)
	ralphIn(t, env, 0, "inbox", "add", "shop.md")
	ralphIn(t, env, 0, "agent")
	ralphIn(t, env, 0, "breaker", "list")
	if x := s.Item("o/r#1"); x.State != "closed" || !strings.Contains(out.String(), "1 parked") || !strings.Contains(out.String(), "This issue was locked") {
		t.Errorf("%s\n%s", texts(x), out)
	}
}

// What nobody has entered into the outbox yet, as after a kill, is shown by a dry run, which sends and writes
// nothing; `ralph sync` sends the same then.
func TestSyncDryRun(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A shop"})
	env, out := trackedIn(t, s, builds)
	ralphIn(t, env, 0, "sync") // it knows from where on
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		t.Fatal(err)
	}
	err = j.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.SessionStarted{ID: "s", Mode: "agent"}, ralph.JobStarted{Job: "j", File: "shop.md"}, ralph.PlanStarted{File: "shop.md"}}, nil
	})
	if err = errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	before := len(s.Calls())
	for range 2 {
		ralphIn(t, env, 0, "sync", "--dry-run")
	}
	for _, want := range []string{"GitHub o/r#1: comment, waits (\"ralph has begun to work on this.\")", "GitHub o/r#1: change, waits", "GitHub o/r#1: status, waits"} {
		if strings.Count(out.String(), want) != 2 {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := len(s.Calls()) - before; n != 0 {
		t.Errorf("%d calls of a dry run", n)
	}
	ralphIn(t, env, 0, "sync")
	if !strings.Contains(out.String(), "3 sent, 0 left") || len(s.Item("o/r#1").Comments) != 2 {
		t.Errorf("%s\n%s", out, texts(s.Item("o/r#1")))
	}
}

// A right that is missing for one item parks what goes there and holds nothing else up; a person can
// give it up.
func TestSyncWithoutARight(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A shop"})
	s.Script(trackertest.Step{On: "POST", Status: http.StatusForbidden, Body: `{"message":"Resource not accessible by personal access token"}`})
	env, out := trackedIn(t, s, builds)
	ralphIn(t, env, 0, "inbox", "add", "shop.md")
	ralphIn(t, env, 0, "agent")
	ralphIn(t, env, 0, "breaker", "list")
	if x := s.Item("o/r#1"); x.State != "closed" || !strings.Contains(out.String(), "0 waiting, 1 parked") || strings.Contains(out.String(), "nothing is sent before") {
		t.Errorf("%s\n%s", texts(x), out)
	}
	ralphIn(t, env, 0, "breaker", "drop", "github")
	ralphIn(t, env, 0, "breaker", "list")
	if !strings.Contains(out.String(), "0 waiting, 0 parked") {
		t.Errorf("%s", out)
	}
	ralphIn(t, env, 2, "breaker", "drop", "github")
}
