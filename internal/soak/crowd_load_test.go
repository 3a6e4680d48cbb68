//go:build linux && soak

package soak

import (
	"fmt"
	"strings"
	"testing"
)

// gitCaller is an agent that uses git in its worktree as agents do. Each call has to
// work whatever ralph does with git beside it: a failure ends the turn as an error.
const gitCaller = `cat > /dev/null
set -e
git status --porcelain > /dev/null
git branch --list > /dev/null
git stash list
git worktree list > /dev/null
git log -1 --format=%s > /dev/null
mkdir -p new
echo "$RALPH_TASK" > "new/$RALPH_TASK"
case $RALPH_TASK in
*[02468])
	git add -A
	git commit -q -m "Work on $RALPH_TASK"
	git gc --auto -q
	;;
*) git diff HEAD --stat > /dev/null ;;
esac
test "$(git branch --show-current)" = "ralph/$RALPH_TASK"
` + complete

// Many tasks at once, agents that call git, a machine that is busy: each run is
// right, and nothing is left over (B-001, B-069, P-14). One run here, beside the other
// tests of this package, which keep the machine busy enough; 100 with -tags soak.
func TestCrowdOnABusyMachine(t *testing.T) {
	t.Parallel()
	runs := 1
	if long() {
		runs = 100
		busy(t, 2)
	}
	for run := range runs {
		if !t.Run(fmt.Sprintf("run %d", run+1), busyCrowd) {
			return // one is enough to look at
		}
	}
}

func busyCrowd(t *testing.T) {
	tasks, slots := 8, 4
	if long() {
		tasks = 16
	}
	var plan []planned
	for n := range tasks {
		plan = append(plan, plannedTask(n))
	}
	c := newCrowd(t, crowdSetup{plan: plan, slots: slots, build: gitCaller, config: "[gc]\nauto = 60\nautoDetach = false\n"})
	res := c.start("autopilot").wait(patience)
	if res.code != 0 {
		t.Errorf("ralph autopilot: %s", res)
	}
	work := c.onBase("new")
	for _, x := range c.records() {
		if x.Status != "done" || x.Merge != "merged" || x.Iterations != 1 {
			t.Errorf("%s is %s after %d turns, its merge is %q (%s)", x.ID, x.Status, x.Iterations, x.Merge, x.Reason)
		}
		if work[x.ID] != x.ID {
			t.Errorf("the work of %s on main is %q", x.ID, work[x.ID])
		}
	}
	if turns := c.find("turn.ended"); len(turns) != tasks || len(work) != tasks {
		t.Errorf("%d turns and %d files, want %d: an agent's git failed\n%s", len(turns), len(work), tasks, strings.Join(turns, ""))
	}
	c.checkNothingLeft()
	c.checkProved()
	if t.Failed() {
		t.Logf("%s\n%s", res, c.git("log", "--all", "--graph", "--format=%h %s %d"))
	}
}

// busy keeps n processors at work until the test ends, or its process.
func busy(t *testing.T, n int) {
	t.Helper()
	home := t.TempDir()
	for range n {
		startIn(t, home, home, nil, "sh", "-c", "while kill -0 $PPID; do :; done")
	}
}
