package bench

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// agentScript is an agent of 1 ms: it appends a line to the file of its task.
// The floor runs the very same program.
const agentScript = `#!/bin/sh
case "$RALPH_STAGE" in
verify) printf '%s\n' '` + "```json" + `' '{"verdicts":[]}' '` + "```" + `' ;;
*) echo x >>"src/$RALPH_TASK"; echo '<ralph>COMPLETE</ralph>' ;;
esac
`

// floorScript is what nobody can do without: the agent and a commit a task.
const floorScript = `#!/bin/sh
set -e
i=1000
while [ $i -lt $((1000 + $1)) ]; do
	RALPH_TASK=t-$i RALPH_STAGE=build "%[1]s" >/dev/null
	git add -A
	git commit -q -m "task $i"
	i=$((i + 1))
done
`

// set up is what a person does first: `ralph init`, and then an agent of their own. All
// other settings are the defaults that users have, but for what more says.
func (b *sandboxRepo) setUp(driver, agent string, more ...string) {
	b.tb.Helper()
	b.git("init", "-q", "-b", "main")
	b.run(b.bin, "init")
	b.run(append([]string{b.bin, "config", "edit", "agent.primary=mine", "agents.mine.driver=" + driver, fmt.Sprintf("agents.mine.command=[%q]", agent)}, more...)...)
}

// taskSettings are what the pair with the floor needs: it commits each task, and it does
// not rest between two of them.
func taskSettings() []string { return []string{"task.auto_commit=true", "task.delay=0s"} }

// boxed is the agent in the least that keeps it from writing elsewhere: what no program spares that
// gives each agent a box of bubblewrap. Temporary folders and the repository can be written.
const boxed = `#!/bin/sh
exec bwrap --die-with-parent --unshare-pid --ro-bind / / --dev /dev --proc /proc --bind "%[1]s" "%[1]s" "%[2]s"
`

// pair is one run of the floor and one of ralph, right after each other; boxed is one of the floor
// with each agent in the least box, least one of a program that does the least that ralph's promises
// allow. They are 0 where there is no bubblewrap.
type pair struct{ floor, ralph, boxed, least cost }

// journalSyncs is how often ralph has its journal on the disk for a task in place, before and after
// each of its steps (a turn, the checks, the commit).
const journalSyncs = 6

// taskBox makes a repository of 100 files with n tasks planned by hand.
func taskBox(tb testing.TB, bin string, n int) *sandboxRepo {
	b := newBox(tb, bin)
	for i := range 100 {
		b.write(fmt.Sprintf("src/t-%d", 1000+i), strings.Repeat("one line of many\n", 20), 0o644)
	}
	agent := b.tool + "/agent"
	b.write(agent, agentScript, 0o755)
	b.write(b.tool+"/floor", fmt.Sprintf(floorScript, agent), 0o755)
	b.write(b.tool+"/boxed", fmt.Sprintf(boxed, filepath.Dir(b.tool), agent), 0o755)
	b.write(b.tool+"/limit", fmt.Sprintf(floorScript, b.tool+"/boxed"), 0o755)
	b.setUp("exec", agent, taskSettings()...)
	b.write("ralph/specs/w.md", "# W\n\nAppend a line to every file.\n", 0o644)
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "start")
	var plan strings.Builder
	fmt.Fprintln(&plan, `{"t":"spec","spec":"w.md"}`)
	for i := range n {
		fmt.Fprintf(&plan, `{"t":"task","id":"t-%d","spec":"w.md","name":"Append a line to file %d","status":"pending"}`+"\n", 1000+i, i)
	}
	b.write("ralph/plan.jsonl", plan.String(), 0o644)
	return b
}

// commits wants exactly n commits besides the first.
func (b *sandboxRepo) commits(n int) {
	b.tb.Helper()
	if got := b.git("rev-list", "--count", "HEAD"); got != strconv.Itoa(n+1) {
		b.tb.Fatalf("%s commits, want %d", got, n+1)
	}
}

// runPair measures n tasks done by the floor and by ralph, each in a fresh
// repository; who begins changes, so that neither has the warmer machine.
func runPair(tb testing.TB, bin, least string, n int, ralphFirst bool) pair {
	tb.Helper()
	var p pair
	floor := func() {
		b := taskBox(tb, bin, n)
		p.floor, _ = b.run(b.tool+"/floor", strconv.Itoa(n))
		b.commits(n)
		if ralphtest.Bubblewrap() {
			b = taskBox(tb, bin, n)
			p.boxed, _ = b.run(b.tool+"/limit", strconv.Itoa(n))
			b.commits(n)
			b = taskBox(tb, bin, n)
			p.least, _ = b.run(b.least(least, n)...)
			b.commits(n)
		}
	}
	ralph := func() {
		b := taskBox(tb, bin, n)
		p.ralph, _ = b.run(bin, "construct", "w.md")
		b.commits(n)
		if dirty := b.git("status", "--porcelain", "--", "src"); dirty != "" {
			tb.Fatalf("left uncommitted:\n%s", dirty)
		}
	}
	if ralphFirst {
		ralph()
		floor()
	} else {
		floor()
		ralph()
	}
	return p
}

// least is the call of the program that does n tasks with as little as ralph's promises allow.
func (b *sandboxRepo) least(program string, n int) []string {
	return append([]string{program, strconv.Itoa(n), strconv.Itoa(journalSyncs)}, b.kept(b.tool+"/agent")...)
}

// benchTasks is the price of the orchestrator: n tasks of 1 ms, a commit each.
func benchTasks(b *testing.B, bin string, n, pairs int, t *table) {
	least := buildTool(b, "least")
	for b.Loop() {
		var list []pair
		for i := range pairs {
			list = append(list, runPair(b, bin, least, n, i%2 == 1))
		}
		wall := spreadOf(list, func(p pair) float64 { return float64(p.ralph.wall) / float64(p.floor.wall) })
		cpu := spreadOf(list, func(p pair) float64 { return float64(p.ralph.cpu) / float64(p.floor.cpu) })
		added := spreadOf(list, func(p pair) float64 { return ms(p.ralph.wall-p.floor.wall) / float64(n) })
		floor := spreadOf(list, func(p pair) float64 { return wallOf(p.floor) })
		own := spreadOf(list, func(p pair) float64 { return wallOf(p.ralph) })
		private, mapped := taskBox(b, bin, n).mostHeld(bin, "construct", "w.md")
		b.ReportMetric(wall.Median, "x-floor-wall")
		b.ReportMetric(cpu.Median, "x-floor-cpu")
		b.ReportMetric(added.Median, "ms/task-added")
		what := fmt.Sprintf("%d tasks, a commit each", n)
		goal := 1.0
		if n <= 20 {
			goal = 1.5 // the start and the end of the session are among few tasks
		}
		t.goal(what+": wall / floor", wall.String(), fmt.Sprintf("at most %.1f", goal), wall.Median <= goal)
		t.goal(what+": cpu / floor", cpu.String(), fmt.Sprintf("at most %.1f", goal), cpu.Median <= goal)
		if ralphtest.Bubblewrap() {
			boxed := spreadOf(list, func(p pair) float64 { return float64(p.boxed.wall) / float64(p.floor.wall) })
			t.add(what+": the floor with each agent in the least box of bubblewrap, wall / floor", boxed.String())
			all := spreadOf(list, func(p pair) float64 { return float64(p.least.wall) / float64(p.floor.wall) })
			t.add(what+": the limit, a program that only keeps ralph's promises (box, shims, journal on the disk; no checks, no decisions), wall / floor", all.String())
		}
		t.goal(what+": added per task", fmt.Sprintf("%.2f ms (floor %.1f, ralph %.1f)", added.Median, floor.Median/float64(n), own.Median/float64(n)), "at most 2.5 ms", added.Median <= 2.5)
		t.goal(what+": memory of the engine", fmt.Sprintf("%.0f MiB of its own, and %.0f MiB of the program's file", private, mapped), "at most 12 MiB of its own", private <= 12)
		if ralphtest.Bubblewrap() {
			box := taskBox(b, bin, n)
			limit, _ := box.mostHeld(box.least(least, n)...)
			t.add(what+": the same of the program that is the limit", fmt.Sprintf("%.0f MiB of its own", limit))
		}
	}
}

// mostHeld runs a program and returns the most memory it had, in MiB, without its children: of its own,
// and of its file. It is asked while the program runs, in a run of its own.
func (b *sandboxRepo) mostHeld(args ...string) (own, file float64) {
	b.tb.Helper()
	p, out := b.start(args...)
	defer out.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Wait()
	}()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return own, file
		case <-tick.C:
			nowOwn, nowFile := heldBy(p.Pid)
			own, file = max(own, nowOwn), max(file, nowFile)
		}
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
