package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
)

// B-036, B-037, product.md 14: checks run in the worktree; those that were red
// before neither stop the others nor count.
func TestKnownRedChecksAreNotBlamed(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1, withChecks("pwd; false", "test ! -f new.txt", "true"))
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", y.writes("new.txt", "new\n"))
	ran := one[ralph.ChecksRan](y, y.do("t-1", ralph.Check{}))
	if ran.Pass || len(ran.Results) != 1 || !strings.Contains(ran.Results[0].Output, y.tree(1)) {
		t.Fatalf("checks: %+v", ran)
	}
	b := one[ralph.BaselineRan](y, y.do("t-1", ralph.Baseline{Commit: y.task("t-1").Run.Worktree.Base}))
	if len(b.Red) != 1 || b.Red[0] != "pwd; false" || len(b.Results) != 3 {
		t.Fatalf("the baseline: %+v", b)
	}
	before := []ralph.RedCheck{ralph.RedOf(b.Results[0])}
	ran = one[ralph.ChecksRan](y, y.do("t-1", ralph.Check{Before: before}))
	if ran.Pass || len(ran.Results) != 2 || len(ran.Known) != 1 {
		t.Errorf("with a red check of its own: %+v", ran)
	}
	y.turn("t-1", func(in ralph.TurnInput) string {
		y.must(os.Remove(filepath.Join(in.Dir, "new.txt")))
		return complete
	})
	ran = one[ralph.ChecksRan](y, y.do("t-1", ralph.Check{Before: before}))
	if !ran.Pass || len(ran.Results) != 3 || ran.Tree != y.task("t-1").Run.Tree {
		t.Errorf("with the known one alone: %+v", ran)
	}
}

// Tasks that want to know what was red at the same commit, and merges that want
// their checks, all at once: one at a time has the merge worktree, each sees the
// commit that it asked for, and the baseline is found out once.
func TestTheMergeWorktreeIsForOneAtATime(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2, withChecks(`echo x >>"$RAN"; cat name.txt; touch dropped.txt; ls ../busy 2>/dev/null && exit 1; mkdir ../busy && git rev-parse HEAD && rmdir ../busy`))
	log := filepath.Join(filepath.Dir(y.dir), "ran")
	y.x.Checks[0].Command = "RAN='" + log + "'; " + y.x.Checks[0].Command
	y.begin()
	for i, id := range []ralph.TaskID{"t-1", "t-2"} {
		y.work(id, i+1, y.writes(fmt.Sprintf("of-%s.txt", id), "x\n"))
	}
	base := y.tip()
	var wg sync.WaitGroup
	for i := range 4 {
		id := ralph.TaskID(fmt.Sprintf("t-%d", i%2+1))
		wg.Go(func() {
			facts, err := y.x.Do(t.Context(), y.snapshot(), id, ralph.Baseline{Commit: base})
			if err != nil || !strings.Contains(facts[0].(ralph.BaselineRan).Results[0].Output, base) {
				t.Errorf("baseline: %+v, %v", facts, err)
			}
		})
	}
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		stage := y.merging(id)
		m := one[ralph.Merged](y, y.do(stage, ralph.Merge{Members: []ralph.TaskID{id}, Into: base}))
		wg.Go(func() {
			facts, err := y.x.Do(t.Context(), y.snapshot(), stage, ralph.Check{})
			if err != nil || !strings.Contains(facts[0].(ralph.ChecksRan).Results[0].Output, m.Commit) {
				t.Errorf("checks of %s: %+v, %v", m.Commit, facts, err)
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(log)
	y.must(err)
	if n := strings.Count(string(b), "x"); n != 3 {
		t.Errorf("the checks ran %d times, want 3", n)
	}
	merge := filepath.Join(y.dir, "ralph/.worktrees/merge")
	y.equal("what checks left", y.gitIn(merge, "status", "--porcelain")+y.git("for-each-ref", "refs/ralph/recovery"), "")
}

// lessons.md 3.11: a new worktree gets its files and commands before the agent sees
// it, once; used again it needs neither.
func TestWorktreesAreSetUp(t *testing.T) {
	t.Parallel()
	y := newYard(t, 3, withSetup(config.Worktree{
		Copy: []string{".env"}, SetupTimeout: time.Minute,
		Setup: []string{"cat .env; echo set up >>set-up.log", "echo again >>set-up.log"},
	}), withChecks("true"))
	y.write(".env", "KEY=1\n")
	y.write(".git/info/exclude", y.read(".git/info/exclude")+".env\nset-up.log\n")
	y.begin()
	look := func(in ralph.TurnInput) string {
		for name, want := range map[string]string{".env": "KEY=1\n", "set-up.log": "set up\nagain\n"} {
			if b, err := os.ReadFile(filepath.Join(in.Dir, name)); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
		return complete
	}
	y.work("t-1", 1, look)
	y.work("t-2", 1, look)
	y.equal("setup.log", y.read("ralph/.state/tasks/t-1/setup.log"), "$ cat .env; echo set up >>set-up.log\n--- stdout ---\nKEY=1\n$ echo again >>set-up.log\n")
	if _, err := os.Stat(filepath.Join(y.dir, "ralph/.state/tasks/t-2/setup.log")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a worktree that was set up is set up again")
	}
	y.equal("the merge worktree", y.read("ralph/.worktrees/merge/set-up.log"), "set up\nagain\n")

	y.x.Setup.Commands = []string{"echo other >set-up.log"} // other settings: once more
	y.start("t-3", 1)
	y.equal("set up anew", y.read("ralph/.worktrees/1/set-up.log"), "other\n")
}

// A set-up that fails is told with the command and its last words, before any
// agent runs, and is done again at the next try.
func TestASetUpThatFails(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1, withSetup(config.Worktree{
		Copy: []string{".env"}, SetupTimeout: 30 * time.Second, Setup: []string{"cat fixed || { echo first; echo last >&2; exit 3; }"},
	}))
	y.begin()
	y.apply(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"})
	f := one[ralph.Prepared](y, y.do("t-1", ralph.Prepare{}))
	if !strings.Contains(f.Error, "worktree.copy") || !strings.Contains(f.Error, ".env") {
		t.Fatalf("without the file: %+v", f)
	}
	y.write(".env", "KEY=1\n")
	f = one[ralph.Prepared](y, y.do("t-1", ralph.Prepare{}))
	want := "worktree.setup: `cat fixed || { echo first; echo last >&2; exit 3; }` failed (exit code 3): "
	if !strings.HasPrefix(f.Error, want) || !strings.Contains(f.Error, "last") || y.task("t-1").Run.Worktree.Fails != 2 {
		t.Fatalf("with a command that fails: %+v", f)
	}
	y.x.Setup.Commands, y.x.Setup.Timeout = []string{"sleep 60", "true"}, 50*time.Millisecond
	f = one[ralph.Prepared](y, y.outcome("t-1", ralph.Prepare{}))
	if !strings.Contains(f.Error, "`sleep 60` failed (timed out") {
		t.Fatalf("with a command that hangs: %+v", f)
	}
	y.x.Setup.Commands, y.x.Setup.Timeout = []string{"true"}, time.Minute
	if f = one[ralph.Prepared](y, y.do("t-1", ralph.Prepare{})); f.Error != "" {
		t.Errorf("mended: %+v", f)
	}
}

// When the merge worktree has to be set up again and cannot, the merge is red, and
// that is never taken for something that was red before.
func TestAMergeWhoseSetUpFailsIsRed(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1, withChecks("true"), withSetup(config.Worktree{Setup: []string{"true"}}))
	y.begin()
	y.work("t-1", 1, y.writes("new.txt", "new\n"))
	stage := y.merging("t-1")
	y.do(stage, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: y.tip()})
	y.x.Setup.Commands = []string{"echo broken; false"}
	b := one[ralph.BaselineRan](y, y.do(stage, ralph.Baseline{Commit: y.tip()}))
	ran := one[ralph.ChecksRan](y, y.do(stage, ralph.Check{Known: b.Red}))
	if ran.Pass || len(b.Red) > 0 || ran.Results[0].Name != "worktree.setup" || !strings.Contains(ran.Results[0].Output, "broken") {
		t.Errorf("baseline %+v, checks %+v", b, ran)
	}
}

// a merge that waits for a person names its task and what to decide by, and
// has no deadline: done work does not expire.
func TestAMergeGate(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.x.Config.InputTimeout = time.Minute
	stage := y.merging("t-1")
	g := one[ralph.Asked](y, y.do(stage, ralph.Ask{Kind: ralph.ApprovalMerge, Text: "look", About: "t-1", Detail: "both sides"})).Approval
	if g.About != "t-1" || g.Detail != "both sides" || g.Task != stage || !g.Deadline.IsZero() {
		t.Errorf("the gate: %+v", g)
	}
	if g = one[ralph.Asked](y, y.outcome(stage, ralph.Ask{Kind: "question", Text: "which?"})).Approval; g.Deadline.IsZero() {
		t.Errorf("the question: %+v", g)
	}
}
