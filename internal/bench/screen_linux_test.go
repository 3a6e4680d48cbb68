package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// BenchmarkScreen measures `ralph ui` on a terminal of 200 by 60 and prints a table at its end:
//
//	go test -run '^$' -bench Screen -benchtime 1x ./internal/bench
func BenchmarkScreen(b *testing.B) {
	bin := build(b)
	t := newTable("screen")
	b.Run("load", func(b *testing.B) { benchScreenLoad(b, bin, size(32, 2), t) })
	b.Run("idle", func(b *testing.B) { benchScreenIdle(b, bin, t) })
	b.Run("day", func(b *testing.B) { benchScreenDay(b, bin, t) })
	t.print(b)
}

// screen is a running `ralph ui`, and what it writes to its terminal.
type screen struct {
	*ralphtest.Terminal
	tb  testing.TB
	cmd *exec.Cmd
}

// screen opens the terminal screen of the repository.
func (b *sandboxRepo) screen(bin string) *screen {
	b.tb.Helper()
	cmd := exec.CommandContext(b.tb.Context(), bin, "ui", "--theme", "dark")
	cmd.Dir, cmd.Env = b.dir, append(slices.Clone(b.env), "TERM=xterm-256color", "SSH_TTY=asks nothing")
	s := &screen{ralphtest.OpenTerminal(b.tb, 200, 60, nil), b.tb, cmd}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.Tty, s.Tty, s.Tty, s.Session()
	s.Run(cmd)
	s.await("╯")
	return s
}

// await waits until words were written since the last look, and forgets what there was.
func (s *screen) await(words string) {
	s.tb.Helper()
	s.Await(words)
	s.Forget()
}

// cpu is what the screen has used, to the nanosecond: the ticks of /proc/pid/stat are 10 ms, and
// charge a program that wakes with the clock for whole ones.
func (s *screen) cpu() time.Duration {
	s.tb.Helper()
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid)) // Go ends no thread
	if err != nil || len(list) == 0 {
		s.tb.Skipf("needs /proc/pid/task/tid/schedstat: %v", err)
	}
	var sum time.Duration
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			s.tb.Fatal(err)
		}
		var ran int64
		if _, err := fmt.Sscan(string(b), &ran); err != nil {
			s.tb.Fatal(err)
		}
		sum += time.Duration(ran)
	}
	return sum
}

// own is the memory in MiB that the screen shares with nobody.
func (s *screen) own() float64 { return s.status("RssAnon:") }

// memory tells it with what is mapped of the program's file: the kernel maps as much of that ahead as
// it likes, and every ralph has the same.
func (s *screen) memory() string {
	return fmt.Sprintf("memory %.0f MiB and %.0f MiB of the program's file", s.own(), s.status("RssFile:"))
}

func (s *screen) status(name string) float64 {
	s.tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), name)
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		s.tb.Fatal(err)
	}
	return kib / 1024
}

// answers presses keys that open one list after the other, and is how long each took until the
// name of the list was drawn anew.
func (s *screen) answers(n int) []time.Duration {
	s.tb.Helper()
	var out []time.Duration
	for i := range n {
		key, words := "5", "Inbox"
		if i%2 == 1 {
			key, words = "1", "Slots"
		}
		s.Forget()
		begin := time.Now()
		s.Press(key)
		s.await(words)
		out = append(out, time.Since(begin))
		<-time.After(time.Duration(100+i*37%100) * time.Millisecond) // anywhere between two pictures
	}
	return out
}

// atWork starts an engine whose agents say so many lines a second for two minutes.
func (b *sandboxRepo) atWork(bin string, slots, rate int) *journal.File {
	b.tb.Helper()
	b.run(bin, "config", "edit", fmt.Sprintf("agents.mine.command=[%q, %q, %q]", buildTool(b.tb, "chatter"), fmt.Sprint(rate), "120"))
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "settings")
	engine, out := b.start(bin, "autopilot", "--parallel", fmt.Sprint(slots))
	j, err := journal.Open(journal.Options{Root: b.dir, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() {
		_ = engine.Kill() // its agents die with it
		_, _ = engine.Wait()
		_ = out.Close()
		_ = j.Close()
	})
	until(b.tb, "every slot at work", func() bool { return j.State().Turning() == slots })
	return j
}

// benchScreenLoad is what the screen costs while agents talk, one of them in full view, and how
// soon a key has its picture meanwhile.
func benchScreenLoad(b *testing.B, bin string, slots int, t *table) {
	quiet, keys := size(20*time.Second, 500*time.Millisecond), size(100, 4)
	for b.Loop() {
		box := crowdBox(b, bin, crowd{slots, slots, slots})
		box.atWork(bin, slots, 100)
		s := box.screen(bin)
		s.await("line ")
		before := s.cpu()
		s.Forget()
		<-time.After(quiet) // the time that is measured
		after := s.cpu()
		size, pieces := s.Forget()
		part := 100 * float64(after-before) / float64(quiet)
		what := fmt.Sprintf("%d slots of 100 lines a second, one in view", slots)
		b.ReportMetric(part, "%-of-a-core")
		t.goal(what+": cpu", fmt.Sprintf("%.1f %% of a core, %s", part, s.memory()), "below 10 %", part < 10)
		t.add(what+": written", fmt.Sprintf("%.1f KiB a second in %.1f pieces", float64(size)/1024/quiet.Seconds(), float64(pieces)/quiet.Seconds()))
		took := s.answers(keys)
		b.ReportMetric(ms(rank(took, 0.99)), "key-p99-ms")
		t.goal("from a key to its picture meanwhile", fmt.Sprintf("p50 %.1f, p99 %.1f, most %.1f ms", ms(rank(took, 0.5)), ms(rank(took, 0.99)), ms(rank(took, 1))), "at most 30 ms", rank(took, 0.99) <= 30*time.Millisecond)
	}
}

// benchScreenIdle is what the screen costs beside an engine whose agent thinks and says nothing.
func benchScreenIdle(b *testing.B, bin string, t *table) {
	quiet := size(30*time.Second, 500*time.Millisecond)
	for b.Loop() {
		box := crowdBox(b, bin, crowd{1, 1, 1})
		box.atWork(bin, 1, 0)
		s := box.screen(bin)
		<-time.After(size(5*time.Second, 100*time.Millisecond)) // it has begun
		before := s.cpu()
		s.Forget()
		<-time.After(quiet)
		after := s.cpu()
		size, pieces := s.Forget()
		part := 100 * float64(after-before) / float64(quiet)
		b.ReportMetric(part, "%-idle")
		t.goal("beside an engine whose agent thinks: cpu", fmt.Sprintf("%.2f %% of a core, %s", part, s.memory()), "below 0.3 %", part < 0.3)
		t.add("beside an engine whose agent thinks: written", fmt.Sprintf("%.0f bytes a second in %.1f pieces", float64(size)/quiet.Seconds(), float64(pieces)/quiet.Seconds()))
	}
}

// benchScreenDay is what the screen weighs after a day: facts that came while it looked on, list by
// list, and then the output of a turn in full view. The benchmark is the engine.
func benchScreenDay(b *testing.B, bin string, t *table) {
	facts, lines := int64(size(50_000, 2_000)), size(2_500_000, 2_000)
	for b.Loop() {
		box := taskBox(b, bin, 1)
		box.write("ralph/plan.jsonl", "", 0o644)
		j, err := journal.Open(journal.Options{Root: box.dir, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
		if err != nil {
			b.Fatal(err)
		}
		lock, _, err := j.Lock(journal.Owner{SessionID: "s-1", Pid: os.Getpid(), Host: "here", StartedAt: time.Now(), HeartbeatAt: time.Now()}, func(int, string) bool { return true })
		if err != nil {
			b.Fatal(err)
		}
		update := func(more []ralph.Fact) {
			if err := j.Update(b.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return more, nil }); err != nil {
				b.Fatal(err)
			}
		}
		update(specFacts(0, 200, j.Now()))
		s := box.screen(bin)
		for i := 1; j.State().Seq < facts; i++ {
			update(slices.DeleteFunc(specFacts(i, 200, j.Now()), func(f ralph.Fact) bool { return strings.HasPrefix(f.Kind(), "session.") }))
			if i%5 == 0 {
				s.Press(fmt.Sprint(1 + i/5%8))
				<-time.After(size(100*time.Millisecond, 10*time.Millisecond)) // it is no race
			}
		}
		turn := ralph.StepStarted{Task: "t-day", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "mine", Iteration: 1, Timeout: time.Hour}, Why: ralph.Why{Rule: "B-011", Text: "the task begins"}, DecidedAt: j.Now()}
		update([]ralph.Fact{ralph.SessionStarted{ID: "s-last", Mode: "autopilot"}, ralph.PlanStarted{File: "w.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-day", Name: "The last of the day", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "t-day"}, turn})
		box.write("ralph/.state/tasks/t-day/1/output.log", "the first line of many\n", 0o600)
		s.Forget()
		s.Press("1")
		s.await("first line")
		f, err := os.OpenFile(box.dir+"/ralph/.state/tasks/t-day/1/output.log", os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		for i := range lines {
			fmt.Fprintf(f, "line %d: I read the form, and the test beside it, to see what is missing there\n", i)
		}
		fmt.Fprintln(f, "the end of the day")
		_ = f.Close()
		s.await("end of the day")
		<-time.After(size(5*time.Second, 100*time.Millisecond)) // it gives back what it needs no more
		own := s.own()
		b.ReportMetric(own, "own-MiB")
		t.goal(fmt.Sprintf("after a day of %d facts and %d lines of an agent: memory", facts, lines), s.memory(), "below 40 MiB of its own", own < 40)
		_ = lock.Unlock()
		_ = j.Close()
	}
}
