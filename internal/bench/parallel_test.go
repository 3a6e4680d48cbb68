package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// crowd is a workload of W2: tasks, slots and files.
type crowd struct{ tasks, slots, files int }

func (c crowd) String() string {
	return fmt.Sprintf("%d tasks, %d slots, %d files", c.tasks, c.slots, c.files)
}

// past is a long history: a repository whose objects others have, and its last commit. nil is none.
type past struct{ what, repo, tip string }

// has gives a repository without a commit that history.
func (p *past) has(b *sandboxRepo) {
	if p != nil {
		b.write(".git/objects/info/alternates", p.repo+"/objects\n", 0o644)
		b.git("update-ref", "refs/heads/main", p.tip)
	}
}

// buildFloor makes the program that ralph is measured against.
func buildFloor(tb testing.TB) string { return buildTool(tb, "floor") }

// buildTool makes a program of testdata.
func buildTool(tb testing.TB, name string) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), name)
	_, said, res, err := proc.NewRunner("").Output(tb.Context(), proc.Command{
		Args: []string{"go", "build", "-o", bin, "./testdata/" + name + "/main.go"}, Env: os.Environ(),
	})
	if err != nil || res.Code != 0 {
		tb.Fatalf("build the %s: %v\n%s", name, err, said)
	}
	return bin
}

// crowdBox makes a repository with independent tasks, each of which appends to a
// file of its own.
func crowdBox(tb testing.TB, bin string, c crowd) *sandboxRepo { return crowdAfter(tb, bin, c, nil) }

func crowdAfter(tb testing.TB, bin string, c crowd, before *past) *sandboxRepo {
	tb.Helper()
	b := newBox(tb, bin)
	for i := range c.files {
		b.write(fmt.Sprintf("src/t-%d/t-%d", (1000+i)/1000, 1000+i), strings.Repeat("one line of many\n", 20), 0o644)
	}
	agent := b.tool + "/agent"
	b.write(agent, `#!/bin/sh
echo x >>"src/${RALPH_TASK%???}/$RALPH_TASK"
echo '<ralph>COMPLETE</ralph>'
`, 0o755)
	// The pause between two tasks of a slot is no work, and the floor has none.
	b.setUp("exec", agent, fmt.Sprintf("parallel=%d", c.slots), "task.delay=0s")
	b.write("ralph/specs/w.md", "# W\n\nAppend a line to each file.\n", 0o644)
	before.has(b)
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "start")
	b.git("tag", "start")
	var plan strings.Builder
	fmt.Fprintln(&plan, `{"t":"spec","spec":"w.md"}`)
	for i := range c.tasks {
		fmt.Fprintf(&plan, `{"t":"task","id":"t-%d","spec":"w.md","name":"Append a line to file %d","status":"pending"}`+"\n", 1000+i, i)
	}
	b.write("ralph/plan.jsonl", plan.String(), 0o644)
	return b
}

// merged wants the work of every task on main, and nothing left over.
func (b *sandboxRepo) merged(c crowd) {
	b.tb.Helper()
	if got := strings.Count(b.git("diff", "--name-only", "start", "main", "--", "src")+"\n", "\n"); got != c.tasks {
		b.tb.Fatalf("%d tasks are on main, want %d", got, c.tasks)
	}
	if dirty := b.git("status", "--porcelain", "--", "src"); dirty != "" {
		b.tb.Fatalf("left in the checkout:\n%s", dirty)
	}
	if trees := strings.Count(b.git("worktree", "list"), "\n"); trees != 0 {
		b.tb.Fatalf("%d worktrees are left over", trees)
	}
	if branches := b.git("branch", "--format=%(refname:short)"); branches != "main" {
		b.tb.Fatalf("branches are left over:\n%s", branches)
	}
}

// crowdPair measures both, each in a fresh repository.
func crowdPair(tb testing.TB, bin, floor, lean string, c crowd, before *past, ralphFirst bool) pair {
	tb.Helper()
	var p pair
	by := func(tool string) (used cost) {
		b := crowdAfter(tb, bin, c, before)
		used, _ = b.run(tool, strconv.Itoa(c.tasks), strconv.Itoa(c.slots), b.tool+"/agent")
		b.merged(c)
		return used
	}
	theirs := func() {
		p.floor = by(floor)
		if ralphtest.Bubblewrap() {
			p.least = by(lean)
		}
	}
	ours := func() {
		b := crowdAfter(tb, bin, c, before)
		p.ralph, _ = b.run(bin, "autopilot")
		b.merged(c)
	}
	if ralphFirst {
		ours()
		theirs()
	} else {
		theirs()
		ours()
	}
	return p
}

// benchCrowd is the price of the orchestrator in parallel (W2).
func benchCrowd(b *testing.B, bin string, c crowd, pairs int, t *table) {
	benchCrowdAfter(b, bin, c, nil, pairs, t)
}

func benchCrowdAfter(b *testing.B, bin string, c crowd, before *past, pairs int, t *table) {
	what := c.String()
	if before != nil {
		what += ", " + before.what
	}
	floor, lean := buildFloor(b), buildTool(b, "lean")
	for b.Loop() {
		var list []pair
		for i := range pairs {
			list = append(list, crowdPair(b, bin, floor, lean, c, before, i%2 == 1))
		}
		wall := spreadOf(list, func(p pair) float64 { return float64(p.ralph.wall) / float64(p.floor.wall) })
		cpu := spreadOf(list, func(p pair) float64 { return float64(p.ralph.cpu) / float64(p.floor.cpu) })
		theirs := spreadOf(list, func(p pair) float64 { return wallOf(p.floor) })
		own := spreadOf(list, func(p pair) float64 { return wallOf(p.ralph) })
		b.ReportMetric(wall.Median, "x-floor-wall")
		b.ReportMetric(cpu.Median, "x-floor-cpu")
		const goal = 0.6
		t.goal(what+": wall / floor", wall.String(), fmt.Sprintf("at most %.1f", goal), wall.Median <= goal)
		if ralphtest.Bubblewrap() {
			least := spreadOf(list, func(p pair) float64 { return float64(p.least.wall) / float64(p.floor.wall) })
			t.add(what+": the limit, a program that does it with as little as git allows and each agent in the least box, wall / floor", least.String())
		}
		t.add(what+": cpu / floor", cpu.String())
		t.add(what+": a task", fmt.Sprintf("%.1f ms (floor %.1f)", own.Median/float64(c.tasks), theirs.Median/float64(c.tasks)))
	}
}

// benchPlan is what a task costs in plans of different sizes: flat, as nothing is
// done for each task of the plan when one of them moves.
func benchPlan(b *testing.B, bin string, t *table) {
	for b.Loop() {
		for _, n := range size([]int{10, 100, 300}, []int{2, 4}) {
			c := crowd{n, 4, 1000}
			box := crowdBox(b, bin, c)
			used, _ := box.run(bin, "autopilot")
			box.merged(c)
			t.add(fmt.Sprintf("a task of %d in the plan, 4 slots", n), fmt.Sprintf("%.1f ms wall, %.1f ms cpu", wallOf(used)/float64(n), cpuOf(used)/float64(n)))
		}
	}
}

// benchSlots is the memory of the engine for each slot whose agent thinks.
func benchSlots(b *testing.B, bin string, t *table) {
	for b.Loop() {
		many := size(32, 2)
		rss := map[int]float64{}
		for _, slots := range []int{1, many} {
			box := crowdBox(b, bin, crowd{slots, slots, 100})
			box.write(box.tool+"/agent", "#!/bin/sh\n: >\""+box.tool+"/began-$RALPH_TASK\"\nexec sleep 60\n", 0o755)
			p, out := box.start(bin, "autopilot")
			for i := range slots {
				waitFor(b, fmt.Sprintf("%s/began-t-%d", box.tool, 1000+i))
			}
			_, rss[slots] = usage(b, p.Pid)
			if err := p.Kill(); err != nil { // its agents die with it
				b.Fatal(err)
			}
			_, _ = p.Wait()
			_ = out.Close()
		}
		each := (rss[many] - rss[1]) / float64(many-1)
		t.goal(fmt.Sprintf("engine with 1 and with %d slots at work: memory for each slot", many), fmt.Sprintf("%.2f MiB (%.1f and %.1f)", each, rss[1], rss[many]), "at most 0.5 MiB", each <= 0.5)
	}
}
