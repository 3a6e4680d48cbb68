package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// B-005, B-006, B-009, X-69, X-71: a task works on a branch of its own in its own
// worktree, is committed there, merged beside the checkout, and lands at the end.
// Until then the checkout is as it was. Each step is done twice, as after a kill -9.
func TestATaskFromItsWorktreeToTheBase(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	y.begin()
	before := y.git("rev-parse", "HEAD")
	p := y.start("t-1", 1)
	if p.Branch != "ralph/t-1" || p.Base != before || p.Head != before || p.Dir != "ralph/.worktrees/1" {
		t.Errorf("prepared: %+v", p)
	}
	turn := y.turn("t-1", func(in ralph.TurnInput) string {
		y.equal("the agent's folder", in.Dir, y.tree(1))
		for _, want := range []string{"RALPH_ROOT=" + y.dir, "RALPH_TASK=t-1", "RALPH_SPEC=", "RALPH_STAGE=build", y.x.CeilingEnv} {
			if !slices.Contains(in.Env, want) {
				t.Errorf("its environment lacks %q", want)
			}
		}
		if !strings.Contains(in.Prompt, "you may commit there") || !strings.Contains(in.Prompt, "# Learned") || strings.Contains(in.Prompt, "## The spec") {
			t.Errorf("its prompt:\n%s", in.Prompt)
		}
		return y.writes("new.txt", "new\n")(in)
	})
	if !turn.Changed || turn.Signal.Kind != ralph.SignalComplete {
		t.Errorf("the turn: %+v", turn)
	}
	c := y.commit("t-1")
	if c.Error != "" || len(c.Weakened) > 0 || c.Tree == "" {
		t.Fatalf("committed: %+v", c)
	}
	message := y.git("log", "-1", "--format=%B", c.Commit)
	if !strings.HasPrefix(message, "ralph: Task 1\n\nRalph-Task: t-1\nRalph-Journal: 000000000000\nRalph-Receipt: ") {
		t.Errorf("its message: %q", message)
	}
	if got := y.git("rev-list", "--count", before+"..ralph/t-1"); got != "1" {
		t.Errorf("%s commits on the branch", got)
	}
	y.start("t-2", 2)
	y.turn("t-2", y.writes("other.txt", "other\n"))
	y.commit("t-2")

	if m := y.merge("t-1"); m.How != "fast-forward" || !m.Advanced || m.Commit != c.Commit {
		t.Errorf("the first merge: %+v", m)
	}
	m := y.merge("t-2")
	if m.How != "merge" || !m.Advanced {
		t.Errorf("the second merge: %+v", m)
	}
	message = y.git("log", "-1", "--format=%B", m.Commit)
	if !strings.HasPrefix(message, "ralph: merge Task 2\n\nTask t-2: Task 2\n\nRalph-Task: t-2\nRalph-Journal: 000000000000\nRalph-Receipt: ") {
		t.Errorf("the merge's message: %q", message)
	}
	y.equal("the checkout", y.git("rev-parse", "HEAD")+y.git("status", "--porcelain"), before)
	if l := y.land(); l.How == "" || l.From != before || l.To != m.Commit {
		t.Errorf("landed: %+v", l)
	}
	y.equal("main", y.git("rev-parse", "main")+y.git("status", "--porcelain"), m.Commit)
	y.equal("the files", y.read("new.txt")+y.read("other.txt"), "new\nother\n")

	gone := worktree.Worktrees{Repo: y.parts.Repo}.CleanUp(t.Context(), y.snapshot())
	if gone.Error != "" || len(gone.Kept) > 0 || len(gone.Removed) != 2 || len(gone.Branches) != 3 {
		t.Errorf("cleaned up: %+v", gone)
	}
	y.equal("what is left", y.git("for-each-ref", "--format=%(refname)")+y.git("worktree", "list", "--porcelain"),
		"refs/heads/mainworktree "+y.dir+"\nHEAD "+m.Commit+"\nbranch refs/heads/main")
	y.sound()
}

// product.md 14, performance.md: what an ordinary task without checks may cost.
func TestWhatATaskCosts(t *testing.T) {
	t.Parallel()
	y := newYard(t, 3)
	y.begin()
	work := func(id ralph.TaskID, n int) {
		s := func() *ralph.State { return y.snapshot() }
		y.apply(ralph.TaskStarted{ID: id, Slot: n, Dir: "ralph/.worktrees/1"})
		for _, c := range []struct {
			step ralph.Step
			most int
		}{
			{ralph.Prepare{}, 2},
			{ralph.Turn{Stage: ralph.KindBuild, Agent: "ada", Iteration: 1}, 1},
			{ralph.Commit{OnlyTask: true}, 2}, // with the diff that is looked at for weakened tests
		} {
			y.agent(y.writes(string(id)+".txt", "new\n"))
			calls := y.program.Calls(func() { y.apply(y.outcome(id, c.step)...) })
			if len(calls) > c.most {
				t.Errorf("%s of %s: %d git processes, want %d:\n%s", c.step.StepName(), id, len(calls), c.most, strings.Join(calls, "\n"))
			}
		}
		y.finish(id)
		stage := y.merging(id)
		calls := y.program.Calls(func() {
			y.apply(y.outcome(stage, ralph.Merge{Members: []ralph.TaskID{id}, Into: s().Plan.Integration.Tip, Free: true})...)
		})
		if len(calls) > 3 {
			t.Errorf("merge of %s: %d git processes:\n%s", id, len(calls), strings.Join(calls, "\n"))
		}
	}
	work("t-1", 1)
	work("t-2", 1) // in the same worktree
	y.start("t-3", 2)
	y.turn("t-3", y.writes("t-3.txt", "new\n"))
	y.commit("t-3")
	y.merge("t-3")
	y.sound()
}

// commits of the agent stay, and ralph's own goes on top for what is left;
// ralph's own files never get to the integration branch.
func TestAnAgentThatCommits(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", func(in ralph.TurnInput) string {
		put(t, filepath.Join(in.Dir, "mine.txt"), "mine\n")
		put(t, filepath.Join(in.Dir, "ralph/plan.jsonl"), "{}\n")
		y.gitIn(in.Dir, "add", "-f", "-A")
		y.gitIn(in.Dir, "commit", "-q", "-m", "by the agent")
		put(t, filepath.Join(in.Dir, "left.txt"), "left\n")
		return complete
	})
	y.commit("t-1")
	y.equal("the branch", y.git("log", "--format=%s", "main..ralph/t-1"), "ralph: Task 1\nby the agent")
	y.merge("t-1")
	y.equal("what was merged", y.git("diff", "--name-only", "main", y.tip()), "left.txt\nmine.txt")

	y.start("t-2", 2)
	y.turn("t-2", func(in ralph.TurnInput) string {
		put(t, filepath.Join(in.Dir, "all.txt"), "all\n")
		y.gitIn(in.Dir, "add", "-A")
		y.gitIn(in.Dir, "commit", "-q", "-m", "all of it")
		return complete
	})
	c := y.commit("t-2")
	y.equal("its one commit", y.git("log", "-1", "--format=%s", c.Commit), "all of it")
}

// A task that changed nothing has nothing to merge: no commit is made for it,
// whether checks ran or not.
func TestATaskThatChangesNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]yardOption{"without checks": nil, "with checks": {withChecks("true")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, 1, options...)
			y.begin()
			p := y.start("t-1", 1)
			if turn := y.turn("t-1", func(ralph.TurnInput) string { return complete }); turn.Changed {
				t.Errorf("the turn: %+v", turn)
			}
			if len(options) > 0 {
				y.do("t-1", ralph.Check{})
			}
			if c := y.commit("t-1"); c.Commit != p.Base || c.Error != "" {
				t.Errorf("committed: %+v", c)
			}
			if q := y.task("t-1").Run.Queue.State; q != "" {
				t.Errorf("it is in the merge queue: %s", q)
			}
		})
	}
}

// product.md 14: the whole diff of a task is looked at for weakened tests, also
// what the agent committed itself, and kept for people.
func TestWeakenedTestsAreFound(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	test := "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif 1 != 1 {\n\t\tt.Fatal(1)\n\t}\n}\n"
	y.write("a_test.go", test)
	y.git("add", "-A")
	y.git("commit", "-q", "-m", "test")
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", func(in ralph.TurnInput) string {
		put(t, filepath.Join(in.Dir, "a_test.go"), strings.Replace(test, "{\n\tif", "{\n\tt.Skip()\n\tif", 1))
		y.gitIn(in.Dir, "commit", "-q", "-a", "-m", "skip it")
		return complete
	})
	c := y.commit("t-1")
	if len(c.Weakened) != 1 || c.Weakened[0].Kind != "skipped" || c.Weakened[0].Path != "a_test.go" {
		t.Errorf("found: %+v", c.Weakened)
	}
	if patch := y.read("ralph/.state/tasks/t-1/diff.patch"); !strings.Contains(patch, "+\tt.Skip()") {
		t.Errorf("the patch that is kept: %q", patch)
	}
}

// S2: settings that a task's diff changes are found however much else is in it, also what
// the agent committed itself, each with its whole content; plain work is not among them.
func TestChangedSettingsAreFound(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.x.Config.Diff.Settings = policy.DiffGate // as gate.self has it; the repository has no settings of its own
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", func(in ralph.TurnInput) string {
		put(t, filepath.Join(in.Dir, "a.txt"), strings.Repeat("more than a patch keeps\n", 300_000))
		put(t, filepath.Join(in.Dir, "ralph/hooks/pre-turn"), "#!/bin/sh\n")
		y.gitIn(in.Dir, "add", "-f", "-A")
		y.gitIn(in.Dir, "commit", "-q", "-m", "mine")
		put(t, filepath.Join(in.Dir, "ralph/config.yaml"), "version: 1\nsandbox: {kind: \"off\"}\n")
		return complete
	})
	c := y.commit("t-1")
	var got []string
	for _, f := range c.Settings {
		got = append(got, f.Path)
		if blob := y.git("rev-parse", c.Commit+":"+f.Path); !strings.HasSuffix(f.What, "100644 "+blob) {
			t.Errorf("%s: %q does not name its content %s", f.Path, f.What, blob)
		}
	}
	y.equal("settings", strings.Join(got, " "), "ralph/config.yaml ralph/hooks/pre-turn")
	if !strings.Contains(c.Shown, "+sandbox: {kind: \"off\"}") || strings.Contains(c.Shown, "a patch keeps") {
		t.Errorf("shown: %q", c.Shown)
	}
}

// A failing hook keeps a task from being committed; that is an outcome with git's words.
func TestAHookThatRefusesATask(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.begin()
	ralphtest.Program(t, filepath.Join(y.dir, ".git/hooks/pre-commit"), "#!/bin/sh\necho not like this >&2\nexit 1\n")
	y.start("t-1", 1)
	y.turn("t-1", y.writes("new.txt", "new\n"))
	if c := y.commit("t-1"); !strings.Contains(c.Error, "not like this") {
		t.Errorf("committed: %+v", c)
	}
}

// lessons.md (git): whatever an agent does to its worktree, its turn has an
// outcome, and the next one a worktree to go on in; committed work is not lost.
func TestAgentsThatWreckTheirWorktree(t *testing.T) {
	t.Parallel()
	for name, wreck := range map[string]func(y *testRepo, dir string){
		"no .git":        func(y *testRepo, dir string) { y.must(os.Remove(filepath.Join(dir, ".git"))) },
		"no files":       func(y *testRepo, dir string) { y.must(os.RemoveAll(dir)) },
		"removed by git": func(y *testRepo, dir string) { y.git("worktree", "remove", "--force", dir) },
		"detached":       func(y *testRepo, dir string) { y.gitIn(dir, "checkout", "-q", "--detach") },
		"another branch": func(y *testRepo, dir string) { y.gitIn(dir, "checkout", "-q", "-b", "mine") },
		"branch deleted": func(y *testRepo, dir string) {
			y.gitIn(dir, "checkout", "-q", "--detach")
			y.git("branch", "-q", "-D", "ralph/t-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, 1)
			y.begin()
			y.start("t-1", 1)
			y.turn("t-1", func(in ralph.TurnInput) string {
				put(t, filepath.Join(in.Dir, "one.txt"), "one\n")
				y.gitIn(in.Dir, "add", "-A")
				y.gitIn(in.Dir, "commit", "-q", "-m", "one")
				wreck(y, in.Dir)
				return "<ralph>PROGRESS: 50 half</ralph>"
			})
			y.turn("t-1", y.writes("two.txt", "two\n"))
			if c := y.commit("t-1"); c.Error != "" {
				t.Fatal(c.Error)
			}
			y.merge("t-1")
			y.equal("what was merged", y.git("diff", "--name-only", "main", y.tip()), "one.txt\ntwo.txt")
			y.sound()
		})
	}
}

// X-27, B-074: what a task that was cut has uncommitted goes into a stash, and the
// task finds it again at its next start.
func TestACutTaskGetsItsChangesBack(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", y.writes("half.txt", "half\n"))
	var facts []ralph.Fact
	for range 2 {
		var err error
		facts, err = y.x.Stash(t.Context(), y.snapshot(), "t-1")
		y.must(err)
	}
	y.apply(facts...)
	y.apply(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending})
	stash := y.task("t-1").Run.Stash
	if list := y.git("stash", "list", "--format=%H"); list != stash || stash == "" {
		t.Fatalf("stashes %q, the task has %q", list, stash)
	}
	y.equal("the worktree", y.gitIn(y.tree(1), "status", "--porcelain"), "")
	y.start("t-1", 1)
	y.equal("the worktree again", y.gitIn(y.tree(1), "status", "--porcelain"), "A  half.txt")
	y.equal("the stashes", y.git("stash", "list"), "")
	if y.task("t-1").Run.Stash != "" {
		t.Error("the task still has a stash")
	}
}

// B-075, B-076: a task that ended badly keeps its worktree and goes on in it;
// another one never gets it. One whose worktree was taken away gets its branch back.
func TestWorkGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	y.begin()
	y.start("t-1", 1)
	y.turn("t-1", y.writes("half.txt", "half\n"))
	y.apply(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed, BasedOnSeq: 1}, ralph.TaskRetried{ID: "t-1"})
	p := y.start("t-1", 1)
	if p.Base != "" || p.Branch != "ralph/t-1" {
		t.Errorf("prepared: %+v", p)
	}
	y.equal("the worktree", y.gitIn(y.tree(1), "status", "--porcelain"), "A  half.txt")
	y.commit("t-1")
	y.apply(ralph.TaskRejected{ID: "t-1", Reason: "not enough"}) // it waited for its merge
	y.start("t-2", 2)
	p = y.start("t-1", 3) // its old worktree stands on its branch
	if p.Branch != "ralph/t-1" || p.Head != y.git("rev-parse", "ralph/t-1") {
		t.Errorf("prepared again: %+v", p)
	}
	y.equal("its work", y.gitIn(y.tree(3), "show", "HEAD:half.txt"), "half")
}
