package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// BenchmarkFleet measures a fleet of real processes on one machine: a Temporal server, workers with clones of their own
// and a coordinator, over a bare remote. It prints a table:
//
//	RALPH_E2E_TEMPORAL=~/.cache/ralph-ci/temporal-v1.5.1/temporal go test -run '^$' -bench Fleet -benchtime 1x ./internal/bench
func BenchmarkFleet(b *testing.B) {
	server := os.Getenv("RALPH_E2E_TEMPORAL")
	if server == "" {
		b.Skip("no Temporal server: `.ci/run temporal` builds it, RALPH_E2E_TEMPORAL names it")
	}
	bin := build(b)
	_, said, res, err := proc.NewRunner("").Output(b.Context(), proc.Command{
		Args: []string{"go", "build", "-o", bin + "-fleet", "github.com/ralph-loop/ralph/cmd/ralph-fleet"}, Env: os.Environ(),
	})
	if err != nil || res.Code != 0 {
		b.Fatalf("build ralph-fleet: %v\n%s", err, said)
	}
	t := newTable("fleet")
	b.Run("steps", func(b *testing.B) { benchSteps(b, bin, server, t) })
	b.Run("way", func(b *testing.B) { benchWay(b, bin, server, t) })
	b.Run("slots", func(b *testing.B) { benchFleetSlots(b, bin, server, t) })
	t.print(b)
}

// farm is a repository whose tasks are worked on by a fleet.
type farm struct {
	*sandboxRepo
	server  *os.Process
	workers []*os.Process
}

// hubOf gives a repository a bare remote, which is all that its machines share.
func (b *sandboxRepo) hubOf() string {
	b.tb.Helper()
	hub := b.hub()
	b.run("git", "init", "-q", "--bare", hub)
	b.git("remote", "add", "origin", hub)
	return hub
}

// fleetKey is what a fleet has that is more than a try (docs/fleet.md).
const fleetKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func (b *sandboxRepo) hub() string { return filepath.Join(filepath.Dir(b.dir), "hub.git") }

// newFarm begins a server and n workers for a repository.
func newFarm(b *sandboxRepo, server string, n, slots int) *farm {
	b.tb.Helper()
	hub := b.hubOf()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.tb.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = l.Close()
	f := &farm{sandboxRepo: b}
	b.env = append(b.env, "TEMPORAL_ADDRESS="+address, "RALPH_FLEET_KEY="+fleetKey)
	b.tb.Cleanup(f.stop)
	f.server, _ = b.start(server, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "error", "--db-filename", filepath.Join(b.tool, "temporal.db"),
		"--dynamic-config-value", "history.transferProcessorMaxPollRPS=1000") // else each way through it waits 50 ms (docs/fleet.md)
	f.until("the server answers", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	for i := range n {
		name := fmt.Sprintf("w%d", i+1)
		p, out := b.start(b.bin, "worker", "--repo", hub, "--agent", "mine", "--name", name, "--home", filepath.Join(b.tool, name), "--slots", strconv.Itoa(slots))
		f.workers = append(f.workers, p)
		f.until(name+" reads its queues", func() bool {
			said, _ := os.ReadFile(out.Name())
			return strings.Contains(string(said), "worker "+name+":")
		})
	}
	return f
}

// stop ends all processes of a farm that are there, workers first.
func (f *farm) stop() {
	for _, p := range append(f.workers, f.server) {
		if p != nil {
			_ = p.Signal(syscall.SIGTERM)
			_, _ = p.Wait()
		}
	}
	f.workers, f.server = nil, nil
}

// until waits for processes of others, of which there is nothing to wait for but how they are.
func (f *farm) until(what string, so func() bool) {
	f.tb.Helper()
	for deadline := time.Now().Add(patience()); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.tb.Fatalf("never: %s", what)
		}
	}
}

// coordinate has the fleet do all tasks, and weighs coordinator, workers (the heaviest) and server at their peaks.
func (f *farm) coordinate() (wall time.Duration, coordinator, worker, server heaviest) {
	f.tb.Helper()
	begin := time.Now()
	p, out := f.start(f.bin, "autopilot", "--fleet")
	defer out.Close()
	ended := make(chan *os.ProcessState, 1)
	go func() { s, _ := p.Wait(); ended <- s }()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case s := <-ended:
			tick.Stop()
			if s == nil || !s.Success() {
				said, _ := os.ReadFile(out.Name())
				f.tb.Fatalf("the coordinator ended with %v\n%s", s, said)
			}
			return time.Since(begin), coordinator, worker, server
		case <-tick.C:
			coordinator.look(p.Pid)
			server.look(f.server.Pid)
			for _, w := range f.workers {
				worker.look(w.Pid)
			}
		}
	}
}

// weight is the memory of a process: its own, and what is mapped of the program's file, of which the system keeps one
// copy for all and drops what it likes, in MiB.
func weight(pid int) (own, file float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for name, mib := range map[string]*float64{"RssAnon:": &own, "RssFile:": &file} {
		if _, rest, ok := strings.Cut(string(text), name); ok {
			_, _ = fmt.Sscan(rest, mib)
		}
		*mib /= 1024
	}
	return own, file
}

// heaviest keeps the most that a process has weighed.
type heaviest struct{ own, file float64 }

func (h *heaviest) look(pid int) {
	own, file := weight(pid)
	h.own, h.file = max(h.own, own), max(h.file, file)
}

func (h heaviest) String() string {
	return fmt.Sprintf("%.0f MiB and %.0f MiB of the program's file", h.own, h.file)
}

// took is how long the steps of a name took, by the journal: from the receipt to the outcome. The checks of what is merged
// are left out: they are the coordinator's own, wherever a task is worked on.
func (b *sandboxRepo) took(steps ...string) (list []time.Duration) {
	b.tb.Helper()
	_, lines := b.run(b.bin, "log", "--raw", "--all", "-n", "10000000")
	under := map[string]time.Time{}
	for line := range strings.Lines(lines) {
		var e struct {
			T    string
			At   time.Time
			Fact json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.tb.Fatal(err)
		}
		var f struct {
			Task string
			Step struct{ Step string }
		}
		if json.Unmarshal(e.Fact, &f) != nil {
			continue // no step, nor its outcome
		}
		switch begun := under[f.Task]; {
		case strings.HasPrefix(f.Task, "merge:"):
		case e.T == "step.started" && slices.Contains(steps, f.Step.Step):
			under[f.Task] = e.At
		case !begun.IsZero() && (e.T == "turn.ended" || e.T == "checks.ran"):
			list = append(list, e.At.Sub(begun))
			delete(under, f.Task)
		}
	}
	return list
}

// farmBox is a repository of 100 files, whose agents each append to a file of their own after a wait.
func farmBox(b *testing.B, bin string, tasks, slots int, wait string, more ...string) *sandboxRepo {
	b.Helper()
	r := newBox(b, bin)
	for i := range 100 {
		r.write(fmt.Sprintf("src/t-%d", 1000+i), strings.Repeat("one line of many\n", 20), 0o644)
	}
	agent := r.tool + "/agent"
	r.write(agent, "#!/bin/sh\nsleep "+wait+"\necho x >>\"src/$RALPH_TASK\"\necho '<ralph>COMPLETE</ralph>'\n", 0o755)
	// The pause between two tasks of a slot is no work. What travels happens in worktrees, also with one slot.
	r.setUp("exec", agent, append([]string{"task.delay=0s", fmt.Sprintf("parallel=%d", slots), "isolation=worktree", `quality.commands=["test -d src"]`}, more...)...)
	r.write("ralph/specs/w.md", "# W\n\nAppend a line to each file.\n", 0o644)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "start")
	r.git("tag", "start")
	var plan strings.Builder
	fmt.Fprintln(&plan, `{"t":"spec","spec":"w.md"}`)
	for i := range tasks {
		fmt.Fprintf(&plan, `{"t":"task","id":"t-%d","spec":"w.md","name":"Append a line to file %d","status":"pending"}`+"\n", 1000+i, i)
	}
	r.write("ralph/plan.jsonl", plan.String(), 0o644)
	return r
}

// benchSteps is what the way to a worker adds to a step: the same tasks one after the other, in
// worktrees, at home and on one worker.
func benchSteps(b *testing.B, bin, server string, t *table) {
	tasks, pairs := size(20, 2), size(5, 1)
	for b.Loop() {
		var added, turns, checks, home []float64
		var idle, worker heaviest
		middle := func(r *sandboxRepo, steps ...string) float64 { return spreadOf(r.took(steps...), ms).Median }
		for range pairs {
			alone := farmBox(b, bin, tasks, 1, "0")
			alone.run(bin, "autopilot")
			f := newFarm(farmBox(b, bin, tasks, 1, "0"), server, 1, 1)
			idle.look(f.workers[0].Pid)
			_, _, w, _ := f.coordinate()
			worker = heaviest{max(worker.own, w.own), max(worker.file, w.file)}
			f.stop()
			for _, r := range []*sandboxRepo{alone, f.sandboxRepo} {
				r.merged(crowd{tasks: tasks})
			}
			turn, check := middle(f.sandboxRepo, "turn")-middle(alone, "turn"), middle(f.sandboxRepo, "check")-middle(alone, "check")
			turns, checks, added = append(turns, turn), append(checks, check), append(added, (turn+check)/2)
			home = append(home, middle(alone, "turn", "check"))
		}
		same := func(f float64) float64 { return f }
		step := spreadOf(added, same)
		b.ReportMetric(step.Median, "step-added-ms")
		t.add("a step at home: turn and check of 100 files, an agent that is there at once, ms", spreadOf(home, same).String())
		t.goal("the same on a worker: added by the way there and back, ms", step.String(), "at most 60 ms", step.Median <= 60)
		t.add("the same: a turn, which changes files", spreadOf(turns, same).String())
		t.add("the same: a check, whose files are there", spreadOf(checks, same).String())
		t.add("memory of a worker that waits for its first step", idle.String())
		t.goal(fmt.Sprintf("memory of a worker with one slot and %d tasks, at its peak", tasks), worker.String(), "at most 40 MiB of its own", worker.own <= 40)
	}
}

// benchWay is the least that the way to another process can cost: an empty workflow, by a program that does nothing else.
func benchWay(b *testing.B, bin, server string, t *table) {
	steps, pairs := size(40, 2), size(3, 1)
	way := buildTool(b, "way")
	for b.Loop() {
		var parcels, pushes []float64
		for range pairs {
			r := newBox(b, bin)
			r.git("init", "-q", "-b", "main")
			f := newFarm(r, server, 0, 0)
			there := filepath.Join(r.tool, "there")
			r.run("git", "init", "-q", there)
			p, out := r.start(way, "worker", "way", there)
			f.workers = append(f.workers, p)
			f.until("the way leads somewhere", func() bool {
				said, _ := os.ReadFile(out.Name())
				return strings.Contains(string(said), "ready")
			})
			_, said := r.run(way, "steps", "way", strconv.Itoa(steps), r.hub(), "10")
			var parcel, push float64
			if _, err := fmt.Sscan(said, &parcel, &push); err != nil {
				b.Fatalf("%v: %s", err, said)
			}
			parcels, pushes = append(parcels, parcel), append(pushes, push)
			f.stop()
		}
		same := func(f float64) float64 { return f }
		t.add("the least: an empty workflow with an activity elsewhere, 10 kB there and back in it, ms", spreadOf(parcels, same).String())
		t.add("the least by a remote: the same, and a push and a fetch each way, ms", spreadOf(pushes, same).String())
	}
}

// benchFleetSlots is what 100 slots over four workers come to whose agents wait most of the time.
func benchFleetSlots(b *testing.B, bin, server string, t *table) {
	slots, tasks, wait := size(100, 4), size(300, 6), size(5, 0)
	workers := size(4, 2)
	for b.Loop() {
		r := farmBox(b, bin, tasks, slots, strconv.Itoa(wait), "merge.batch=32")
		f := newFarm(r, server, workers, slots/workers)
		wall, coordinator, worker, temporal := f.coordinate()
		f.stop()
		r.merged(crowd{tasks: tasks})
		perMinute := float64(tasks) / wall.Minutes()
		b.ReportMetric(perMinute, "tasks/min")
		t.add(fmt.Sprintf("%d slots on %d workers, %d tasks whose agents wait %d s: tasks a minute", slots, workers, tasks, wait), fmt.Sprintf("%.0f (%.1f s, %.0f ms a task)", perMinute, wall.Seconds(), ms(wall)/float64(tasks)))
		t.goal(fmt.Sprintf("the same: memory of a worker with %d slots, at its peak", slots/workers), worker.String(), "at most 40 MiB of its own", worker.own <= 40)
		t.add("the same: memory of the coordinator, at its peak", coordinator.String())
		t.add("the same: memory of Temporal's development server", temporal.String())
	}
}
