package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// BenchmarkScale measures what large plans, histories and repositories cost, and the least that
// parallel work in boxes can:
//
//	go test -run '^$' -bench Scale -benchtime 1x ./internal/bench
func BenchmarkScale(b *testing.B) {
	t := newTable("scale")
	b.Run("limit", func(b *testing.B) { benchLimit(b, t) })
	b.Run("least", func(b *testing.B) { benchLeast(b, t) })
	b.Run("tasks", func(b *testing.B) { benchManyTasks(b, t) })
	b.Run("open", func(b *testing.B) { benchOpen(b, t) })
	b.Run("files", func(b *testing.B) { benchCrowd(b, build(b), size(crowd{4, 2, 200_000}, crowd{2, 2, 50}), 1, t) })
	t.print(b)
}

// benchLimit is the least that work in worktrees can cost where each agent has a box: a program
// that does only that, by the floor.
func benchLimit(b *testing.B, t *table) {
	if !ralphtest.Bubblewrap() {
		b.Skip("needs bubblewrap")
	}
	bin, floor, lean := build(b), buildFloor(b), buildTool(b, "lean")
	for b.Loop() {
		for _, c := range size([]crowd{{16, 4, 100}, {100, 4, 100}, {8, 4, 20_000}}, []crowd{{3, 2, 20}}) {
			var list []pair
			for range size(3, 1) {
				var p pair
				for tool, into := range map[string]*cost{floor: &p.floor, lean: &p.limit} {
					box := crowdBox(b, bin, c)
					*into, _ = box.run(tool, strconv.Itoa(c.tasks), strconv.Itoa(c.slots), box.tool+"/agent")
					box.merged(c)
				}
				list = append(list, p)
			}
			least := spreadOf(list, func(p pair) float64 { return float64(p.limit.wall) / float64(p.floor.wall) })
			t.add(c.String()+": the least way with each agent in the least box of bubblewrap, wall / floor", least.String())
		}
	}
}

// journalSyncs is how often ralph has its journal on the disk for a task in place, before and after
// each of its steps (a turn, the checks, the commit).
const journalSyncs = 6

// benchLeast is the least that tasks in place can cost where each agent has shims and a box, and
// what happens is on the disk: a program that does only that, by the floor of the same tasks. Once in
// the least box, and once in that which keeps what ralph promises to keep.
func benchLeast(b *testing.B, t *table) {
	if !ralphtest.Bubblewrap() {
		b.Skip("needs bubblewrap")
	}
	bin, least := build(b), buildTool(b, "least")
	n := size(100, 3)
	of := func(box *sandboxRepo, argv ...string) (c cost) {
		c, _ = box.run(argv...)
		box.commits(n)
		return c
	}
	for b.Loop() {
		var small, whole []float64
		for range size(5, 1) {
			box := taskBox(b, bin, n)
			floor := of(box, box.tool+"/floor", strconv.Itoa(n))
			box = taskBox(b, bin, n)
			low := of(box, least, strconv.Itoa(n), strconv.Itoa(journalSyncs), box.tool+"/boxed")
			box = taskBox(b, bin, n)
			all := of(box, append([]string{least, strconv.Itoa(n), strconv.Itoa(journalSyncs)}, box.kept(box.tool+"/agent")...)...)
			small, whole = append(small, float64(low.wall)/float64(floor.wall)), append(whole, float64(all.wall)/float64(floor.wall))
		}
		itself := func(x float64) float64 { return x }
		what := fmt.Sprintf("%d tasks, a commit each: shims, box, `git add`, `git commit` and a journal on the disk, ", n)
		t.add(what+"in the least box of bubblewrap, wall / floor", spreadOf(small, itself).String())
		t.add(what+"in a box that keeps what ralph's does, wall / floor", spreadOf(whole, itself).String())
	}
}

// kept is a command in the box of an agent that works in the checkout, with the settings of `ralph init`.
func (b *sandboxRepo) kept(argv ...string) []string {
	b.tb.Helper()
	set, path := config.Defaults().Sandbox, ""
	for _, kv := range b.env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	bwrap, err := proc.LookPath("bwrap", "", []string{"PATH=" + path})
	if err != nil {
		b.tb.Fatal(err)
	}
	g := &profile.Sandbox{Kind: sandbox.Bubblewrap, Bwrap: bwrap, Self: b.bin, Set: set, Root: b.dir, Doors: profile.DoorsOf(b.env)}
	out, err := g.Argv(b.dir, argv, b.env)
	if err != nil {
		b.tb.Fatal(err)
	}
	return out
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
	c := ralphtest.Settings()
	c.Session, c.Isolated, c.Commit, c.NoProgressTurns, c.Parallel, c.TaskDelay = "autopilot", true, false, 0, slots, 0
	var begun atomic.Int64
	x := &ralphtest.Script{Config: c, Repo: &ralphtest.Repo{}, Git: ralphtest.NewForest(), Now: time.Now}
	x.Agent = func(call ralphtest.Call) []ralph.Fact {
		if call.Stage != ralph.KindBuild {
			return []ralph.Fact{ralphtest.Answers("nothing to add")}
		}
		if begun.Add(1) == int64(n*9/10) {
			late = heap()
		}
		<-time.After(5 * time.Millisecond) // a real one takes minutes
		return []ralph.Fact{ralphtest.Says(ralph.SignalComplete, "")}
	}
	config, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	facts := []ralph.Fact{ralph.PlanStarted{File: "w.md"}}
	for i := range n {
		facts = append(facts, ralph.TaskAdded{Task: ralphtest.Task("w.md", fmt.Sprint(i))})
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
