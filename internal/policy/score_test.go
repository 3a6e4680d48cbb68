package policy_test

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

func plan(t *testing.T, tasks ...ralph.Task) *board {
	b := newBoard(t, enginetest.Settings())
	b.add(ralph.PlanStarted{File: "a.md"})
	for _, x := range tasks {
		if x.Status == "" {
			x.Status = ralph.TaskPending
		}
		b.add(ralph.TaskAdded{Task: x})
	}
	return b
}

func task(id string, edit func(*ralph.Task)) ralph.Task {
	x := ralph.Task{ID: ralph.TaskID(id), Name: id}
	if edit != nil {
		edit(&x)
	}
	return x
}

func deps(on ...ralph.TaskID) func(*ralph.Task) { return func(x *ralph.Task) { x.Deps = on } }

func children(done, of int, parent ralph.TaskID) []ralph.Task {
	var out []ralph.Task
	for i := range of {
		out = append(out, task("c"+string(rune('0'+i)), func(x *ralph.Task) {
			x.Parent = parent
			if i < done {
				x.Status = ralph.TaskDone
			}
		}))
	}
	return out
}

// B-041 to B-045, B-047: each part, exactly.
func TestScore(t *testing.T) {
	for _, tt := range []struct {
		name  string
		id    ralph.TaskID
		tasks []ralph.Task
		want  policy.Points
		sum   int
	}{
		{"plain", "a", []ralph.Task{task("a", nil)}, policy.Points{}, 0},
		{"B-041 three wait on it", "a", []ralph.Task{task("a", nil), task("b", deps("a")), task("c", deps("a", "a")), task("d", deps("b", "a"))}, policy.Points{Unblocks: 30}, 30},
		{"B-041 an ended one waits no more", "a", []ralph.Task{task("a", nil), task("b", func(x *ralph.Task) { x.Deps, x.Status = []ralph.TaskID{"a"}, ralph.TaskFailed })}, policy.Points{}, 0},
		{"B-042 critical", "a", []ralph.Task{task("a", func(x *ralph.Task) { x.Tags = []string{"x", "critical"} })}, policy.Points{Critical: 50}, 50},
		{"B-043 quick-win and critical", "a", []ralph.Task{task("a", func(x *ralph.Task) { x.Tags = []string{"quick-win", "critical"} })}, policy.Points{Critical: 50, QuickWin: 30}, 80},
		{"B-044 3 of 5 done", "c4", children(3, 5, "p"), policy.Points{NearComplete: 20}, 20},
		{"B-044 2 of 4 done", "c3", children(2, 4, "p"), policy.Points{}, 0},
		{"B-044 no parent", "c3", children(3, 4, ""), policy.Points{}, 0},
		{"B-045 two retries", "a", []ralph.Task{task("a", func(x *ralph.Task) { x.RetryCount = 2 })}, policy.Points{Retry: -30}, -30},
		{"B-047 all of it", "c4", append(children(3, 5, "p")[:4], task("c4", func(x *ralph.Task) {
			x.Parent, x.Tags, x.RetryCount = "p", []string{"critical", "quick-win"}, 1
		}), task("w", deps("c4"))), policy.Points{Unblocks: 10, Critical: 50, QuickWin: 30, NearComplete: 20, Retry: -15}, 95},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plan(t, tt.tasks...)
			got := policy.Score(&b.s, b.s.Task(tt.id), b.c.Scoring)
			if got != tt.want || got.Sum() != tt.sum {
				t.Errorf("%+v = %d, want %+v = %d", got, got.Sum(), tt.want, tt.sum)
			}
		})
	}
}

// B-039, B-046, B-048, X-65, X-72: who is ready, and in which order.
func TestReady(t *testing.T) {
	with := func(status ralph.TaskStatus) func(*ralph.Task) { return func(x *ralph.Task) { x.Status = status } }
	phase := func(p string, status ralph.TaskStatus) func(*ralph.Task) {
		return func(x *ralph.Task) { x.Phase, x.Status = p, status }
	}
	tag := func(tag string) func(*ralph.Task) { return func(x *ralph.Task) { x.Tags = []string{tag} } }
	prio := func(p string) func(*ralph.Task) { return func(x *ralph.Task) { x.Priority = p } }
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		want  []ralph.TaskID
	}{
		{"B-040 nothing", nil, nil},
		{"B-048 plan order on ties", []ralph.Task{task("c", nil), task("a", nil), task("b", nil)}, []ralph.TaskID{"c", "a", "b"}},
		{"B-046 best first", []ralph.Task{task("a", nil), task("q", tag("quick-win")), task("c", tag("critical")), task("d", nil)}, []ralph.TaskID{"c", "q", "a", "d"}},
		{"priority breaks ties only", []ralph.Task{task("l", prio("low")), task("m", nil), task("h", prio("high")), task("q", func(x *ralph.Task) { x.Tags, x.Priority = []string{"quick-win"}, "low" })}, []ralph.TaskID{"q", "h", "m", "l"}},
		{"A-033 deps before order", []ralph.Task{task("b", deps("a")), task("a", nil)}, []ralph.TaskID{"a"}},
		{"a dep that is done or skipped", []ralph.Task{task("a", with(ralph.TaskDone)), task("s", with(ralph.TaskSkipped)), task("b", deps("a", "s"))}, []ralph.TaskID{"b"}},
		{"a dep that failed", []ralph.Task{task("a", with(ralph.TaskFailed)), task("b", deps("a"))}, nil},
		{"B-039 an active one is no candidate", []ralph.Task{task("a", with(ralph.TaskActive)), task("b", nil)}, []ralph.TaskID{"b"}},
		{"X-65 phases are barriers", []ralph.Task{task("b", phase("p2", "")), task("a", phase("p1", ""))}, []ralph.TaskID{"b"}},
		{"X-65 active holds the barrier", []ralph.Task{task("a", phase("p1", ralph.TaskActive)), task("b", phase("p2", ""))}, nil},
		{"X-65 ended lifts the barrier", []ralph.Task{task("a", phase("p1", ralph.TaskFailed)), task("b", phase("p2", ""))}, []ralph.TaskID{"b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := plan(t, tt.tasks...)
			for range 20 {
				var got []ralph.TaskID
				for _, x := range policy.Ready(&b.s, b.c) {
					got = append(got, x.ID)
				}
				if !slices.Equal(got, tt.want) {
					t.Fatalf("ready %v, want %v", got, tt.want)
				}
			}
		})
	}
}
