package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// C-055: where each task goes out on its own, the branch of each is pushed once in a landing, one after the
// other; one gate is about all of them, what waits for a person is passed over, and a remote that is away is asked once.
func TestPublishTasks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name     string
		edit     func(land *ralph.Task, one, two *ralph.Pull)
		patterns []string
		want     string
	}{
		{"the first", func(*ralph.Task, *ralph.Pull, *ralph.Pull) {}, nil, "publish push ralph/a-t-1 to origin"},
		{"then the other", func(_ *ralph.Task, one, _ *ralph.Pull) { one.Pushed, one.At = "c1", at }, nil, "publish push ralph/a-t-2 to origin"},
		{"one is refused just now: the other goes on", func(_ *ralph.Task, one, _ *ralph.Pull) { one.Error, one.At, one.Parked = "it conflicts", at, true }, nil, "publish push ralph/a-t-2 to origin"},
		{"the remote is away: the other does not wait for it", func(_ *ralph.Task, one, _ *ralph.Pull) { one.Error, one.At = "no route", at }, nil, "publish push ralph/a-t-2 to origin, later"},
		{"one that failed before is tried", func(_ *ralph.Task, one, _ *ralph.Pull) { one.Error, one.At = "no route", at.Add(-time.Hour) }, nil, "publish push ralph/a-t-1 to origin"},
		{"one that waits for a person is passed over", func(_ *ralph.Task, one, _ *ralph.Pull) { one.Parked = true }, nil, "publish push ralph/a-t-2 to origin"},
		{"all are pushed", func(_ *ralph.Task, one, two *ralph.Pull) { one.Pushed, two.Pushed = "c1", "c2" }, nil, "finish each task is on a branch of its own; not on origin yet: 0"},
		{"one is not", func(_ *ralph.Task, one, two *ralph.Pull) { one.Pushed, two.At = "c1", at }, nil, "finish each task is on a branch of its own; not on origin yet: 1"},
		{"held", func(*ralph.Task, *ralph.Pull, *ralph.Pull) {}, []string{"git push"}, "ask push ralph/a-t-1, ralph/a-t-2 to origin (gate.patterns: git push)"},
		{"approved", func(land *ralph.Task, _, _ *ralph.Pull) { land.Run.Here = true }, []string{"git push"}, "publish push ralph/a-t-1 to origin"},
		{"denied", func(land *ralph.Task, _, _ *ralph.Pull) { land.Run.Refused = "no" }, []string{"git push"}, "finish each task is on a branch of its own; not on origin yet: 2"},
	} {
		land := &ralph.Task{ID: "land:q", Kind: ralph.KindLand, Status: ralph.TaskActive}
		land.Run.Commit, land.Run.StartedAt = "c9", at.Add(-time.Minute)
		out := ralph.Outgoing{How: ralph.LandBranch, Branch: "ralph/a-all", Remote: "origin", Onto: "main", Tasks: "ralph/a-{id}"}
		one := &ralph.Pull{Outgoing: ralph.Outgoing{How: out.How, Branch: "ralph/a-t-1", Remote: "origin"}, Task: "t-1", Whole: out.Branch, Commit: "c1"}
		two := &ralph.Pull{Outgoing: ralph.Outgoing{How: out.How, Branch: "ralph/a-t-2", Remote: "origin"}, Task: "t-2", Whole: out.Branch, Commit: "c2"}
		other := &ralph.Pull{Outgoing: ralph.Outgoing{How: out.How, Branch: "ralph/b", Remote: "origin"}, Commit: "c3"}
		tt.edit(land, one, two)
		s := &ralph.State{Job: &ralph.Job{ID: "q"}, Stages: []*ralph.Task{land}, Pulls: []*ralph.Pull{other, one, two}}
		s.Plan.Tasks = []*ralph.Task{{ID: "t-1", Status: ralph.TaskDone}, {ID: "t-2", Status: ralph.TaskDone}}
		s.Plan.Integration = &ralph.Integration{Branch: "ralph/spec-q", Base: "ralph/a-all", Tip: "c0", Landed: "c9", Out: out}
		step, why := Next(s, land.ID, Config{Session: "agent", Isolated: true, Commit: true, Patterns: tt.patterns, Agents: []string{"me"}}, at)
		got := step.StepName() + " " + why.Text
		if p, is := step.(ralph.Publish); is && p.Later {
			got += ", later"
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// C-055: the branch of a spec is pushed once when its work is on it; what does not work holds the
// spec up no longer than the try, and what a person's own pattern holds waits for the person.
func TestNextPublish(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		edit     func(*ralph.Task, *ralph.Pull)
		patterns []string
		want     string // the step, then what it says
	}{
		{"first", func(*ralph.Task, *ralph.Pull) {}, nil, "publish push ralph/a to origin"},
		{"pushed", func(x *ralph.Task, p *ralph.Pull) { x.Run.Published, p.Pushed = true, "c1" }, nil, "finish done the work is on ralph/a"},
		{"not pushed", func(x *ralph.Task, p *ralph.Pull) { x.Run.Published, p.Error = true, "no route" }, nil, "finish done the work is on ralph/a here, and not on origin yet: no route"},
		{"held", func(*ralph.Task, *ralph.Pull) {}, []string{"git push"}, "ask push ralph/a to origin (gate.patterns: git push)"},
		{"approved", func(x *ralph.Task, _ *ralph.Pull) { x.Run.Here = true }, []string{"git push"}, "publish push ralph/a to origin"},
		{"denied", func(x *ralph.Task, _ *ralph.Pull) { x.Run.Refused = "not today" }, []string{"git push"}, "finish done the work is on ralph/a here, and not pushed: not today"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			land := &ralph.Task{ID: "land:q", Kind: ralph.KindLand, Status: ralph.TaskActive}
			land.Run.Commit = "c1"
			out := ralph.Outgoing{How: ralph.LandBranch, Branch: "ralph/a", Remote: "origin", Onto: "main"}
			pull := &ralph.Pull{Outgoing: out, Commit: "c1"}
			tt.edit(land, pull)
			s := &ralph.State{Job: &ralph.Job{ID: "q"}, Stages: []*ralph.Task{land}, Pulls: []*ralph.Pull{pull}}
			s.Plan.Integration = &ralph.Integration{Branch: "ralph/spec-q", Base: "ralph/a", Tip: "c0", Landed: "c1", Out: out}
			step, why := Next(s, land.ID, Config{Session: "agent", Isolated: true, Commit: true, Patterns: tt.patterns, Agents: []string{"me"}}, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
			got := step.StepName() + " "
			if end, ok := step.(ralph.Finish); ok {
				got += string(end.Status) + " "
			}
			if got += why.Text; !strings.HasPrefix(got, tt.want) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
