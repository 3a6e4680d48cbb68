package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// benchPause is how soon 32 slots heed a pause and a resume that another process
// writes. The engine and the journal are the real ones; agents only take 20 ms a turn.
func benchPause(b *testing.B, t *table) {
	slots, rounds := size(32, 4), size(40, 2)
	for b.Loop() {
		w := newFleet(b, slots)
		var late, reached, began []time.Duration
		for range rounds {
			w.until("every slot at work", func(s *ralph.State) bool { return s.Turning() == slots })
			at, seq := w.say(ralph.WantPause)
			w.until("the pause", func(s *ralph.State) bool { return s.Mode() == "paused" })
			last, ends := at, at
			w.each(seq, func(e ralph.Event) {
				switch f := e.Fact.(type) {
				case ralph.StepStarted:
					if f.Step.StepName() == "turn" {
						last = e.At
					}
				case ralph.TurnEnded:
					ends = e.At
				}
			})
			late = append(late, last.Sub(at))
			reached = append(reached, ends.Sub(at))
			at, seq = w.say(ralph.WantRun)
			w.until("every slot at work again", func(s *ralph.State) bool { return s.Turning() == slots })
			n := 0
			w.each(seq, func(e ralph.Event) {
				if f, ok := e.Fact.(ralph.StepStarted); ok && f.Step.StepName() == "turn" && n < slots {
					began = append(began, e.At.Sub(at))
					n++
				}
			})
		}
		w.close()
		b.ReportMetric(ms(rank(late, 0.99)), "pause-p99-ms")
		b.ReportMetric(ms(rank(began, 0.99)), "resume-p99-ms")
		row := func(list []time.Duration) string {
			return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", ms(rank(list, 0.5)), ms(rank(list, 0.99)))
		}
		soon := func(list []time.Duration) bool { return rank(list, 0.99) <= 100*time.Millisecond }
		t.goal(fmt.Sprintf("%d slots: from a pause to the last turn that still begins", slots), row(late), "at most 100 ms", soon(late))
		t.add("the same: to the end of the last turn of 20 ms", row(reached))
		t.goal("the same: from a resume to the next turn of a slot", row(began), "at most 100 ms", soon(began))
	}
}

// rank is the value below which a share of the list lies.
func rank[T cmp.Ordered](list []T, share float64) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// fleet is an engine with slots whose agents go on for ever, and a second look at its
// journal, as another process has one.
type fleet struct {
	tb   testing.TB
	mine *journal.File
	host *engine.Local
	far  *journal.File
	done chan error
}

func newFleet(tb testing.TB, slots int) *fleet {
	dir := tb.TempDir()
	if err := os.MkdirAll(dir+"/ralph", 0o755); err != nil {
		tb.Fatal(err)
	}
	n := 0
	open := func() *journal.File {
		j, err := journal.Open(journal.Options{Root: dir, Plan: true, NewID: func(prefix string) string { n++; return fmt.Sprintf("%s-%04d", prefix, n) }})
		if err != nil {
			tb.Fatal(err)
		}
		return j
	}
	c := enginetest.Settings()
	c.Session, c.Only, c.Commit, c.Parallel = "construct", "a.md", false, slots
	c.MaxIterations, c.NoProgressTurns, c.TaskTimeout = 1<<30, 0, 0
	c.TaskDelay = 0 // a wait is no work that is measured
	config, err := c.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	facts := []ralph.Fact{ralph.PlanStarted{File: "a.md"}}
	for i := range slots {
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%04d", i)), Name: "work", Status: ralph.TaskPending}})
	}
	facts = append(facts, ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: config})
	w := &fleet{tb: tb, mine: open(), far: open(), done: make(chan error, 1)}
	if err := w.mine.Update(tb.Context(), "bench", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		tb.Fatal(err)
	}
	script := &enginetest.Script{
		Config: c, Repo: &enginetest.Repo{}, Took: 20 * time.Millisecond,
		Agent: func(enginetest.Call) []ralph.Fact { return []ralph.Fact{enginetest.Says(ralph.SignalNone, "")} },
	}
	w.host = engine.NewLocal(context.WithoutCancel(tb.Context()), w.mine, script, nil)
	go func() {
		_, err := engine.Run(w.host, c)
		w.done <- err
	}()
	return w
}

// say writes what a person wants, and returns when that is in the journal.
func (w *fleet) say(want ralph.Want) (at time.Time, seq int64) {
	w.tb.Helper()
	seq = w.far.State().Seq
	if err := w.far.Update(w.tb.Context(), "bench", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "bench") }); err != nil {
		w.tb.Fatal(err)
	}
	w.each(seq, func(e ralph.Event) {
		if f, ok := e.Fact.(ralph.Control); ok && f.Want == want {
			at, seq = e.At, e.Seq
		}
	})
	return at, seq
}

func (w *fleet) until(what string, is func(*ralph.State) bool) {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(w.tb.Context(), time.Minute)
	defer cancel()
	for {
		s := w.far.State()
		if is(s) {
			return
		}
		if err := w.far.Wait(ctx, s.Seq); err != nil {
			w.tb.Fatalf("%s: %v", what, err)
		}
	}
}

func (w *fleet) each(after int64, do func(ralph.Event)) {
	w.tb.Helper()
	if err := w.far.Each(after, func(e ralph.Event) error { do(e); return nil }); err != nil {
		w.tb.Fatal(err)
	}
}

func (w *fleet) close() {
	w.say(ralph.WantStop)
	if err := <-w.done; err != nil {
		w.tb.Error(err)
	}
	_ = w.host.Close()
	_ = w.mine.Close()
	_ = w.far.Close()
}

// benchPaused is what a paused engine with 32 slots costs while nothing happens.
func benchPaused(b *testing.B, bin string, t *table) {
	slots, period := size(32, 2), size(20*time.Second, 100*time.Millisecond)
	for b.Loop() {
		box := crowdBox(b, bin, crowd{slots, slots, 100})
		box.write(box.tool+"/agent", "#!/bin/sh\n: >\""+box.tool+"/began-$RALPH_TASK\"\nwhile ! [ -e \""+box.tool+"/end\" ]; do sleep 0.1; done\n", 0o755)
		p, out := box.start(bin, "autopilot")
		for i := range slots {
			waitFor(b, fmt.Sprintf("%s/began-t-%d", box.tool, 1000+i))
		}
		box.run(bin, "pause")
		box.write(box.tool+"/end", "", 0o644)
		until(b, "the pause", func() bool {
			_, text := box.run(bin, "query", "stage")
			var v struct{ Status string }
			return json.Unmarshal([]byte(text), &v) == nil && v.Status == "paused"
		})
		before, _ := usage(b, p.Pid)
		<-time.After(period) // the time that is measured
		after, rss := usage(b, p.Pid)
		if err := p.Kill(); err != nil {
			b.Fatal(err)
		}
		_, _ = p.Wait()
		_ = out.Close()
		part := 100 * float64(after-before) / float64(period)
		b.ReportMetric(part, "%-of-a-core")
		t.goal(fmt.Sprintf("engine with %d slots, paused", slots), fmt.Sprintf("%.2f %% of a core, RSS %.0f MiB", part, rss), "at most 0.5 %", part <= 0.5)
	}
}

func until(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		if is() {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("no sign of %s", what)
		}
	}
}

// benchFollow is how long after a fact `ralph log -f` has it on its output.
func benchFollow(b *testing.B, bin string, t *table) {
	for b.Loop() {
		box := taskBox(b, bin, 1)
		box.run(bin, "inbox", "add", "w.md")
		j, err := journal.Open(journal.Options{Root: box.dir, NewID: func(prefix string) string { return prefix + "-0000" }})
		if err != nil {
			b.Fatal(err)
		}
		delays := follow(b, box, bin, j)
		_ = j.Close()
		b.ReportMetric(ms(rank(delays, 0.99)), "p99-ms")
		t.goal("from a fact to its line in `ralph log -f`", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", ms(rank(delays, 0.5)), ms(rank(delays, 0.99))), "at most 100 ms", rank(delays, 0.99) <= 100*time.Millisecond)
	}
}

// follow writes notes and reads them again from a process that follows the journal.
func follow(b *testing.B, box *sandboxRepo, bin string, j *journal.File) []time.Duration {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	path, err := proc.LookPath(bin, box.dir, box.env)
	if err != nil {
		b.Fatal(err)
	}
	p, err := os.StartProcess(path, []string{bin, "log", "-f"}, &os.ProcAttr{Dir: box.dir, Env: box.env, Files: []*os.File{nil, w, os.Stderr}})
	if err != nil {
		b.Fatal(err)
	}
	_ = w.Close()
	lines := bufio.NewReader(r)
	var delays []time.Duration
	for i := range size(200, 5) {
		<-time.After(10 * time.Millisecond) // a person does not write in bursts
		begin := time.Now()
		note := ralph.Noted{Text: fmt.Sprintf("note %d", i)}
		if err := j.Update(b.Context(), "bench", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{note}, nil }); err != nil {
			b.Fatal(err)
		}
		if _, err := lines.ReadString('\n'); err != nil && err != io.EOF {
			b.Fatal(err)
		}
		if i > 0 { // before the first one the program has to start
			delays = append(delays, time.Since(begin))
		}
	}
	_ = p.Kill()
	_, _ = p.Wait()
	return delays
}

// TestFleetHeedsAPause: what the benchmark measures does happen.
func TestFleetHeedsAPause(t *testing.T) {
	w := newFleet(t, 4)
	w.until("work", func(s *ralph.State) bool { return s.Turning() == 4 })
	w.say(ralph.WantPause)
	w.until("the pause", func(s *ralph.State) bool { return s.Mode() == "paused" && s.Turning() == 0 })
	w.say(ralph.WantRun)
	w.until("work again", func(s *ralph.State) bool { return s.Turning() == 4 })
	w.close()
}
