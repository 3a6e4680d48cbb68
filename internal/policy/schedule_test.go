package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

func moveWords(m policy.Move) string {
	switch m := m.(type) {
	case policy.Start:
		return "start " + string(m.Task)
	case policy.Hold:
		return "hold"
	case policy.Stop:
		return "stop " + string(m.Reason)
	case policy.Record:
		var out []string
		for _, f := range m.Facts {
			word := f.Kind()
			switch f := f.(type) {
			case ralph.TaskAdded:
				word += " " + string(f.Task.ID)
			case ralph.TaskStarted:
				word += " " + string(f.ID)
			case ralph.JobStarted:
				word += fmt.Sprintf(" %s resume=%v", f.ID, f.Resume)
			case ralph.JobEnded:
				word += " " + string(f.Status)
			}
			out = append(out, word)
		}
		return strings.Join(out, ", ")
	}
	return "?"
}

func (b *board) schedule(want string, mine ...ralph.TaskID) policy.Move {
	b.t.Helper()
	m := policy.Schedule(&b.s, mine, b.c, b.now)
	if got := moveWords(m); got != want {
		b.t.Errorf("Schedule: %s, want %s", got, want)
	}
	return m
}

func spec(id string, status ralph.SpecStatus) ralph.Fact {
	return ralph.SpecAdded{Spec: ralph.Spec{ID: ralph.SpecID(id), File: id + ".md", Status: status}}
}

// D-037 to D-041, D-064, X-08: which record FETCH takes.
func TestFetch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		facts []ralph.Fact
		want  string
	}{
		{"D-039 none", []ralph.Fact{spec("a", ralph.SpecDone)}, "stop inbox empty"},
		{"D-038 the first pending", []ralph.Fact{spec("a", ralph.SpecDone), spec("b", ralph.SpecFailed), spec("c", ralph.SpecPending), spec("d", ralph.SpecPending)}, "plan.started, job.started c resume=false"},
		{"D-064 an active one that nobody works on", []ralph.Fact{spec("a", ralph.SpecPending), spec("b", ralph.SpecActive)}, "plan.started, job.started b resume=false"},
		{"X-09 goes on with its plan", []ralph.Fact{spec("a", ralph.SpecPending), ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1", func(x *ralph.Task) { x.Status = ralph.TaskPending })}}, "job.started a resume=true"},
		{"X-88 another plan makes room", []ralph.Fact{spec("a", ralph.SpecPending), ralph.PlanStarted{File: "b.md"}, ralph.TaskAdded{Task: task("t-1", nil)}}, "plan.started, job.started a resume=false"},
		{"X-45 what failed gets another try", []ralph.Fact{spec("a", ralph.SpecPending), ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1", func(x *ralph.Task) { x.Status = ralph.TaskFailed })}}, "task.edited, job.started a resume=true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard(t, enginetest.Settings())
			b.add(tt.facts...)
			b.schedule(tt.want)
		})
	}
}

// D-052: a stop while agent --watch only waits interrupts nothing, so there is nothing to resume; one that
// comes while there is work does.
func TestStopWhileWatching(t *testing.T) {
	for _, tt := range []struct {
		name  string
		watch bool
		facts []ralph.Fact
		want  string
	}{
		{"it waits", true, []ralph.Fact{spec("a", ralph.SpecDone)}, "stop inbox empty"},
		{"a spec waits", true, []ralph.Fact{spec("a", ralph.SpecPending)}, "stop interrupted"},
		{"it does not watch", false, []ralph.Fact{spec("a", ralph.SpecDone)}, "stop interrupted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := enginetest.Settings()
			c.Watch = tt.watch
			b := newBoard(t, c)
			b.add(append(tt.facts, ralph.Control{Want: ralph.WantStop, Cause: "me"})...)
			b.schedule(tt.want)
			b.add(ralph.Control{Want: ralph.WantStop, Ends: ralph.ReasonUnanswered})
			b.schedule("stop " + string(ralph.ReasonUnanswered))
		})
	}
}

// D-031: a file queued again after its job ended gets a plan of its own.
func TestQueuedAgain(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.JobEnded{Status: ralph.SpecDone},
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-2", File: "a.md", Status: ralph.SpecPending}})
	b.schedule("plan.started, job.started q-2 resume=false")
}

// D-036, D-042 to D-048: the stages of one spec, step by step.
func TestJobInOrder(t *testing.T) {
	b := newBoard(t, enginetest.Settings())
	b.add(spec("a", ralph.SpecPending))
	do := func(want string, mine ...ralph.TaskID) {
		t.Helper()
		m, ok := b.schedule(want, mine...).(policy.Record)
		if !ok {
			t.FailNow()
		}
		b.add(m.Facts...)
	}
	stage := func(id ralph.TaskID, outcome ...ralph.Fact) {
		t.Helper()
		do("task.added " + string(id))
		do("task.started " + string(id))
		b.schedule("start " + string(id))
		b.schedule("hold", id)
		b.add(outcome...)
		b.add(ralph.TaskEnded{ID: id, Status: ralph.TaskDone})
	}
	do("plan.started, job.started a resume=false")
	stage("prepare:a", ralph.Prepared{Task: "prepare:a", Head: "h", Tree: "t"})
	stage("plan:a", ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}})
	do("task.started t-1")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
	stage("verify:a:1", ralph.IssueAdded{Issue: ralph.Issue{ID: "i-1", Desc: "slow"}})
	do("round.started")
	stage("investigate:a:2")
	stage("verify:a:2")
	stage("land:a", ralph.Committed{Task: "land:a", Commit: "c1"})
	do("job.ended done")
	b.schedule("stop inbox empty")
}

// Rounds end (construct.max_rounds), and a failed job is put away first (D-072, D-078).
func TestMaxRounds(t *testing.T) {
	c := enginetest.Settings()
	c.MaxRounds = 1
	b := building(t, c)
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
		ralph.TaskAdded{Task: ralph.Task{ID: "verify:q-1:1", Kind: ralph.KindVerify, Status: ralph.TaskDone}},
		ralph.TaskRejected{ID: "t-1", Reason: "no"})
	b.schedule("task.added shelve:q-1")
	b.c.Commit = false
	if m := b.schedule("job.ended failed").(policy.Record); !strings.Contains(m.Facts[0].(ralph.JobEnded).Error, "max_rounds") {
		t.Errorf("%+v", m)
	}
}

// A job that planned nothing is not complete (D-077).
func TestEmptyPlanFails(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.add(ralph.TaskRemoved{ID: "t-1"}, ralph.TaskAdded{Task: ralph.Task{ID: "plan:q-1", Kind: ralph.KindPlan, Status: ralph.TaskDone}})
	b.schedule("task.added shelve:q-1")
}

// What ends or holds a job besides the happy way.
func TestJobTable(t *testing.T) {
	two := ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}
	end := func(id ralph.TaskID, status ralph.TaskStatus) ralph.Fact {
		return ralph.TaskEnded{ID: id, Status: status}
	}
	for _, tt := range []struct {
		name  string
		edit  func(*policy.Config)
		facts []ralph.Fact
		mine  []ralph.TaskID
		want  string
	}{
		{"one slot, in use", nil, nil, []ralph.TaskID{"t-1"}, "hold"},
		{"B-095 a second slot is filled", func(c *policy.Config) { c.Parallel = 2 }, nil, []ralph.TaskID{"t-1"}, "task.started t-2"},
		{"B-054 who waits for an answer has no slot", nil, []ralph.Fact{ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1"}}}, []ralph.TaskID{"t-1"}, "task.started t-2"},
		{"an active one without a worker", nil, nil, nil, "start t-1"},
		{"a failed task lets the others end", nil, []ralph.Fact{ralph.TaskStarted{ID: "t-2"}, end("t-1", ralph.TaskFailed)}, []ralph.TaskID{"t-2"}, "hold"},
		{"a failed task ends the job", nil, []ralph.Fact{end("t-1", ralph.TaskFailed)}, nil, "task.added shelve:q-1"},
		{"a skipped one does not", nil, []ralph.Fact{end("t-1", ralph.TaskSkipped)}, nil, "task.started t-2"},
		{"a timeout is split", nil, []ralph.Fact{end("t-1", ralph.TaskTimeout)}, nil, "task.added decompose:q-1:t-1"},
		{"but only once", nil, []ralph.Fact{end("t-1", ralph.TaskTimeout), ralph.TaskAdded{Task: ralph.Task{ID: "d", Kind: ralph.KindDecompose, Parent: "t-1", Status: ralph.TaskDone}}}, nil, "task.added shelve:q-1"},
		{"B-031 a blocked one frees its slot", nil, []ralph.Fact{end("t-1", ralph.TaskBlocked)}, nil, "task.started t-2"},
		{"and fails the job when all else is done", nil, []ralph.Fact{end("t-1", ralph.TaskBlocked), end("t-2", ralph.TaskDone)}, nil, "task.added shelve:q-1"},
		{"task.delay", func(c *policy.Config) { c.TaskDelay = time.Second }, []ralph.Fact{end("t-1", ralph.TaskDone)}, nil, "hold"},
		{"a stage that failed", nil, []ralph.Fact{end("t-1", ralph.TaskDone), ralph.TaskAdded{Task: ralph.Task{ID: "verify:q-1:1", Kind: ralph.KindVerify, Status: ralph.TaskFailed}}}, nil, "task.added shelve:q-1"},
		{"D-051 a stop lets turns end", nil, []ralph.Fact{ralph.Control{Want: ralph.WantStop}}, []ralph.TaskID{"t-1"}, "hold"},
		{"D-052 then the spec is pending", nil, []ralph.Fact{ralph.Control{Want: ralph.WantStop}, end("t-1", ralph.TaskPending)}, nil, "job.ended pending"},
		{"B-057 a pause starts nothing", nil, []ralph.Fact{ralph.Control{Want: ralph.WantPause}, end("t-1", ralph.TaskDone)}, nil, "hold"},
		{"a commit under way outlives a stop", nil, []ralph.Fact{
			ralph.TaskAdded{Task: ralph.Task{ID: "land:q-1", Kind: ralph.KindLand, Status: ralph.TaskPending}},
			ralph.TaskStarted{ID: "land:q-1"},
			end("t-1", ralph.TaskDone),
			ralph.Control{Want: ralph.WantStop},
			end("land:q-1", ralph.TaskDone),
		}, nil, "job.ended done"},
		{"a commit not begun does not", nil, []ralph.Fact{
			ralph.TaskAdded{Task: ralph.Task{ID: "land:q-1", Kind: ralph.KindLand, Status: ralph.TaskPending}},
			end("t-1", ralph.TaskDone),
			ralph.Control{Want: ralph.WantStop},
		}, nil, "job.ended pending"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := enginetest.Settings()
			if tt.edit != nil {
				tt.edit(&c)
			}
			b := building(t, c, two)
			b.add(tt.facts...)
			b.now = b.now.Add(enginetest.Settings().TaskDelay)
			b.schedule(tt.want, tt.mine...)
		})
	}
}

// F-19, D-106, X-61: max-specs counts what this start of a session completes, whatever it
// completed before it was cut, or a session file says of it.
func TestMaxSpecsCountThisStart(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.MaxSpecs = 1
	for name, start := range map[string][]ralph.Fact{
		"resumed": {ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.JobStarted{Job: "q-0", File: "z.md"}, ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionStarted{ID: "s-1", Mode: "agent", Resumed: true}},
		"carried": {ralph.SessionStarted{ID: "s-1", Mode: "agent", Carry: &ralph.Carry{Completed: 1}}},
	} {
		b := newBoard(t, c)
		b.s = ralph.State{}
		b.add(start...)
		b.add(spec("q-1", ralph.SpecPending), spec("q-2", ralph.SpecPending))
		if b.s.Session.Completed != 1 {
			t.Fatalf("%s: %d completed before", name, b.s.Session.Completed)
		}
		b.add(b.schedule("plan.started, job.started q-1 resume=false").(policy.Record).Facts...)
		b.add(ralph.JobEnded{Status: ralph.SpecDone})
		if stop := b.schedule("stop max-specs reached").(policy.Stop); stop.Detail != "1 spec completed" {
			t.Errorf("%s: %s", name, stop.Detail)
		}
	}
}

// B-054: an answered task gives way when its slot is taken, and only then.
func TestAnsweredTaskYields(t *testing.T) {
	for parallel, want := range map[int][2]string{1: {"finish pending", "B-054"}, 2: {"turn 2 claude", "B-013"}} {
		c := enginetest.Settings()
		c.Parallel = parallel
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman}})
		b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1"}}, ralph.TaskStarted{ID: "t-2"}, ralph.Answered{ID: "g-1", Text: "yes"})
		b.want(want[0], want[1])
	}
}

// Replay: the recorded decisions come out the same; a receipt that stands at the
// wrong place, or says something else, is a difference; missing facts are an error.
func TestReplay(t *testing.T) {
	c := enginetest.Settings()
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := policy.Decode(raw)
	if again, err2 := back.Encode(); err != nil || err2 != nil || string(again) != string(raw) {
		t.Fatalf("settings do not survive: %s, %s", raw, again)
	}
	now := time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)
	good := ralph.StepStarted{
		Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1, Timeout: c.TaskTimeout},
		Why: ralph.Why{Rule: "D-044", Text: "start the task"}, BasedOnSeq: 4, DecidedAt: now,
	}
	start := []ralph.Fact{
		ralph.SessionStarted{ID: "s-1", Config: raw},
		ralph.JobStarted{Job: "q-1", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1"},
	}
	for _, tt := range []struct {
		name     string
		edit     func(*ralph.StepStarted)
		override func(*policy.Config)
		differ   string
	}{
		{"same", nil, nil, ""},
		{"other agent", nil, func(c *policy.Config) { c.Agents = []string{"codex"} }, "codex"},
		{"another step was recorded", func(f *ralph.StepStarted) { f.Step = ralph.Check{} }, nil, "turn 1 of claude"},
		{"another reason was recorded", func(f *ralph.StepStarted) { f.Why.Rule = "B-999" }, nil, "D-044"},
		{"at the wrong place", func(f *ralph.StepStarted) { f.BasedOnSeq = 3 }, nil, "saw fact 3 but stands after fact 4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := good
			if tt.edit != nil {
				tt.edit(&f)
			}
			var other func(policy.Config) policy.Config
			if tt.override != nil {
				o := c
				tt.override(&o)
				other = func(policy.Config) policy.Config { return o }
			}
			// A person's word (BasedOnSeq 0) is no decision of Next.
			got, err := replay.Replay(numbered(append(slices.Clone(start), f, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped})...), replay.ReplayOptions{With: other})
			if err != nil || got.Receipts != 1 || got.Differ != len(got.Differences) || (got.Differ == 1) != (tt.differ != "") {
				t.Fatalf("%+v, %v", got, err)
			}
			if tt.differ != "" && !strings.Contains(got.Differences[0].Now, tt.differ) {
				t.Errorf("difference %+v does not say %q", got.Differences[0], tt.differ)
			}
		})
	}
	for name, facts := range map[string][]ralph.Fact{
		"a decision before its session": {good},
		"settings that do not parse":    {ralph.SessionStarted{ID: "s-1", Config: []byte(`{"parallel":"x"}`)}},
	} {
		if _, err := replay.Replay(numbered(facts...), replay.ReplayOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := replay.Replay(func(yield func(ralph.Event) bool) { yield(ralph.Event{Seq: 7, Fact: start[0]}) }, replay.ReplayOptions{}); err == nil {
		t.Error("missing facts: no error")
	}
}

func numbered(facts ...ralph.Fact) func(func(ralph.Event) bool) {
	return func(yield func(ralph.Event) bool) {
		for i, f := range facts {
			if !yield(ralph.Event{Seq: int64(i + 1), At: time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC), Fact: f}) {
				return
			}
		}
	}
}

// Replay of one session leaves the others out, and other settings do not change
// what kind of session it was.
func TestReplayOfOneSession(t *testing.T) {
	c := enginetest.Settings()
	c.Commit, c.Session = true, "agent"
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decision := func(saw int64) ralph.Fact {
		return ralph.StepStarted{Task: "land:q-1", Step: ralph.Commit{}, Why: ralph.Why{Rule: "D-046", Text: "the spec is complete: commit its changes"}, BasedOnSeq: saw}
	}
	land := ralph.TaskAdded{Task: ralph.Task{ID: "land:q-1", Kind: ralph.KindLand, Status: ralph.TaskPending}}
	events := numbered(
		ralph.SessionStarted{ID: "s-1", Config: raw}, ralph.JobStarted{Job: "q-1", File: "a.md"}, land, ralph.TaskStarted{ID: "land:q-1"}, decision(4),
		ralph.SessionStarted{ID: "s-2", Config: raw}, ralph.TaskStarted{ID: "land:q-1"}, decision(7),
	)
	for session, want := range map[ralph.SessionID]replay.Replayed{
		"": {Sessions: 2, Receipts: 2}, "s-1": {Sessions: 1, Receipts: 1}, "s-2": {Sessions: 1, Receipts: 1}, "s-3": {},
	} {
		other := func(recorded policy.Config) policy.Config {
			recorded.MaxIterations++
			return recorded
		}
		got, err := replay.Replay(events, replay.ReplayOptions{Session: session, With: other})
		if err != nil || got.Sessions != want.Sessions || got.Receipts != want.Receipts || got.Differ != 0 {
			t.Errorf("session %q: %+v, %v; want %+v", session, got, err, want)
		}
	}
}

// A failure ends the job although another task waits for a person: with the job
// its question goes (B-054, D-078). A task at work is let finish first.
func TestAQuestionDoesNotHoldAFailureUp(t *testing.T) {
	c := enginetest.Settings()
	c.Commit, c.Parallel = true, 3
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}, ralph.Task{ID: "t-3", Name: "three", Status: ralph.TaskPending})
	b.add(ralph.TaskStarted{ID: "t-2"}, ralph.TaskStarted{ID: "t-3"})
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman}})
	b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1"}}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskFailed})
	b.schedule("hold", "t-1", "t-3")
	b.add(ralph.TaskEnded{ID: "t-3", Status: ralph.TaskDone})
	b.schedule("task.added shelve:q-1", "t-1")
}
