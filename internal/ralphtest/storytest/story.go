// Package storytest writes facts as an engine would, and folds them: what tests of reports
// and of status tell of. It does NOT own any expectation.
package storytest

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// Fold is told each fact of a story, with the state after it: the report of a session is one.
type Fold interface {
	Add(ralph.Event, *ralph.State)
}

// Story writes facts as an engine would, and folds them into a state, a log and a report.
type Story struct {
	S      *ralph.State
	Now    time.Time
	Seq    int64
	Log    report.Log
	Lines  []string
	Events []ralph.Event
	Folds  []Fold
	Yield  func(time.Duration) bool // gives way to the other slots
	Quiet  bool                     // only the folds are of interest
	By     string                   // whose facts these are
}

func New(folds ...Fold) *Story {
	return &Story{S: &ralph.State{}, Now: Clock("2025-01-20T10:00:00Z"), Folds: folds, By: "engine"}
}

// Add records facts in one write.
func (x *Story) Add(facts ...ralph.Fact) {
	for i, f := range facts {
		x.Seq++
		e := ralph.Event{Seq: x.Seq, At: x.Now, By: x.By, Hash: fmt.Sprintf("%064x", x.Seq*2654435761), Fact: f, More: i < len(facts)-1}
		x.S.Apply(e)
		if !x.Quiet {
			x.Lines = append(x.Lines, x.Log.Lines(e, x.S)...)
			x.Events = append(x.Events, e)
		}
		for _, r := range x.Folds {
			r.Add(e, x.S)
		}
	}
}

// Pass lets time go on; in a crowd the other slots work meanwhile.
func (x *Story) Pass(d time.Duration) {
	if x.Yield != nil {
		x.Yield(d)
		return
	}
	x.Now = x.Now.Add(d)
}

// Said returns the log lines since the last call.
func (x *Story) Said() []string {
	out := x.Lines
	x.Lines = nil
	return out
}

const PilotConfig = `{"session":"autopilot","parallel":3,"agents":["claude","codex"],"max_iterations":50,"task_timeout":1800000000000,` +
	`"max_retries":2,"strategy":"retry","checks":true,"isolated":true,"max_consecutive":3,"batch":4,"resolver":"agent"}`

// Begin starts an autopilot session on tasks.
func (x *Story) Begin(tasks ...ralph.Task) {
	x.Add(ralph.PlanStarted{File: "feature-x.md"})
	for _, t := range tasks {
		t.Status = ralph.TaskPending
		x.Add(ralph.TaskAdded{Task: t})
	}
	x.Pass(time.Second)
	x.Add(ralph.SessionStarted{ID: "s-20250120T100000Z-1a2b", Mode: "autopilot", Config: []byte(PilotConfig), Version: "1.0.0", Pid: 42})
	x.Add(ralph.JobStarted{Job: "a-1", File: "feature-x.md", Resume: true})
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "prepare:a-1", Kind: ralph.KindPrepare, Name: "Prepare", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "prepare:a-1"})
	x.Add(
		ralph.Prepared{Task: "prepare:a-1", Head: "base000111", Branch: "main", Tree: "tree0"},
		ralph.IntegrationStarted{Branch: "ralph/feature-x", Base: "main", From: "base000111", Tip: "base000111", Tree: "tree0"},
	)
	x.Add(ralph.TaskEnded{ID: "prepare:a-1", Status: ralph.TaskDone, BasedOnSeq: x.Seq})
	x.Pass(time.Second)
}

func (x *Story) Start(id ralph.TaskID, slot int) {
	x.Add(ralph.TaskStarted{ID: id, Slot: slot, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot)})
	x.Receipt(id, ralph.Prepare{}, ralph.Why{Rule: "B-005", Text: "make its worktree ready"})
	x.Add(ralph.Prepared{Task: id, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot), Branch: "ralph/" + string(id), Base: "base000111", Head: "base000111", Tree: "tree0", Took: 90 * time.Millisecond})
}

func (x *Story) Receipt(id ralph.TaskID, step ralph.Step, why ralph.Why) {
	if x.Quiet {
		return
	}
	x.Add(ralph.StepStarted{Task: id, Step: step, Why: why, BasedOnSeq: x.Seq, DecidedAt: x.Now})
}

// Turn is one iteration of an agent that takes d.
func (x *Story) Turn(id ralph.TaskID, d time.Duration, edit func(*ralph.TurnEnded)) {
	t := x.S.Task(id)
	stage := ralph.KindBuild
	if t.Kind != "" {
		stage = t.Kind
	}
	x.Receipt(id, ralph.Turn{Stage: stage, Agent: "claude", Iteration: t.Run.Iterations + 1}, ralph.Why{Rule: "B-026", Text: "no signal yet"})
	x.Pass(d)
	x.Add(TurnOf(t, stage, d, edit))
}

func TurnOf(t *ralph.Task, stage ralph.TaskKind, d time.Duration, edit func(*ralph.TurnEnded)) ralph.TurnEnded {
	f := ralph.TurnEnded{
		Task: t.ID, Stage: stage, Agent: "claude", Iteration: t.Run.Iterations + 1, Exit: ralph.ExitOK, Changed: true, Took: d,
		Usage: ralph.Usage{Input: 1200, Output: 900, CacheRead: 20000, Cost: 0.08, Known: true},
	}
	if edit != nil {
		edit(&f)
	}
	return f
}

func Complete(f *ralph.TurnEnded) { f.Signal = ralph.Signal{Kind: ralph.SignalComplete} }

func (x *Story) Checks(id ralph.TaskID, pass bool) {
	x.Receipt(id, ralph.Check{}, ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"})
	x.Pass(2 * time.Second)
	res := ralph.CheckResult{Name: "go test ./...", Command: "go test ./...", Pass: pass, Took: 2 * time.Second}
	if !pass {
		res.Exit, res.Output = 1, "--- stdout ---\nFAIL parse_test.go:12\n"
	}
	x.Add(ralph.ChecksRan{Task: id, Pass: pass, Tree: "tree1", Results: []ralph.CheckResult{res}, Took: 2 * time.Second})
}

// Done commits a task's work and queues it: as policy.Ending does, in one write.
func (x *Story) Done(id ralph.TaskID, weakened ...ralph.Finding) {
	t := x.S.Task(id)
	slot := t.Run.Worktree.Slot
	commit := "c0ffee" + string(id[2:])
	x.Add(ralph.Committed{Task: id, Commit: commit, Short: commit[:7], Subject: t.Name, Weakened: weakened})
	facts := []ralph.Fact{ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Slot: slot, Why: ralph.Why{Rule: "B-022", Text: "COMPLETE and the checks pass"}, BasedOnSeq: x.Seq, DecidedAt: x.Now}}
	queued := id
	if t.Kind == ralph.KindResolve {
		queued = t.Parent
	}
	x.Add(append(facts, ralph.MergeQueued{Task: queued, Branch: "ralph/" + string(queued), Commit: commit})...)
}

func (x *Story) End(id ralph.TaskID, status ralph.TaskStatus, rule, text string, retry bool) {
	x.Add(ralph.TaskEnded{ID: id, Status: status, Retry: retry, Slot: x.S.Task(id).Run.Worktree.Slot, Why: ralph.Why{Rule: rule, Text: text}, BasedOnSeq: x.Seq, DecidedAt: x.Now})
}

// Merge begins the merge of tasks; what comes of it is told by the caller.
func (x *Story) Merge(members ...ralph.TaskID) ralph.TaskID {
	id := ralph.TaskID(fmt.Sprintf("merge:a-1:0:%d", x.Seq))
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindMerge, Name: "Merge", Members: members, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.Receipt(id, ralph.Merge{Members: members, Into: x.S.Plan.Integration.Tip}, ralph.Why{Rule: "B-006", Text: "merge into ralph/feature-x"})
	x.Pass(200 * time.Millisecond)
	return id
}

// Clean is a merge whose checks pass.
func (x *Story) Clean(members ...ralph.TaskID) {
	id := x.Merge(members...)
	commit := fmt.Sprintf("%07xfeed", x.Seq)
	x.Add(ralph.Merged{Task: id, Members: members, From: x.S.Plan.Integration.Tip, Commit: commit, Tree: "tree2", How: "merge", Took: 200 * time.Millisecond})
	x.Checks(id, true)
	x.Receipt(id, ralph.Advance{}, ralph.Why{Rule: "P-14", Text: "the checks pass on the merged tree"})
	x.Add(ralph.Advanced{Task: id, Commit: commit, Tree: "tree2"})
	x.End(id, ralph.TaskDone, "B-006", "merged", false)
}

func (x *Story) Conflict(member ralph.TaskID, paths ...string) {
	id := x.Merge(member)
	c := &ralph.Conflict{Ours: "a", Theirs: "b"}
	for _, p := range paths {
		c.Files = append(c.Files, ralph.ConflictFile{Path: p, Kind: "content", Marked: "<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n"})
	}
	x.Add(ralph.Merged{Task: id, Members: []ralph.TaskID{member}, From: x.S.Plan.Integration.Tip, Conflict: c, At: member, Took: 200 * time.Millisecond})
	x.End(id, ralph.TaskFailed, "X-72", "conflict in "+paths[0], false)
}

// Resolve is an agent that mends the merge of a task.
func (x *Story) Resolve(parent ralph.TaskID, slot int, d time.Duration) {
	id := ralph.TaskID(fmt.Sprintf("resolve:a-1:0:%s:1", parent))
	x.Add(
		ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindResolve, Parent: parent, Name: "Resolve the merge of " + string(parent), Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: id, Slot: slot, Dir: fmt.Sprintf("ralph/.worktrees/%d", slot)},
	)
	x.Add(ralph.Prepared{Task: id, Dir: "ralph/.worktrees/1", Branch: "ralph/" + string(parent), Head: "c0ffee", Tree: "tree3", Conflicts: []string{"a.go"}})
	x.Turn(id, d, Complete)
	x.Done(id)
}

func (x *Story) Land() {
	id := ralph.TaskID(fmt.Sprintf("land:a-1:0:%d", x.Seq))
	i := x.S.Plan.Integration
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindLand, Name: "Land on main", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.Receipt(id, ralph.Land{}, ralph.Why{Rule: "P-7", Text: "bring main up to ralph/feature-x"})
	x.Add(ralph.Landed{Task: id, From: i.Landed, To: i.Tip, How: "fast-forward"})
	x.End(id, ralph.TaskDone, "P-7", "landed on main", false)
}

func (x *Story) Waits(files ...string) {
	id := ralph.TaskID(fmt.Sprintf("land:a-1:0:%d", x.Seq))
	i := x.S.Plan.Integration
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindLand, Name: "Land on main", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	x.Add(ralph.Landed{Task: id, From: i.Landed, To: i.Tip, Dirty: files})
	x.End(id, ralph.TaskSkipped, "P-7", "not landed: "+files[0], false)
	x.Pass(5 * time.Second)
}

func (x *Story) Finish(reason ralph.Reason, detail string) {
	x.Add(ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: reason, Detail: detail})
}

// Sample is a session with one of everything: what people see most, and each thing
// that can go wrong.
func Sample(folds ...Fold) *Story {
	x := New(folds...)
	x.Begin(
		ralph.Task{ID: "t-0001", Name: "Read the header", Tags: []string{"critical"}},
		ralph.Task{ID: "t-0002", Name: "Write the body <b>bold</b> | `code`"},
		ralph.Task{ID: "t-0003", Name: "Parse dates", MaxIterations: 2},
		ralph.Task{ID: "t-0004", Name: "Ask for the colour"},
		ralph.Task{ID: "t-0005", Name: "Drop the old tests"},
		ralph.Task{ID: "t-0006", Name: "Talk to the service"},
		ralph.Task{ID: "t-0007", Name: "Docs", Deps: []ralph.TaskID{"t-0006"}},
	)
	x.Start("t-0001", 1)
	x.Turn("t-0001", 40*time.Second, nil)
	x.Turn("t-0001", 30*time.Second, Complete)
	x.Checks("t-0001", false)
	x.Turn("t-0001", 20*time.Second, Complete)
	x.Checks("t-0001", true)
	x.Done("t-0001")
	x.Clean("t-0001")
	x.Land()
	x.Start("t-0002", 1)
	x.Turn("t-0002", 70*time.Second, Complete)
	x.Checks("t-0002", true)
	x.Done("t-0002")
	x.Conflict("t-0002", "body.go")
	x.Resolve("t-0002", 1, 45*time.Second)
	x.Clean("t-0002")
	x.Start("t-0003", 2)
	x.Turn("t-0003", 60*time.Second, nil)
	x.Turn("t-0003", 60*time.Second, nil)
	x.End("t-0003", ralph.TaskTimeout, "B-028", "no signal", false)
	x.Start("t-0004", 2)
	x.Turn("t-0004", 10*time.Second, func(f *ralph.TurnEnded) {
		f.Signal = ralph.Signal{Kind: ralph.SignalHuman, Text: "red or blue?"}
	})
	x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-1a2b", Kind: "question", Task: "t-0004", Text: "red or blue?", AskedAt: x.Now}})
	x.Pass(90 * time.Second)
	x.Add(ralph.Answered{ID: "g-1a2b", Text: "blue"})
	x.Start("t-0004", 2)
	x.Turn("t-0004", 25*time.Second, Complete)
	x.Checks("t-0004", true)
	x.Done("t-0004")
	x.Clean("t-0004")
	x.Start("t-0005", 3)
	x.Turn("t-0005", 35*time.Second, Complete)
	x.Checks("t-0005", true)
	x.Done("t-0005", ralph.Finding{Path: "old_test.go", Line: 12, Kind: "removed", What: "TestOld"})
	hold := x.Merge("t-0005")
	x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-2b3c", Kind: ralph.ApprovalMerge, Task: hold, About: "t-0005", Text: "t-0005 removes, skips or weakens tests: old_test.go:12 removed TestOld", AskedAt: x.Now}})
	x.Start("t-0006", 1)
	for range 2 {
		x.Turn("t-0006", 15*time.Second, func(f *ralph.TurnEnded) {
			f.Exit, f.Code, f.Changed = ralph.ExitFailed, 1, false
			f.Err = &ralph.AgentError{Class: ralph.ErrClassServer, Message: "503 from upstream"}
		})
	}
	x.Add(ralph.AgentLimited{Agent: "claude", Until: x.Now.Add(time.Minute)})
	x.End("t-0006", ralph.TaskFailed, "B-073", "2 retries after: 503 from upstream", false)
	x.Add(ralph.Control{Want: ralph.WantPause, Cause: "ralph pause"})
	x.Pass(20 * time.Second)
	x.Add(ralph.Control{Want: ralph.WantRun})
	x.Waits("notes.txt")
	x.Waits("notes.txt")
	x.Finish(ralph.ReasonFailed, "1 failed, 1 timed out, 1 can never start")
	return x
}

// Crowd is a session of n tasks in several slots, with trouble by the seed.
func Crowd(n, slots int, seed uint64, folds ...Fold) *Story {
	x := New(folds...)
	x.Quiet = n > 100
	rnd := rand.New(rand.NewPCG(seed, 1))
	verbs := []string{"Add", "Split", "Rename", "Guard", "Cache", "Retry", "Document", "Validate", "Simplify", "Trace"}
	nouns := []string{"the parser", "the session store", "HTTP timeouts", "the config loader", "log rotation", "user quotas", "the date filter", "error pages"}
	tasks := make([]ralph.Task, n)
	for i := range tasks {
		tasks[i] = ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%04x", i+1)), Name: verbs[rnd.IntN(len(verbs))] + " " + nouns[rnd.IntN(len(nouns))]}
	}
	x.Begin(tasks...)
	x.SideBySide(slots, func(slot int) bool {
		if len(tasks) == 0 {
			return false
		}
		id := tasks[0].ID
		tasks = tasks[1:]
		x.CrowdTask(rnd, id, slot)
		return true
	})
	x.Land()
	x.Finish(ralph.ReasonComplete, "every task is done and merged")
	return x
}

// SideBySide runs slots that take turns in the order of their clocks, each until
// work says that there is no more.
func (x *Story) SideBySide(slots int, work func(slot int) bool) {
	type clocked struct {
		at    time.Time
		next  func() (time.Duration, bool)
		yield func(time.Duration) bool
	}
	all := make([]*clocked, slots)
	for i := range all {
		c := &clocked{at: x.Now}
		next, _ := iter.Pull(func(yield func(time.Duration) bool) {
			c.yield, x.Yield = yield, yield
			for work(i + 1) {
			}
		})
		c.next, all[i] = next, c
	}
	for len(all) > 0 {
		c := slices.MinFunc(all, func(a, b *clocked) int { return a.at.Compare(b.at) })
		x.Now, x.Yield = c.at, c.yield
		d, more := c.next()
		c.at = x.Now.Add(d)
		if !more {
			all = slices.DeleteFunc(all, func(o *clocked) bool { return o == c })
		}
	}
	x.Yield = nil
}

func (x *Story) CrowdTask(rnd *rand.Rand, id ralph.TaskID, slot int) {
	x.Start(id, slot)
	most := 5
	if x.Quiet { // folding facts of thousands of tasks is what takes time
		most = 2
	}
	for range rnd.IntN(most) {
		x.Turn(id, time.Duration(20+rnd.IntN(150))*time.Second, nil)
		if rnd.IntN(4) == 0 {
			x.Checks(id, false)
		}
	}
	x.Turn(id, time.Duration(20+rnd.IntN(150))*time.Second, Complete)
	switch p := rnd.IntN(100); {
	case p < 4:
		x.End(id, ralph.TaskFailed, "B-073", "2 retries after: 503 from upstream", false)
	case p < 7:
		x.End(id, ralph.TaskTimeout, "B-029", "out of time", false)
	case p < 9:
		x.End(id, ralph.TaskBlocked, "B-024", "the schema of the old store is nowhere written down", false)
	default:
		x.Checks(id, true)
		x.Done(id)
		if p < 18 {
			x.Conflict(id, "internal/store/store.go")
			x.Resolve(id, slot, 50*time.Second)
		}
		x.Clean(id)
		if rnd.IntN(6) == 0 {
			x.Land()
		}
	}
}

// Controlled is a session with budgets and two agents, at work on one of two tasks.
func Controlled(config string) *Story {
	x := New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One", Phase: "core"}, ralph.Task{ID: "t-0002", Name: "Two", Phase: "core"})
	x.S.Session.Config = json.RawMessage(`{"session":"autopilot","parallel":2,"agents":["claude","codex"],"max_iterations":50,"max_retries":2,"retry_base":2000000000,` +
		`"strategy":"retry","max_consecutive":3,"recover_primary":true` + config + `}`)
	x.Start("t-0001", 1)
	return x
}

func (x *Story) Fails(id ralph.TaskID, class ralph.ErrorClass, message string) {
	x.Turn(id, 10*time.Second, func(f *ralph.TurnEnded) {
		f.Exit, f.Code, f.Err = ralph.ExitFailed, 1, &ralph.AgentError{Class: class, Message: message}
	})
}

// Status are the lines of `ralph status` under the names given; all others are left out.
func (x *Story) Status(engine status.Engine, names ...string) string {
	var out []string
	keep := false
	for line := range strings.Lines(status.Text(x.S, engine, x.Now)) {
		if name, _, _ := strings.Cut(line, ":"); !strings.HasPrefix(line, " ") {
			keep = slices.Contains(names, name) || slices.Contains(names, strings.TrimRight(name, " 0123456789"))
		}
		if keep && strings.TrimSpace(line) != "" {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

func (x *Story) Want(t *testing.T, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
}

// Hour writes the time of day in so long, as people here see it.
func (x *Story) Hour(in time.Duration) string { return x.Now.Add(in).Local().Format("15:04:05") }

func Alive() status.Engine { return status.Engine{Alive: true, Pid: 42} }

// Morning is what a Story adds up to.
func (x *Story) Morning(from time.Time) *status.Morning {
	return status.MorningOf(x.Events, status.Engine{Alive: x.S.Session.Live()}, from, x.Now)
}

// Limited is a turn that its agent could not do, with the facts that the executor and the
// policy write then: each minute of an outage has these, with a pause and its end.
func (x *Story) Limited(id ralph.TaskID, class ralph.ErrorClass, until time.Duration) {
	x.Add(ralph.TaskStarted{ID: id})
	x.Receipt(id, ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, ralph.Why{Rule: "B-026"})
	x.Pass(300 * time.Millisecond)
	away := ralph.AgentLimited{Agent: "claude", Task: id, Since: x.Now, Until: x.Now.Add(until), Hard: true, Message: "connection refused"}
	if class == ralph.ErrClassAuth || class == ralph.ErrClassNetwork {
		away.Class = class
	}
	x.Add(TurnOf(x.S.Task(id), ralph.KindBuild, 300*time.Millisecond, func(f *ralph.TurnEnded) {
		f.Exit, f.Err, f.Changed = ralph.ExitFailed, &ralph.AgentError{Class: class, Message: "connection refused"}, false
		f.Usage = ralph.Usage{Known: true}
	}), away)
	x.Add(ralph.TaskEnded{ID: id, Status: ralph.TaskPending, Why: ralph.Why{Rule: "X-38"}})
	x.Add(ralph.AllLimited{Task: id, Agents: []string{"claude"}, Until: away.Until}, ralph.Control{Want: ralph.WantPause, From: ralph.PauseLimits, Cause: "no agent can be used now"})
	x.Pass(until)
	x.Add(ralph.Control{Want: ralph.WantRun, From: ralph.PauseLimits, Cause: "an agent may be used again"})
}

// Good is a turn that is done, and its task.
func (x *Story) Good(id ralph.TaskID, d time.Duration) {
	x.Start(id, 1)
	x.Turn(id, d, nil)
	x.Add(ralph.ChecksRan{Task: id, Pass: true, Results: []ralph.CheckResult{{Name: "go test ./...", Pass: true}}, Took: time.Second})
	x.Add(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Why: ralph.Why{Rule: "B-020"}, Slot: 1})
}

func Clock(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}
