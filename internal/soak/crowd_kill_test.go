//go:build linux && soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// crowdCheck is red when two tasks are together that each are green alone, when a
// line of a shared file is there twice, and when a conflict is left.
const crowdCheck = `test ! -e broken || exit 1
twice=$(ls uniq | cut -d. -f1 | uniq -d)
if test -n "$twice"; then echo "two tasks have $twice" >&2; exit 1; fi
for f in shared/*; do
	if grep -n '^[<=>|]\{7\}' "$f" || test -n "$(sort "$f" | uniq -d)"; then echo "$f is wrong" >&2; exit 1; fi
done
`

// crowdSettings follow task:. Timeouts are short, as hangs are many.
const crowdSettings = "  timeout: 6s\n"

// 200 tasks, 8 agents at once that fail, conflict, hang, crash and harm their
// worktrees, an engine that is killed every few seconds, a person who decides: each
// task ends in a right state, the base branch is green and holds the work of each
// done task exactly once, and nothing is left over (B-006, B-062 to B-082, B-088,
// B-095, P-14, X-27, X-28, X-72). SOAK_TIME bounds the part with kills.
func TestCrowdKilledAtRandom(t *testing.T) {
	if !long() {
		t.Skip("it takes minutes: make soak runs it")
	}
	t.Parallel()
	most, tasks := soakTime(t), 200
	if most < 2*time.Minute {
		tasks = max(16, int(200*most/(2*time.Minute)))
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SOAK_SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		must(t, err)
	}
	random := rand.New(rand.NewPCG(seed, 3))
	members := draw(random, tasks)
	c := wildCrowd(t, members)
	t.Cleanup(c.keep)
	t.Logf("seed %d, %d tasks, %s, %s", seed, tasks, most, c.root)
	p := newPerson(c, random)
	kills := c.killAgainAndAgain(p, random, time.Now().Add(most))
	t.Logf("%d engines were killed; %s", kills, p)
	c.calmDown(p, members)
	c.checkStates(members, p)
	c.checkNothingLeft()
	c.checkProved()
	c.checkCleanup()
}

func wildCrowd(t *testing.T, members []member) *crowd {
	t.Helper()
	s := crowdSetup{
		build: wild, slots: 8, task: crowdSettings, config: "[gc]\nauto = 200\nautoDetach = false\n",
		files: map[string]string{"check.sh": crowdCheck, "uniq/.keep": "", "shared/.keep": ""},
	}
	for n := range 8 {
		s.files[fmt.Sprintf("shared/%d", n)] = "start\n"
		s.files[fmt.Sprintf("doc/%d", n)] = "A page.\n"
	}
	for _, m := range members {
		s.plan = append(s.plan, m.planned)
		if m.weaken {
			s.files["tests/"+m.ID+"_test.go"] = "package tests\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) {\n\tt.Log(1)\n}\n\nfunc TestSecond(t *testing.T) {\n\tt.Log(2)\n}\n"
		}
	}
	c := newCrowd(t, s)
	for _, dir := range []string{"turns", "kept"} {
		must(t, os.MkdirAll(c.note(dir), 0o755))
	}
	for _, m := range members {
		write(t, c.note("kinds/"+m.ID), m.kind())
		write(t, c.note("fates/"+m.ID+".build"), strings.Join(append(m.fates, ""), "\n"))
		write(t, c.note("fates/"+m.ID+".resolve"), strings.Join(append(m.resolve, ""), "\n"))
	}
	return c
}

// killAgainAndAgain starts engines and ends each after a moment: most by kill -9,
// some as a person does who is in a hurry.
func (c *crowd) killAgainAndAgain(p *person, random *rand.Rand, end time.Time) (kills int) {
	c.t.Helper()
	for time.Now().Before(end) && !c.t.Failed() {
		engine := c.start("autopilot")
		limit := time.After(min(time.Until(end), time.Duration(300+random.IntN(4500))*time.Millisecond))
		over := false
		for !over {
			p.looks()
			select {
			case <-engine.done:
				over = true
			case <-limit:
				over = true
			case <-time.After(100 * time.Millisecond):
			}
		}
		if engine.running() {
			kills++
		}
		if engine.running() && random.IntN(4) == 0 {
			_ = engine.p.Signal(os.Interrupt)
			_ = engine.p.Signal(os.Interrupt)
			engine.wait(patience)
		}
		engine.kill()
		c.checkEnd(engine.result())
		if p.finished() {
			break
		}
	}
	return kills
}

// checkEnd wants an end that ralph's own words explain.
func (c *crowd) checkEnd(res result) {
	c.t.Helper()
	switch res.code {
	case -1, 0, 1, 4, 5, 130: // killed, complete, tasks failed, a person is needed, stopped, ended at once
	default:
		c.t.Errorf("ralph autopilot: %s", tailOf(res))
	}
	if strings.Contains(res.errs, "panic") || strings.Contains(res.errs, "goroutine ") {
		c.t.Errorf("ralph autopilot: %s", tailOf(res))
	}
}

// finished reports whether no task can go on by itself or by another try.
func (p *person) finished() bool {
	p.c.t.Helper()
	for _, x := range p.c.records() {
		if x.Status == "active" || x.Status == "pending" || x.Status == "done" && x.Merge != "" && x.Merge != "merged" {
			return false
		}
		if x.Status != "done" && p.retries[x.ID] < p.most {
			return false
		}
	}
	return true
}

// calmDown lets agents behave and engines live, until what can be done is done.
func (c *crowd) calmDown(p *person, members []member) {
	c.t.Helper()
	write(c.t, c.note("calm"), "")
	p.most += 3
	for range 12 {
		engine := startIn(c.t, c.home, c.root, append(c.env(), "RALPH_TASK_TIMEOUT=60s"), binary(), "autopilot")
		limit := time.After(patience)
		for engine.running() {
			p.looks()
			select {
			case <-engine.done:
			case <-limit:
				engine.wait(0) // with its goroutines
			case <-time.After(100 * time.Millisecond):
			}
		}
		c.checkEnd(engine.result())
		p.looks() // gives another try to what failed last
		if c.settled(members) {
			return
		}
	}
}

// hopeless are the tasks that can never be done: doomed ones, and what waits for them.
func hopeless(members []member) map[string]bool {
	lost := map[string]bool{}
	for _, m := range members { // deps point backwards
		lost[m.ID] = m.doomed || slices.ContainsFunc(m.Deps, func(id string) bool { return lost[id] })
	}
	return lost
}

func (c *crowd) settled(members []member) bool {
	c.t.Helper()
	lost := hopeless(members)
	for n, x := range c.records() {
		if !lost[x.ID] && (x.Status != "done" || x.Merge != "" && x.Merge != "merged") || members[n].doomed && x.Status != "failed" {
			return false
		}
	}
	return true
}

// checkStates wants each task in its right state, and the base branch to hold what
// is done, once, and nothing else.
func (c *crowd) checkStates(members []member, p *person) {
	c.t.Helper()
	lost := hopeless(members)
	work, tests := c.onBase("work"), c.onBase("tests")
	shared := c.onBase("shared")
	for n, x := range c.records() {
		m := members[n]
		want := "done"
		switch {
		case m.doomed && !slices.ContainsFunc(m.Deps, func(id string) bool { return lost[id] }):
			want = "failed"
		case lost[x.ID]:
			want = "pending"
		}
		if x.Status != want || want == "done" && x.Merge != "merged" {
			c.t.Errorf("%s is %s, its merge %q, want %s (%s) %s", x.ID, x.Status, x.Merge, want, x.Reason, x.MergeWaits)
		}
		if got, ok := work[x.ID]; ok != (want == "done") || ok && got != x.ID {
			c.t.Errorf("%s is %s, and main has its work: %v %q", x.ID, x.Status, ok, got)
		}
		for _, f := range m.shared {
			if n := strings.Count(shared[strconv.Itoa(f)]+"\n", x.ID+"\n"); n > 1 || want == "done" && n != 1 {
				c.t.Errorf("shared/%d on main has %s %d times", f, x.ID, n)
			}
		}
		if m.weaken && !strings.Contains(tests[x.ID+"_test.go"], "TestSecond") && !p.approved[x.ID] {
			c.t.Errorf("main lacks a test that %s took away, and nobody let that pass", x.ID)
		}
	}
	c.checkOnce(members)
	if res := startIn(c.t, c.home, c.root, c.env(), "sh", "check.sh").wait(patience); res.code != 0 {
		c.t.Errorf("main is red: %s", res)
	}
	for name := range strings.Lines(c.git("ls-tree", "-r", "--name-only", "main")) {
		if name = strings.TrimSpace(name); filepath.Base(name) == "broken" || strings.HasSuffix(name, ".tmp") {
			c.t.Errorf("main has %s", name)
		}
	}
}

// checkOnce wants the work of each task to have come to the base branch once: its
// file is added by one commit that is no merge.
func (c *crowd) checkOnce(members []member) {
	c.t.Helper()
	added := map[string]int{}
	for line := range strings.Lines(c.git("log", "main", "--no-merges", "--diff-filter=A", "--name-only", "--format=", "--", "work/")) {
		added[strings.TrimPrefix(strings.TrimSpace(line), "work/")]++
	}
	for _, m := range members {
		if n := added[m.ID]; n > 1 {
			c.t.Errorf("the work of %s was added to main %d times", m.ID, n)
		}
	}
}

// checkCleanup lets go of what failed: then there is nothing at all but main.
func (c *crowd) checkCleanup() {
	c.t.Helper()
	for _, x := range c.records() {
		if x.Worktree != "" {
			c.exits(0, "task", "cleanup", x.ID)
		}
	}
	if trees := strings.Count(c.git("worktree", "list", "--porcelain"), "worktree "); trees != 1 {
		c.t.Errorf("%d worktrees after a cleanup of all tasks", trees)
	}
}
