package ralph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// F-01: what counts as red in the same way as before. With names on both sides only they
// decide; with names on one side something else has happened.
func TestSameWay(t *testing.T) {
	t.Parallel()
	red := func(exit int, why string, failed ...string) ralph.RedCheck {
		return ralph.RedCheck{Name: "test", Failed: failed, Exit: exit, Why: why}
	}
	for _, tt := range []struct {
		name   string
		before []ralph.RedCheck
		now    ralph.RedCheck
		same   bool
	}{
		{"nothing is known", nil, red(1, ""), false},
		{"another check was red", []ralph.RedCheck{{Name: "lint", Exit: 1}}, red(1, ""), false},
		{"no names, the same exit", []ralph.RedCheck{red(1, "")}, red(1, ""), true},
		{"no names, another exit", []ralph.RedCheck{red(1, "")}, red(2, ""), false},
		{"no names, now without an end", []ralph.RedCheck{red(1, "")}, red(-1, "timed out after 10m0s"), false},
		{"no names, without an end as before", []ralph.RedCheck{red(-1, "timed out after 10m0s")}, red(-1, "timed out after 10m0s"), true},
		{"the same test", []ralph.RedCheck{red(1, "", "A")}, red(1, "", "A"), true},
		{"the same test, another exit: names decide", []ralph.RedCheck{red(1, "", "A")}, red(2, "", "A"), true},
		{"less than before", []ralph.RedCheck{red(1, "", "A", "B")}, red(1, "", "B"), true},
		{"another test as well", []ralph.RedCheck{red(1, "", "A")}, red(1, "", "A", "B"), false},
		{"another test instead, the same exit", []ralph.RedCheck{red(1, "", "A")}, red(1, "", "B"), false},
		{"the build broke: names before, none now", []ralph.RedCheck{red(1, "", "A")}, red(1, ""), false},
		{"no names before, some now", []ralph.RedCheck{red(1, "")}, red(1, "", "A"), false},
		{"the same test, and then no end", []ralph.RedCheck{red(1, "", "A")}, red(-1, "timed out after 10m0s", "A"), false},
		{"nothing was there to run", []ralph.RedCheck{{Name: "test", Exit: 127, Missing: true}}, red(127, ""), false},
		{"from two sides together", []ralph.RedCheck{red(1, "", "A"), red(1, "", "B")}, red(1, "", "A", "B"), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ralph.CheckResult{Name: tt.now.Name, Failed: tt.now.Failed, Exit: tt.now.Exit, Why: tt.now.Why}
			if got := ralph.SameWay(tt.before, r); got != tt.same {
				t.Errorf("%+v after %+v: the same way is %v", tt.now, tt.before, got)
			}
		})
	}
}

// F-01: a check that is not there yet is told from one that fails.
func TestNothingToRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r       ralph.CheckResult
		missing bool
	}{
		{ralph.CheckResult{Exit: 127}, true},
		{ralph.CheckResult{Exit: 2, Output: "sh: 0: cannot open test.sh: No such file\n"}, true},
		{ralph.CheckResult{Exit: 2, Output: "make: *** No rule to make target 'test'.  Stop.\n"}, true},
		{ralph.CheckResult{Exit: 1, Output: "npm error Missing script: \"test\"\n"}, true},
		{ralph.CheckResult{Exit: 2, Output: "python3: can't open file '/x/test.py': [Errno 2] No such file or directory\n"}, true},
		{ralph.CheckResult{Exit: 1, Output: "open x.txt: No such file or directory\n"}, false},
		{ralph.CheckResult{Exit: 127, Failed: []string{"A"}}, false},
		{ralph.CheckResult{Exit: 127, Pass: true}, false},
	} {
		if got := ralph.RedOf(tt.r).Missing; got != tt.missing {
			t.Errorf("%+v: missing is %v", tt.r, got)
		}
	}
}

// F-01: whatever was red before, a name that did not fail before is never let pass, and
// what is let pass stays so when less of it is red.
func TestNewNamesAreNeverLetPass(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Split("ABCDEFGH", "")), 0, 6, rapid.ID)
	check := rapid.Custom(func(rt *rapid.T) ralph.RedCheck {
		return ralph.RedCheck{
			Name: rapid.SampledFrom([]string{"test", "lint"}).Draw(rt, "check"), Failed: names.Draw(rt, "failed"),
			Exit: rapid.IntRange(-1, 2).Draw(rt, "exit"), Why: rapid.SampledFrom([]string{"", "timed out"}).Draw(rt, "why"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfN(check, 0, 4).Draw(rt, "before")
		x := check.Draw(rt, "now")
		now := ralph.CheckResult{Name: x.Name, Failed: x.Failed, Exit: x.Exit, Why: x.Why}
		failed := map[string]bool{}
		for _, b := range before {
			for _, name := range b.Failed {
				failed[b.Name+name] = true
			}
		}
		fresh := slices.ContainsFunc(now.Failed, func(name string) bool { return !failed[now.Name+name] })
		same := ralph.SameWay(before, now)
		if same && fresh {
			rt.Fatalf("%v of %s is let pass after %+v", now.Failed, now.Name, before)
		}
		if same && len(now.Failed) > 1 {
			now.Failed = now.Failed[1:]
			if !ralph.SameWay(before, now) {
				rt.Fatalf("less is red, and it is not let pass: %+v", now)
			}
		}
		if !ralph.SameWay([]ralph.RedCheck{x}, ralph.CheckResult{Name: x.Name, Failed: x.Failed, Exit: x.Exit, Why: x.Why}) {
			rt.Fatalf("%+v is not red as itself", x)
		}
	})
}

// R-M1: the words name each check with its tests, and never say that all is green.
func TestPassedOverWords(t *testing.T) {
	t.Parallel()
	many := []string{"A", "B", "C", "D", "E"}
	ran := ralph.ChecksRan{
		Pass: true, Known: []string{"go test ./...", "lint"}, Waived: []string{"lint"},
		Results: []ralph.CheckResult{{Name: "vet", Pass: true}, {Name: "go test ./...", Failed: many, Exit: 1}, {Name: "lint", Exit: 1}},
	}
	over := ran.PassedOver()
	want := "1 check red as before: go test ./... (A, B, C and 2 more); 1 check red, let pass by a person: lint"
	if got := ralph.PassedOverWords(over); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	over[0].Person = true
	if got := ralph.PassedOverWords(over); !strings.HasPrefix(got, "2 checks red, let pass by a person: ") {
		t.Errorf("%q", got)
	}
	if got := ralph.PassedOverWords((&ralph.ChecksRan{Pass: true}).PassedOver()) + ralph.PassedOverWords((*ralph.ChecksRan)(nil).PassedOver()); got != "" {
		t.Errorf("nothing was passed over: %q", got)
	}
}

// R-H3: what the checks said of a tree is remembered, and found by commit or tree for the
// very same checks; what passed in the checkout needs no second run.
func TestBaselineIsFound(t *testing.T) {
	t.Parallel()
	s := new(ralph.State)
	result := func(name string, pass bool) ralph.CheckResult {
		return ralph.CheckResult{Name: name, Command: name, Pass: pass, Exit: map[bool]int{false: 1}[pass], Failed: map[bool][]string{false: {"A"}}[pass]}
	}
	results := []ralph.CheckResult{result("vet", true), result("test", false)}
	apply(s, ralph.JobStarted{Job: "j"}, ralph.TaskAdded{Task: ralph.Task{ID: "p", Kind: ralph.KindPrepare}},
		ralph.BaselineRan{Task: "p", Commit: "c0", Tree: "t0", Red: []string{"test"}, Results: results})
	for _, tt := range []struct {
		commit, tree string
		checks       []string
		found        bool
	}{
		{"c0", "", []string{"vet", "test"}, true},
		{"c9", "t0", []string{"vet", "test"}, true},
		{"", "t0", []string{"vet", "test"}, true},
		{"c0", "t0", []string{"vet"}, false},
		{"c9", "t9", []string{"vet", "test"}, false},
		{"", "", []string{"vet", "test"}, false},
	} {
		if b := s.BaselineOf(tt.commit, tt.tree, tt.checks); (b != nil) != tt.found {
			t.Errorf("%+v: %+v", tt, b)
		}
	}
	if b := s.Baseline("c0"); b == nil || len(b.Reds) != 1 || b.Reds[0].Words() != "test (A)" || !s.BaselineTold() {
		t.Errorf("%+v, told %v", b, s.BaselineTold())
	}
	apply(s, ralph.TaskAdded{Task: ralph.Task{ID: "t-1"}},
		ralph.ChecksRan{Task: "t-1", Tree: "t1", Pass: true, Known: []string{"test"}, Results: results},
		ralph.ChecksRan{Task: "t-1", Tree: "t2", Results: results})
	if b := s.BaselineOf("", "t1", []string{"vet", "test"}); b == nil || len(b.Reds) != 1 {
		t.Errorf("what passed in the checkout: %+v", b)
	}
	if b := s.BaselineOf("", "t2", []string{"vet", "test"}); b != nil {
		t.Errorf("what did not pass is no baseline: %+v", b)
	}
	apply(s, ralph.BaselineRan{Task: "p", Commit: "c3", Tree: "t3", Skipped: "the checkout has changes by now"})
	if s.Baseline("c3") != nil || fmt.Sprint(s.Task("p").Run.Baselined) != "true" {
		t.Error("a baseline that did not run is known")
	}
}
