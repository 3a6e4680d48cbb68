package ralph_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// in is a task of a phase.
func in(phase, id string, deps ...string) ralph.Task {
	x := task(id)
	x.Phase = phase
	for _, d := range deps {
		x.Deps = append(x.Deps, ralph.TaskID(d))
	}
	return x
}

func as(status ralph.TaskStatus, x ralph.Task) ralph.Task {
	x.Status = status
	return x
}

// F-17, X-65: a task that depends on one of a later phase would never start, nor would
// that one: it is refused like a cycle, with the path. What is done holds nothing up.
func TestCheckPhases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		say   string
	}{
		{"no phases", []ralph.Task{in("", "a", "b"), in("", "b")}, ""},
		{"an earlier phase", []ralph.Task{in("P1", "a"), in("P2", "b", "a")}, ""},
		{"the same phase", []ralph.Task{in("P1", "a", "b"), in("P1", "b"), in("P2", "c")}, ""},
		{"a later phase", []ralph.Task{in("P1", "a", "b"), in("P2", "b")}, "a -> b -> phase \"P1\" -> a"},
		{"a task that stands late in an early phase", []ralph.Task{in("P1", "z"), in("P2", "b"), in("P1", "a", "b")}, "task a (task a) of phase \"P1\" depends on b (task b) of phase \"P2\""},
		{"without a phase, after others", []ralph.Task{in("P1", "a", "b"), in("", "b")}, "the tasks without a phase"},
		{"without a phase, before others", []ralph.Task{in("", "b"), in("P1", "a", "b")}, ""},
		{"through others", []ralph.Task{in("P1", "a", "b"), in("P1", "b", "c"), in("P2", "c")}, "b -> c -> phase \"P1\" -> b"},
		{"done", []ralph.Task{in("P1", "a", "b"), as(ralph.TaskDone, in("P2", "b"))}, ""},
		{"left out", []ralph.Task{in("P1", "a", "b"), as(ralph.TaskSkipped, in("P2", "b"))}, ""},
		{"failed: it may be tried again", []ralph.Task{in("P1", "a", "b"), as(ralph.TaskFailed, in("P2", "b"))}, "comes later"},
		{"whoever waited is done", []ralph.Task{as(ralph.TaskDone, in("P1", "a", "b")), in("P2", "b")}, ""},
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

// F-17: no command of a person makes such a plan: not an edit of deps or phase, a new
// task, or another order, which is what the order of phases comes from.
func TestCommandsKeepPhasesInOrder(t *testing.T) {
	t.Parallel()
	s := fold(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: in("P1", "a")}, ralph.TaskAdded{Task: in("P2", "b", "a")}, ralph.TaskAdded{Task: in("P2", "c")})
	for name, err := range map[string]error{
		"a dep":       second(s.EditTask(in("P1", "a", "c"))),
		"a new task":  second(s.AddTask(in("P1", "d", "c"))),
		"an order":    second(s.OrderPlan([]ralph.TaskID{"b", "a"})),
		"first of it": second(s.PrioritizeTask("b")),
	} {
		if err == nil || !strings.Contains(err.Error(), "comes later") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"a dep":      second(s.EditTask(in("P2", "c", "a"))),
		"an order":   second(s.OrderPlan([]ralph.TaskID{"a", "c", "b"})),
		"a new task": second(s.AddTask(in("P2", "d", "a"))),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// F-16, B-091: a task that cannot start is not assigned: the refusal names what it waits
// for. One whose deps are done and, with worktrees, merged, is.
func TestAssignNeedsAReadyTask(t *testing.T) {
	t.Parallel()
	queued := as(ralph.TaskDone, in("P1", "q"))
	queued.Run.Queue.State = ralph.MergeWaiting
	given := as(ralph.TaskSkipped, in("P1", "g"))
	given.Run.GivenUp = true
	for name, tt := range map[string]struct {
		tasks  []ralph.Task
		config string
		say    string
	}{
		"ready":               {[]ralph.Task{in("", "x")}, "", ""},
		"a pending dep":       {[]ralph.Task{in("", "a"), in("", "x", "a")}, "", "task x cannot start yet: it waits for a (task a), which is pending"},
		"a blocked one":       {[]ralph.Task{as(ralph.TaskBlocked, in("", "a")), in("", "x", "a")}, "", "a (task a), which is blocked"},
		"skipped for error":   {[]ralph.Task{given, in("P1", "x", "g")}, "", "which is skipped after an error"},
		"left out":            {[]ralph.Task{as(ralph.TaskSkipped, in("", "a")), in("", "x", "a")}, "", ""},
		"an earlier phase":    {[]ralph.Task{in("P1", "a"), in("P2", "x")}, "", "phase \"P1\" to end"},
		"both":                {[]ralph.Task{in("P1", "a"), in("P2", "x", "a")}, "", "a (task a), which is pending, and for phase \"P1\" to end"},
		"a merge, isolated":   {[]ralph.Task{queued, in("P1", "x", "q")}, `{"isolated":true}`, "q (task q), which is done and not merged yet"},
		"a merge, in place":   {[]ralph.Task{queued, in("P1", "x", "q")}, `{}`, ""},
		"an open merge phase": {[]ralph.Task{queued, in("P2", "x")}, `{"isolated":true}`, "phase \"P1\" to end"},
	} {
		s := fold(ralph.PlanStarted{File: "a.md"}, ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Auto: ralph.Semi, Config: []byte(tt.config)})
		for _, x := range tt.tasks {
			apply(s, ralph.TaskAdded{Task: x})
		}
		facts, err := s.AssignTask("x")
		if (err == nil) != (tt.say == "") || err != nil && !strings.Contains(err.Error(), tt.say) || err == nil && len(facts) != 1 {
			t.Errorf("%s: %v, %v, want it to say %q", name, facts, err, tt.say)
		}
	}
}
