package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

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
