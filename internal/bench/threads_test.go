package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// BenchmarkThreads measures `ralph auto`: the engine and the journal are the real ones, the agents
// take no time at all.
//
//	go test -run '^$' -bench Threads -benchtime 1x ./internal/bench
func BenchmarkThreads(b *testing.B) {
	t := newTable("threads")
	b.Run("one", func(b *testing.B) { benchOneThread(b, t) })
	b.Run("many", func(b *testing.B) { benchManyThreads(b, t) })
	t.print(b)
}

// tireless are agents that end each turn at once with a changed file.
type tireless struct {
	*enginetest.Script
	mu    sync.Mutex
	turns map[ralph.TaskID]int
	total int
	at    map[int]int64 // the heap after so many turns, to be filled in
}

// Do implements engine.Doer.
func (x *tireless) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	turn, ok := step.(ralph.Turn)
	if !ok {
		return x.Script.Do(ctx, s, id, step)
	}
	x.look(id)
	f := enginetest.Says(ralph.SignalProgress, "more")
	f.Task, f.Stage, f.Agent, f.Iteration, f.Exit, f.Session, f.Ended = id, turn.Stage, turn.Agent, turn.Iteration, ralph.ExitOK, "session", time.Now().UTC()
	f.Tail = "I looked at the parser, and wrote a test for what it does with an empty line."
	return []ralph.Fact{f}, nil
}

// look counts a turn that begins.
func (x *tireless) look(id ralph.TaskID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns[id]++
	if _, ok := x.at[x.total]; ok {
		x.at[x.total] = heap()
	}
	x.total++
}

// ahead is the most turns that one thread began while another waited for one of the slots, by the facts. Who is
// about to get one that is free waits for none.
func ahead(b *testing.B, j *journal.File, slots int) (most int) {
	b.Helper()
	var s ralph.State
	passed := map[ralph.TaskID]map[ralph.TaskID]int{} // by thread that waits: the turns of others since
	err := j.Each(0, func(e ralph.Event) error {
		if f, ok := e.Fact.(ralph.StepStarted); ok {
			if _, ok := f.Step.(ralph.Turn); ok {
				delete(passed, f.Task)
				open := s.OpenThreads()
				full := len(open)-waiting(open) >= slots
				for _, t := range open {
					if t.Status != ralph.TaskPending || t.ID == f.Task || !full {
						continue
					}
					if passed[t.ID] == nil {
						passed[t.ID] = map[ralph.TaskID]int{}
					}
					passed[t.ID][f.Task]++
					most = max(most, passed[t.ID][f.Task])
				}
			}
		}
		s.Apply(e)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return most
}

// waiting is how many threads have no slot.
func waiting(open []*ralph.Task) (n int) {
	for _, t := range open {
		if t.Status == ralph.TaskPending {
			n++
		}
	}
	return n
}

// heap is what the program holds.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func cpuSelf() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// threads runs so many threads for so many turns each, in the checkout or in slots.
func threads(b *testing.B, n, turns, slots int) (*tireless, *journal.File) {
	b.Helper()
	dir := b.TempDir()
	if err := os.MkdirAll(dir+"/ralph", 0o755); err != nil {
		b.Fatal(err)
	}
	ids := 0
	j, err := journal.Open(journal.Options{Root: dir, Plan: true, NewID: func(prefix string) string { ids++; return fmt.Sprintf("%s-%04d", prefix, ids) }})
	if err != nil {
		b.Fatal(err)
	}
	c := enginetest.Settings()
	c.Session, c.Commit, c.Isolated, c.Parallel = ralph.ModeAuto, false, slots > 0, max(1, slots)
	c.TaskDelay = 0 // a wait is no work that is measured
	script := &enginetest.Script{Config: c, Repo: &enginetest.Repo{}}
	if slots > 0 {
		script.Git = enginetest.NewForest()
	}
	x := &tireless{Script: script, turns: map[ralph.TaskID]int{}, at: map[int]int64{}}
	begin(b, j, c, n, turns)
	for i := range n {
		x.turns[ralph.TaskID(fmt.Sprintf("t-%04d", i))] = 0
	}
	for _, part := range []int{1, 5, 9} {
		x.at[n*turns*part/10] = 0
	}
	host := engine.NewLocal(b.Context(), j, x, nil)
	if _, err := engine.Run(host, c); err != nil {
		b.Fatal(err)
	}
	if err := host.Close(); err != nil {
		b.Fatal(err)
	}
	for id, done := range x.turns {
		if done != turns {
			b.Fatalf("%s had %d turns, want %d", id, done, turns)
		}
	}
	return x, j
}

// begin writes the threads and the session into the journal.
func begin(b *testing.B, j *journal.File, c policy.Config, n, turns int) {
	b.Helper()
	config, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	err = j.Update(b.Context(), "bench", func(s *ralph.State) ([]ralph.Fact, error) {
		facts := []ralph.Fact{ralph.PlanStarted{}}
		for i := range n {
			added, err := s.AddThread(ralph.NewThread{ID: ralph.TaskID(fmt.Sprintf("t-%04d", i)), Prompt: "make the tests pass", Limits: ralph.ThreadLimits{Turns: turns}})
			if err != nil {
				return nil, err
			}
			facts = append(facts, added...)
		}
		return append(facts, ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto, Config: config}), nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// benchOneThread is the time between two turns: decided, written and begun.
func benchOneThread(b *testing.B, t *table) {
	for b.Loop() {
		_, j := threads(b, 1, size(2000, 20), 0)
		var gaps, decisions []time.Duration
		var ended, began time.Time
		err := j.Each(0, func(e ralph.Event) error {
			switch f := e.Fact.(type) {
			case ralph.TurnEnded:
				ended = e.At
			case ralph.StepStarted:
				switch f.Step.(type) {
				case ralph.Decide:
					began = e.At
				case ralph.Turn:
					if !ended.IsZero() {
						gaps = append(gaps, e.At.Sub(ended))
					}
				}
			case ralph.Decided:
				decisions = append(decisions, e.At.Sub(began))
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		each := decisionTime(b, j.State())
		_ = j.Close()
		row := func(list []time.Duration) string {
			return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", ms(rank(list, 0.5)), ms(rank(list, 0.99)))
		}
		b.ReportMetric(ms(rank(gaps, 0.99)), "gap-p99-ms")
		b.ReportMetric(float64(each.Microseconds()), "us/decision")
		t.goal("what the rules take to decide what comes next", fmt.Sprintf("%d us", each.Microseconds()), "at most 1 ms", each <= time.Millisecond)
		t.goal("from the end of a turn to the begin of the next, decided by the rules", row(gaps), "at most 50 ms", rank(gaps, 0.99) <= 50*time.Millisecond)
		t.add("the same: the step that decides, with its write", row(decisions))
	}
}

// decisionTime is what the rules take to decide what comes after the last turn of the thread.
func decisionTime(b *testing.B, s *ralph.State) time.Duration {
	b.Helper()
	c, err := policy.Decode(s.Session.Config)
	if err != nil {
		b.Fatal(err)
	}
	const n = 1000
	thread := s.Threads()[0]
	began := time.Now()
	for range n {
		f, _, err := policy.Advice(s, thread, c, began)
		if facts := policy.Tempered(s, f, c); err != nil || len(facts) != 1 {
			b.Fatal(facts, err)
		}
	}
	return time.Since(began) / n
}

// benchManyThreads is 100 threads of 200 turns each in eight slots: memory, fairness, cpu.
func benchManyThreads(b *testing.B, t *table) {
	n, turns, slots := size(100, 5), size(200, 20), size(8, 2)
	for b.Loop() {
		before := cpuSelf()
		x, j := threads(b, n, turns, slots)
		cpu := cpuSelf() - before
		jumped := ahead(b, j, slots)
		_ = j.Close()
		if jumped > 1 {
			b.Errorf("one thread began %d turns while another waited for a slot", jumped)
		}
		total := n * turns
		early, late := x.at[total/10], x.at[total*9/10]
		what := fmt.Sprintf("%d threads of %d turns in %d slots", n, turns, slots)
		each := ms(cpu) / float64(total)
		b.ReportMetric(each, "cpu-ms/turn")
		b.ReportMetric(float64(late)/float64(early), "x-heap")
		mib := func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
		t.goal(what+": heap after a tenth, half, nine tenths of the turns", fmt.Sprintf("%s, %s, %s MiB", mib(early), mib(x.at[total*5/10]), mib(late)), "no more than a tenth more", late <= early+early/10)
		t.goal(what+": turns that one thread began while another waited for a slot", fmt.Sprint(jumped), "at most 1", jumped <= 1)
		t.add(what+": cpu of the engine and the journal a turn", fmt.Sprintf("%.2f ms", each))
	}
}
