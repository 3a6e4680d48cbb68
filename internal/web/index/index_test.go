package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// tape is a journal in memory. With more than facts it makes them up as they are read.
type tape struct {
	mu    sync.Mutex
	facts []ralph.Event
	moved chan struct{}
	fail  error
}

func newTape() *tape { return &tape{moved: make(chan struct{})} }

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func (j *tape) add(at time.Time, by string, facts ...ralph.Fact) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range facts {
		j.facts = append(j.facts, ralph.Event{Seq: int64(len(j.facts) + 1), At: at, By: by, Fact: f})
	}
	close(j.moved)
	j.moved = make(chan struct{})
}

func (j *tape) Each(after int64, visit func(ralph.Event) error) error {
	j.mu.Lock()
	facts, err := j.facts[min(after, int64(len(j.facts))):], j.fail
	j.mu.Unlock()
	if err != nil {
		return err
	}
	for _, e := range facts {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (j *tape) Wait(ctx context.Context, seq int64) error {
	for {
		j.mu.Lock()
		n, moved := int64(len(j.facts)), j.moved
		j.mu.Unlock()
		if n > seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

func turn(task ralph.TaskID, agent string, cost float64, took time.Duration) ralph.TurnEnded {
	return ralph.TurnEnded{Task: task, Stage: ralph.KindBuild, Agent: agent, Exit: ralph.ExitOK, Took: took, Usage: ralph.Usage{Input: 1000, Output: 100, Cost: cost, Known: true}}
}

// record writes a session of a few tasks, every one on `agent`.
func (j *tape) record(id string, at time.Time, agent string, tasks int) time.Time {
	s := ralph.SessionStarted{ID: ralph.SessionID(id), Mode: "autopilot", Auto: ralph.Autopilot, Version: "1.2.3", Config: json.RawMessage(`{"parallel":2}`)}
	j.add(at, "engine", s, ralph.PlanStarted{File: id + ".md"})
	for i := range tasks {
		t := ralph.TaskID(fmt.Sprintf("t-%s%d", id, i))
		j.add(at, "engine", ralph.TaskAdded{Task: ralph.Task{ID: t, Name: "task " + string(t), Status: ralph.TaskPending}})
		j.add(at, "engine", ralph.TaskStarted{ID: t, Slot: 1 + i%2})
		for range 1 + i%3 {
			at = at.Add(20 * time.Second)
			j.add(at, "engine", turn(t, agent, 0.25, 20*time.Second), ralph.ChecksRan{Task: t, Pass: i%2 == 0})
		}
		status := ralph.TaskDone
		if i%4 == 3 {
			status = ralph.TaskFailed
		}
		j.add(at, "engine", ralph.TaskEnded{ID: t, Status: status, Slot: 1 + i%2, Why: ralph.Why{Rule: "B-020", Text: "so it is"}})
	}
	j.add(at, "engine", ralph.SessionEnded{Reason: ralph.ReasonComplete})
	return at
}

func read(t *testing.T, j *tape) *index.Index {
	t.Helper()
	x := index.New(index.Options{Journal: j, Zone: time.UTC})
	t.Cleanup(x.Close)
	x.Start()
	reach(t, x, int64(len(j.facts)))
	return x
}

func reach(t *testing.T, x *index.Index, seq int64) {
	t.Helper()
	if err := x.Reach(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
}

// figures of the report on a session, which reads the journal in its own way.
func figures(t *testing.T, j *tape, id ralph.SessionID) sessionreport.Figures {
	t.Helper()
	r, s := sessionreport.NewReport(sessionreport.ReportOptions{Session: id}), &ralph.State{}
	for _, e := range j.facts {
		s.Apply(e)
		r.Add(e, s)
	}
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result.Figures
}

// B-100 to B-103, A-117: what is said of past sessions is what their reports say.
func TestSessionsAreAsTheirReports(t *testing.T) {
	t.Parallel()
	j := newTape()
	at := j.record("s-1", start, "claude", 5)
	j.record("s-2", at.Add(26*time.Hour), "codex", 9)
	x := read(t, j)
	list := x.Sessions()
	if len(list) != 2 || list[0].ID != "s-2" || list[1].ID != "s-1" {
		t.Fatalf("sessions %v, newest first", list)
	}
	for _, s := range list {
		want := figures(t, j, s.ID)
		got := status.CountsOf(s.Totals)
		if got != want.Counts {
			t.Errorf("%s: counts\n got %+v\nwant %+v", s.ID, got, want.Counts)
		}
		if s.Running.Seconds() != want.RuntimeSeconds || s.Busy.Seconds() != want.BusySeconds {
			t.Errorf("%s: ran %v, busy %v, want %v and %v", s.ID, s.Running, s.Busy, want.RuntimeSeconds, want.BusySeconds)
		}
		if s.Ended != ralph.ReasonComplete || s.Version != "1.2.3" || s.Parallel != 2 || s.Autonomy != ralph.Autopilot {
			t.Errorf("%s: %+v", s.ID, s)
		}
	}
	if list[1].Last+1 != list[0].First || list[1].First != 1 {
		t.Errorf("the facts of s-1 are %d to %d, of s-2 from %d", list[1].First, list[1].Last, list[0].First)
	}
	if a := list[0].Agents; len(a) != 1 || a[0].Agent != "codex" || a[0].Turns != list[0].Totals.Turns {
		t.Errorf("agents of s-2: %+v", a)
	}
	days := x.Days()
	if len(days) != 2 || days[0].Cost+days[1].Cost != x.Overall().Usage.Cost || days[1].Done != list[0].Totals.TasksDone || days[1].Failed != list[0].Totals.TasksFail {
		t.Errorf("days %+v", days)
	}
	if days[1].At != time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) {
		t.Errorf("the second day begins at %v", days[1].At)
	}
	one, ok := x.Session("s-2")
	var sum index.Bucket
	for _, b := range one.Series.Buckets {
		sum.Cost, sum.Turns, sum.Busy, sum.Tokens = sum.Cost+b.Cost, sum.Turns+b.Turns, sum.Busy+b.Busy, sum.Tokens+b.Tokens
	}
	if !ok || sum.Cost != one.Totals.Usage.Cost || int(sum.Turns) != one.Totals.Turns || sum.Busy != one.Busy || sum.Tokens != 1100*int64(one.Totals.Turns) {
		t.Errorf("the series of s-2 add up to %+v of %+v", sum, one.Totals)
	}
}

// a session that was cut goes on as the same one, and what its dead engine had at
// work counts no longer than to the engine's last fact.
func TestResumedSession(t *testing.T) {
	t.Parallel()
	j := newTape()
	began := ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}
	j.add(start, "engine", began, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "t-1", Slot: 1})
	j.add(start.Add(time.Minute), "engine", turn("t-1", "claude", 1, time.Minute))
	began.Resumed = true
	j.add(start.Add(9*time.Hour), "engine", began, ralph.TaskStarted{ID: "t-1", Slot: 1})
	j.add(start.Add(9*time.Hour+time.Minute), "engine", turn("t-1", "claude", 1, time.Minute), ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, Slot: 1})
	x := read(t, j)
	s, ok := x.Session("s-1")
	if !ok || s.Resumed != 1 || s.Busy != 2*time.Minute || s.Running != 2*time.Minute || s.Ended != "" || s.Totals.Turns != 2 {
		t.Errorf("%+v", s)
	}
	if len(x.Sessions()) != 1 {
		t.Error("a resumed session counts twice")
	}
}

// A task's facts are found between the first and the last, also those of its merge.
func TestTask(t *testing.T) {
	t.Parallel()
	j := newTape()
	j.record("s-1", start, "claude", 3)
	merge := ralph.Task{ID: "merge:j:1", Kind: ralph.KindMerge, Members: []ralph.TaskID{"t-s-10"}}
	j.add(start.Add(time.Hour), "engine", ralph.TaskAdded{Task: merge}, ralph.Merged{Task: merge.ID, Members: merge.Members, Commit: "abc", Advanced: true})
	x := read(t, j)
	first, last, ok := x.Task("t-s-10")
	if !ok || first != 3 || last != int64(len(j.facts)) {
		t.Errorf("facts %d to %d (%v)", first, last, ok)
	}
	if _, _, ok := x.Task("t-none"); ok {
		t.Error("a task that never was is known")
	}
	for _, task := range x.Tasks() {
		if task.ID == merge.ID {
			t.Error("a merge is no task")
		}
		if task.ID == "t-s-11" && (task.Iterations != 2 || task.Status != ralph.TaskDone || task.Session != "s-1") {
			t.Errorf("%+v", task)
		}
	}
}

// Facts that come while it reads, and afterwards, are there in order and once.
func TestFollows(t *testing.T) {
	t.Parallel()
	j := newTape()
	at := j.record("s-1", start, "claude", 40)
	x := index.New(index.Options{Journal: j, Zone: time.UTC, Work: time.Nanosecond, Rest: time.Microsecond})
	defer x.Close()
	x.Start()
	for i := range 50 {
		at = at.Add(time.Second)
		j.add(at, "engine", ralph.Noted{Text: fmt.Sprintf("note %d", i)})
	}
	reach(t, x, int64(len(j.facts)))
	feed := x.Feed(50)
	if len(feed) != 50 {
		t.Fatalf("%d lines", len(feed))
	}
	for i, l := range feed {
		if l.Text != fmt.Sprintf("NOTE: note %d", i) || l.Names[len(l.Names)-1] != "noted" {
			t.Fatalf("line %d is %+v", i, l)
		}
	}
	if n := len(x.Feed(1 << 20)); n > 400 {
		t.Errorf("%d lines are kept", n)
	}
}

func TestProgressAndTrouble(t *testing.T) {
	t.Parallel()
	j := newTape()
	j.record("s-1", start, "claude", 1)
	j.fail = errors.New("the disk is gone")
	x := index.New(index.Options{Journal: j})
	if p := x.Progress(); p.Read != 0 || p.Caught || p.Err != nil {
		t.Errorf("before it began: %+v", p)
	}
	x.Start()
	if err := x.Reach(t.Context(), 1); err == nil || x.Progress().Err == nil {
		t.Errorf("Reach said %v, progress %+v", err, x.Progress())
	}
	x.Close()
	index.New(index.Options{Journal: j}).Close() // one that never began ends as well
}

// Who decided, and how: the first answer wins.
func TestDecided(t *testing.T) {
	t.Parallel()
	j := newTape()
	j.record("s-1", start, "claude", 1)
	ask := ralph.Approval{ID: "g-1", Kind: "operation", Task: "t-s-10", Text: "rm -rf build", AskedAt: start, InTurn: true, Never: true}
	j.add(start, "engine", ralph.Asked{Approval: ask})
	j.add(start.Add(time.Minute), "ada", ralph.Answered{ID: "g-1", Verdict: ralph.Denied, Text: "not here"})
	j.add(start.Add(2*time.Minute), "bob", ralph.Answered{ID: "g-1", Verdict: ralph.Approved})
	list := read(t, j).Decided()
	if len(list) != 1 || list[0].By != "ada" || list[0].Verdict != ralph.Denied || list[0].Answer != "not here" || list[0].Task != "t-s-10" || !list[0].WasNever {
		t.Errorf("%+v", list)
	}
}

// endless makes up facts of one session with a hundred tasks as they are read.
type endless struct{ n int64 }

func (j endless) fact(seq int64) ralph.Fact {
	if seq == 1 {
		return ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: json.RawMessage(`{"parallel":4}`)}
	}
	id := ralph.TaskID(fmt.Sprintf("t-%d", seq%100))
	if seq < 102 {
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "a task", Status: ralph.TaskPending}}
	}
	switch seq / 100 % 6 {
	case 0:
		return ralph.TaskStarted{ID: id, Slot: int(seq % 4)}
	case 1:
		return ralph.StepStarted{Task: id, Step: ralph.Turn{Agent: "claude"}, Why: ralph.Why{Rule: "B-010"}}
	case 2:
		return turn(id, "claude", 0.01, time.Duration(seq%500)*time.Second)
	case 3:
		return ralph.ChecksRan{Task: id, Pass: seq%3 > 0}
	case 4:
		return ralph.Noted{Task: id, Text: fmt.Sprintf("something that is worth a line, number %d", seq)}
	}
	return ralph.TaskEnded{ID: id, Status: ralph.TaskDone}
}

func (j endless) Each(after int64, visit func(ralph.Event) error) error {
	for seq := after + 1; seq <= j.n; seq++ {
		if err := visit(ralph.Event{Seq: seq, At: start.Add(time.Duration(seq) * time.Second), By: "engine", Fact: j.fact(seq)}); err != nil {
			return err
		}
	}
	return nil
}

func (j endless) Wait(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

func heapWith(t testing.TB, n int64) (x *index.Index, bytes uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	x = index.New(index.Options{Journal: endless{n}})
	x.Start()
	if err := x.Reach(context.Background(), n); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&m)
	return x, m.HeapAlloc - min(before, m.HeapAlloc)
}

// What is kept does not grow with facts: five times as many need no more.
func TestMemoryIsFlat(t *testing.T) { //nolint:paralleltest // it measures the heap
	small, few := heapWith(t, 40_000)
	large, many := heapWith(t, 200_000)
	if many > few+few/2+256<<10 {
		t.Errorf("200,000 facts need %d KB, 40,000 %d KB", many>>10, few>>10)
	}
	for _, x := range []*index.Index{small, large} {
		if s := x.Sessions(); len(s) != 1 || len(x.Tasks()) != 100 {
			t.Errorf("%d sessions, %d tasks", len(s), len(x.Tasks()))
		}
		x.Close()
	}
}

func BenchmarkMillionFacts(b *testing.B) {
	n := int64(1_000_000)
	if testing.Short() {
		n = 10_000 // only that it runs
	}
	for b.Loop() {
		began := time.Now()
		x, heap := heapWith(b, n)
		b.ReportMetric(float64(n)/time.Since(began).Seconds(), "facts/s")
		b.ReportMetric(float64(heap>>10), "KB")
		x.Close()
	}
}
