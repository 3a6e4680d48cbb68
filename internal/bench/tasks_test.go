package bench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
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

// settings of a session with one agent and no pauses.
const settings = `version: 1
agent:
  primary: mine
agents:
  mine:
    driver: %s
    command: [%q]
task:
  delay: 0s
  auto_commit: true
`

// pair is one run of the floor and one of ralph, right after each other.
type pair struct{ floor, ralph cost }

// taskBox makes a repository of 100 files with n tasks planned by hand.
func taskBox(tb testing.TB, bin string, n int) *box {
	b := newBox(tb, bin)
	for i := range 100 {
		b.write(fmt.Sprintf("src/t-%d", 1000+i), strings.Repeat("one line of many\n", 20), 0o644)
	}
	agent := b.tool + "/agent"
	b.write(agent, agentScript, 0o755)
	b.write(b.tool+"/floor", fmt.Sprintf(floorScript, agent), 0o755)
	b.write("ralph/config.yaml", fmt.Sprintf(settings, "exec", agent), 0o644)
	b.write("ralph/specs/w.md", "# W\n\nAppend a line to every file.\n", 0o644)
	b.git("init", "-q", "-b", "main")
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
func (b *box) commits(n int) {
	b.tb.Helper()
	if got := b.git("rev-list", "--count", "HEAD"); got != strconv.Itoa(n+1) {
		b.tb.Fatalf("%s commits, want %d", got, n+1)
	}
}

// runPair measures n tasks done by the floor and by ralph, each in a fresh
// repository; who begins changes, so that neither has the warmer machine.
func runPair(tb testing.TB, bin string, n int, ralphFirst bool) pair {
	tb.Helper()
	var p pair
	floor := func() {
		b := taskBox(tb, bin, n)
		p.floor, _ = b.run(b.tool+"/floor", strconv.Itoa(n))
		b.commits(n)
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

// TestEveryTaskIsCommitted keeps the workload right: a benchmark of a program
// that skips work would look very good.
func TestEveryTaskIsCommitted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	p := runPair(t, build(t), 3, true)
	if p.floor.cpu <= 0 || p.ralph.cpu <= 0 {
		t.Errorf("nothing was measured: %+v", p)
	}
}

// benchTasks is the price of the orchestrator: n tasks of 1 ms, a commit each.
func benchTasks(b *testing.B, bin string, n, pairs int, t *table) {
	for b.Loop() {
		var list []pair
		for i := range pairs {
			list = append(list, runPair(b, bin, n, i%2 == 1))
		}
		wall := spreadOf(list, func(p pair) float64 { return float64(p.ralph.wall) / float64(p.floor.wall) })
		cpu := spreadOf(list, func(p pair) float64 { return float64(p.ralph.cpu) / float64(p.floor.cpu) })
		added := spreadOf(list, func(p pair) float64 { return ms(p.ralph.wall-p.floor.wall) / float64(n) })
		floor := spreadOf(list, func(p pair) float64 { return wallOf(p.floor) })
		own := spreadOf(list, func(p pair) float64 { return wallOf(p.ralph) })
		rss := taskBox(b, bin, n).peak(bin, "construct", "w.md")
		b.ReportMetric(wall.median, "x-floor-wall")
		b.ReportMetric(cpu.median, "x-floor-cpu")
		b.ReportMetric(added.median, "ms/task-added")
		what := fmt.Sprintf("%d tasks, a commit each", n)
		t.add(what+": wall / floor", wall.String())
		t.add(what+": cpu / floor", cpu.String())
		t.add(what+": added per task", fmt.Sprintf("%.2f ms (floor %.1f, ralph %.1f)", added.median, floor.median/float64(n), own.median/float64(n)))
		t.add(what+": RSS", fmt.Sprintf("%.0f MiB", rss))
	}
}
