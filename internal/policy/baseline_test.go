package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// suite is a red run of a check in which these tests failed.
func suite(exit int, failed ...string) ralph.CheckResult {
	return ralph.CheckResult{Name: "suite", Command: "suite", Exit: exit, Failed: failed}
}

// atBase is a board whose task t-1 began at c0, of which the baseline is known when there is
// one, in the checkout or in a worktree. Its agent says that it is done.
func atBase(t *testing.T, place, mode string, before *ralph.CheckResult, known bool) *board {
	t.Helper()
	c := parallelSettings()
	var b *board
	if place == "worktree" {
		c.Baseline = mode
		b = parallelOn(t, c, ralph.Task{ID: "t-1", Name: "one"})
		b.task = "t-1"
		b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
			ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "tree-c0"})
	} else {
		c.Session, c.Isolated, c.Parallel, c.Baseline = "construct", false, 1, mode
		b = building(t, c)
		b.s.Job.Base = "c0"
	}
	if known {
		f := ralph.BaselineRan{Commit: "c0"}
		if before != nil {
			f.Red, f.Results = []string{before.Name}, []ralph.CheckResult{*before}
		}
		b.add(f)
	}
	b.claim("a")
	return b
}

// checkedAs gives the board the outcome that the executor gives of the wanted checks.
func (b *board) checkedAs(now ralph.CheckResult) {
	b.t.Helper()
	step, ok := b.want("check", "B-010").(ralph.Check)
	if !ok {
		b.t.FailNow()
	}
	var known []string
	if ralph.SameWay(append(slices.Clone(step.Before), step.Let...), now) {
		known = append(known, now.Name)
	}
	b.ran(known, now)
}

// F-01, R-M1: the completion matrix in both places and with both settings, after a base
// that was green, red in the same way, red in another way, or that nobody knows
// (B-011, B-023, B-070, X-62). What no cell says is done by words that name the check.
func TestCompletionAfterABaseline(t *testing.T) {
	t.Parallel()
	same, less, other, unnamed := suite(1, "A"), suite(1, "A", "B"), suite(1, "B"), suite(1)
	const mended, again, passed, looks = "mended", "sent back, then a person", "passed and told", "looked at first"
	for _, tt := range []struct {
		base   string
		before *ralph.CheckResult
		known  bool
		strict string
		knows  string
	}{
		{"green before", nil, true, mended, mended},
		{"red in the same way", &same, true, again, passed},
		{"more was red", &less, true, again, passed},
		{"another test was red", &other, true, mended, mended},
		{"no test was named", &unnamed, true, mended, mended},
		{"unknown", nil, false, mended, mended},
	} {
		for _, place := range []string{"in place", "worktree"} {
			for _, mode := range []string{"", "strict", policy.BaselineKnown} {
				t.Run(strings.Join([]string{place, mode, tt.base}, ", "), func(t *testing.T) {
					t.Parallel()
					want := tt.strict
					if mode == policy.BaselineKnown {
						want = tt.knows
					}
					if place == "worktree" && !tt.known {
						want = looks
					}
					b := atBase(t, place, mode, tt.before, tt.known)
					b.checkedAs(suite(1, "A"))
					switch want {
					case passed:
						b.doneAs("COMPLETE; 1 check red as before: suite (A)")
						return
					case looks:
						b.want("baseline", "P-14")
						return
					}
					b.want("turn 2 claude", "B-023") // never done at once
					b.add(ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 2}})
					b.claim("a")
					b.checkedAs(suite(1, "A"))
					if want == mended {
						b.want("turn 3 claude", "B-023")
						return
					}
					b.person(b.s.Approve(b.ask("X-62", "was red before its work too: suite (A)")))
					b.want("check", "B-010")
					b.add(ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "a", Known: []string{"suite"}, Waived: []string{"suite"}, Results: []ralph.CheckResult{suite(1, "A")}})
					b.doneAs("COMPLETE; 1 check red, let pass by a person: suite (A)")
				})
			}
		}
	}
}

// doneAs expects the end of the task as done, in these words; before it, in a worktree, its commit.
func (b *board) doneAs(words string) {
	b.t.Helper()
	if b.c.Isolated {
		b.want("commit", "X-69")
		b.add(ralph.Committed{Task: b.task, Commit: "c-1", Tree: "a"})
	}
	b.want("finish done", "B-022")
	if _, why := policy.Next(&b.s, b.task, b.c, b.now); why.Text != words {
		b.t.Errorf("it ends with %q, want %q", why.Text, words)
	}
}

// F-01: an answer for good answers the same question for the same check, also where less is
// red by then; another test, another check and another way to be red are asked anew. A no
// goes back to the agent with the reason (C-036, X-78).
func TestRedBeforeByRule(t *testing.T) {
	t.Parallel()
	base := suite(1, "A", "B", "C")
	asked := func(t *testing.T, now ralph.CheckResult) *board {
		t.Helper()
		b := atBase(t, "worktree", "", &base, true)
		b.checkedAs(now)
		b.add(ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 2}})
		b.claim("a")
		b.checkedAs(now)
		return b
	}
	first := asked(t, suite(1, "A", "B"))
	gate := first.ask("X-62", "suite (A, B)")
	facts, err := first.s.Approve(gate)
	if err == nil {
		facts, err = first.s.Always(gate, facts, ralph.AnswerRule{ID: "r-1", Scope: ralph.ScopeRepository})
	}
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := facts[len(facts)-1].(ralph.RuleAdded)
	if !ok || len(rule.Rule.Request.Red) != 1 {
		t.Fatalf("%+v", facts)
	}
	for _, tt := range []struct {
		name  string
		now   ralph.CheckResult
		rules bool
	}{
		{"the same", suite(1, "A", "B"), true},
		{"less", suite(1, "B"), true},
		{"another that was red before too", suite(1, "A", "C"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := asked(t, tt.now)
			b.add(rule)
			if !tt.rules {
				b.ask("X-62", "suite")
				return
			}
			b.want("check", "B-010") // the answer is told on the way
			f, ok := b.told[len(b.told)-1].(ralph.RequestAnswered)
			if !ok || f.By != "r-1" || f.Verdict != ralph.Approved || b.s.Task("t-1").Run.Waived.Rule != "r-1" {
				t.Errorf("%+v", b.told)
			}
		})
	}
	t.Run("a question that is open already", func(t *testing.T) {
		t.Parallel()
		b := asked(t, suite(1, "A"))
		b.ask("X-62")
		b.add(rule)
		b.want("check", "B-010")
		if f, ok := b.told[len(b.told)-1].(ralph.Answered); !ok || f.Rule != "r-1" {
			t.Errorf("%+v", b.told)
		}
	})
	t.Run("no for good", func(t *testing.T) {
		t.Parallel()
		b := asked(t, suite(1, "A"))
		no := rule
		no.Rule.Verdict, no.Rule.Text = ralph.Denied, "mend it"
		b.add(no)
		b.want("turn 3 claude", "B-023")
		if r := b.s.Task("t-1").Run; len(r.Rejects) != 1 || r.Rejects[0] != "mend it" {
			t.Errorf("%q", r.Rejects)
		}
	})
}

// F-01: a merged tree that is red is red, also where the tip was: unless exactly that was
// let pass for a member, by a rule, or because quality.baseline is known.
func TestRedAtTheMerge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		mode   string
		waived []string // tests that a person let fail in the member
		rule   []string
		passes bool
	}{
		{"nobody let it pass", "", nil, nil, false},
		{"let pass for the member", "", []string{"A"}, nil, true},
		{"something else was let pass", "", []string{"B"}, nil, false},
		{"by a rule", "", nil, []string{"A", "B"}, true},
		{"by a rule for something else", "", nil, []string{"B"}, false},
		{"known", policy.BaselineKnown, nil, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Baseline = tt.mode
			b := parallelOn(t, c, some(1)...)
			base := suite(1, "A")
			b.add(ralph.BaselineRan{Commit: "c0", Red: []string{"suite"}, Results: []ralph.CheckResult{base}})
			if tt.waived != nil {
				red := suite(1, tt.waived...)
				b.add(ralph.ChecksRan{Task: "t-1", Tree: "tree-t-1", Results: []ralph.CheckResult{red}},
					ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalTest, Task: "t-1"}}, ralph.Answered{ID: "g-1", Verdict: ralph.Approved},
					ralph.ChecksRan{Task: "t-1", Tree: "tree-t-1", Pass: true, Known: []string{"suite"}, Waived: []string{"suite"}, Results: []ralph.CheckResult{red}},
					ralph.Committed{Task: "t-1", Commit: "c-t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, BasedOnSeq: 1},
					ralph.MergeQueued{Task: "t-1", Branch: "ralph/t-1", Commit: "c-t-1"})
			} else {
				b.built("t-1")
			}
			if tt.rule != nil {
				b.add(ralph.RuleAdded{Rule: ralph.AnswerRule{
					ID: "r-1", Verdict: ralph.Approved, Scope: ralph.ScopeRepository,
					Request: ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCheck, Red: []ralph.RedCheck{ralph.RedOf(suite(1, tt.rule...))}},
				}})
			}
			b.stage("merge t-1")
			b.merged("c1")
			step, _ := b.want("check", "P-14").(ralph.Check)
			passes := ralph.SameWay(append(slices.Clone(step.Before), step.Let...), base)
			if passes != tt.passes {
				t.Fatalf("%+v lets it pass: %v", step, passes)
			}
			if !passes {
				b.ran(nil, base)
				b.end(ralph.TaskFailed, "X-72")
				if q := b.s.Task("t-1").Run.Queue; q.State != ralph.MergeRed {
					t.Errorf("%+v", q)
				}
				return
			}
			b.ran([]string{"suite"}, base)
			b.want("advance", "P-14")
			if _, why := policy.Next(&b.s, b.task, b.c, b.now); !strings.Contains(why.Text, "1 check red") || strings.Contains(why.Text, "pass on") {
				t.Errorf("it goes on because %q", why.Text)
			}
		})
	}
}

// R-H3: one baseline before any work, in every mode that works; none in a dry run, without
// checks, in a checkout with changes, on work that has begun, or where it is known.
func TestBaselineFirst(t *testing.T) {
	t.Parallel()
	commands := []string{"suite"}
	red := func(commit, tree string) ralph.BaselineRan {
		r := suite(1, "A")
		return ralph.BaselineRan{Commit: commit, Tree: tree, Red: []string{"suite"}, Results: []ralph.CheckResult{r}}
	}
	for _, tt := range []struct {
		name  string
		c     func(*policy.Config)
		clean bool
		known []ralph.Fact
		want  string
		rule  string
		told  bool
	}{
		{"the first time", nil, true, nil, "baseline", "P-14", false},
		{"without checks", func(c *policy.Config) { c.Commands = nil }, true, nil, "finish done", "D-036", false},
		{"a dry run", func(c *policy.Config) { c.PlanOnly = true }, true, nil, "finish done", "D-036", false},
		{"a checkout with changes", nil, false, nil, "finish done", "D-036", false},
		{"work has begun", nil, true, []ralph.Fact{ralph.TaskStarted{ID: "t-1"}}, "finish done", "D-036", false},
		{"known and red, of another session", nil, true, []ralph.Fact{red("c0", "t0")}, "finish done", "D-036", true},
		{"known by its tree", nil, true, []ralph.Fact{red("c8", "t0")}, "finish done", "D-036", true},
		{"known with changes in the checkout", nil, false, []ralph.Fact{red("c0", "t0")}, "finish done", "D-036", true},
		{"its tree is not the commit's", nil, false, []ralph.Fact{red("c8", "t0")}, "finish done", "D-036", false},
		{"other checks were run", func(c *policy.Config) { c.Commands = []string{"suite", "lint"} }, true, []ralph.Fact{red("c0", "t0")}, "baseline", "P-14", false},
		{"stopped", nil, true, []ralph.Fact{ralph.Control{Want: ralph.WantStop}}, "finish pending", "D-051", false},
		{"paused", nil, true, []ralph.Fact{ralph.Control{Want: ralph.WantPause}}, "wait", "B-058", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Session, c.Isolated, c.Parallel, c.Commands = "construct", false, 1, commands
			if tt.c != nil {
				tt.c(&c)
			}
			b := newBoard(t, c)
			b.add(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Status: ralph.TaskPending}}, ralph.JobStarted{Job: "j", File: "a.md"},
				ralph.TaskAdded{Task: ralph.Task{ID: "p", Kind: ralph.KindPrepare, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "p"},
				ralph.Prepared{Task: "p", Head: "c0", Tree: "t0", Clean: tt.clean})
			b.add(tt.known...)
			b.task = "p"
			b.want(tt.want, tt.rule)
			if told := b.s.BaselineTold(); told != tt.told {
				t.Errorf("told of what is red: %v, %s", told, fmt.Sprint(b.told))
			}
			if tt.want == "baseline" {
				b.add(ralph.BaselineRan{Task: "p", Commit: "c0", Skipped: "changes"})
				b.want("finish done", "D-036") // also when it could not run, it is not tried again
			}
		})
	}
}
