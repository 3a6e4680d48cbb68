package scale

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// gitTook is what each of git's steps takes in the engine's world: a worktree, a merge, the
// checks of the merged tree, the branch that moves.
const gitTook = time.Second

// TestModelIsThePolicy holds the model to the engine and the policy as they are, where both can be
// run: the same load ends after the same time, within a tenth, with and without a queue that is
// the limit, batches, and reds that are bisected and mended.
func TestModelIsThePolicy(t *testing.T) {
	base := load{repositories: 1, tasks: 100, slots: 10, batch: 1, turns: 10 * time.Minute}
	with := func(change func(*load)) load { l := base; change(&l); return l }
	for name, l := range map[string]load{
		"the slots are the limit": base,
		"the merges are":          with(func(l *load) { l.turns = 15 * time.Second }),
		"batches":                 with(func(l *load) { l.turns = 15 * time.Second; l.batch = 8 }),
		"a tenth is red":          with(func(l *load) { l.turns = 15 * time.Second; l.red = 0.1; l.batch = 4 }),
		"two slots":               with(func(l *load) { l.slots = 2; l.tasks = 40 }),
	} {
		t.Run(name, func(t *testing.T) {
			var took time.Duration
			synctest.Test(t, func(t *testing.T) { took = real(t, l) })
			// There a merge takes as long for one member as for eight, and its checks as long again;
			// those of a task's own work take no time.
			model := simulate(l, costs{prepare: gitTook, mergeAll: 2 * gitTook, advance: gitTook, server: l.slots}, 1)
			near(t, took, model.took)
		})
	}
}

// TestEngineOfManySlots is the same at the size of a large fleet, and tells the cpu that the
// engine took for a task: with the facts in memory, so without files, git and workers.
func TestEngineOfManySlots(t *testing.T) {
	ralphtest.NeedsTime(t) // minutes, by hand alone (docs/scale.md)
	for _, l := range []load{
		{slots: 100, tasks: 1000, batch: 8, turns: 10 * time.Minute},
		{slots: 100, tasks: 4000, batch: 8, turns: 10 * time.Minute},
		{slots: 1000, tasks: 4000, batch: 64, turns: 10 * time.Minute},
	} {
		l.repositories = 1
		before := cpu(t)
		var took time.Duration
		synctest.Test(t, func(t *testing.T) { took = real(t, l) })
		t.Logf("%d slots, %d tasks: %.2f ms of cpu a task", l.slots, l.tasks, float64(cpu(t)-before)/1e6/float64(l.tasks))
		near(t, took, simulate(l, costs{prepare: gitTook, mergeAll: 2 * gitTook, advance: gitTook, server: l.slots}, 1).took)
	}
}

// near wants the model within a tenth of the engine.
func near(t *testing.T, engine, model time.Duration) {
	t.Helper()
	if d := float64(model-engine) / float64(engine); d > 0.1 || d < -0.1 {
		t.Errorf("the engine takes %s, the model %s", engine, model)
	}
}

// cpu is what this process has taken so far.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// real is what an engine takes for a load, by the clock of the bubble.
func real(t *testing.T, l load) time.Duration {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit, c.NoProgressTurns, c.TaskDelay = "autopilot", true, false, 0, 0
	c.Parallel, c.Batch, c.ConflictRetries, c.Resolver = l.slots, l.batch, 3, "agent"
	git := enginetest.NewForest()
	git.Took = gitTook
	var mu sync.Mutex
	red := map[ralph.TaskID]bool{}
	git.Red = func(held []ralph.TaskID) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range held {
			if red[id] {
				return true
			}
		}
		return false
	}
	x := &enginetest.Script{Config: c, Repo: &enginetest.Repo{}, Git: git}
	x.Agent = func(call enginetest.Call) []ralph.Fact {
		says := enginetest.Says(ralph.SignalComplete, "")
		switch call.Stage {
		case ralph.KindBuild:
			says.Took = l.turns
		case ralph.KindResolve:
			says.Took = l.turns
			mu.Lock()
			delete(red, call.Task.Parent)
			mu.Unlock()
		default:
			return []ralph.Fact{enginetest.Answers("nothing to add")}
		}
		return []ralph.Fact{says}
	}
	config, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	facts := []ralph.Fact{ralph.PlanStarted{File: "w.md"}}
	for i := range l.tasks {
		task := enginetest.Task("w.md", fmt.Sprint(i))
		if l.red > 0 && i%int(1/l.red) == 0 {
			red[task.ID] = true
		}
		facts = append(facts, ralph.TaskAdded{Task: task})
	}
	facts = append(facts, ralph.SessionStarted{ID: "s-1", Mode: c.Session, Config: config})
	mem := enginetest.NewMem(nil)
	if err := mem.Update(context.Background(), "scale", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	host := engine.NewLocal(context.Background(), mem, x, nil)
	if _, err := engine.Run(host, c); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(git.Landed()); n != l.tasks {
		t.Fatalf("%d of %d tasks landed", n, l.tasks)
	}
	return took
}
