package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// BenchmarkScale measures what large plans, histories and repositories cost:
//
//	go test -run '^$' -bench Scale -benchtime 1x ./internal/bench
func BenchmarkScale(b *testing.B) {
	t := newTable("scale")
	b.Run("open", func(b *testing.B) { benchOpen(b, t) }) // first: no garbage of others is in the way, as in a process of its own
	b.Run("tasks", func(b *testing.B) { benchManyTasks(b, t) })
	b.Run("files", func(b *testing.B) { benchCrowd(b, build(b), size(crowd{4, 2, 200_000}, crowd{2, 2, 50}), 1, t) })
	b.Run("history", func(b *testing.B) { benchHistory(b, t) })
	t.print(b)
}

// benchManyTasks is what a task costs the engine and the journal in plans of a thousand and of ten
// thousand, in a hundred slots whose agents sleep.
func benchManyTasks(b *testing.B, t *table) {
	for b.Loop() {
		slots, plans := size(100, 4), size([]int{1_000, 10_000}, []int{10, 40})
		var each, held []float64
		for _, n := range plans {
			before := cpuSelf()
			late := asleep(b, n, slots)
			each, held = append(each, ms(cpuSelf()-before)/float64(n)), append(held, float64(late)/(1<<20))
		}
		what := fmt.Sprintf("%d and %d tasks in %d slots, the agents sleep", plans[0], plans[1], slots)
		t.goal(what+": cpu of the engine and the journal a task", fmt.Sprintf("%.2f and %.2f ms", each[0], each[1]), "flat: at most 1.15", each[1] <= 1.15*each[0])
		t.add(what+": heap when nine tenths are done", fmt.Sprintf("%.1f and %.1f MiB", held[0], held[1]))
	}
}

// asleep runs n tasks of one spec, and returns the heap after nine tenths of them.
func asleep(b *testing.B, n, slots int) (late int64) {
	b.Helper()
	dir := b.TempDir()
	if err := os.MkdirAll(dir+"/ralph", 0o755); err != nil {
		b.Fatal(err)
	}
	ids := 0
	j, err := journal.Open(journal.Options{Root: dir, Inbox: true, Plan: true, NewID: func(prefix string) string { ids++; return fmt.Sprintf("%s-%05d", prefix, ids) }})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit, c.NoProgressTurns, c.Parallel, c.TaskDelay = "autopilot", true, false, 0, slots, 0
	var begun atomic.Int64
	x := &enginetest.Script{Config: c, Repo: &enginetest.Repo{}, Git: enginetest.NewForest(), Now: time.Now, Forgets: true}
	x.Agent = func(call enginetest.Call) []ralph.Fact {
		if call.Stage != ralph.KindBuild {
			return []ralph.Fact{enginetest.Answers("nothing to add")}
		}
		if begun.Add(1) == int64(n*9/10) {
			late = heap()
		}
		<-time.After(5 * time.Millisecond) // a real one takes minutes
		return []ralph.Fact{enginetest.Says(ralph.SignalComplete, "")}
	}
	config, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	facts := []ralph.Fact{ralph.PlanStarted{File: "w.md"}}
	for i := range n {
		facts = append(facts, ralph.TaskAdded{Task: enginetest.Task("w.md", fmt.Sprint(i))})
	}
	facts = append(facts, ralph.SessionStarted{ID: "s-1", Mode: c.Session, Config: config})
	if err := j.Update(b.Context(), "bench", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		b.Fatal(err)
	}
	host := engine.NewLocal(b.Context(), j, x, nil)
	if _, err := engine.Run(host, c); err != nil {
		b.Fatal(err)
	}
	if err := host.Close(); err != nil {
		b.Fatal(err)
	}
	if done := int(begun.Load()); done != n {
		b.Fatalf("%d tasks were begun, want %d", done, n)
	}
	return late
}

// benchOpen is what reading the journal takes before anything is said of it.
func benchOpen(b *testing.B, t *table) {
	for b.Loop() {
		box := newBox(b, "")
		facts, specs := size(1_000_000, 2_000), size(5_000, 10)
		box.git("init", "-q", "-b", "main")
		box.past(facts, specs)
		var took []float64
		for range size(11, 1) {
			begin := time.Now()
			j, err := journal.Open(journal.Options{Root: box.dir, Inbox: true, Plan: true, Read: true})
			took = append(took, ms(time.Since(begin)))
			if err != nil || j.State().Seq < int64(facts) {
				b.Fatal(err)
			}
			_ = j.Close()
		}
		open := spreadOf(took, func(x float64) float64 { return x })
		t.goal(fmt.Sprintf("opening a journal of %d facts, %d specs", facts, specs), fmt.Sprintf("%.1f ms [%.1f-%.1f]", open.Median, open.Min, open.Max), "at most 15 ms", open.Median <= 15)
	}
}

// benchHistory is what tasks cost in a repository whose history is large: git finds each object among
// three million, and nothing of ralph's may walk over them.
func benchHistory(b *testing.B, t *table) {
	bytes, what := size(20<<30, 1<<20), size("20 GB of history", "a history")
	dir := b.TempDir() // on a disk: it is more than memory has
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		b.Fatal(err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < uint64(bytes)*5/4 {
		t.add(what, "not measured: no room on the disk")
		return
	}
	box := newBox(b, "")
	repo := filepath.Join(dir, "repo")
	_, tip := box.run(buildTool(b, "history"), repo, strconv.Itoa(bytes))
	bin := build(b)
	work := size(crowd{16, 4, 100}, crowd{2, 2, 50})
	b.Run("none", func(b *testing.B) { benchCrowd(b, bin, work, size(3, 1), t) })
	b.Run("long", func(b *testing.B) {
		benchCrowdAfter(b, bin, work, &past{what, repo, strings.TrimSpace(tip)}, size(3, 1), t)
	})
}
