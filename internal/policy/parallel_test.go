package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// answered is a task that asked a question, was answered and gave way meanwhile.
func answered(x *ralph.Task) {
	x.Run = ralph.Run{
		Turns:     ralph.Turns{Iterations: 1, Last: &ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman}}},
		Approvals: ralph.Approvals{AnsweredAtIteration: 1},
		Worktree:  ralph.Worktree{Dir: "ralph/.worktrees/7"},
	}
}

func assigned(x *ralph.Task) { x.Run.Assigned = true }

func tagged(tag string) func(*ralph.Task) { return func(x *ralph.Task) { x.Tags = []string{tag} } }

func inPhase(p string) func(*ralph.Task) { return func(x *ralph.Task) { x.Phase = p } }

// inMerge is a done task whose work is in a state of the merge queue.
func inMerge(state ralph.MergeState, edits ...func(*ralph.Task)) func(*ralph.Task) {
	return func(x *ralph.Task) {
		x.Status, x.Run.Queue.State, x.Run.Commit = ralph.TaskDone, state, "c"
		for _, edit := range edits {
			edit(x)
		}
	}
}

func at(slot int, dir string) func(*ralph.Task) {
	return func(x *ralph.Task) {
		x.Status, x.Run.Worktree = ralph.TaskActive, ralph.Worktree{Slot: slot, Dir: "ralph/.worktrees/" + dir}
	}
}

// givenUp is a task that errors.strategy skipped.
func givenUp(x *ralph.Task) { x.Status, x.Run.GivenUp = ralph.TaskSkipped, true }

func keeps(status ralph.TaskStatus, dir string) func(*ralph.Task) {
	return func(x *ralph.Task) { x.Status, x.Run.Worktree.Dir = status, "ralph/.worktrees/"+dir }
}

// Which task a free slot gets, in which slot and worktree.
func TestCrewSelects(t *testing.T) {
	t.Parallel()
	const full, none = "hold: every slot is busy", "hold: nothing else is ready"
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		want  []string
	}{
		{"B-091, B-054, B-046, X-65: assigned, answered, score, priority, plan order", []ralph.Task{
			task("last", func(x *ralph.Task) { x.Priority = "low" }), task("plain", nil), task("plain2", nil), task("high", func(x *ralph.Task) { x.Priority = "high" }),
			task("critical", func(x *ralph.Task) { x.Tags, x.Priority = []string{"critical"}, "low" }), task("answered", answered), task("assigned", assigned),
		}, []string{"assigned slot 1 at 1", "answered slot 2 at 7", "critical slot 3 at 2", "high slot 4 at 3", "plain slot 5 at 4", "plain2 slot 6 at 5", "last slot 7 at 6", full}},
		{"B-045 a retry costs", []ralph.Task{task("a", func(x *ralph.Task) { x.RetryCount = 1 }), task("b", nil)}, []string{"b slot 1 at 1", "a slot 2 at 2", none}},
		{"B-045 a retry of a quick win still comes first", []ralph.Task{task("b", nil), task("a", func(x *ralph.Task) { x.RetryCount, x.Tags = 1, []string{"quick-win"} })}, []string{"a slot 1 at 1", "b slot 2 at 2", none}},
		{"X-65 a phase waits for the one before it", []ralph.Task{task("a", inPhase("p1")), task("b", inPhase("p2"))}, []string{"a slot 1 at 1", none}},
		{"X-65, X-72 and for its merges", []ralph.Task{task("a", inMerge(ralph.MergeConflict, inPhase("p1"))), task("b", inPhase("p2"))}, []string{"resolve a slot 1 at 1", none}},
		{"X-65 merged, the next phase begins", []ralph.Task{task("a", inMerge(ralph.MergeMerged, inPhase("p1"))), task("b", inPhase("p2"))}, []string{"b slot 1 at 1", none}},
		{"B-002, X-72 done is not enough for a dependent", []ralph.Task{task("a", inMerge(ralph.MergeRed)), task("b", deps("a"))}, []string{"resolve a slot 1 at 1", none}},
		{"B-002, X-72 merged is", []ralph.Task{task("a", inMerge(ralph.MergeMerged)), task("b", deps("a"))}, []string{"b slot 1 at 1", none}},
		{"X-72 without changes there is nothing to merge", []ralph.Task{task("a", inMerge("")), task("b", deps("a"))}, []string{"b slot 1 at 1", none}},
		{"B-002 a failed one holds its dependents", []ralph.Task{task("a", keeps(ralph.TaskFailed, "1")), task("b", deps("a")), task("c", nil)}, []string{"c slot 1 at 2", none}},
		{"B-050 the lowest free slot", []ralph.Task{task("a", at(2, "5")), task("b", nil), task("c", nil)}, []string{"b slot 1 at 1", "c slot 3 at 2", none}},
		{"B-033, B-076 its own worktree, else the first free one", []ralph.Task{
			task("failed", keeps(ralph.TaskFailed, "1")), task("late", keeps(ralph.TaskTimeout, "3")), task("again", keeps(ralph.TaskPending, "2")), task("new", nil), task("new2", nil),
		}, []string{"again slot 1 at 2", "new slot 2 at 4", "new2 slot 3 at 5", none}},
		{"B-039, B-096 none that is at work", []ralph.Task{task("a", at(1, "1")), task("b", at(3, "3"))}, []string{none}},
		{"B-031, B-035 what ended badly is left alone", []ralph.Task{task("a", keeps(ralph.TaskBlocked, "1")), task("b", keeps(ralph.TaskTimeout, "2")), task("c", nil)}, []string{"c slot 1 at 3", none}},
		{"X-68 resolving comes before new work", []ralph.Task{task("new", tagged("critical")), task("a", inMerge(ralph.MergeConflict))}, []string{"resolve a slot 1 at 1", "new slot 2 at 2", none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Parallel = 7
			parallelOn(t, c, tt.tasks...).expect(tt.want...)
		})
	}
}

func some(n int) []ralph.Task {
	var out []ralph.Task
	for i := range n {
		out = append(out, task(fmt.Sprintf("t-%d", i+1), nil))
	}
	return out
}

// B-004, B-049, B-095: all free slots are filled before anything is waited for, and
// never more; B-050, B-053, B-056: a slot that frees gets the next when its delay is over.
func TestCrewFillsSlots(t *testing.T) {
	t.Parallel()
	const full = "hold: every slot is busy"
	for _, tt := range []struct {
		name string
		free []ralph.Fact
		want []string
	}{
		{"B-052 done", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone, BasedOnSeq: 1}}, []string{"t-4 slot 2 at 2", full}},
		{"B-053, B-031 blocked: the worktree stays", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskBlocked, BasedOnSeq: 1}}, []string{"t-4 slot 2 at 4", full}},
		{"B-056, B-033 timeout", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskTimeout, BasedOnSeq: 1}}, []string{"t-4 slot 2 at 4", full}},
		{"B-073 failed", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskFailed, BasedOnSeq: 1}}, []string{"t-4 slot 2 at 4", full}},
		{"B-065 skipped by a person", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskSkipped}}, []string{"t-4 slot 2 at 4", full}},
		{"B-068, B-075 crashed: again, after those with a better score", []ralph.Fact{ralph.TaskEnded{ID: "t-2", Status: ralph.TaskPending, Retry: true}}, []string{"t-4 slot 2 at 4", full}},
		{"B-054 a question frees the slot and keeps the worktree", []ralph.Fact{ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-2"}}}, []string{"t-4 slot 2 at 4", full}},
		{"two at once", []ralph.Fact{ralph.TaskEnded{ID: "t-3", Status: ralph.TaskDone, BasedOnSeq: 1}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, BasedOnSeq: 1}}, []string{"t-4 slot 1 at 1", "t-5 slot 3 at 3", full}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := parallelOn(t, parallelSettings(), some(5)...)
			b.expect("t-1 slot 1 at 1", "t-2 slot 2 at 2", "t-3 slot 3 at 3", full)
			b.add(tt.free...)
			if !b.s.Session.LastTask.IsZero() { // a question is no end: its slot is filled at once
				b.expect("hold 500ms: task.delay")
				b.rest()
			}
			b.expect(tt.want...)
		})
	}
}

// B-054, B-013: an answered task goes on in a slot that is free, else it gives way
// and is the next to get one, in its own worktree.
func TestAnswerNeedsASlot(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Parallel = 1
	b := parallelOn(t, c, some(3)...)
	b.expect("t-1 slot 1 at 1", "hold: every slot is busy")
	b.add(ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "tree-c0"})
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "which?"}})
	b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "which?"}})
	b.expect("t-2 slot 1 at 2", "hold: every slot is busy")
	b.person(b.s.Answer("g-1", "this"))
	b.end(ralph.TaskPending, "B-054")
	b.built("t-2")
	b.stage("merge t-2")
	b.rest()
	b.expect("t-1 slot 1 at 1", "hold: every slot is busy")
	b.task = "t-1"
	b.want("prepare", "B-005")
	b.add(ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Head: "c0", Tree: "tree-c0"})
	b.want("turn 2 claude", "B-013")
}

// task.delay holds the next start, and nothing else.
func TestCrewDelay(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.TaskDelay, c.Parallel = 3*time.Second, 1
	b := parallelOn(t, c, some(2)...)
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"})
	b.built("t-1")
	b.stage("merge t-1") // a merge is no start
	b.expect("hold 3s: task.delay")
	b.now = b.now.Add(3 * time.Second)
	b.expect("t-2 slot 1 at 1", "hold: every slot is busy")
}

// F-10, B-050: the delay is the slot's own. What ends in other slots neither prolongs
// it nor begins one, and of several slots that wait the first to be over is filled.
func TestDelayBelongsToTheSlot(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.TaskDelay, c.Parallel = 3*time.Second, 2
	b := parallelOn(t, c, some(5)...)
	b.expect("t-1 slot 1 at 1", "t-2 slot 2 at 2", "hold: every slot is busy")
	b.built("t-1")
	b.stage("merge t-1")
	b.expect("hold 3s: task.delay")
	b.now = b.now.Add(2 * time.Second)
	b.built("t-2") // a second before slot 1 may go on
	b.expect("hold 1s: task.delay")
	b.now = b.now.Add(time.Second)
	b.expect("t-3 slot 1 at 1", "hold 2s: task.delay")
	b.now = b.now.Add(2 * time.Second)
	b.expect("t-4 slot 2 at 2", "hold: every slot is busy")
}

// Semi mode: a person chooses, and the toggle (B-030, B-085, B-091, B-092).
func TestSemi(t *testing.T) {
	t.Parallel()
	const idle, none = "hold: waiting for you: [[assign <id>]]", "hold: nothing else is ready"
	for _, tt := range []struct {
		name  string
		facts []ralph.Fact
		want  []string
		mode  string
	}{
		{"B-030, B-085 nothing starts by itself", nil, []string{idle}, "waiting_user"},
		{"B-091 exactly what is assigned", []ralph.Fact{ralph.TaskAssigned{ID: "t-2"}}, []string{"t-2 slot 1 at 1", none}, "running"},
		{"B-091 two of them, in plan order", []ralph.Fact{ralph.TaskAssigned{ID: "t-3"}, ralph.TaskAssigned{ID: "t-2"}}, []string{"t-2 slot 1 at 1", "t-3 slot 2 at 2", none}, "running"},
		{"B-030 blocked: a person decides again", []ralph.Fact{ralph.TaskAssigned{ID: "t-2"}, ralph.TaskStarted{ID: "t-2", Slot: 1}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskBlocked}}, []string{idle}, "waiting_user"},
		{"B-030, F-15 the last one blocked: still a person's", []ralph.Fact{
			ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
			ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone},
			ralph.TaskEnded{ID: "t-3", Status: ralph.TaskBlocked},
			ralph.TaskEnded{ID: "t-4", Status: ralph.TaskSkipped},
		}, []string{"hold: waiting for you: t-3 is blocked; [[retry t-3]], [[skip t-3]], or [[stop]]"}, "waiting_user"},
		{"B-091 one that has to wait starts later", []ralph.Fact{ralph.TaskAssigned{ID: "t-4"}}, []string{idle}, "running"},
		{"B-092 autopilot goes on alone", []ralph.Fact{ralph.ModeSet{Mode: ralph.Autopilot}}, []string{"t-1 slot 1 at 1", "t-2 slot 2 at 2", "t-3 slot 3 at 3", "hold: every slot is busy"}, "running"},
		{"B-092 and back: those at work go on", []ralph.Fact{ralph.ModeSet{}, ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.ModeSet{Mode: ralph.Semi}}, []string{none}, "running"},
		{"B-003 ends when nothing is left to assign", []ralph.Fact{
			ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
			ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone},
			ralph.TaskEnded{ID: "t-3", Status: ralph.TaskDone},
			ralph.TaskEnded{ID: "t-4", Status: ralph.TaskSkipped},
		}, []string{"job done, complete: every other task is done and merged; left out by a person: t-4"}, "completed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := parallelOn(t, parallelSettings(), append(some(3), task("t-4", deps("t-1")))...)
			b.add(append([]ralph.Fact{ralph.ModeSet{Mode: ralph.Semi}}, tt.facts...)...)
			b.expect(tt.want...)
			if got := b.s.Mode(); got != tt.mode {
				t.Errorf("mode %s, want %s", got, tt.mode)
			}
		})
	}
}

// An answered task goes on in semi mode: a person chose it already (B-091, B-013).
func TestSemiGoesOn(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), task("a", nil), task("b", answered))
	b.add(ralph.ModeSet{Mode: ralph.Semi})
	b.expect("b slot 1 at 7", "hold: nothing else is ready")
}

// Failures in a row pause and name the tasks; a done one, a resume and a new start
// begin the count again; timeouts, skips and blocked ones do not count
// (B-062 to B-064, B-083, X-50, X-51).
func TestThreeFailures(t *testing.T) {
	t.Parallel()
	fail := func(id ralph.TaskID) ralph.Fact {
		return ralph.TaskEnded{ID: id, Status: ralph.TaskFailed, BasedOnSeq: 1}
	}
	end := func(id ralph.TaskID, status ralph.TaskStatus) ralph.Fact {
		return ralph.TaskEnded{ID: id, Status: status, BasedOnSeq: 1}
	}
	const paused = "noted, pause: 3 tasks in a row failed: t-1, t-2, t-3"
	for _, tt := range []struct {
		name  string
		most  int
		facts []ralph.Fact
		want  string
	}{
		{"two do not", 3, []ralph.Fact{fail("t-1"), fail("t-2")}, "t-3 slot 1 at 1"},
		{"B-062, B-063 three do, and are named", 3, []ralph.Fact{fail("t-1"), fail("t-2"), fail("t-3")}, paused},
		{"B-062 the limit is a setting", 2, []ralph.Fact{fail("t-1"), fail("t-2")}, "noted, pause: 2 tasks in a row failed: t-1, t-2"},
		{"B-062 zero: none pause", 0, []ralph.Fact{fail("t-1"), fail("t-2"), fail("t-3")}, "t-4 slot 1 at 1"},
		{"X-50 a success between them", 3, []ralph.Fact{fail("t-1"), fail("t-2"), end("t-3", ralph.TaskDone), fail("t-4")}, "t-5 slot 1 at 1"},
		{"B-083, X-51 timeouts do not count", 3, []ralph.Fact{end("t-1", ralph.TaskTimeout), end("t-2", ralph.TaskTimeout), end("t-3", ralph.TaskTimeout)}, "t-4 slot 1 at 1"},
		{"B-083 and break no row", 3, []ralph.Fact{fail("t-1"), end("t-5", ralph.TaskTimeout), fail("t-2"), end("t-4", ralph.TaskBlocked), fail("t-3")}, paused},
		{"X-50 a crash is no failure", 3, []ralph.Fact{ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true}, fail("t-2"), fail("t-3")}, "t-4 slot 1 at 1"},
		{"B-064 it stays paused", 3, []ralph.Fact{fail("t-1"), fail("t-2"), fail("t-3"), ralph.Control{Want: ralph.WantPause, Cause: "x"}}, "hold: paused: x"},
		{"B-064, X-50 a resume goes on", 3, []ralph.Fact{fail("t-1"), fail("t-2"), fail("t-3"), ralph.Control{Want: ralph.WantRun}}, "t-4 slot 1 at 1"},
		{"X-50 and counts from the start", 3, []ralph.Fact{fail("t-1"), fail("t-2"), ralph.Control{Want: ralph.WantRun}, fail("t-3"), fail("t-4")}, "t-5 slot 1 at 1"},
		{"X-50 so does a new start", 3, []ralph.Fact{fail("t-1"), fail("t-2"), fail("t-3"), ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Resumed: true}}, "t-4 slot 1 at 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.MaxConsecutive = tt.most
			b := parallelOn(t, c, some(6)...)
			b.add(tt.facts...)
			if got := b.next(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if strings.Contains(tt.want, "pause: ") && b.s.Session.Want != ralph.WantPause {
				t.Errorf("the engine is wanted to %s", b.s.Session.Want)
			}
		})
	}
}

// B-057, B-058: paused, nothing is started, merged or landed; stopped, what is at
// work ends first, then what is merged lands (D-051, D-052).
func TestCrewPauseAndStop(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(3)...)
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"})
	b.built("t-2")
	b.person(b.s.Steer(ralph.WantPause, "a person"))
	b.expect("hold: paused: a person")
	b.person(b.s.Steer(ralph.WantStop, "a person"))
	b.expect("hold: finishing the current iteration")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, BasedOnSeq: 1})
	b.expect("job pending", "stop interrupted")
	if q := b.s.Task("t-2").Run.Queue; q.State != ralph.MergeWaiting {
		t.Errorf("what was queued is lost: %+v", q)
	}
}

// The last landing of a session that ends early: stopped, or at a limit with work
// still in the queue (D-052, X-60). It does not wait for the queue.
func TestLastLanding(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]func(*board){
		"stopped": func(b *board) { b.person(b.s.Steer(ralph.WantStop, "a person")) },
		"at a limit of the session": func(b *board) {
			b.c.Budget.Iterations = 1
			b.add(ralph.TurnEnded{Task: "t-3", Exit: ralph.ExitOK})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := parallelOn(t, parallelSettings(), some(3)...)
			b.built("t-1")
			b.mergedBy("c1", "t-1")
			b.built("t-2")
			early(b)
			b.landedAt(ralph.Landed{From: "c0", To: "c1", How: "fast-forward"})
			b.schedule("job.ended pending")
		})
	}
}

// A worktree that cannot be made ready is tried again after 2 s and 4 s, then its
// task fails; the engine goes on with others (B-097, X-52).
func TestMakeReadyFails(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(2)...)
	b.expect("t-1 slot 1 at 1", "t-2 slot 2 at 2", "hold: nothing else is ready")
	fail := func() {
		b.want("prepare", "B-005")
		b.add(ralph.Prepared{Task: "t-1", Error: "no room"})
	}
	fail()
	b.person(b.s.Steer(ralph.WantPause, "a person"))
	b.wait(2*time.Second, "X-52") // a pause makes no try come earlier
	b.person(b.s.Steer(ralph.WantRun, ""))
	fail()
	b.wait(4*time.Second, "X-52")
	fail()
	b.end(ralph.TaskFailed, "B-097")
	if r := b.s.Task("t-1").Run; r.Reason != "Failed to spawn agent: no room" {
		t.Errorf("reason %q", r.Reason)
	}
	b.task = "t-2"
	b.want("prepare", "B-005")
}

// One that works begins the count again, and a stop ends the tries (D-051).
func TestMakeReadyWorksOrStops(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(1)...)
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Error: "no room"},
		ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "x"})
	if p := b.s.Task("t-1").Run.Worktree; p.Fails != 0 || !p.Ready || p.Base != "c0" {
		t.Errorf("place %+v", p)
	}
	b.want("turn 1 claude", "D-044")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskStarted{ID: "t-1", Slot: 1})
	b.want("prepare", "B-005") // ready anew at each start
	b.person(b.s.Steer(ralph.WantStop, "a person"))
	b.end(ralph.TaskPending, "D-051")
}

// Every end of an autopilot session, with its words (B-003, B-099).
func TestPilotEnds(t *testing.T) {
	t.Parallel()
	with := func(status ralph.TaskStatus) func(*ralph.Task) { return func(x *ralph.Task) { x.Status = status } }
	for _, tt := range []struct {
		name  string
		tasks []ralph.Task
		facts []ralph.Fact
		want  string
	}{
		{"B-003 all done", []ralph.Task{task("a", inMerge(ralph.MergeMerged))}, nil, "job done, complete: every task is done and merged"},
		{"B-040 nothing to do", nil, nil, "job done, complete: every task is done and merged"},
		{"B-065, F-13 skipped by a person is no failure, and is named", []ralph.Task{task("a", with(ralph.TaskSkipped))}, nil, "job done, complete: every other task is done and merged; left out by a person: a"},
		{"B-081 smaller tasks took its place: nothing was left out", []ralph.Task{task("a", with(ralph.TaskSkipped)), {ID: "b", Parent: "a", Status: ralph.TaskDone}}, nil, "job done, complete: every task is done and merged"},
		{"F-13, B-002 skipped for an error is not done", []ralph.Task{task("a", givenUp)}, nil, "job pending, failed: 1 skipped after an error (a)"},
		{"F-13, B-002 what depends on that waits", []ralph.Task{task("a", givenUp), task("b", deps("a")), task("c", deps("b"))}, nil, "job pending, failed: 1 skipped after an error (a), 2 can never start (b waits for a, c waits for b)"},
		{"failed", []ralph.Task{task("a", with(ralph.TaskFailed))}, nil, "job pending, failed: 1 failed"},
		{"B-032 timed out", []ralph.Task{task("a", with(ralph.TaskTimeout))}, nil, "job pending, failed: 1 timed out"},
		{"B-031 blocked, and one that waits for it", []ralph.Task{task("a", with(ralph.TaskBlocked)), task("b", deps("a"))}, nil, "job pending, failed: 1 blocked, 1 can never start (b waits for a)"},
		{"each counted apart", []ralph.Task{
			task("a", with(ralph.TaskFailed)), task("b", with(ralph.TaskTimeout)), task("c", with(ralph.TaskBlocked)), task("d", deps("a")), task("e", with(ralph.TaskFailed)),
		}, nil, "job pending, failed: 2 failed, 1 timed out, 1 blocked, 1 can never start (d waits for a)"},
		{"X-72 the checkout is in the way", nil, []ralph.Fact{
			ralph.Advanced{Commit: "c1"}, ralph.Landed{From: "c0", To: "c1", Dirty: []string{"a.go", "b.go"}},
		}, "job pending, a person is needed: merged work waits on ralph/merged: a.go, b.go"},
		{"P-7 git refuses", nil, []ralph.Fact{ralph.Advanced{Commit: "c1"}, ralph.Landed{Error: "disk full"}}, "job pending, a person is needed: merged work waits on ralph/merged: disk full"},
		{"D-078 the worktrees could not be made", nil, []ralph.Fact{
			ralph.TaskAdded{Task: ralph.Task{ID: "prepare:x", Kind: ralph.KindPrepare, Status: ralph.TaskFailed, Run: ralph.Run{Attempt: ralph.Attempt{Reason: "no room"}}}},
		}, "job pending, failed: no room"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := parallelOn(t, parallelSettings(), tt.tasks...)
			b.add(tt.facts...)
			if got := b.next(); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// B-099: it does not end while an agent that will unlock tasks still runs, nor while
// one waits for an answer.
func TestPilotWaits(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), task("a", at(1, "1")), task("b", deps("a")))
	b.expect("hold: nothing else is ready")
	b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "a"}})
	b.expect("hold: nothing else is ready")
	b.person(b.s.Answer("g-1", "yes"))
	b.built("a")
	b.mergedBy("c1", "a")
	b.landedAt(ralph.Landed{From: "c0", To: "c1", How: "fast-forward"})
	b.expect("b slot 1 at 1", "hold: nothing else is ready")
}

// The class of a conflict says who may resolve it (product.md 7).
func TestConflictClasses(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]policy.ConflictClass{
		"content": policy.Medium, "add/add": policy.Medium, "modify/delete": policy.Complex, "rename": policy.Complex,
		"binary": policy.Complex, "submodule": policy.Complex, "mode": policy.Complex, "": policy.Complex,
	} {
		m := &ralph.Merged{Conflict: &ralph.Conflict{Files: []ralph.ConflictFile{{Path: "a", Kind: "content"}, {Path: "b", Kind: kind}}}}
		if got := policy.Class(m); got != want {
			t.Errorf("%q is %s, want %s", kind, got, want)
		}
	}
	if policy.Class(nil) != policy.Medium || policy.Class(&ralph.Merged{}) != policy.Medium {
		t.Error("red checks without a conflict are for an agent")
	}
}
