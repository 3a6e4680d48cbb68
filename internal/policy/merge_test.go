package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// onQueue is a board whose tasks t-1 to t-n are done and queued, in that order.
func onQueue(t *testing.T, c policy.Config, n int) *board {
	b := parallelOn(t, c, some(n)...)
	for _, x := range some(n) {
		b.built(x.ID)
	}
	return b
}

// red takes the board's merge to its end as red, with the names that were green before.
func (b *board) red(names ...string) {
	b.t.Helper()
	b.merged("bad")
	b.checked(nil, names...)
	if b.s.Baseline(b.s.Plan.Integration.Tip) == nil {
		b.want("baseline", "P-14")
		b.add(ralph.BaselineRan{Task: b.task, Commit: b.s.Plan.Integration.Tip})
	}
	b.end(ralph.TaskFailed, "X-72")
}

// B-006, B-022, X-72: one merge at a time, in order of arrival; each checked on the
// merged tree; then all of it lands at once.
func TestMergeOneByOne(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(3)...)
	b.built("t-2", "t-3", "t-1")
	b.stage("merge t-2")
	step := b.want("merge", "B-006").(ralph.Merge)
	if step.Into != "c0" || step.Free || step.Tips || !slices.Equal(step.Green, []string{"tree-t-2"}) {
		t.Errorf("%+v", step)
	}
	b.expect("hold: nothing else is ready") // B-098: the others wait for it
	b.merged("c1")
	b.want("check", "P-14")
	b.checked(nil)
	if got := b.want("advance", "P-14"); got != (ralph.Advance{From: "c0", To: "c1"}) {
		t.Errorf("%+v", got)
	}
	b.add(ralph.Advanced{Task: b.task, Commit: "c1", Tree: "tree-c1"})
	b.end(ralph.TaskDone, "B-006")
	b.mergedBy("c2", "t-3")
	b.mergedBy("c3", "t-1")
	if got := b.s.Plan.Integration.Waiting; got != 3 {
		t.Errorf("%d wait to land", got)
	}
	b.landedAt(ralph.Landed{From: "c0", To: "c3", How: "fast-forward"})
	b.expect("job done, complete: every task is done and merged")
}

// B-010, X-49: without checks, or on a tree whose checks passed, the branch moves
// with the merge.
func TestMergeFree(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Checks = false
	b := onQueue(t, c, 1)
	b.stage("merge t-1")
	if step := b.want("merge", "B-006").(ralph.Merge); !step.Free {
		t.Errorf("%+v", step)
	}
	b.merged("c1", func(f *ralph.Merged) { f.Advanced = true })
	b.end(ralph.TaskDone, "B-006")
	if i := b.s.Plan.Integration; i.Tip != "c1" || i.Tree != "tree-c1" {
		t.Errorf("%+v", i)
	}
}

// How many are merged together (merge.batch), and that a red batch goes again in
// halves until the one is found.
func TestBatches(t *testing.T) {
	t.Parallel()
	weak := func(x *ralph.Task) { x.Run.Queue.Weakened = []ralph.Finding{{Path: "a_test.go", Kind: "removed"}} }
	most := func(n int) func(*ralph.Task) { return func(x *ralph.Task) { x.Run.Queue.Most = n } }
	mended := func(x *ralph.Task) { x.Run.Queue.ResolvedAt = "c1" }
	since := func(n int64) func(*ralph.Task) { return func(x *ralph.Task) { x.Run.Queue.Since = n } }
	in := func(id string, edits ...func(*ralph.Task)) ralph.Task {
		return task(id, inMerge(ralph.MergeWaiting, edits...))
	}
	for _, tt := range []struct {
		name  string
		batch int
		ask   bool
		tasks []ralph.Task
		want  string
	}{
		{"B-006 one by default", 0, false, []ralph.Task{in("a"), in("b")}, "merge a"},
		{"all of a batch", 4, false, []ralph.Task{in("a"), in("b"), in("c")}, "merge a b c"},
		{"never more", 2, false, []ralph.Task{in("a"), in("b"), in("c")}, "merge a b"},
		{"X-72 in order of arrival", 4, false, []ralph.Task{in("a", since(9)), in("b", since(3)), in("c", since(5))}, "merge b c a"},
		{"what an agent mended goes first", 4, false, []ralph.Task{in("a", since(3)), in("b", since(9), mended), in("c", since(5))}, "merge b a c"},
		{"halves after a red one", 4, false, []ralph.Task{in("a", most(2)), in("b", most(2)), in("c", most(2)), in("d", most(2)), in("e")}, "merge a b"},
		{"alone at the end of the halves", 4, false, []ralph.Task{in("a", most(1)), in("b")}, "merge a"},
		{"one that goes alone ends the batch before it", 4, false, []ralph.Task{in("a"), in("b"), in("c", most(1)), in("d"), in("e"), in("f")}, "merge a b"},
		{"P-14 weakened tests go alone", 4, false, []ralph.Task{in("a", weak), in("b")}, "merge a"},
		{"P-14 and not with those before", 4, false, []ralph.Task{in("a"), in("b"), in("c", weak), in("d")}, "merge a b"},
		{"X-75 each alone when a person is asked", 4, true, []ralph.Task{in("a"), in("b")}, "merge a"},
		{"X-72 what a person has to resolve goes alone", 4, false, []ralph.Task{task("a", inMerge(ralph.MergeConflict, func(x *ralph.Task) { x.Run.Queue.GaveUp = "no" })), in("b")}, "merge a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Batch, c.AskToMerge = tt.batch, tt.ask
			b := parallelOn(t, c, tt.tasks...)
			b.stage(tt.want)
			x := b.s.Task(b.task)
			if n := len(x.Members); (n > 1) != strings.HasSuffix(x.Name, "tasks together") {
				t.Errorf("%d tasks are called %q", n, x.Name)
			}
		})
	}
}

// A red batch of four is bisected: only the one that breaks it goes to an agent.
func TestBisect(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Batch = 4
	b := onQueue(t, c, 4)
	b.stage("merge t-1 t-2 t-3 t-4")
	b.red("test")
	b.mergedBy("c2", "t-1", "t-2")
	b.stage("merge t-3 t-4")
	b.red("test")
	b.stage("merge t-3")
	b.red("test")
	if q := b.s.Task("t-3").Run.Queue; q.State != ralph.MergeRed {
		t.Errorf("%+v", q)
	}
	b.mergedBy("c4", "t-4")
	b.stage("land")
	b.expect("resolve t-3 slot 1 at 1", "hold: nothing else is ready")
}

// A batch that conflicts likewise, without checks being run.
func TestBatchConflict(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Batch = 2
	b := onQueue(t, c, 2)
	b.stage("merge t-1 t-2")
	b.merged("", conflict("content", "a.go"))
	b.end(ralph.TaskFailed, "X-72")
	b.mergedBy("c1", "t-1")
	b.stage("merge t-2")
	b.merged("", conflict("content", "a.go"))
	b.end(ralph.TaskFailed, "X-72")
	if q := b.s.Task("t-2").Run.Queue; q.State != ralph.MergeConflict || q.Merged == nil {
		t.Errorf("%+v", q)
	}
}

// P-14: what is red on the merged tree is blamed only when it was green before; what
// was red before is asked once for each tip, and carried on to the next.
func TestMergeBaseline(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Baseline = policy.BaselineKnown // what was red before is let pass
	b := onQueue(t, c, 2)
	b.stage("merge t-1")
	b.want("merge", "B-006")
	b.merged("c1")
	b.checked(nil, "lint")
	if got := b.want("baseline", "P-14"); got != (ralph.Baseline{Commit: "c0"}) {
		t.Errorf("%+v", got)
	}
	b.add(ralph.BaselineRan{Task: b.task, Commit: "c0", Red: []string{"lint"}})
	if got := b.want("check", "P-14").(ralph.Check); !before(got, "lint") {
		t.Errorf("%+v", got)
	}
	b.checked([]string{"lint"}, "lint")
	b.want("advance", "P-14")
	b.add(ralph.Advanced{Task: b.task, Commit: "c1"})
	b.end(ralph.TaskDone, "B-006")

	b.stage("merge t-2") // on c1, of which lint is known to be red: nobody is asked again
	b.merged("c2")
	if got := b.want("check", "P-14").(ralph.Check); !before(got, "lint") {
		t.Errorf("%+v", got)
	}
	b.checked([]string{"lint"}, "lint", "test")
	b.end(ralph.TaskFailed, "X-72")
	if r := b.s.Task("t-2").Run; r.Queue.State != ralph.MergeRed || r.Red == nil {
		t.Errorf("%+v", r)
	}
}

// P-14: the same for a task before it claims to be done. Its base is asked once, for
// all tasks that begin there; a check that was green at the base is its own.
func TestTaskBaseline(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Baseline = policy.BaselineKnown // what was red before is let pass
	b := parallelOn(t, c, some(2)...)
	work := func(id ralph.TaskID) {
		b.task = id
		b.add(ralph.TaskStarted{ID: id, Slot: 1, Dir: "ralph/.worktrees/1"},
			ralph.Prepared{Task: id, Dir: "ralph/.worktrees/1", Branch: "ralph/" + string(id), Base: "c0", Head: "c0", Tree: "tree-c0"})
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
	}
	work("t-1")
	b.want("check", "B-010")
	b.checked(nil, "lint")
	if got := b.want("baseline", "P-14"); got != (ralph.Baseline{Commit: "c0"}) {
		t.Errorf("%+v", got)
	}
	b.add(ralph.BaselineRan{Task: "t-1", Commit: "c0", Red: []string{"lint"}})
	b.want("check", "P-14")
	b.checked([]string{"lint"}, "lint")
	b.want("commit", "X-69")
	b.add(ralph.Committed{Task: "t-1", Commit: "c-t-1"})
	b.end(ralph.TaskDone, "B-022")

	work("t-2")
	if got := b.want("check", "B-010").(ralph.Check); !before(got, "lint") {
		t.Errorf("%+v", got)
	}
	b.checked([]string{"lint"}, "lint", "test")
	b.want("turn 2 claude", "B-023") // test is its own, and B-011 sends it back
}

// How a task in a worktree ends: its commit, and with it its place in the queue
// (B-006, X-69); what changed nothing is not queued.
func TestEnding(t *testing.T) {
	t.Parallel()
	done, gone := ralph.Finish{Status: ralph.TaskDone}, ralph.Finish{Status: ralph.TaskFailed}
	run := func(commit string) ralph.Run {
		return ralph.Run{Committing: ralph.Committing{Commit: commit}, Worktree: ralph.Worktree{Slot: 2, Branch: "ralph/t-1", Base: "c0"}}
	}
	for _, tt := range []struct {
		name     string
		task     ralph.Task
		isolated bool
		end      ralph.Finish
		queued   ralph.TaskID
	}{
		{"B-006 done with a commit", ralph.Task{ID: "x", Run: run("c1")}, true, done, "x"},
		{"X-72 nothing changed", ralph.Task{ID: "x", Run: run("c0")}, true, done, ""},
		{"no commit", ralph.Task{ID: "x", Run: run("")}, true, done, ""},
		{"B-073 failed", ralph.Task{ID: "x", Run: run("c1")}, true, gone, ""},
		{"X-68 in place", ralph.Task{ID: "x", Run: run("c1")}, false, done, ""},
		{"X-72 a resolve queues its task again", ralph.Task{ID: "x", Kind: ralph.KindResolve, Parent: "t-9", Run: run("c1")}, true, done, "t-9"},
		{"a merge", ralph.Task{ID: "x", Kind: ralph.KindMerge, Run: run("c1")}, true, done, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Isolated = tt.isolated
			b := parallelOn(t, c)
			tt.task.Status = ralph.TaskActive
			b.add(ralph.TaskAdded{Task: tt.task})
			facts := policy.Ending(&b.s, "x", tt.end, ralph.Why{Rule: "B-022"}, c, b.now)
			ended := facts[0].(ralph.TaskEnded)
			if ended.Slot != 2 || ended.Status != tt.end.Status || ended.BasedOnSeq != b.s.Seq || (len(facts) == 2) != (tt.queued != "") {
				t.Errorf("%+v", facts)
			}
			if len(facts) == 2 && facts[1] != ralph.Fact(ralph.MergeQueued{Task: tt.queued, Branch: "ralph/t-1", Commit: "c1"}) {
				t.Errorf("%+v", facts[1])
			}
		})
	}
	b := parallelOn(t, parallelSettings())
	if facts := policy.Ending(&b.s, "none", done, ralph.Why{}, b.c, b.now); len(facts) != 1 {
		t.Errorf("a task that is gone: %+v", facts)
	}
}

// A stop ends a merge at its boundaries, never between its checks and the move of
// the branch (D-051); a merge that was cut goes on.
func TestMergeStops(t *testing.T) {
	t.Parallel()
	stop := ralph.Control{Want: ralph.WantStop, Cause: "a person"}
	b := onQueue(t, parallelSettings(), 1)
	b.stage("merge t-1")
	b.add(stop)
	b.end(ralph.TaskPending, "D-051")
	b.add(ralph.Control{Want: ralph.WantRun})
	b.stage("merge t-1")
	b.merged("c1")
	b.add(stop)
	b.want("finish pending", "D-051")
	b.checked(nil)
	b.want("advance", "P-14")
	b.add(ralph.Advanced{Task: b.task, Commit: "c1"})
	b.end(ralph.TaskDone, "B-006")
}

// The integration branch was moved by someone else: the merge is made again, on the
// new tip, with nothing held against anybody.
func TestTipMoved(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*board) ralph.Fact{
		"before the merge": func(b *board) ralph.Fact { return ralph.Merged{Task: b.task, From: "c0", Moved: "c9"} },
		"after it": func(b *board) ralph.Fact {
			b.merged("c1")
			b.checked(nil)
			return ralph.Advanced{Task: b.task, Commit: "c1", Moved: "c9"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onQueue(t, parallelSettings(), 1)
			b.stage("merge t-1")
			b.add(f(b))
			if step := b.want("merge", "B-006").(ralph.Merge); step.Into != "c9" {
				t.Errorf("%+v", step)
			}
			if i := b.s.Plan.Integration; i.Tip != "c9" || i.Tree != "" || i.Waiting != 0 {
				t.Errorf("%+v", i)
			}
		})
	}
}

// A conflict goes to an agent: stage resolve in a slot and a worktree of its own,
// whose commit queues the task again; each try is counted (X-72, merge.conflict_retries).
func TestResolve(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 1)
	b.conflicted("t-1", "a.go")
	b.stage("resolve t-1 slot 1 at 1")
	b.expect("hold: nothing else is ready")
	b.want("prepare", "B-005")
	b.add(ralph.Prepared{Task: b.task, Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c-t-1", Tree: "x", Conflicts: []string{"a.go"}})
	if turn := b.want("turn 1 claude", "D-044").(ralph.Turn); turn.Stage != ralph.KindResolve {
		t.Errorf("%+v", turn)
	}
	b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskPending}) // cut: the same resolve goes on, in its worktree
	b.stage("resolve t-1 slot 1 at 1")
	b.add(ralph.Prepared{Task: b.task, Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Head: "c-t-1", Tree: "x", Conflicts: []string{"a.go"}})
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
	b.want("check", "B-010")
	b.checked(nil)
	b.want("commit", "X-69")
	b.add(ralph.Committed{Task: b.task, Commit: "c-both"})
	b.end(ralph.TaskDone, "B-022")
	x := b.s.Task("t-1").Run
	if x.Queue.State != ralph.MergeWaiting || x.Queue.Resolves != 1 || x.Commit != "c-both" || len(b.s.Stages) != 1 {
		t.Errorf("%+v, stages %d", x, len(b.s.Stages))
	}
	b.mergedBy("c1", "t-1")
	if n := b.s.Totals; n.MergesResolved != 1 || n.MergesClean != 0 || n.Conflicts != 1 { // B-103
		t.Errorf("%+v", n)
	}
}

// The tries of an agent are bounded (merge.conflict_retries), and all it can run out
// of makes a person look.
func TestResolveGivesUp(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.ConflictRetries = 2
	b := onQueue(t, c, 1)
	b.conflicted("t-1", "a.go")
	b.stage("resolve t-1 slot 1 at 1")
	b.add(ralph.Prepared{Task: b.task, Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c-t-1", Tree: "x"})
	b.turn(ralph.TurnEnded{Changed: true})
	b.want("turn 2 claude", "B-026")
	b.turn(ralph.TurnEnded{Changed: true})
	b.end(ralph.TaskTimeout, "B-028")
	b.stage("merge t-1")
	b.ask("X-72", "could not resolve it: 2 tries used (merge.conflict_retries)", "<<<<<<< a.go")
}

// Which merges that do not fit go to an agent, and why the others go to a person.
func TestWhyNoAgent(t *testing.T) {
	t.Parallel()
	in := func(state ralph.MergeState, kind string, edits ...func(*ralph.Queue)) ralph.Task {
		return task("a", inMerge(state, func(x *ralph.Task) {
			x.Run.Queue.Merged = &ralph.Merged{}
			if kind != "" {
				conflict(kind, "a.go")(x.Run.Queue.Merged)
			}
			x.Run.Red = &ralph.ChecksRan{Results: []ralph.CheckResult{{Name: "test", Output: "1 failed"}}}
			for _, edit := range edits {
				edit(&x.Run.Queue)
			}
		}))
	}
	tries := func(n int) func(*ralph.Queue) { return func(q *ralph.Queue) { q.Tries = n } }
	human := func(c *policy.Config) { c.Resolver = "human" }
	gaveUp := func(q *ralph.Queue) { q.GaveUp = "too much" }
	for _, tt := range []struct {
		name string
		task ralph.Task
		edit func(*policy.Config)
		want []string // nil: an agent
	}{
		{"X-72 text of files: an agent", in(ralph.MergeConflict, "content"), nil, nil},
		{"X-72 both added: an agent", in(ralph.MergeConflict, "add/add"), nil, nil},
		{"X-72 red: an agent", in(ralph.MergeRed, ""), nil, nil},
		{"X-72 the last try", in(ralph.MergeConflict, "content", tries(2)), nil, nil},
		{"no tries set is one", in(ralph.MergeConflict, "content"), func(c *policy.Config) { c.ConflictRetries = 0 }, nil},
		{"merge.resolver is human", in(ralph.MergeConflict, "content"), human, []string{"conflicts with what is merged in a.go (merge.resolver is human)", "<<<<<<< a.go"}},
		{"the same, red", in(ralph.MergeRed, ""), human, []string{"is red on the merged tree (merge.resolver is human)", "$ test", "1 failed"}},
		{"the agent gave up", in(ralph.MergeConflict, "content", gaveUp), nil, []string{", and the agent could not resolve it: too much"}},
		{"no markers can show it", in(ralph.MergeConflict, "binary"), nil, []string{", in a way that markers in a file cannot show", "a.go (binary)"}},
		{"tries used up", in(ralph.MergeConflict, "content", tries(3)), nil, []string{", after 3 tries of an agent (merge.conflict_retries)"}},
		{"tries used up, red", in(ralph.MergeRed, "", tries(3)), nil, []string{"red on the merged tree, after 3 tries", "1 failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			if tt.edit != nil {
				tt.edit(&c)
			}
			b := parallelOn(t, c, tt.task)
			if tt.want == nil {
				b.expect("resolve a slot 1 at 1", "hold: nothing else is ready")
				return
			}
			b.stage("merge a")
			b.ask("X-72", tt.want...)
			b.expect("hold: nothing else is ready") // it is asked once
		})
	}
}

// The machinery of a merge that fails three times is for a person to look at.
func TestMergeMachineryFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*board){
		"merge": func(b *board) { b.merged("", func(f *ralph.Merged) { f.Error = "disk full" }) },
		"advance": func(b *board) {
			b.merged("c1")
			b.checked(nil)
			b.add(ralph.Advanced{Task: b.task, Commit: "c1", Error: "disk full"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := onQueue(t, parallelSettings(), 2)
			b.stage("merge t-1")
			for range 3 {
				b.want("merge", "B-006")
				fail(b)
			}
			gate := b.ask("X-72", "the merge does not work: disk full")
			b.person(b.s.Approve(gate))
			b.want("merge", "B-006") // three more
			b.merged("c1")
			b.checked(nil)
			b.add(ralph.Advanced{Task: b.task, Commit: "c1"})
			b.end(ralph.TaskDone, "B-006")
		})
	}
}

// The others go on in the queue beside a merge that waits for a person.
func TestQueueGoesOnBesideGates(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 3)
	b.add(ralph.Committed{Task: "t-1", Commit: "c-t-1", Weakened: []ralph.Finding{{Path: "a_test.go", Line: 3, Kind: "removed", What: "TestA"}}})
	b.stage("merge t-1")
	b.ask("P-14", "a_test.go:3 removed TestA")
	b.mergedBy("c2", "t-2")
	b.mergedBy("c3", "t-3")
	b.landedAt(ralph.Landed{From: "c0", To: "c3", How: "fast-forward"})
	b.expect("hold: nothing else is ready")
}

// Backoff of landings that a checkout holds: 5 s, doubled, at most a minute; none
// while nothing is in the way but the cadence.
func TestLandingCadence(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(3)...)
	b.c.Parallel = 1
	b.add(ralph.TaskStarted{ID: "t-3", Slot: 1, Dir: "ralph/.worktrees/3"})
	b.built("t-1")
	b.mergedBy("c1", "t-1")
	b.landedAt(ralph.Landed{From: "c0", To: "c1", How: "fast-forward"}) // the first at once
	b.now = b.now.Add(2 * time.Second)
	b.built("t-2")
	b.mergedBy("c2", "t-2")
	b.expect("hold 3s: every slot is busy")
	b.now = b.now.Add(3 * time.Second)
	for n, seconds := range []int{5, 10, 20, 40, 60, 60} {
		b.landedAt(ralph.Landed{From: "c1", To: "c2", Dirty: []string{"a.go"}})
		if i := b.s.Plan.Integration; i.HeldTries != n+1 || i.Landed != "c1" || i.Waiting != 1 {
			t.Errorf("%+v", i)
		}
		b.now = b.now.Add(time.Duration(seconds-1) * time.Second)
		b.expect("hold 1s: every slot is busy")
		b.now = b.now.Add(time.Second)
	}
	b.landedAt(ralph.Landed{From: "c1", To: "c2", How: "fast-forward"})
	if i := b.s.Plan.Integration; i.HeldTries != 0 || i.Held != nil || i.Waiting != 0 {
		t.Errorf("%+v", i)
	}
}

// With nothing at work a landing is made at once; one that is held is tried once
// more before the end, if the last look is not a moment ago (B-003, X-72).
func TestLandingWhenIdle(t *testing.T) {
	t.Parallel()
	held := func() *board {
		b := parallelOn(t, parallelSettings(), some(2)...)
		b.add(ralph.TaskStarted{ID: "t-2", Slot: 1, Dir: "ralph/.worktrees/2"})
		b.built("t-1")
		b.mergedBy("c1", "t-1")
		for range 3 {
			b.landedAt(ralph.Landed{From: "c0", To: "c1", Dirty: []string{"a.go"}})
			b.now = b.now.Add(20 * time.Second)
		}
		b.now = b.now.Add(-10 * time.Second) // 10 s after the third look, 10 s before the fourth
		b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone, BasedOnSeq: 1})
		return b
	}
	b := held()
	b.landedAt(ralph.Landed{From: "c0", To: "c1", How: "fast-forward"})
	b.expect("job done, complete: every task is done and merged")
	b = held()
	b.landedAt(ralph.Landed{From: "c0", To: "c1", Dirty: []string{"b.go"}})
	b.expect("job pending, a person is needed: merged work waits on ralph/merged: b.go")
	b = held()
	b.person(b.s.Steer(ralph.WantStop, "a person"))
	b.landedAt(ralph.Landed{From: "c0", To: "c1", Dirty: []string{"b.go"}})
	b.expect("job pending", "stop interrupted")
}

// What is merged while a landing is under way waits for the next one, and the first
// is told as landed.
func TestMergedWhileLanding(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 1)
	b.mergedBy("c1", "t-1")
	b.stage("land")
	b.add(ralph.StepStarted{Task: b.task, Step: ralph.Land{}},
		ralph.TaskAdded{Task: ralph.Task{ID: "merge:x", Kind: ralph.KindMerge, Members: []ralph.TaskID{"t-8", "t-9"}, Status: ralph.TaskActive}},
		ralph.Merged{Task: "merge:x", From: "c1", Commit: "c2", Advanced: true},
		ralph.TaskEnded{ID: "merge:x", Status: ralph.TaskDone},
		ralph.Landed{Task: b.task, From: "c0", To: "c1", How: "fast-forward"})
	if i := b.s.Plan.Integration; i.Waiting != 2 || i.Landed != "c1" || i.Tip != "c2" {
		t.Errorf("%+v", i)
	}
	b.end(ralph.TaskDone, "P-7")
	b.landedAt(ralph.Landed{From: "c1", To: "c2", How: "fast-forward"})
	if i := b.s.Plan.Integration; i.Waiting != 0 {
		t.Errorf("%+v", i)
	}
}

// before reports whether the checks run with exactly these known to be red before.
func before(step ralph.Check, names ...string) bool {
	return slices.EqualFunc(step.Before, names, func(r ralph.RedCheck, name string) bool { return r.Name == name })
}
