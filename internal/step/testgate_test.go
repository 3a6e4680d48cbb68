package step_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
)

// commands are check commands that the test plays: each run takes its next result.
type commands struct {
	red  map[string][]bool // by command; past the end it is green
	hang bool              // what is red did not end
	ran  []string
}

func (c *commands) Run(_ context.Context, _ string, gates []ralph.CheckSpec) ([]ralph.CheckResult, error) {
	g := gates[0]
	c.ran = append(c.ran, g.Command)
	red := false
	if list := c.red[g.Command]; len(list) > 0 {
		red, c.red[g.Command] = list[0], list[1:]
	}
	r := ralph.CheckResult{Name: g.Name, Command: g.Command, Pass: !red, Output: "said", Took: time.Second}
	if red {
		r.Exit, r.Hung = 1, c.hang
	}
	return []ralph.CheckResult{r}, nil
}

// reports are coverage reports that the test plays.
type reports struct {
	*ralph.Coverage
	err     error
	spoiled bool
}

func (r reports) Prepare(command, scratch string) (with, profile string) {
	return command + " -cover", scratch + "/cover.out"
}
func (r reports) Spoiled(string) bool { return r.spoiled }

func (r reports) Read(_ string, _ time.Time, profile string) (*ralph.Coverage, error) {
	if r.spoiled && profile != "" {
		return nil, errors.New("the profile of a spoiled run was read")
	}
	return r.Coverage, r.err
}

// changed is a place of work whose tree and patch the test sets.
type changed struct {
	step.Trees
	tree  string
	patch string
}

func (*changed) Inside(context.Context, string) (files, nested []string, err error) {
	return nil, nil, nil
}

func (c *changed) Snapshot(context.Context) (tree, head string, err error) {
	return c.tree, "head", nil
}

func (c *changed) Patch(_ context.Context, from, to string, _ int64) ([]byte, error) {
	if from == to {
		return nil, nil
	}
	return []byte(c.patch), nil
}

// checkable is a window whose task, on the tree "t0" at its first turn, can be checked.
func checkable(t *testing.T, c policy.Config, cmds *commands) (*window, *changed) {
	t.Helper()
	w := newWindow(t, c, "  - do: [signal: COMPLETE]\n")
	trees := &changed{tree: "t1", patch: "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n"}
	w.Trees, w.Checker = trees, cmds
	w.Checks = []ralph.CheckSpec{{Name: "vet", Command: "vet"}, {Name: "test", Command: "test", Test: true}}
	w.state.Job.Tree = "t0"
	w.apply(ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "played", Iteration: 1}})
	w.apply(ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalComplete}, Tree: "t1"})
	return w, trees
}

func (w *window) check(t *testing.T, known ...string) (ralph.ChecksRan, []string) {
	t.Helper()
	var ran ralph.ChecksRan
	var notes []string
	var before []ralph.RedCheck
	for _, name := range known {
		before = append(before, ralph.RedCheck{Name: name, Exit: 1})
	}
	for _, f := range w.do(t, ralph.Check{Before: before}) {
		switch f := f.(type) {
		case ralph.ChecksRan:
			ran = f
		case ralph.Noted:
			notes = append(notes, f.Text)
		}
	}
	return ran, notes
}

// quality first, tests last, and no command twice on the same tree: green counts for
// everybody, red for the attempt that it was red in.
func TestSameTreeIsNotCheckedTwice(t *testing.T) {
	t.Parallel()
	cmds := &commands{red: map[string][]bool{"test": {true}}}
	w, trees := checkable(t, policy.Config{}, cmds)
	run := func(want ...string) ralph.ChecksRan {
		t.Helper()
		cmds.ran = nil
		ran, _ := w.check(t)
		if !slices.Equal(cmds.ran, want) {
			t.Errorf("ran %q, want %q", cmds.ran, want)
		}
		return ran
	}
	if ran := run("vet", "test"); ran.Pass || ran.Tree != "t1" || ran.Results[1].Reused {
		t.Errorf("first: %+v", ran)
	}
	if ran := run(); ran.Pass || !ran.Results[0].Reused || !ran.Results[1].Reused || ran.Results[1].Output != "said" || ran.Took >= time.Second {
		t.Errorf("again on the same tree: %+v", ran)
	}
	trees.tree = "t2"
	if ran := run("vet", "test"); !ran.Pass {
		t.Errorf("on another tree: %+v", ran)
	}
	trees.tree = "t1" // back, and a person sent the task back meanwhile: what was red may be mended
	w.apply(ralph.TaskRejected{ID: "t-1", Reason: "no"}, ralph.TaskStarted{ID: "t-1"})
	if ran := run("test"); !ran.Pass || !ran.Results[0].Reused || ran.Results[1].Reused {
		t.Errorf("after a person: %+v", ran)
	}
	if ran := run(); !ran.Pass || !ran.Results[1].Reused {
		t.Errorf("green again: %+v", ran)
	}
}

// C-064, X-47: with rerun a red test command runs again at once; green in between passes,
// and it is noted. Quality commands are not run again, nor what was red before.
func TestRerun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		red   map[string][]bool
		known []string
		ran   string
		tries int
		pass  bool
		note  string
	}{
		"green at once":    {nil, nil, "vet test", 0, true, ""},
		"green in between": {map[string][]bool{"test": {true, true}}, nil, "vet test test test", 3, true, "green at try 3"},
		"stays red":        {map[string][]bool{"test": {true, true, true, true, true}}, nil, "vet test test test test", 4, false, ""},
		"does not end":     {map[string][]bool{"test": {true, true}}, nil, "vet test", 0, false, ""}, // row 26: not again at once
		"quality":          {map[string][]bool{"vet": {true}}, nil, "vet", 0, false, ""},
		"red before":       {map[string][]bool{"test": {true, true}}, []string{"test"}, "vet test", 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmds := &commands{red: c.red}
			if cmds.red == nil {
				cmds.red = map[string][]bool{}
			}
			cmds.hang = name == "does not end"
			w, _ := checkable(t, policy.Config{TestRetry: "rerun", TestRetries: 3}, cmds)
			ran, notes := w.check(t, c.known...)
			last := ran.Results[len(ran.Results)-1]
			if got := strings.Join(cmds.ran, " "); got != c.ran || ran.Pass != c.pass || last.Tries != c.tries {
				t.Errorf("ran %s: pass %v after %d tries", got, ran.Pass, last.Tries)
			}
			if c.note == "" && len(notes) > 0 || !strings.Contains(strings.Join(notes, ""), c.note) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// C-061: 79.9 % fails, 80 % passes, unrounded; no report is a notice, once; what was low
// before may stay as it is and not sink. Unless a person set test.coverage, what was there
// before is the mark, and where nothing is known of it nothing is red (R-H3).
func TestCoverage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		percent, before float64
		set             bool
		pass            bool
		why             string
	}{
		"below":            {79.9, 0, true, false, "79.9 % of 1000 statements or lines are covered, below test.coverage 80"},
		"just below":       {79.99, 0, true, false, "79.99 % of"},
		"enough":           {80, 0, true, true, "80.0 % of"},
		"low as before":    {71.2, 71.2, true, true, "as before the work"},
		"a line less":      {71.12, 71.2, true, true, "as before the work"},
		"lowered":          {70, 71.2, true, false, "fewer than before the work (71.2 %); test.coverage is 80"},
		"was high, is low": {79, 85, true, false, "below test.coverage 80"},

		"by default nothing known":    {0.4, 0, false, true, "nobody knows how many were before"},
		"by default enough":           {80, 0, false, true, "80.0 % of"},
		"by default low as before":    {0.4, 0.4, false, true, "as before the work"},
		"by default lowered":          {70, 71.2, false, false, "fewer than before the work (71.2 %)"},
		"by default still high":       {82, 95, false, true, "82.0 % of"},
		"by default was high, is low": {79, 85, false, false, "fewer than before the work (85.0 %)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmds := &commands{red: map[string][]bool{}}
			w, _ := checkable(t, policy.Config{Coverage: 80, CoverageSet: c.set}, cmds)
			w.Executor.Coverage = reports{Coverage: &ralph.Coverage{Percent: c.percent, Total: 1000}}
			facts := w.do(t, ralph.Check{Covered: c.before})
			ran, ok := facts[0].(ralph.ChecksRan)
			if !ok || len(ran.Results) != 3 {
				t.Fatalf("checks: %+v", facts)
			}
			if r := ran.Results[2]; r.Name != ralph.CheckCoverage || !r.Test || r.Pass != c.pass || ran.Pass != c.pass || !strings.Contains(r.Why, c.why) {
				t.Errorf("coverage: %+v", r)
			}
			if cmds.ran[1] != "test -cover" || ran.Results[1].Command != "test" {
				t.Errorf("ran %q as %q", cmds.ran, ran.Results[1].Command)
			}
		})
	}
	cmds := &commands{red: map[string][]bool{}}
	w, trees := checkable(t, policy.Config{Coverage: 80}, cmds)
	w.Executor.Coverage = reports{}
	_, first := w.check(t)
	trees.tree = "t2"
	ran, second := w.check(t)
	if len(first) != 1 || !strings.Contains(first[0], "no coverage report") || len(second) != 0 || !ran.Pass {
		t.Errorf("notes %q, then %q; pass %v", first, second, ran.Pass)
	}
}

// A run that is red for its report alone is done again without one.
func TestSpoiledCoverage(t *testing.T) {
	t.Parallel()
	cmds := &commands{red: map[string][]bool{"test -cover": {true}}}
	w, _ := checkable(t, policy.Config{Coverage: 80}, cmds)
	w.Executor.Coverage = reports{spoiled: true}
	if ran, _ := w.check(t); !ran.Pass || !slices.Equal(cmds.ran, []string{"vet", "test -cover", "test"}) {
		t.Errorf("ran %q: %+v", cmds.ran, ran)
	}
}

// The checks of a diff come before the commands: what sends the work back stops them,
// what a person looks at does not; a person's word lets exactly that tree pass (P-14).
func TestChecksOfTheDiff(t *testing.T) {
	t.Parallel()
	all := policy.DiffChecks{Empty: "red", Weakened: "gate", Secrets: "gate"}
	secret := func(patch []byte) ([]ralph.Finding, error) {
		if !strings.Contains(string(patch), "hunter2") {
			return nil, nil
		}
		return []ralph.Finding{{Path: "a.txt", Line: 1, Kind: "secret", What: "password h***"}}, nil
	}
	for name, c := range map[string]struct {
		diff   policy.DiffChecks
		tree   string
		patch  string
		reds   string
		output string
		ran    string
	}{
		"all well":            {all, "t1", "", "", "", "vet test"},
		"nothing changed":     {all, "t0", "", "empty diff", "BLOCKED", ""},
		"for a person":        {policy.DiffChecks{Empty: "gate"}, "t0", "", "empty diff", "", "vet test"},
		"off":                 {policy.DiffChecks{Empty: "off", Weakened: "off", Secrets: "off"}, "t0", "hunter2", "", "", "vet test"},
		"a secret":            {all, "t1", "diff --git a/a.txt b/a.txt\n+hunter2\n", "secrets", "a.txt:1: secret: password h***", "vet test"},
		"a secret, sent back": {policy.DiffChecks{Secrets: "red"}, "t1", "diff --git a/a.txt b/a.txt\n+hunter2\n", "secrets", "", ""},
		"a test deleted": {
			all, "t1", "diff --git a/a_test.go b/a_test.go\ndeleted file mode 100644\n--- a/a_test.go\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-package a\n-func TestA(t *testing.T) {\n-}\n",
			"weakened tests", "a_test.go:", "vet test",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmds := &commands{red: map[string][]bool{}}
			w, trees := checkable(t, policy.Config{Diff: c.diff}, cmds)
			w.Secrets, trees.tree = secret, c.tree
			if c.patch != "" {
				trees.patch = c.patch
			}
			ran, _ := w.check(t, ralph.CheckEmpty, ralph.CheckSecrets) // what was red before says nothing of a diff
			if got := strings.Join(ran.Reds(), " "); got != c.reds || ran.Pass != (c.reds == "") {
				t.Errorf("red: %q, pass %v", got, ran.Pass)
			}
			if got := strings.Join(cmds.ran, " "); got != c.ran {
				t.Errorf("ran %q, want %q", got, c.ran)
			}
			for _, r := range ran.Results {
				if ran.Counts(r) && !strings.Contains(r.Output, c.output) {
					t.Errorf("%s says %q", r.Name, r.Output)
				}
			}
			if c.reds == "" {
				return
			}
			w.apply(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalTest, Task: "t-1"}}, ralph.Answered{ID: "g-1", Verdict: ralph.Approved})
			again, _ := w.check(t)
			if !again.Pass || !slices.Contains(again.Known, c.reds) || strings.Join(cmds.ran, " ") != "vet test" {
				t.Errorf("after a person's word: %+v, ran %q", again, cmds.ran)
			}
			trees.tree += "'"
			trees.patch = "diff --git a/a.txt b/a.txt\n+hunter2\n"
			if other, _ := w.check(t); c.diff.Secrets == "gate" && other.Pass {
				t.Errorf("the word holds for another tree: %+v", other)
			}
		})
	}
}
