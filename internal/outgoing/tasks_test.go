package outgoing_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/outgoing"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
	"github.com/ralph-loop/ralph/internal/redact"
)

// C-055: a task that is built on another says so, by what git knows of both, also where its remote is not
// waited for; one beside it does not. The branch that has all of them begins anew when nothing of it is open.
func TestTasksOut(t *testing.T) {
	t.Parallel()
	b := gittest.New(t)
	commit := func(name string) string {
		b.Write(name, name)
		b.Git("add", "-A")
		b.Git("commit", "-q", "-m", name)
		return b.Head()
	}
	start := commit("start")
	one := commit("one")
	two := commit("two")
	b.Git("checkout", "-q", "--detach", start)
	three := commit("three")
	repo, err := git.Open(t.Context(), b.P, b.Dir, b.Env)
	b.Must(err)
	p := outgoing.Branches{Repo: repo, Redact: redact.New(nil, nil), How: ralph.LandPull, PerTask: true, Name: "ralph/{spec}", Remote: "origin"}
	s := &ralph.State{Job: &ralph.Job{ID: "j", File: "a.md", Since: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)}}
	out := p.Where(s, "# a\n")
	if out.Branch != "ralph/a-all" || out.TaskBranch("t-1") != "ralph/a-t-1" {
		t.Fatalf("%+v", out)
	}
	if named := p.Where(s, "---\nbranch: mine\n---\n# a\n"); named.Branch != "mine" || named.Tasks != "" {
		t.Errorf("a spec that names its branch: %+v", named)
	}
	for id, at := range map[ralph.TaskID]string{"t-1": one, "t-2": two, "t-3": three} {
		task := &ralph.Task{ID: id, Name: "Task " + string(id), Status: ralph.TaskDone}
		task.Run.Commit = at
		s.Plan.Tasks = append(s.Plan.Tasks, task)
		s.Pulls = append(s.Pulls, &ralph.Pull{Outgoing: ralph.Outgoing{How: out.How, Branch: out.TaskBranch(id), Remote: "origin"}, Task: id, Name: task.Name, Whole: out.Branch, Commit: at})
	}
	for id, on := range map[ralph.TaskID][]string{"t-1": nil, "t-2": {"ralph/a-t-1"}, "t-3": nil} {
		f, err := p.Publish(t.Context(), s, "# a\n", ralph.Publish{Branch: out.TaskBranch(id), Remote: "origin", Commit: s.Task(id).Run.Commit, Of: id, Later: true})
		b.Must(err)
		text, err := os.ReadFile(filepath.Join(b.Dir, f.Text))
		b.Must(err)
		if !slices.Equal(f.On, on) || !strings.HasSuffix(f.Error, "could not be reached for the branch before") || f.Parked || f.Commit != "" || strings.Contains(string(text), "Merge these first: `ralph/a-t-1`") != (len(on) > 0) || !strings.Contains(string(text), "**Task "+string(id)+"**") {
			t.Errorf("%s: %+v\n%s", id, f, text)
		}
	}
	s.Pulls[0].Request.State, s.Pulls[1].Request.State = ralph.PullMerged, ralph.PullClosed
	if again := p.Where(s, "# a\n"); again.Branch != "ralph/a-all" {
		t.Errorf("one is open: %+v", again)
	}
	s.Pulls[2].Request.State = ralph.PullMerged
	if again := p.Where(s, "# a\n"); again.Branch != "ralph/a-all-2" {
		t.Errorf("none is open: %+v", again)
	}
}
