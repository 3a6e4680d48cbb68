package ralph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

var allStatuses = []ralph.TaskStatus{
	ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped,
}

// oneOfEach is a plan with a task of every status, "t-<status>", each with a worktree.
func oneOfEach() *ralph.State {
	s := fold(ralph.PlanStarted{File: "a.md"})
	for n, status := range allStatuses {
		x := task("t-" + string(status))
		x.Status, x.Run.Worktree = status, ralph.Worktree{Dir: fmt.Sprint("ralph/.worktrees/", n+1), Branch: "ralph/" + string(x.ID), Base: "c0"}
		apply(s, ralph.TaskAdded{Task: x})
	}
	return s
}

// Every recovery command in every status: what it records, or that it is refused
// (B-065, B-067, B-076, B-078 to B-082, B-091).
func TestRecoveryCommands(t *testing.T) {
	t.Parallel()
	s := oneOfEach()
	may := func(ask func(ralph.TaskID) (*ralph.Task, error)) func(ralph.TaskID) ([]ralph.Fact, error) {
		return func(id ralph.TaskID) ([]ralph.Fact, error) {
			x, err := ask(id)
			if err == nil && x.ID != id {
				t.Errorf("asked about %s, told about %s", id, x.ID)
			}
			return []ralph.Fact{ralph.Noted{}}, err
		}
	}
	// By status: pending active done failed blocked timeout skipped; "" is refused.
	for _, tt := range []struct {
		name string
		do   func(ralph.TaskID) ([]ralph.Fact, error)
		want [7]string
	}{
		{"B-076, B-067 retry", s.RetryTask, [7]string{"", "", "", "task.retried", "task.retried", "task.retried", "task.retried"}},
		{"B-067 unblock", s.UnblockTask, [7]string{"", "", "", "", "task.retried", "", ""}},
		{"B-065 skip", func(id ralph.TaskID) ([]ralph.Fact, error) { return s.SkipTask(id, "") }, [7]string{"task.ended", "skip.wanted", "", "task.ended", "task.ended", "task.ended", ""}},
		{"B-082 extend", func(id ralph.TaskID) ([]ralph.Fact, error) {
			return s.ExtendTask(id, ralph.Allowance{}, ralph.Allowance{Iterations: 50})
		}, [7]string{"task.extended", "task.extended", "", "task.extended", "task.extended", "task.extended", "task.extended"}},
		{"B-091 assign", s.AssignTask, [7]string{"task.assigned", "", "", "", "", "", ""}},
		{"B-078 roll back", may(s.MayRollBack), [7]string{"noted", "", "", "noted", "noted", "noted", "noted"}},
		{"B-079 clean up", may(s.MayCleanUp), [7]string{"noted", "", "noted", "noted", "noted", "noted", "noted"}},
		{"B-081 divide", func(id ralph.TaskID) ([]ralph.Fact, error) {
			return s.DivideTask(id, []ralph.TaskID{"x", "y"}, []string{"x", "y"})
		}, [7]string{"task.added", "", "", "task.added", "task.added", "task.added", "task.added"}},
	} {
		for n, status := range allStatuses {
			facts, err := tt.do(ralph.TaskID("t-" + status))
			switch want := tt.want[n]; {
			case want == "" && !errors.Is(err, ralph.ErrUsage):
				t.Errorf("%s a task that is %s: %v, %v", tt.name, status, facts, err)
			case want != "" && (err != nil || len(facts) == 0 || facts[0].Kind() != want):
				t.Errorf("%s a task that is %s: %v, %v", tt.name, status, facts, err)
			}
		}
		if _, err := tt.do("t-none"); !errors.Is(err, ralph.ErrNotFound) {
			t.Errorf("%s what is not there: %v", tt.name, err)
		}
	}
}

// Each refusal says what is so and what to do (product.md 14).
func TestRecoveryRefusals(t *testing.T) {
	t.Parallel()
	s := oneOfEach()
	apply(s, ralph.SkipWanted{ID: "t-active", Reason: "no"}, ralph.TaskAssigned{ID: "t-pending"}, ralph.TaskAdded{Task: task("t-new")})
	_, cleaned := s.MayCleanUp("t-new")
	_, back := s.MayRollBack("t-new")
	_, active := s.MayRollBack("t-active")
	for say, err := range map[string]error{
		"is done: only a failed":                     second(s.RetryTask("t-done")),
		"is failed, not blocked: `[[why]]`":          second(s.UnblockTask("t-failed")),
		"is skipped already at the end":              second(s.SkipTask("t-active", "again")),
		"t-skipped is skipped":                       second(s.SkipTask("t-skipped", "")),
		"has 50 iterations already: give a number":   second(s.ExtendTask("t-failed", ralph.Allowance{Iterations: 50}, ralph.Allowance{Iterations: 50})),
		"give a number above 50":                     second(s.ExtendTask("t-failed", ralph.Allowance{Iterations: 7}, ralph.Allowance{Iterations: 50})),
		"is assigned already":                        second(s.AssignTask("t-pending")),
		"`[[retry]]` makes one pending":              second(s.AssignTask("t-failed")),
		"t-new has no worktree":                      cleaned,
		"has not begun: there is nothing to undo":    back,
		"t-active is active: it ends at its own end": active,
		"a task without a name":                      second(s.DivideTask("t-failed", []ralph.TaskID{"x", "y"}, []string{"x", " "})),
	} {
		var r *ralph.Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v does not say %q", err, say)
		}
	}
}

func second(_ []ralph.Fact, err error) error { return err }

// B-082: half as many again, rounded up, of this task alone; or the number given.
func TestExtend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ own, to, usual, want int }{
		{0, 0, 50, 75}, {75, 0, 50, 113}, {5, 0, 50, 8}, {1, 0, 50, 2}, {0, 0, 1, 2}, {0, 60, 50, 60}, {3, 4, 50, 4},
	} {
		x := task("a")
		x.MaxIterations, x.Status, x.Line = tt.own, ralph.TaskTimeout, "{}"
		s := fold(ralph.TaskAdded{Task: x}, ralph.TaskAdded{Task: task("b")})
		facts, err := s.ExtendTask("a", ralph.Allowance{Iterations: tt.to}, ralph.Allowance{Iterations: tt.usual})
		if err != nil {
			t.Fatal(err)
		}
		apply(s, facts...)
		if got := s.Task("a"); got.MaxIterations != tt.want || got.Line != "" || got.Status != ralph.TaskTimeout || s.Task("b").MaxIterations != 0 {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

// B-061, B-065: a task at work is left out at the end of its iteration, any other at once.
func TestSkip(t *testing.T) {
	t.Parallel()
	s := oneOfEach()
	for id, want := range map[ralph.TaskID]ralph.TaskStatus{"t-active": ralph.TaskActive, "t-pending": ralph.TaskSkipped, "t-failed": ralph.TaskSkipped} {
		facts, err := s.SkipTask(id, " not needed ")
		if err != nil {
			t.Fatal(err)
		}
		apply(s, facts...)
		x := s.Task(id)
		if x.Status != want || !strings.Contains(x.Run.Skip+x.Run.Reason, "not needed") || x.Run.Worktree.Dir == "" {
			t.Errorf("%s: %s, %+v", id, x.Status, x.Run)
		}
	}
}

// F-13, B-002: a task that errors.strategy skipped is not left out before a person says
// so; another try begins anew, and what a person skips is left out at once.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := oneOfEach()
	apply(s, ralph.TaskEnded{ID: "t-active", Status: ralph.TaskSkipped, BasedOnSeq: 1, Why: ralph.Why{Rule: ralph.RuleGivenUp, Text: "boom"}})
	if x := s.Task("t-active"); !x.Run.GivenUp || x.LeftOut() {
		t.Errorf("after an error: %+v", x)
	}
	tried := s.Clone()
	facts, err := tried.RetryTask("t-active")
	if err != nil {
		t.Fatal(err)
	}
	apply(tried, facts...)
	if x := tried.Task("t-active"); x.Status != ralph.TaskPending || x.Run.GivenUp {
		t.Errorf("after another try: %+v", x)
	}
	if facts, err = s.SkipTask("t-active", "not needed"); err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	if x := s.Task("t-active"); !x.LeftOut() || x.Run.Reason != "not needed" {
		t.Errorf("after a person's word: %+v", x)
	}
	if _, err = s.SkipTask("t-active", ""); err == nil {
		t.Error("left out twice")
	}
}

// B-078, X-73: what may be rolled back. Merged work only while nothing builds on it,
// and never what is on its way through the queue.
func TestMayRollBack(t *testing.T) {
	t.Parallel()
	in := func(state ralph.MergeState, commit string) ralph.Task {
		x := task("a")
		x.Status, x.Run.Queue = ralph.TaskDone, ralph.Queue{State: state, Commit: commit}
		return x
	}
	on := func(status ralph.TaskStatus) ralph.Task {
		x := task("b", "a")
		x.Status = status
		return x
	}
	failed := task("a")
	failed.Status = ralph.TaskFailed
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		say   string // "" may
	}{
		{"X-73 merged", []ralph.Task{in(ralph.MergeMerged, "c1")}, ""},
		{"one that waits for it has not begun", []ralph.Task{in(ralph.MergeMerged, "c1"), on(ralph.TaskPending)}, ""},
		{"one that failed", []ralph.Task{in(ralph.MergeMerged, "c1"), on(ralph.TaskFailed)}, ""},
		{"one builds on it", []ralph.Task{in(ralph.MergeMerged, "c1"), on(ralph.TaskActive)}, "b building on it, which is active: roll b back first"},
		{"one was built on it", []ralph.Task{in(ralph.MergeMerged, "c1"), on(ralph.TaskDone)}, "b building on it, which is done"},
		{"X-73 unmerged, whatever waits for it", []ralph.Task{failed, on(ralph.TaskDone)}, ""},
		{"X-72 in the queue", []ralph.Task{in(ralph.MergeWaiting, "")}, "is in the merge queue: wait for its merge, or deny it"},
		{"X-72 in conflict", []ralph.Task{in(ralph.MergeConflict, "")}, "is in the merge queue"},
		{"X-68 built in place", []ralph.Task{in("", "")}, "there is no commit to revert: `[[reject]]`"},
	} {
		var s ralph.State
		for _, x := range tt.tasks {
			apply(&s, ralph.TaskAdded{Task: x})
		}
		_, err := s.MayRollBack("a")
		if (err == nil) != (tt.say == "") || err != nil && !strings.Contains(err.Error(), tt.say) {
			t.Errorf("%s: %v, want it to say %q", tt.name, err, tt.say)
		}
	}
}

// B-081: smaller tasks take the place of one: they have what it had, and what waited
// for it waits for all of them.
func TestDivide(t *testing.T) {
	t.Parallel()
	x := task("a", "z")
	x.Status, x.Notes, x.Tags, x.Priority, x.Phase, x.Spec = ralph.TaskTimeout, "notes", []string{"critical"}, "high", "p1", "a.md"
	after := task("w", "q", "a")
	after.Line, after.Phase = "{}", "p1"
	ended := task("e", "a")
	ended.Status = ralph.TaskFailed
	s := fold(ralph.TaskAdded{Task: task("z")}, ralph.TaskAdded{Task: task("q")}, ralph.TaskAdded{Task: x}, ralph.TaskAdded{Task: after}, ralph.TaskAdded{Task: ended})
	facts, err := s.DivideTask("a", []ralph.TaskID{"a1", "a2"}, []string{" one ", "two"})
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	one := s.Task("a1")
	if one.Name != "one" || one.Parent != "a" || one.Notes != "notes" || one.Phase != "p1" || one.Priority != "high" || one.Spec != "a.md" ||
		one.Status != ralph.TaskPending || !slices.Equal(one.Deps, x.Deps) || !slices.Equal(one.Tags, x.Tags) {
		t.Errorf("%+v", one)
	}
	if w := s.Task("w"); !slices.Equal(w.Deps, []ralph.TaskID{"q", "a1", "a2"}) || w.Line != "" {
		t.Errorf("%+v", w)
	}
	if e := s.Task("e"); !slices.Equal(e.Deps, ended.Deps) {
		t.Errorf("an ended task waits for nothing: %+v", e)
	}
	if a := s.Task("a"); a.Status != ralph.TaskSkipped || a.Run.Reason != "divided into 2 smaller tasks" {
		t.Errorf("%+v", a)
	}
	if err := ralph.CheckDeps(s.Plan.Tasks); err != nil {
		t.Error(err)
	}
}

// B-085, B-092, B-093: the toggle, and when there is nothing to toggle.
func TestSetMode(t *testing.T) {
	t.Parallel()
	refused := func(s *ralph.State, mode ralph.Autonomy, say string) {
		t.Helper()
		if _, err := s.SetMode(mode); !errors.Is(err, ralph.ErrUsage) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	refused(fold(), ralph.Semi, "no session is running")
	refused(fold(ralph.SessionStarted{ID: "s", Mode: "autopilot"}, ralph.SessionEnded{Reason: ralph.ReasonComplete}), ralph.Semi, "no session is running")
	s := fold(ralph.SessionStarted{ID: "s", Mode: "autopilot", Semi: true}, ralph.TaskAdded{Task: task("a")})
	refused(s, ralph.Semi, "already")
	refused(s, "fast", "no mode")
	if s.Mode() != "waiting_user" {
		t.Errorf("mode %s", s.Mode())
	}
	for _, mode := range []ralph.Autonomy{ralph.Autopilot, ralph.Stepwise, ralph.Manual, ralph.Semi} {
		facts, err := s.SetMode(mode)
		if err != nil {
			t.Fatal(err)
		}
		apply(s, facts...)
		want := "running"
		if mode == ralph.Semi {
			want = "waiting_user"
		}
		if s.Session.Auto != mode || s.Mode() != want {
			t.Errorf("%s: %s, %s", mode, s.Session.Auto, s.Mode())
		}
	}
	apply(s, ralph.TaskAssigned{ID: "a"})
	if s.Mode() != "running" || !s.Task("a").Run.Assigned {
		t.Errorf("mode %s after the choice", s.Mode())
	}
	apply(s, ralph.TaskStarted{ID: "a", Slot: 1})
	if s.Mode() != "running" || s.Task("a").Run.Assigned {
		t.Errorf("mode %s at work", s.Mode())
	}
}

// Words on gates fit their kind, and the first word wins.
func TestGateCommands(t *testing.T) {
	t.Parallel()
	s := oneOfEach()
	apply(s, ralph.Asked{Approval: ralph.Approval{ID: "g-q", Kind: "question", Task: "t-active", Text: "which?"}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-m", Kind: ralph.ApprovalMerge, Task: "merge:1", About: "t-done", Text: "weak"}})
	approve := func(id ralph.ApprovalID) ([]ralph.Fact, error) { return s.Approve(id) }
	deny := func(id ralph.ApprovalID) ([]ralph.Fact, error) { return s.Deny(id, "no") }
	answer := func(id ralph.ApprovalID) ([]ralph.Fact, error) { return s.Answer(id, "this") }
	for _, tt := range []struct {
		name string
		do   func(ralph.ApprovalID) ([]ralph.Fact, error)
		id   ralph.ApprovalID
		kind error
		say  string
	}{
		{"answer a question", answer, "g-q", nil, ""},
		{"answer a merge", answer, "g-m", ralph.ErrUsage, "decide it: `[[approve g-m]]`"},
		{"answer nothing", answer, "g-x", ralph.ErrNotFound, "the first answer wins"},
		{"approve a merge", approve, "g-m", nil, ""},
		{"approve a question", approve, "g-q", ralph.ErrUsage, "[[answer g-q"},
		{"approve nothing", approve, "g-x", ralph.ErrNotFound, "[[gates]]"},
		{"deny a merge", deny, "g-m", nil, ""},
		{"deny a question", deny, "g-q", ralph.ErrUsage, "[[answer g-q"},
		{"deny nothing", deny, "g-x", ralph.ErrNotFound, "[[gates]]"},
	} {
		facts, err := tt.do(tt.id)
		if !errors.Is(err, tt.kind) || err != nil && (!strings.Contains(err.Error(), tt.say) || facts != nil) || err == nil && facts[0].Kind() != "answered" {
			t.Errorf("%s: %v, %v", tt.name, facts, err)
		}
	}
}

// A denial without a reason gets the words of the gate, for the agent (DenyGate).
func TestDenyWords(t *testing.T) {
	t.Parallel()
	x := task("a")
	x.Status, x.Run.Queue.State = ralph.TaskDone, ralph.MergeWaiting
	s := fold(ralph.TaskAdded{Task: x}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalMerge, Task: "m", About: "a", Text: "removes tests"}})
	facts, err := s.Deny("g-1", " ")
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	if got := s.Task("a"); got.Status != ralph.TaskPending || !slices.Equal(got.Run.Rejects, []string{"a person denied the merge: removes tests"}) {
		t.Errorf("%s, %+v", got.Status, got.Run)
	}
}

// F-12, B-066, B-082: more of what a task ran out of, or of what is said; other tasks keep
// theirs, and the advice names what helps.
func TestExtendTask(t *testing.T) {
	const min = time.Minute
	usual := ralph.Allowance{Iterations: 50, Time: 30 * min}
	for _, tt := range []struct {
		name         string
		ran          ralph.RanOut
		own, more    ralph.Allowance
		want         ralph.Allowance // of its own, afterwards
		said, advice string
	}{
		{"out of iterations", ralph.OutOfIterations, ralph.Allowance{}, ralph.Allowance{}, ralph.Allowance{Iterations: 75}, "75 iterations", "[[extend t-1]] && [[retry t-1]]"},
		{"out of time", ralph.OutOfTime, ralph.Allowance{}, ralph.Allowance{}, ralph.Allowance{Time: 60 * min}, "1h", "[[extend t-1 --time 30m]] && [[retry t-1]]"},
		{"out of time again", ralph.OutOfTime, ralph.Allowance{Iterations: 60, Time: 60 * min}, ralph.Allowance{Time: 15 * min}, ralph.Allowance{Iterations: 60, Time: 75 * min}, "60 iterations and 1h15m", ""},
		{"both", "", ralph.Allowance{}, ralph.Allowance{Iterations: 100, Time: 30 * time.Second}, ralph.Allowance{Iterations: 100, Time: 30*min + 30*time.Second}, "100 iterations and 30m30s", "[[extend t-1]] && [[retry t-1]]"},
		{"out of its budget", ralph.OutOfBudget, ralph.Allowance{}, ralph.Allowance{}, ralph.Allowance{Iterations: 75}, "75 iterations", "[[retry t-1]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, y := task("t-1"), task("t-2")
			x.MaxIterations, x.Timeout = tt.own.Iterations, tt.own.Time
			s := fold(ralph.TaskAdded{Task: x}, ralph.TaskAdded{Task: y}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout, RanOut: tt.ran})
			if got := s.Task("t-1").Recovery(); tt.advice != "" && got != tt.advice {
				t.Errorf("advises %q, want %q", got, tt.advice)
			}
			facts, err := s.ExtendTask("t-1", tt.more, usual)
			if err != nil {
				t.Fatal(err)
			}
			apply(s, facts...)
			got := s.Task("t-1")
			if (ralph.Allowance{Iterations: got.MaxIterations, Time: got.Timeout}) != tt.want || facts[0].(ralph.TaskExtended).Words() != tt.said {
				t.Errorf("may take %d, %s; said %q", got.MaxIterations, got.Timeout, facts[0].(ralph.TaskExtended).Words())
			}
			if o := s.Task("t-2"); o.MaxIterations != 0 || o.Timeout != 0 {
				t.Errorf("the other task: %+v", o)
			}
		})
	}
	s := fold(ralph.TaskAdded{Task: task("t-1")})
	if _, err := s.ExtendTask("t-1", ralph.Allowance{Time: min}, ralph.Allowance{Iterations: 50}); !errors.Is(err, ralph.ErrUsage) {
		t.Errorf("without a limit of time: %v", err)
	}
}
