package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

func gateSettings() policy.Config {
	c := enginetest.Settings()
	c.Coverage, c.TestRetries, c.TestRetry = 80, 3, "agent"
	c.Diff = policy.DiffChecks{Empty: "red", Weakened: "gate", Secrets: "gate"}
	return c
}

// claim is a turn that ends with COMPLETE on a tree.
func (b *board) claim(tree string) {
	f := enginetest.Says(ralph.SignalComplete, "")
	f.Tree = tree
	b.turn(f)
}

// ran are checks of the task's last tree, with these results. What is in known and red
// does not count.
func (b *board) ran(known []string, results ...ralph.CheckResult) {
	f := ralph.ChecksRan{Task: b.task, Pass: true, Tree: b.s.Task(b.task).Run.Tree, Results: results}
	for _, r := range results {
		f.Empty = f.Empty || r.Name == ralph.CheckEmpty
		switch {
		case r.Pass:
		case contains(known, r.Name):
			f.Known = append(f.Known, r.Name)
		default:
			f.Pass = false
		}
	}
	b.add(f)
}

func contains(list []string, s string) bool {
	return strings.Contains(" "+strings.Join(list, " ")+" ", " "+s+" ")
}

func quality(pass bool) ralph.CheckResult {
	return ralph.CheckResult{Name: "vet", Command: "vet", Pass: pass, Output: "vet says no"}
}

func tests(pass bool) ralph.CheckResult {
	return ralph.CheckResult{Name: "test", Command: "go test", Pass: pass, Output: "a test fails", Test: true}
}

func covered(percent float64, pass bool) ralph.CheckResult {
	return ralph.CheckResult{Name: ralph.CheckCoverage, Pass: pass, Test: true, Why: "71.2 % of 10", Coverage: &ralph.Coverage{Percent: percent}}
}

func doubt(name string, what ...string) ralph.CheckResult {
	r := ralph.CheckResult{Name: name, Why: "doubtful", Exit: 1}
	for _, w := range what {
		r.Findings = append(r.Findings, ralph.Finding{Path: "a_test.go", Line: 7, Kind: "removed", What: w})
	}
	return r
}

// C-058, C-059: nothing is tested before COMPLETE, and nothing is done without it.
func TestTestsRunAfterTheClaim(t *testing.T) {
	t.Parallel()
	b := building(t, gateSettings())
	b.want("turn 1 claude", "D-044")
	b.turn(enginetest.Says(ralph.SignalNone, ""))
	b.want("turn 2 claude", "B-026")
	b.claim("t2")
	b.want("check", "B-010")
	b.ran(nil, quality(true), tests(true))
	b.want("finish done", "B-022")
}

// C-007, C-062, C-063, X-47: quality commands iterate without limit; the test gate counts its
// red runs, and after the first and three retries a person is asked.
func TestRedRunsOfTheTests(t *testing.T) {
	t.Parallel()
	type run struct {
		results []ralph.CheckResult
		reds    int
		step    string // "" is the next turn
	}
	redQuality := run{[]ralph.CheckResult{quality(false)}, 0, ""}
	red := func(n int) run { return run{[]ralph.CheckResult{quality(true), tests(false)}, n, ""} }
	low := func(n int) run {
		return run{[]ralph.CheckResult{quality(true), tests(true), covered(71.2, false)}, n, ""}
	}
	asks := func(r run) run { r.step = "ask"; return r }
	for name, c := range map[string]struct {
		retries int
		retry   string
		runs    []run
	}{
		"quality commands alone":              {3, "agent", []run{redQuality, redQuality, redQuality, redQuality, redQuality, redQuality}},
		"always red: 1 + 3":                   {3, "agent", []run{red(1), red(2), red(3), asks(red(4))}},
		"low coverage is red":                 {3, "agent", []run{low(1), red(2), low(3), asks(low(4))}},
		"quality commands do not count":       {1, "agent", []run{red(1), {[]ralph.CheckResult{quality(false)}, 1, ""}, asks(red(2))}},
		"no retries":                          {0, "agent", []run{asks(red(1))}},
		"tried again at once: no second turn": {3, "rerun", []run{asks(red(1))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := gateSettings()
			conf.TestRetries, conf.TestRetry = c.retries, c.retry
			b := building(t, conf)
			for n, r := range c.runs {
				b.claim(string(rune('a' + n)))
				b.want("check", "B-010")
				b.ran(nil, r.results...)
				if got := b.s.Task("t-1").Run.TestReds; got != r.reds {
					t.Errorf("run %d: %d red runs, want %d", n+1, got, r.reds)
				}
				if r.step == "ask" {
					b.ask("C-063", "stays red")
					continue
				}
				step, why := policy.Next(&b.s, b.task, b.c, b.now)
				if turn, ok := step.(ralph.Turn); !ok || turn.Iteration != n+2 || why.Rule != "B-023" {
					t.Errorf("run %d: %s by %s", n+1, words(step), why.Rule)
				}
			}
		})
	}
}

func hung(r ralph.CheckResult) ralph.CheckResult {
	r.Pass, r.Hung, r.Exit, r.Why = false, true, -1, "timed out after 10m: it did not end"
	r.Headline = r.Why
	return r
}

// Row 26 of the messages: a check that does not end is no red test. Its agent is told once;
// the second time in a row a person is asked, whichever check it is and whatever the tests
// have left of their retries. Another look at the same run is no second one.
func TestChecksThatHang(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]ralph.CheckResult{"the tests": hung(tests(false)), "a quality command": hung(quality(false))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := building(t, gateSettings())
			b.claim("a")
			b.ran(nil, check)
			b.ran(nil, check)
			b.want("turn 2 claude", "B-023")
			b.claim("b")
			b.ran(nil, quality(false)) // it ends: the count begins anew
			b.want("turn 3 claude", "B-023")
			b.claim("c")
			b.ran(nil, check)
			b.want("turn 4 claude", "B-023")
			b.claim("d")
			b.want("check", "B-010")
			b.ran(nil, check)
			id := b.ask("C-063", "did not end within the time limit", "timed out after 10m: it did not end")
			b.person(b.s.Deny(id, "it waits for a port"))
			b.want("turn 5 claude", "B-023")
			if r := b.s.Task("t-1").Run; r.Hangs != 0 {
				t.Errorf("%d hangs after a person's word", r.Hangs)
			}
		})
	}
	t.Run("known before the work", func(t *testing.T) {
		t.Parallel()
		b := building(t, gateSettings())
		for _, tree := range []string{"a", "b"} {
			b.claim(tree)
			b.ran([]string{"test"}, quality(false), hung(tests(false)))
			b.want(map[string]string{"a": "turn 2 claude", "b": "turn 3 claude"}[tree], "B-023")
		}
	})
}

// A green run ends the count: only red ones in a row bring a person in.
func TestGreenEndsTheCount(t *testing.T) {
	t.Parallel()
	b := building(t, gateSettings())
	for range 3 {
		b.claim("a")
		b.ran(nil, tests(false))
	}
	b.claim("b")
	b.ran(nil, tests(true), covered(90, true))
	if got := b.s.Task("t-1").Run.TestReds; got != 0 {
		t.Errorf("%d red runs after a green one", got)
	}
	b.want("finish done", "B-022")
}

// What a person says at the gate: approved, exactly that tree passes; denied, the agent
// gets the reason and all its tries; nobody's word approves nothing.
func TestAnswersAtTheTestGate(t *testing.T) {
	t.Parallel()
	asked := func(t *testing.T) (*board, ralph.ApprovalID) {
		t.Helper()
		c := gateSettings()
		c.TestRetries = 0
		b := building(t, c)
		b.claim("a")
		b.ran(nil, quality(true), tests(false))
		return b, b.ask("C-063", "test", "a test fails")
	}
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		b, id := asked(t)
		b.person(b.s.Approve(id))
		b.want("check", "B-010") // what was not run yet has its turn
		b.ran([]string{"test"}, quality(true), tests(false))
		b.want("finish done", "B-022")
	})
	t.Run("approved, and the tree is another", func(t *testing.T) {
		t.Parallel()
		b, id := asked(t)
		b.person(b.s.Approve(id))
		b.add(ralph.ChecksRan{Task: "t-1", Tree: "b", Results: []ralph.CheckResult{tests(false)}})
		b.ask("C-063", "stays red")
	})
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		b, id := asked(t)
		b.c.TestRetries = 1
		b.person(b.s.Deny(id, "look at the clock"))
		b.want("turn 2 claude", "B-023")
		r := b.s.Task("t-1").Run
		if r.TestReds != 0 || len(r.Rejects) != 1 || r.Rejects[0] != "look at the clock" || r.Waived != nil {
			t.Errorf("after the denial: %d red runs, %q, %+v", r.TestReds, r.Rejects, r.Waived)
		}
		b.claim("b")
		b.ran(nil, tests(false))
		b.want("turn 3 claude", "B-023")
	})
	t.Run("nobody answers", func(t *testing.T) {
		t.Parallel()
		b, id := asked(t)
		gate := b.s.ApprovalOf("t-1")
		late := *gate
		late.Deadline = b.now.Add(time.Minute)
		b.s.Approvals = []*ralph.Approval{&late}
		b.now = b.now.Add(time.Hour)
		b.want("finish blocked", "X-76")
		if gate.ID != id {
			t.Errorf("gate %s, want %s", gate.ID, id)
		}
	})
}

// A diff in doubt: what an agent can mend goes to the agent first, a person is asked
// once all else is green; an empty one is told to the agent, then asked of a person
// (product.md 14, issue 6.6).
func TestDoubtfulDiffs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit    func(*policy.Config)
		before  []ralph.Fact
		claims  int // COMPLETE so often, each with these results
		results []ralph.CheckResult
		ask     string // what the gate says; "" is the next turn
	}{
		"weakened, all green":           {nil, nil, 1, []ralph.CheckResult{doubt(ralph.CheckWeakened, "TestB"), tests(true)}, "needs a look"},
		"weakened, tests red":           {nil, nil, 1, []ralph.CheckResult{doubt(ralph.CheckWeakened, "TestB"), tests(false)}, ""},
		"weakened, for its agent":       {func(c *policy.Config) { c.Diff.Weakened = "red" }, nil, 3, []ralph.CheckResult{doubt(ralph.CheckWeakened, "TestB")}, ""},
		"a secret":                      {nil, nil, 1, []ralph.CheckResult{doubt(ralph.CheckSecrets, "key"), tests(true)}, "secrets"},
		"empty once":                    {nil, nil, 1, []ralph.CheckResult{doubt(ralph.CheckEmpty)}, ""},
		"empty, always for a person":    {func(c *policy.Config) { c.Diff.Empty = "gate" }, nil, 1, []ralph.CheckResult{doubt(ralph.CheckEmpty), tests(true)}, "changed nothing"},
		"no limit for what agents mend": {func(c *policy.Config) { c.TestRetries = 0 }, nil, 1, []ralph.CheckResult{doubt(ralph.CheckWeakened, "TestB"), quality(false)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := gateSettings()
			if c.edit != nil {
				c.edit(&conf)
			}
			b := building(t, conf)
			b.add(c.before...)
			for n := range c.claims {
				b.claim("a")
				b.want("check", "B-010")
				b.ran(nil, c.results...)
				if n+1 < c.claims {
					step, why := policy.Next(&b.s, b.task, b.c, b.now)
					if _, ok := step.(ralph.Turn); !ok {
						t.Fatalf("claim %d: %s by %s", n+1, words(step), why.Rule)
					}
				}
			}
			if c.ask != "" {
				b.ask("P-14", c.ask)
				return
			}
			step, why := policy.Next(&b.s, b.task, b.c, b.now)
			if _, ok := step.(ralph.Turn); !ok || why.Rule != "B-023" {
				t.Errorf("%s by %s (%s)", words(step), why.Rule, why.Text)
			}
		})
	}
}

// F-05: work that was there before is done. Its agent is told once that nothing changed;
// says it COMPLETE again, green commands make it true. Nothing else does: not a check that
// was red before, not the word alone where there is no command.
func TestNothingToChange(t *testing.T) {
	t.Parallel()
	empty := doubt(ralph.CheckEmpty)
	same := ralph.CheckResult{Name: ralph.CheckEmpty, Pass: true}
	sentBack := []ralph.Fact{ralph.TaskRejected{ID: "t-1", Reason: "no"}, ralph.TaskStarted{ID: "t-1"}}
	type claim []ralph.CheckResult
	for name, c := range map[string]struct {
		edit   func(*policy.Config)
		before []ralph.Fact
		claims []claim
		known  []string
		turns  int    // "BUILD" again after so many of the claims
		end    string // what comes after the last
		last   bool   // DoneBefore at the last claim
	}{
		"green":                       {nil, nil, []claim{{empty}, {same, tests(true)}}, nil, 1, "done", true},
		"sent back, green":            {nil, sentBack, []claim{{empty}, {same, tests(true)}}, nil, 1, "done", true},
		"red, then green, told once":  {nil, nil, []claim{{empty}, {same, quality(false)}, {same, tests(true)}}, nil, 2, "done", true},
		"told anew after real work":   {nil, nil, []claim{{empty}, {quality(false)}, {empty}}, nil, 3, "", false},
		"red before proves nothing":   {nil, nil, []claim{{empty}, {empty, tests(false)}}, []string{"test"}, 1, "ask", true},
		"no command":                  {func(c *policy.Config) { c.Checks = false }, nil, []claim{{empty}, {empty}}, nil, 1, "ask", false},
		"no command, sent back":       {func(c *policy.Config) { c.Checks = false }, sentBack, []claim{{empty}}, nil, 0, "ask", false},
		"gate: always asks":           {func(c *policy.Config) { c.Diff.Empty = "gate" }, nil, []claim{{empty, tests(true)}}, nil, 0, "ask", false},
		"off: nobody looks":           {func(c *policy.Config) { c.Diff.Empty = "off" }, nil, []claim{{tests(true)}}, nil, 0, "done", false},
		"red commands, as many times": {nil, nil, []claim{{empty}, {same, quality(false)}, {same, quality(false)}}, nil, 3, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := gateSettings()
			if c.edit != nil {
				c.edit(&conf)
			}
			b := building(t, conf)
			b.add(c.before...)
			turns, before := 0, false
			for _, results := range c.claims {
				b.claim("a")
				before = policy.DoneBefore(b.s.Task("t-1"), conf)
				b.want("check", "B-010")
				b.ran(c.known, results...)
				step, _ := policy.Next(&b.s, b.task, b.c, b.now)
				if _, ok := step.(ralph.Turn); ok {
					turns++
				}
			}
			if turns != c.turns || before != c.last {
				t.Errorf("%d turns more, want %d; done before %v, want %v", turns, c.turns, before, c.last)
			}
			switch c.end {
			case "ask":
				b.ask("P-14", "changed nothing: is it done?")
			case "done":
				b.want("finish done", "B-022")
				_, why := policy.Next(&b.s, b.task, b.c, b.now)
				if want := conf.Diff.Empty == "red"; strings.Contains(why.Text, "nothing to change") != want || b.s.Task("t-1").NothingToChange() != want {
					t.Errorf("it ends with %q, marked %v", why.Text, b.s.Task("t-1").NothingToChange())
				}
			}
		})
	}
}

// Without any command a task is still held against its own diff; with neither, COMPLETE
// is believed.
func TestDiffWithoutCommands(t *testing.T) {
	t.Parallel()
	c := gateSettings()
	c.Checks = false
	b := building(t, c)
	b.claim("a")
	b.want("check", "B-010")
	b.ran(nil, doubt(ralph.CheckEmpty))
	b.want("turn 2 claude", "B-023")
	c.Diff = policy.DiffChecks{Empty: "off", Weakened: "off", Secrets: "off"}
	b = building(t, c)
	b.claim("a")
	b.want("finish done", "B-022")
}

// In the checkout the work that waits at the test gate stays alone; in a worktree of its
// own it leaves its slot to others (B-054).
func TestWhoWaitsAtTheTestGate(t *testing.T) {
	t.Parallel()
	c := gateSettings()
	c.TestRetries = 0
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.claim("a")
	b.ran(nil, tests(false))
	b.ask("C-063", "stays red")
	if m := policy.Schedule(&b.s, []ralph.TaskID{"t-1"}, b.c, b.now); moveStarts(m, "t-2") {
		t.Error("t-2 starts in the checkout whose tree waits for a person")
	}
}

func moveStarts(m policy.Move, id ralph.TaskID) bool {
	r, ok := m.(policy.Record)
	if !ok {
		return false
	}
	for _, f := range r.Facts {
		if s, ok := f.(ralph.TaskStarted); ok && s.ID == id {
			return true
		}
	}
	return false
}

// worktree is a board of a task in a worktree, on top of c0, that claims to be done.
func worktree(t *testing.T) *board {
	t.Helper()
	c := parallelSettings()
	g := gateSettings()
	c.Coverage, c.TestRetries, c.TestRetry, c.Diff = g.Coverage, 0, g.TestRetry, g.Diff
	b := parallelOn(t, c, ralph.Task{ID: "t-1", Name: "one"})
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
		ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "tree-c0"})
	b.task = "t-1"
	b.claim("a")
	return b
}

// What was red before is looked up before a task is blamed, and does not count as a red
// run; coverage that was low before must only not be lowered (product.md 14, C-061).
func TestKnownBeforeTheTestGate(t *testing.T) {
	t.Parallel()
	b := worktree(t)
	b.c.Baseline = policy.BaselineKnown // what was red before is let pass
	b.want("check", "B-010")
	b.ran(nil, tests(false))
	b.want("baseline", "P-14")
	b.add(ralph.BaselineRan{Task: "t-1", Commit: "c0", Red: []string{"test"}, Results: []ralph.CheckResult{tests(false)}})
	b.want("check", "P-14")
	b.ran([]string{"test"}, tests(false))
	if got := b.s.Task("t-1").Run.TestReds; got != 0 {
		t.Errorf("%d red runs of what was red before", got)
	}
	b.want("commit", "X-69")

	for name, lowered := range map[string]bool{"as before": false, "lowered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := worktree(t)
			b.ran(nil, tests(true), covered(71.2, false))
			b.want("baseline", "P-14")
			green := tests(true)
			green.Coverage = &ralph.Coverage{Percent: 71.2}
			b.add(ralph.BaselineRan{Task: "t-1", Commit: "c0", Results: []ralph.CheckResult{green}})
			check, ok := b.want("check", "P-14").(ralph.Check)
			if !ok || check.Covered != 71.2 {
				t.Fatalf("checks with %+v", check)
			}
			f := ralph.ChecksRan{Task: "t-1", Tree: "a", Pass: !lowered, Covered: 71.2, Results: []ralph.CheckResult{tests(true), covered(71.2, !lowered)}}
			b.add(f)
			if lowered {
				b.ask("C-063", "coverage")
				return
			}
			b.want("commit", "X-69")
		})
	}
}

// A red diff is the task's own: no baseline is asked for it.
func TestDiffNeedsNoBaseline(t *testing.T) {
	t.Parallel()
	b := worktree(t)
	b.ran(nil, doubt(ralph.CheckWeakened, "TestB"), tests(true))
	b.ask("P-14", "needs a look")
}

// What a person let pass is not asked again at the merge, and its check counts as known
// on the merged tip; other findings are asked for.
func TestWaivedAtTheMerge(t *testing.T) {
	t.Parallel()
	weak := func(what string, line int) []ralph.Finding {
		return []ralph.Finding{{Path: "a_test.go", Line: line, Kind: "removed", What: what}}
	}
	for name, c := range map[string]struct {
		found []ralph.Finding
		held  bool
	}{
		"the same, moved": {weak("TestB", 9), false},
		"another":         {weak("TestC", 7), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := worktree(t)
			b.add(ralph.BaselineRan{Task: "t-1", Commit: "c0"})
			b.ran(nil, doubt(ralph.CheckWeakened, "TestB"), tests(false))
			b.person(b.s.Approve(b.ask("C-063", "stays red", "weakened tests")))
			b.want("check", "B-010")
			b.ran([]string{ralph.CheckWeakened, "test", "weakened", "tests"}, doubt(ralph.CheckWeakened, "TestB"), tests(false))
			b.want("commit", "X-69")
			b.add(ralph.Committed{Task: "t-1", Commit: "c-1", Tree: "a", Weakened: c.found})
			b.end(ralph.TaskDone, "B-022")
			b.stage("merge t-1")
			if c.held {
				b.ask("P-14", "TestC")
				return
			}
			b.want("merge", "B-006")
			b.merged("m1")
			check, ok := b.want("check", "P-14").(ralph.Check)
			if !ok || len(check.Let) != 1 || check.Let[0].Name != "test" {
				t.Errorf("the merge is checked with %+v", check)
			}
		})
	}
}
