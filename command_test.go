package ralph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

func ids(s *ralph.State) string {
	var out []string
	for _, x := range s.Inbox {
		out = append(out, string(x.ID))
	}
	return strings.Join(out, " ")
}

// D-015 to D-017, D-031: a file may be queued several times, each a record of its own.
func TestAddSpec(t *testing.T) {
	s := fold()
	now := time.Date(2025, 1, 20, 11, 0, 0, 5, time.FixedZone("", 3600))
	apply(s, s.AddSpec("q-1", "a.md", now)...)
	apply(s, s.AddSpec("q-2", "a.md", now)...)
	x := s.Spec("q-2")
	if ids(s) != "q-1 q-2" || x.Status != ralph.SpecPending || x.AddedAt != start {
		t.Errorf("%s, %+v", ids(s), x)
	}
	if got := s.Queued("a.md"); len(got) != 2 {
		t.Errorf("%d queued", len(got))
	}
}

// D-023 to D-025: by id, by file, and what is refused with what kind.
func TestRemoveSpec(t *testing.T) {
	s := fold(spec("a", ralph.SpecPending), spec("b", ralph.SpecPending), spec("c", ralph.SpecActive),
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-b2", File: "b.md", Status: ralph.SpecDone}})
	for _, tt := range []struct {
		name string
		kind error
		say  string
	}{
		{"q-a", nil, ""},
		{"a.md", nil, ""},
		{"ralph/specs/a.md", nil, ""},
		{"b.md", ralph.ErrUsage, "q-b, q-b2"},
		{"q-b2", nil, ""},
		{"q-c", ralph.ErrActive, "stop"},
		{"none.md", ralph.ErrNotFound, "not in the inbox"},
	} {
		x, facts, err := s.RemoveSpec(tt.name)
		if tt.kind == nil {
			if err != nil || x == nil || len(facts) != 1 || facts[0].(ralph.SpecRemoved).ID != x.ID {
				t.Errorf("%s: %v, %v, %v", tt.name, x, facts, err)
			}
			continue
		}
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.say) || facts != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// D-027, D-028: clear takes the pending ones only.
func TestClearInbox(t *testing.T) {
	s := fold(spec("a", ralph.SpecPending), spec("b", ralph.SpecActive), spec("c", ralph.SpecDone), spec("d", ralph.SpecFailed), spec("e", ralph.SpecPending))
	apply(s, s.ClearInbox()...)
	if ids(s) != "q-b q-c q-d" {
		t.Errorf("left: %s", ids(s))
	}
}

// Deps that name nothing and cycles are refused, with their path.
func TestCheckDeps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		say   string
	}{
		{"none", nil, ""},
		{"diamond", []ralph.Task{task("a", "b", "c"), task("b", "d"), task("c", "d"), task("d")}, ""},
		{"unknown", []ralph.Task{task("a", "z")}, "a depends on z"},
		{"itself", []ralph.Task{task("a", "a")}, "a -> a"},
		{"cycle", []ralph.Task{task("x", "a"), task("a", "b"), task("b", "c"), task("c", "a")}, "a -> b -> c -> a"},
	} {
		var tasks []*ralph.Task
		for i := range tt.tasks {
			tasks = append(tasks, &tt.tasks[i])
		}
		err := ralph.CheckDeps(tasks)
		if (err == nil) != (tt.say == "") || err != nil && !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.say)
		}
	}
}

// The commands on tasks: what each does, and in which status it is refused.
func TestTaskCommands(t *testing.T) {
	s := fold(ralph.PlanStarted{File: "a.md"})
	all := []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped}
	for _, status := range all {
		x := task("t-" + string(status))
		x.Status = status
		apply(s, ralph.TaskAdded{Task: x})
	}
	ended := all[2:]
	for _, tt := range []struct {
		name string
		do   func(ralph.TaskID) ([]ralph.Fact, error)
		in   []ralph.TaskStatus
		kind string
	}{
		{"edit", func(id ralph.TaskID) ([]ralph.Fact, error) { return s.EditTask(task(string(id))) }, slices.DeleteFunc(slices.Clone(all), isActive), "task.edited"},
		{"done", func(id ralph.TaskID) ([]ralph.Fact, error) { return s.EndTask(id, ralph.TaskDone, "by hand") }, []ralph.TaskStatus{ralph.TaskPending, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped}, "task.ended"},
		{"skip", func(id ralph.TaskID) ([]ralph.Fact, error) { return s.EndTask(id, ralph.TaskSkipped, "by hand") }, []ralph.TaskStatus{ralph.TaskPending, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout}, "task.ended"},
		{"accept", s.AcceptTask, []ralph.TaskStatus{ralph.TaskDone}, "task.accepted"},
		{"reject", func(id ralph.TaskID) ([]ralph.Fact, error) { return s.RejectTask(id, "wrong") }, ended, "task.rejected"},
		{"prioritize", s.PrioritizeTask, all[:2], "task.edited"},
	} {
		for _, status := range all {
			facts, err := tt.do(ralph.TaskID("t-" + status))
			if allowed := slices.Contains(tt.in, status); allowed != (err == nil) || allowed && facts[0].Kind() != tt.kind {
				t.Errorf("%s a task that is %s: %v, %v", tt.name, status, facts, err)
			}
		}
		if _, err := tt.do("t-none"); !errors.Is(err, ralph.ErrNotFound) {
			t.Errorf("%s what is not there: %v", tt.name, err)
		}
	}
}

func isActive(s ralph.TaskStatus) bool { return s == ralph.TaskActive }

// A prioritized task is first and high; the others keep their order.
func TestPrioritize(t *testing.T) {
	s := fold(ralph.TaskAdded{Task: task("a")}, ralph.TaskAdded{Task: task("b")}, ralph.TaskAdded{Task: task("c")})
	facts, err := s.PrioritizeTask("c")
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	var got []ralph.TaskID
	for _, x := range s.Plan.Tasks {
		got = append(got, x.ID)
	}
	if !slices.Equal(got, []ralph.TaskID{"c", "a", "b"}) || s.Plan.Tasks[0].Priority != "high" {
		t.Errorf("%v, %+v", got, s.Plan.Tasks[0])
	}
}

// Commands that need words, a session or an open question say so.
func TestRefusals(t *testing.T) {
	s := fold(ralph.TaskAdded{Task: task("a")}, ralph.TaskEnded{ID: "a", Status: ralph.TaskDone}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "a"}})
	refuse := func(name string, kind error, err error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: %v, want %v", name, err, kind)
		}
	}
	_, err := s.RejectTask("a", " ")
	refuse("a rejection without a reason", ralph.ErrUsage, err)
	_, err = s.Answer("g-1", "\n")
	refuse("an answer without words", ralph.ErrUsage, err)
	_, err = s.Answer("g-2", "yes")
	refuse("an answer to nothing", ralph.ErrNotFound, err)
	_, err = s.Steer(ralph.WantStop, "test")
	refuse("a stop without a session", ralph.ErrUsage, err)
	_, err = s.AddTask(task("a"))
	refuse("the same task again", ralph.ErrUsage, err)
	_, err = s.AddTask(ralph.Task{ID: "b", Name: " "})
	refuse("a task without a name", ralph.ErrUsage, err)
	_, err = s.AddTask(ralph.Task{ID: "b", Name: "b", Priority: "urgent"})
	refuse("an unknown priority", ralph.ErrUsage, err)
	facts, err := s.Answer("g-1", "yes")
	if err != nil || len(facts) != 1 {
		t.Fatalf("answer: %v, %v", facts, err)
	}
	apply(s, facts...)
	_, err = s.Answer("g-1", "no")
	refuse("a second answer", ralph.ErrNotFound, err)
}
