package step

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// countedTrees is a work tree that counts how often it is looked at.
type countedTrees struct {
	Trees
	looks int
}

func (c *countedTrees) Snapshot(context.Context) (tree, head string, err error) {
	c.looks++
	return "t", "h", nil
}

type countedChecks struct{ Checker }

func (countedChecks) Run(_ context.Context, _ string, list []ralph.CheckSpec) ([]ralph.CheckResult, error) {
	return []ralph.CheckResult{{Name: list[0].Name, Command: list[0].Command, Pass: true}}, nil
}

// Issue 17, row 1: the tree that was looked at is not looked at again where nothing was started
// that could have changed it. A look costs as much as there are files.
func TestLooksOfACheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		checks []ralph.CheckSpec
		looks  int
	}{
		{"no command", nil, 1},
		{"a command, which may write", []ralph.CheckSpec{{Name: "true", Command: "true"}}, 2},
	} {
		trees := &countedTrees{}
		x := &Executor{Root: t.TempDir(), Trees: trees, Checks: c.checks, Checker: countedChecks{}, Now: time.Now}
		task := &ralph.Task{ID: "t-1", Kind: ralph.KindBuild}
		facts, err := x.check(t.Context(), &ralph.State{Job: &ralph.Job{}}, task, ralph.Check{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		ran, ok := facts[0].(ralph.ChecksRan)
		if !ok || !ran.Pass || ran.Tree != "t" || ran.After != "t" || trees.looks != c.looks {
			t.Errorf("%s: %d looks, want %d: %+v", c.name, trees.looks, c.looks, ran)
		}
	}
}

// The report of a turn in which git told nothing goes with it; one that says something stays.
func TestDropReport(t *testing.T) {
	t.Parallel()
	x := &Executor{Root: t.TempDir()}
	for turn, text := range map[string]string{"t-1/1": "", "t-2/1": "commit 1234\n", "t-2/2": ""} {
		rec := &record{dir: filepath.Join(x.Root, stateTasks, turn)}
		report := x.gitReport(rec.dir)
		if err := os.MkdirAll(filepath.Dir(report), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(report, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x.dropReport(rec)
		if _, err := os.Stat(report); (err == nil) != (text != "") {
			t.Errorf("%s with %q: %v", turn, text, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(x.Root, StateGit))
	if err != nil || len(left) != 1 || left[0].Name() != "t-2" {
		t.Errorf("left are %v, %v", left, err)
	}
}
