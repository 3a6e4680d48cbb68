package report_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// story writes facts as an engine would, and folds them into a state, a log and a report.
type story struct {
	s      *ralph.State
	now    time.Time
	seq    int64
	log    report.Log
	lines  []string
	events []ralph.Event
	folds  []*report.Report
	yield  func(time.Duration) bool // gives way to the other slots
	quiet  bool                     // only the folds are of interest
}

func newStory(folds ...*report.Report) *story {
	return &story{s: &ralph.State{}, now: clock("2025-01-20T10:00:00Z"), folds: folds}
}

// add records facts in one write.
func (x *story) add(facts ...ralph.Fact) {
	for i, f := range facts {
		x.seq++
		e := ralph.Event{Seq: x.seq, At: x.now, By: "engine", Hash: fmt.Sprintf("%064x", x.seq*2654435761), Fact: f, More: i < len(facts)-1}
		x.s.Apply(e)
		if !x.quiet {
			x.lines = append(x.lines, x.log.Lines(e, x.s)...)
			x.events = append(x.events, e)
		}
		for _, r := range x.folds {
			r.Add(e, x.s)
		}
	}
}

// pass lets time go on; in a crowd the other slots work meanwhile.
func (x *story) pass(d time.Duration) {
	if x.yield != nil {
		x.yield(d)
		return
	}
	x.now = x.now.Add(d)
}

// said returns the log lines since the last call.
func (x *story) said() []string {
	out := x.lines
	x.lines = nil
	return out
}

const pilotConfig = `{"session":"autopilot","parallel":3,"agents":["claude","codex"],"max_iterations":50,"task_timeout":1800000000000,` +
	`"max_retries":2,"strategy":"retry","checks":true,"isolated":true,"max_consecutive":3,"batch":4,"resolver":"agent"}`

// begin starts an autopilot session on tasks.
func (x *story) begin(tasks ...ralph.Task) {
	x.add(ralph.PlanStarted{File: "feature-x.md"})
	for _, t := range tasks {
		t.Status = ralph.TaskPending
		x.add(ralph.TaskAdded{Task: t})
	}
	x.pass(time.Second)
	x.add(ralph.SessionStarted{ID: "s-20250120T100000Z-1a2b", Mode: "autopilot", Config: []byte(pilotConfig), Version: "1.0.0", Pid: 42})
	x.add(ralph.JobStarted{Job: "a-1", File: "feature-x.md", Resume: true})
	x.add(ralph.TaskAdded{Task: ralph.Task{ID: "prepare:a-1", Kind: ralph.KindPrepare, Name: "Prepare", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "prepare:a-1"})
	x.add(
		ralph.Prepared{Task: "prepare:a-1", Head: "base000111", Branch: "main", Tree: "tree0"},
		ralph.IntegrationStarted{Branch: "ralph/feature-x", Base: "main", From: "base000111", Tip: "base000111", Tree: "tree0"},
	)
	x.add(ralph.TaskEnded{ID: "prepare:a-1", Status: ralph.TaskDone, Saw: x.seq})
	x.pass(time.Second)
}

func (x *story) start(id ralph.TaskID, slot int) {
	x.add(ralph.TaskStarted{ID: id, Slot: slot, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot)})
	x.receipt(id, ralph.Prepare{}, ralph.Why{Rule: "B-005", Text: "make its worktree ready"})
	x.add(ralph.Prepared{Task: id, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot), Branch: "ralph/" + string(id), Base: "base000111", Head: "base000111", Tree: "tree0", Took: 90 * time.Millisecond})
}

func (x *story) receipt(id ralph.TaskID, step ralph.Step, why ralph.Why) {
	if x.quiet {
		return
	}
	x.add(ralph.StepStarted{Task: id, Step: step, Why: why, Saw: x.seq, Now: x.now})
}

// turn is one iteration of an agent that takes d.
func (x *story) turn(id ralph.TaskID, d time.Duration, edit func(*ralph.TurnEnded)) {
	t := x.s.Task(id)
	stage := ralph.KindBuild
	if t.Kind != "" {
		stage = t.Kind
	}
	x.receipt(id, ralph.Turn{Stage: stage, Agent: "claude", Iteration: t.Run.Iterations + 1}, ralph.Why{Rule: "B-026", Text: "no signal yet"})
	x.pass(d)
	x.add(turnOf(t, stage, d, edit))
}

func turnOf(t *ralph.Task, stage ralph.TaskKind, d time.Duration, edit func(*ralph.TurnEnded)) ralph.TurnEnded {
	f := ralph.TurnEnded{
		Task: t.ID, Stage: stage, Agent: "claude", Iteration: t.Run.Iterations + 1, Exit: ralph.ExitOK, Changed: true, Took: d,
		Usage: ralph.Usage{Input: 1200, Output: 900, CacheRead: 20000, Cost: 0.08, Known: true},
	}
	if edit != nil {
		edit(&f)
	}
	return f
}

func complete(f *ralph.TurnEnded) { f.Signal = ralph.Signal{Kind: ralph.SignalComplete} }

func (x *story) checks(id ralph.TaskID, pass bool) {
	x.receipt(id, ralph.Check{}, ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"})
	x.pass(2 * time.Second)
	res := ralph.GateResult{Name: "go test ./...", Command: "go test ./...", Pass: pass, Took: 2 * time.Second}
	if !pass {
		res.Exit, res.Output = 1, "--- stdout ---\nFAIL parse_test.go:12\n"
	}
	x.add(ralph.ChecksRan{Task: id, Pass: pass, Tree: "tree1", Results: []ralph.GateResult{res}, Took: 2 * time.Second})
}

// done commits a task's work and queues it: as policy.Ending does, in one write.
func (x *story) done(id ralph.TaskID, weakened ...ralph.Finding) {
	t := x.s.Task(id)
	slot := t.Run.Place.Slot
	commit := "c0ffee" + string(id[2:])
	x.add(ralph.Committed{Task: id, Commit: commit, Short: commit[:7], Subject: t.Name, Weakened: weakened})
	facts := []ralph.Fact{ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Slot: slot, Why: ralph.Why{Rule: "B-022", Text: "COMPLETE and the checks pass"}, Saw: x.seq, Now: x.now}}
	queued := id
	if t.Kind == ralph.KindResolve {
		queued = t.Parent
	}
	x.add(append(facts, ralph.MergeQueued{Task: queued, Branch: "ralph/" + string(queued), Commit: commit})...)
}

func (x *story) end(id ralph.TaskID, status ralph.TaskStatus, rule, text string, retry bool) {
	x.add(ralph.TaskEnded{ID: id, Status: status, Retry: retry, Slot: x.s.Task(id).Run.Place.Slot, Why: ralph.Why{Rule: rule, Text: text}, Saw: x.seq, Now: x.now})
}

// merge begins the merge of tasks; what comes of it is told by the caller.
func (x *story) merge(members ...ralph.TaskID) ralph.TaskID {
	id := ralph.TaskID(fmt.Sprintf("merge:a-1:0:%d", x.seq))
	x.add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindMerge, Name: "Merge", Members: members, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.receipt(id, ralph.Merge{Members: members, Into: x.s.Plan.Integration.Tip}, ralph.Why{Rule: "B-006", Text: "merge into ralph/feature-x"})
	x.pass(200 * time.Millisecond)
	return id
}

// clean is a merge whose checks pass.
func (x *story) clean(members ...ralph.TaskID) {
	id := x.merge(members...)
	commit := fmt.Sprintf("%07xfeed", x.seq)
	x.add(ralph.Merged{Task: id, Members: members, From: x.s.Plan.Integration.Tip, Commit: commit, Tree: "tree2", How: "merge", Took: 200 * time.Millisecond})
	x.checks(id, true)
	x.receipt(id, ralph.Advance{}, ralph.Why{Rule: "P-14", Text: "the checks pass on the merged tree"})
	x.add(ralph.Advanced{Task: id, Commit: commit, Tree: "tree2"})
	x.end(id, ralph.TaskDone, "B-006", "merged", false)
}

func (x *story) conflict(member ralph.TaskID, paths ...string) {
	id := x.merge(member)
	c := &ralph.Conflict{Ours: "a", Theirs: "b"}
	for _, p := range paths {
		c.Files = append(c.Files, ralph.ConflictFile{Path: p, Kind: "content", Marked: "<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n"})
	}
	x.add(ralph.Merged{Task: id, Members: []ralph.TaskID{member}, From: x.s.Plan.Integration.Tip, Conflict: c, At: member, Took: 200 * time.Millisecond})
	x.end(id, ralph.TaskFailed, "X-72", "conflict in "+paths[0], false)
}

// resolve is an agent that mends the merge of a task.
func (x *story) resolve(parent ralph.TaskID, slot int, d time.Duration) {
	id := ralph.TaskID(fmt.Sprintf("resolve:a-1:0:%s:1", parent))
	x.add(
		ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindResolve, Parent: parent, Name: "Resolve the merge of " + string(parent), Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: id, Slot: slot, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot)},
	)
	x.add(ralph.Prepared{Task: id, Dir: "ralph/.worktrees/1", Branch: "ralph/" + string(parent), Head: "c0ffee", Tree: "tree3", Conflicts: []string{"a.go"}})
	x.turn(id, d, complete)
	x.done(id)
}

func (x *story) land() {
	id := ralph.TaskID(fmt.Sprintf("land:a-1:0:%d", x.seq))
	i := x.s.Plan.Integration
	x.add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindLand, Name: "Land on main", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.receipt(id, ralph.Land{}, ralph.Why{Rule: "P-7", Text: "bring main up to ralph/feature-x"})
	x.add(ralph.Landed{Task: id, From: i.Landed, To: i.Tip, How: "fast-forward"})
	x.end(id, ralph.TaskDone, "P-7", "landed on main", false)
}

func (x *story) waits(files ...string) {
	id := ralph.TaskID(fmt.Sprintf("land:a-1:0:%d", x.seq))
	i := x.s.Plan.Integration
	x.add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindLand, Name: "Land on main", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.add(ralph.Landed{Task: id, From: i.Landed, To: i.Tip, Dirty: files})
	x.end(id, ralph.TaskSkipped, "P-7", "not landed: "+files[0], false)
	x.pass(5 * time.Second)
}

func (x *story) finish(reason ralph.Reason, detail string) {
	x.add(ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: reason, Detail: detail})
}

// sample is a session with one of everything: what people see most, and each thing
// that can go wrong.
func sample(folds ...*report.Report) *story {
	x := newStory(folds...)
	x.begin(
		ralph.Task{ID: "t-0001", Name: "Read the header", Tags: []string{"critical"}},
		ralph.Task{ID: "t-0002", Name: "Write the body <b>bold</b> | `code`"},
		ralph.Task{ID: "t-0003", Name: "Parse dates", MaxIterations: 2},
		ralph.Task{ID: "t-0004", Name: "Ask for the colour"},
		ralph.Task{ID: "t-0005", Name: "Drop the old tests"},
		ralph.Task{ID: "t-0006", Name: "Talk to the service"},
		ralph.Task{ID: "t-0007", Name: "Docs", Deps: []ralph.TaskID{"t-0006"}},
	)
	x.start("t-0001", 1)
	x.turn("t-0001", 40*time.Second, nil)
	x.turn("t-0001", 30*time.Second, complete)
	x.checks("t-0001", false)
	x.turn("t-0001", 20*time.Second, complete)
	x.checks("t-0001", true)
	x.done("t-0001")
	x.clean("t-0001")
	x.land()
	x.start("t-0002", 1)
	x.turn("t-0002", 70*time.Second, complete)
	x.checks("t-0002", true)
	x.done("t-0002")
	x.conflict("t-0002", "body.go")
	x.resolve("t-0002", 1, 45*time.Second)
	x.clean("t-0002")
	x.start("t-0003", 2)
	x.turn("t-0003", 60*time.Second, nil)
	x.turn("t-0003", 60*time.Second, nil)
	x.end("t-0003", ralph.TaskTimeout, "B-028", "no signal", false)
	x.start("t-0004", 2)
	x.turn("t-0004", 10*time.Second, func(f *ralph.TurnEnded) {
		f.Signal = ralph.Signal{Kind: ralph.SignalHuman, Text: "red or blue?"}
	})
	x.add(ralph.Asked{Gate: ralph.Gate{ID: "g-1a2b", Kind: "question", Task: "t-0004", Text: "red or blue?", AskedAt: x.now}})
	x.pass(90 * time.Second)
	x.add(ralph.Answered{ID: "g-1a2b", Text: "blue"})
	x.start("t-0004", 2)
	x.turn("t-0004", 25*time.Second, complete)
	x.checks("t-0004", true)
	x.done("t-0004")
	x.clean("t-0004")
	x.start("t-0005", 3)
	x.turn("t-0005", 35*time.Second, complete)
	x.checks("t-0005", true)
	x.done("t-0005", ralph.Finding{Path: "old_test.go", Line: 12, Kind: "removed", What: "TestOld"})
	hold := x.merge("t-0005")
	x.add(ralph.Asked{Gate: ralph.Gate{ID: "g-2b3c", Kind: ralph.GateMerge, Task: hold, About: "t-0005", Text: "t-0005 removes, skips or weakens tests: old_test.go:12 removed TestOld", AskedAt: x.now}})
	x.start("t-0006", 1)
	for range 2 {
		x.turn("t-0006", 15*time.Second, func(f *ralph.TurnEnded) {
			f.Exit, f.Code, f.Changed = ralph.ExitFailed, 1, false
			f.Err = &ralph.AgentError{Class: ralph.ErrClassServer, Message: "503 from upstream"}
		})
	}
	x.add(ralph.AgentLimited{Agent: "claude", Until: x.now.Add(time.Minute)})
	x.end("t-0006", ralph.TaskFailed, "B-073", "2 retries after: 503 from upstream", false)
	x.add(ralph.Control{Want: ralph.WantPause, Cause: "ralph pause"})
	x.pass(20 * time.Second)
	x.add(ralph.Control{Want: ralph.WantRun})
	x.waits("notes.txt")
	x.waits("notes.txt")
	x.finish(ralph.ReasonFailed, "1 failed, 1 timed out, 1 can never start")
	return x
}

// crowd is a session of n tasks in several slots, with trouble by the seed.
func crowd(n, slots int, seed uint64, folds ...*report.Report) *story {
	x := newStory(folds...)
	x.quiet = n > 100
	rnd := rand.New(rand.NewPCG(seed, 1))
	verbs := []string{"Add", "Split", "Rename", "Guard", "Cache", "Retry", "Document", "Validate", "Simplify", "Trace"}
	nouns := []string{"the parser", "the session store", "HTTP timeouts", "the config loader", "log rotation", "user quotas", "the date filter", "error pages"}
	tasks := make([]ralph.Task, n)
	for i := range tasks {
		tasks[i] = ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%04x", i+1)), Name: verbs[rnd.IntN(len(verbs))] + " " + nouns[rnd.IntN(len(nouns))]}
	}
	x.begin(tasks...)
	x.sideBySide(slots, func(slot int) bool {
		if len(tasks) == 0 {
			return false
		}
		id := tasks[0].ID
		tasks = tasks[1:]
		x.crowdTask(rnd, id, slot)
		return true
	})
	x.land()
	x.finish(ralph.ReasonComplete, "every task is done and merged")
	return x
}

// sideBySide runs slots that take turns in the order of their clocks, each until
// work says that there is no more.
func (x *story) sideBySide(slots int, work func(slot int) bool) {
	type clocked struct {
		at    time.Time
		next  func() (time.Duration, bool)
		yield func(time.Duration) bool
	}
	all := make([]*clocked, slots)
	for i := range all {
		c := &clocked{at: x.now}
		next, _ := iter.Pull(func(yield func(time.Duration) bool) {
			c.yield, x.yield = yield, yield
			for work(i + 1) {
			}
		})
		c.next, all[i] = next, c
	}
	for len(all) > 0 {
		c := slices.MinFunc(all, func(a, b *clocked) int { return a.at.Compare(b.at) })
		x.now, x.yield = c.at, c.yield
		d, more := c.next()
		c.at = x.now.Add(d)
		if !more {
			all = slices.DeleteFunc(all, func(o *clocked) bool { return o == c })
		}
	}
	x.yield = nil
}

func (x *story) crowdTask(rnd *rand.Rand, id ralph.TaskID, slot int) {
	x.start(id, slot)
	most := 5
	if x.quiet { // folding facts of thousands of tasks is what takes time
		most = 2
	}
	for range rnd.IntN(most) {
		x.turn(id, time.Duration(20+rnd.IntN(150))*time.Second, nil)
		if rnd.IntN(4) == 0 {
			x.checks(id, false)
		}
	}
	x.turn(id, time.Duration(20+rnd.IntN(150))*time.Second, complete)
	switch p := rnd.IntN(100); {
	case p < 4:
		x.end(id, ralph.TaskFailed, "B-073", "2 retries after: 503 from upstream", false)
	case p < 7:
		x.end(id, ralph.TaskTimeout, "B-029", "out of time", false)
	case p < 9:
		x.end(id, ralph.TaskBlocked, "B-024", "the schema of the old store is nowhere written down", false)
	default:
		x.checks(id, true)
		x.done(id)
		if p < 18 {
			x.conflict(id, "internal/store/store.go")
			x.resolve(id, slot, 50*time.Second)
		}
		x.clean(id)
		if rnd.IntN(6) == 0 {
			x.land()
		}
	}
}

// tell folds a whole story into its result.
func tell(t testing.TB, r *report.Report) *report.Result {
	t.Helper()
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}
