package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// conflicting does two tasks that change the same line, merges the first, and
// returns the resolve of the second.
func conflicting(t *testing.T, y *testRepo) ralph.TaskID {
	t.Helper()
	y.begin()
	y.work("t-1", 1, y.writes("a.txt", "one\nTWO by the first\nthree\n"))
	y.start("t-2", 2)
	y.turn("t-2", func(in ralph.TurnInput) string {
		put(t, filepath.Join(in.Dir, "b.txt"), "of the second\n")
		return y.writes("a.txt", "one\ntwo by the second\nthree\n")(in)
	})
	y.commit("t-2")
	y.merge("t-1")
	m := y.merge("t-2")
	if m.Conflict == nil || m.Advanced || m.At != "t-2" || len(m.Conflict.Files) != 1 || m.Conflict.Files[0].Path != "a.txt" {
		t.Fatalf("the merge: %+v", m)
	}
	if q := y.task("t-2").Run.Queue.State; q != ralph.MergeConflict {
		t.Fatalf("the task is %q", q)
	}
	y.apply(ralph.TaskAdded{Task: ralph.Task{
		ID: "resolve:job:0:t-2:1", Kind: ralph.KindResolve, Parent: "t-2", Name: "Resolve the merge of task t-2", Status: ralph.TaskPending,
		Run: ralph.Run{Worktree: ralph.Worktree{Branch: y.task("t-2").Run.Worktree.Branch, Base: y.task("t-2").Run.Worktree.Base}},
	}})
	return "resolve:job:0:t-2:1"
}

const resolved = "one\nTWO by the first, two by the second\nthree\n"

// X-72, product.md 7: a conflict goes to an agent, on the task's own branch, with
// both sides in the files and in the prompt; the check is red while markers are
// left; the commit is the merge, and then the task merges.
func TestAConflictIsResolved(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2, withChecks("test -f b.txt"))
	y.x.Checks = nil // the tasks themselves need no checks here
	id := conflicting(t, y)
	y.x.Checks = y.parts.Checks
	p := y.start(id, 1)
	if p.Branch != "ralph/t-2" || len(p.Conflicts) != 1 || p.Base != y.tip() {
		t.Fatalf("prepared: %+v", p)
	}
	y.turn(id, func(in ralph.TurnInput) string {
		for _, want := range []string{"RALPH_STAGE=resolve", "RALPH_TASK=t-2", "RALPH_TASK_NAME=Task 2"} {
			if !strings.Contains(strings.Join(in.Env, "\n"), want) {
				t.Errorf("the environment lacks %q", want)
			}
		}
		for _, want := range []string{"t-2: Task 2", "TWO by the first", "two by the second", "`a.txt` (content)"} {
			if !strings.Contains(in.Prompt, want) {
				t.Errorf("the prompt lacks %q:\n%s", want, in.Prompt)
			}
		}
		text, err := os.ReadFile(filepath.Join(in.Dir, "a.txt"))
		if err != nil || !strings.Contains(string(text), "<<<<<<<") || !strings.Contains(string(text), "TWO by the first") {
			t.Errorf("the file with both sides: %q, %v", text, err)
		}
		return complete // although nothing is resolved
	})
	ran := one[ralph.ChecksRan](y, y.do(id, ralph.Check{}))
	if ran.Pass || len(ran.Results) != 1 || ran.Results[0].Name != "conflicts" || !strings.Contains(ran.Results[0].Output, "a.txt") {
		t.Fatalf("the checks with markers left: %+v", ran)
	}
	if c := y.commit(id); !strings.Contains(c.Error, "a.txt") {
		t.Fatalf("committed with markers left: %+v", c)
	}
	y.turn(id, func(in ralph.TurnInput) string {
		if !strings.Contains(in.Prompt, "Conflict markers are left in") {
			t.Errorf("the second prompt:\n%s", in.Prompt)
		}
		return y.writes("a.txt", resolved)(in)
	})
	if ran := one[ralph.ChecksRan](y, y.do(id, ralph.Check{})); !ran.Pass || len(ran.Results) != 1 {
		t.Fatalf("the checks: %+v", ran)
	}
	y.apply(ralph.StepStarted{Task: id, Step: ralph.Commit{OnlyTask: true}}) // what a person sees is the merge alone
	c := y.commit(id)
	if c.Error != "" || len(c.Weakened) > 0 {
		t.Fatalf("committed: %+v", c)
	}
	y.equal("its parents", y.git("log", "-1", "--format=%P", c.Commit), p.Head+" "+y.tip())
	if patch := y.read("ralph/.state/tasks/resolve-job-0-t-2-1/diff.patch"); !strings.Contains(patch, "+of the second") || strings.Contains(patch, "+++ b/ralph") {
		t.Errorf("what it brings: %s", patch)
	}
	y.x.Checks = nil
	if m := y.merge("t-2"); !m.Advanced || m.How != "fast-forward" {
		t.Errorf("the merge: %+v", m)
	}
	y.equal("the result", y.git("show", y.tip()+":a.txt")+"\n", resolved)
	y.equal("the checkout", y.read("a.txt")+y.git("status", "--porcelain"), "one\ntwo\nthree\n")
	y.sound()
}

// what an agent does with git in the middle of a resolve: it may commit the
// merge itself; when it undid it, the work does not pass.
func TestAgentsThatUseGitToResolve(t *testing.T) {
	t.Parallel()
	solve := func(y *testRepo, dir string) { put(y.t, filepath.Join(dir, "a.txt"), resolved) }
	for name, c := range ralphtest.Named(3, map[string]struct {
		do   func(y *testRepo, dir string)
		fail string
	}{
		"commits": {func(y *testRepo, dir string) {
			solve(y, dir)
			y.gitIn(dir, "commit", "-q", "-a", "-m", "merged by hand")
		}, ""},
		"commits and goes on": {func(y *testRepo, dir string) {
			solve(y, dir)
			y.gitIn(dir, "commit", "-q", "-a", "-m", "merged by hand")
			put(y.t, filepath.Join(dir, "c.txt"), "more\n")
		}, ""},
		"stages": {func(y *testRepo, dir string) {
			solve(y, dir)
			put(y.t, filepath.Join(dir, "ralph/plan.jsonl"), "{}\n")
			y.gitIn(dir, "add", "-f", "-A")
		}, ""},
		"commits markers": {func(y *testRepo, dir string) { y.gitIn(dir, "commit", "-q", "-a", "-m", "done") }, "a.txt"},
		"aborts":          {func(y *testRepo, dir string) { y.gitIn(dir, "merge", "--abort") }, "undone"},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, 2)
			id := conflicting(t, y)
			y.start(id, 1)
			y.turn(id, func(in ralph.TurnInput) string {
				c.do(y, in.Dir)
				return complete
			})
			got := y.commit(id)
			if c.fail != "" {
				ran := one[ralph.ChecksRan](y, y.do(id, ralph.Check{}))
				if !strings.Contains(got.Error, c.fail) || ran.Pass || ran.Results[0].Name != "conflicts" {
					t.Errorf("committed: %+v, checks %+v", got, ran)
				}
				return
			}
			if got.Error != "" {
				t.Fatal(got.Error)
			}
			if m := y.merge("t-2"); !m.Advanced {
				t.Fatalf("the merge: %+v", m)
			}
			y.equal("the result", y.git("show", y.tip()+":a.txt")+"\n", resolved)
			if names := y.git("diff", "--name-only", "main", y.tip()); strings.Contains(names, "plan.jsonl") {
				t.Errorf("merged: %s", names)
			}
			y.sound()
		})
	}
}

// A resolve that was interrupted goes on where it was; one that is begun anew, in
// another worktree, begins with the merge.
func TestAResolveThatWasCut(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	id := conflicting(t, y)
	y.start(id, 1)
	y.turn(id, y.writes("a.txt", resolved))
	if facts, err := y.x.Stash(t.Context(), y.snapshot(), id); err != nil || len(facts) > 0 {
		t.Errorf("a merge under way was stashed: %v, %v", facts, err)
	}
	y.apply(ralph.TaskEnded{ID: id, Status: ralph.TaskPending})
	if p := y.start(id, 1); len(p.Conflicts) != 0 || p.Base != "" {
		t.Errorf("prepared again: %+v", p)
	}
	if c := y.commit(id); c.Error != "" {
		t.Fatal(c.Error)
	}
	if m := y.merge("t-2"); !m.Advanced {
		t.Errorf("the merge: %+v", m)
	}
}

// product.md 14: checks red on the merged tree are resolved in a tree in which the
// two are merged already.
func TestARedMergeIsResolved(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2, withChecks("! { test -f b.txt && test -f c.txt; }", "true"))
	y.begin()
	y.work("t-1", 1, y.writes("b.txt", "b\n"))
	y.work("t-2", 2, y.writes("c.txt", "c\n"))
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		stage := y.merging(id)
		m := one[ralph.Merged](y, y.do(stage, ralph.Merge{Members: []ralph.TaskID{id}, Into: y.tip()}))
		if m.Advanced || m.Commit == "" {
			t.Fatalf("merged before its checks: %+v", m)
		}
		ran := one[ralph.ChecksRan](y, y.do(stage, ralph.Check{}))
		if ran.Tree != m.Tree || ran.Pass != (id == "t-1") {
			t.Fatalf("the checks of %s: %+v", id, ran)
		}
		if id == "t-1" {
			if len(ran.Results) != 2 {
				t.Errorf("results: %+v", ran.Results)
			}
			a := one[ralph.Advanced](y, y.do(stage, ralph.Advance{From: m.From, To: m.Commit}))
			if a.Moved != "" || a.Error != "" || a.Tree != m.Tree {
				t.Errorf("advanced: %+v", a)
			}
			y.equal("the branch", y.git("rev-parse", y.snapshot().Plan.Integration.Branch), m.Commit)
			y.apply(ralph.TaskEnded{ID: stage, Status: ralph.TaskDone, BasedOnSeq: 1})
			continue
		}
		if len(ran.Results) != 1 {
			t.Errorf("a red check must stop the others: %+v", ran.Results)
		}
		y.apply(ralph.TaskEnded{ID: stage, Status: ralph.TaskFailed, BasedOnSeq: 1})
	}
	if q := y.task("t-2").Run.Queue.State; q != ralph.MergeRed {
		t.Fatalf("the task is %q", q)
	}
	id := ralph.TaskID("resolve:job:0:t-2:1")
	y.apply(ralph.TaskAdded{Task: ralph.Task{
		ID: id, Kind: ralph.KindResolve, Parent: "t-2", Name: "Resolve", Status: ralph.TaskPending,
		Run: ralph.Run{Worktree: ralph.Worktree{Branch: "ralph/t-2"}},
	}})
	if p := y.start(id, 1); len(p.Conflicts) > 0 || p.Head == y.git("rev-parse", "main") {
		t.Errorf("prepared: %+v", p)
	}
	y.turn(id, func(in ralph.TurnInput) string {
		if !strings.Contains(in.Prompt, "test -f b.txt") || !strings.Contains(in.Prompt, "and then the checks fail") {
			t.Errorf("the prompt:\n%s", in.Prompt)
		}
		y.must(os.Remove(filepath.Join(in.Dir, "c.txt")))
		return y.writes("d.txt", "d\n")(in)
	})
	if ran := one[ralph.ChecksRan](y, y.do(id, ralph.Check{})); !ran.Pass {
		t.Fatalf("the checks: %+v", ran)
	}
	c := y.commit(id)
	if c.Error != "" {
		t.Fatal(c.Error)
	}
	y.equal("what it brings", y.git("diff", "--name-only", y.tip(), c.Commit), "d.txt")
}

// A person may have worked on the branch of a task that waited for them: with Tips
// that is merged, else what the task's agent made.
func TestWhatAPersonAddedIsMergedWhenTheySaySo(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.begin()
	c := y.work("t-1", 1, y.writes("new.txt", "new\n"))
	y.gitIn(y.tree(1), "commit", "-q", "--allow-empty", "-m", "by hand")
	byHand := y.git("rev-parse", "ralph/t-1")
	stage := y.merging("t-1")
	m := one[ralph.Merged](y, y.outcome(stage, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: y.tip()}))
	y.equal("as the agent left it", m.Commit, c.Commit)
	m = one[ralph.Merged](y, y.outcome(stage, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: y.tip(), Tips: true}))
	y.equal("as it is now", m.Commit, byHand)
}

// A branch that is elsewhere than the journal says is told, never overwritten; one
// that somebody deleted is made again.
func TestTheIntegrationBranchIsElsewhere(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.begin()
	y.work("t-1", 1, y.writes("new.txt", "new\n"))
	i := y.snapshot().Plan.Integration
	step := ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: i.Tip, Free: true}
	other := y.git("commit-tree", "-p", i.Tip, "-m", "by somebody", i.Tree)
	y.git("update-ref", "refs/heads/"+i.Branch, other)
	stage := y.merging("t-1")
	if m := one[ralph.Merged](y, y.outcome(stage, step)); m.Moved != other || m.Commit != "" {
		t.Errorf("merged: %+v", m)
	}
	if a := one[ralph.Advanced](y, y.outcome(stage, ralph.Advance{From: i.Tip, To: y.task("t-1").Run.Commit})); a.Moved != other {
		t.Errorf("advanced: %+v", a)
	}
	y.git("update-ref", "-d", "refs/heads/"+i.Branch)
	if m := one[ralph.Merged](y, y.outcome(stage, step)); m.Moved != i.Tip {
		t.Errorf("merged into a branch that was gone: %+v", m)
	}
	y.equal("the branch", y.git("rev-parse", i.Branch), i.Tip)
}

// product.md 7: a checkout with changes is never touched; when the base went on, its
// commits are merged first, and then both land.
func TestLandingBesideAPerson(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1)
	y.begin()
	y.work("t-1", 1, y.writes("a.txt", "ONE\ntwo\nthree\n"))
	y.merge("t-1")
	y.write("a.txt", "mine\n")
	l := y.land()
	if l.How != "" || len(l.Dirty) != 1 || l.Dirty[0] != "a.txt" {
		t.Fatalf("landed: %+v", l)
	}
	y.equal("the person's file", y.read("a.txt"), "mine\n")
	y.write("a.txt", "one\ntwo\nthree\n")
	y.write("theirs.txt", "theirs\n")
	y.git("add", "-A")
	y.git("commit", "-q", "-m", "by a person")
	base := y.git("rev-parse", "HEAD")
	if l = y.land(); l.Moved != base || l.How != "" {
		t.Fatalf("landed: %+v", l)
	}
	m := y.merge()
	if !m.Advanced || m.How != "merge" || y.snapshot().Plan.Integration.Moved != "" {
		t.Fatalf("merged: %+v", m)
	}
	if message := y.git("log", "-1", "--format=%B", m.Commit); !strings.HasPrefix(message, "ralph: merge main\n") || !strings.Contains(message, "Ralph-Merge: "+base) {
		t.Errorf("its message: %q", message)
	}
	if l = y.land(); l.How == "" || l.From == "" {
		t.Fatalf("landed: %+v", l)
	}
	y.equal("both", y.read("a.txt")+y.read("theirs.txt")+y.git("status", "--porcelain"), "ONE\ntwo\nthree\ntheirs\n")
	y.git("switch", "-q", "-c", "rebasing", "HEAD~1")
}

// Work that has not landed is gone on with in the next session, also when a crash
// hid how far its branch is; on another branch it is refused, with what to do.
func TestANewSessionGoesOnWithWhatHasNotLanded(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2)
	y.begin()
	y.work("t-1", 1, y.writes("new.txt", "new\n"))
	stage := y.merging("t-1")
	y.outcome(stage, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: y.tip(), Free: true}) // killed before it was noted
	branch := y.snapshot().Plan.Integration.Branch
	ahead := y.git("rev-parse", branch)
	next := func() {
		y.apply(ralph.JobEnded{Status: ralph.SpecPending}, ralph.JobStarted{Job: "a-s-20250121T100000Z-0002"})
	}
	next()
	y.begin()
	i := y.snapshot().Plan.Integration
	y.equal("where it goes on", i.Branch+i.Tip+i.Landed, branch+ahead+y.git("rev-parse", "main"))

	next()
	y.git("switch", "-q", "-c", "other")
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: "p", Kind: ralph.KindPrepare}}, ralph.TaskStarted{ID: "p"})
	f := one[ralph.Prepared](y, y.outcome("p", ralph.Prepare{}))
	if !strings.Contains(f.Error, "has not landed on main, and other is checked out") || !strings.Contains(f.Error, "git switch main") {
		t.Errorf("prepared on another branch: %+v", f)
	}
	y.git("merge", "-q", branch)
	next()
	y.begin()
	i = y.snapshot().Plan.Integration
	y.equal("a new one", i.Branch+" "+i.Base+" "+i.Tip, "ralph/merged-0002 other "+ahead)
}

// X-69, D-068: in agent mode stages look at what is merged, and the spec lands as
// one commit; nothing is left of the branches that led to it.
func TestASpecLandsAsOneCommit(t *testing.T) {
	t.Parallel()
	y := newYard(t, 2, inAgentMode)
	y.begin()
	before := y.git("rev-parse", "HEAD")
	y.work("t-1", 1, y.writes("one.txt", "1\n"))
	y.work("t-2", 2, y.writes("two.txt", "2\n"))
	y.merge("t-1")
	y.merge("t-2")
	verify := ralph.TaskID("verify:q-0001:1")
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: verify, Kind: ralph.KindVerify}}, ralph.TaskStarted{ID: verify})
	turn := y.turn(verify, func(in ralph.TurnInput) string {
		y.equal("its folder", in.Dir, filepath.Join(y.dir, "ralph/.worktrees/merge"))
		y.equal("what is there", y.gitIn(in.Dir, "rev-parse", "HEAD"), y.tip())
		if !strings.Contains(in.Prompt, "+++ b/one.txt") || !strings.Contains(in.Prompt, "# Feature") || !strings.Contains(in.Prompt, "Do not commit") {
			t.Errorf("its prompt:\n%s", in.Prompt)
		}
		return "```json\n{\"verdicts\":[{\"task\":\"t-1\",\"verdict\":\"accept\"},{\"task\":\"t-2\",\"verdict\":\"accept\"}]}\n```"
	})
	if turn.Answer != "2 tasks accepted" {
		t.Errorf("the turn: %+v", turn)
	}
	y.apply(ralph.TaskEnded{ID: verify, Status: ralph.TaskDone, BasedOnSeq: 1})

	land := ralph.TaskID("land:q-0001:0")
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: land, Kind: ralph.KindLand}}, ralph.TaskStarted{ID: land})
	c := one[ralph.Committed](y, y.do(land, ralph.Commit{}))
	if c.Error != "" || c.Subject != "ralph: complete feature" || !strings.HasPrefix(c.Commit, c.Short) || c.Short == "" {
		t.Fatalf("committed: %+v", c)
	}
	if l := one[ralph.Landed](y, y.do(land, ralph.Land{})); l.How == "" || l.To != c.Commit {
		t.Fatalf("landed: %+v", l)
	}
	y.equal("main", y.git("log", "--format=%P %s", "-1")+y.git("status", "--porcelain"), before+" ralph: complete feature")
	if message := y.git("log", "-1", "--format=%B"); !strings.Contains(message, "\nRalph-Spec: q-0001\nRalph-Journal: 000000000000\nRalph-Receipt: ") || !strings.Contains(message, "Tasks completed: 2\n") {
		t.Errorf("its message: %q", message)
	}
	y.equal("the refs", y.git("for-each-ref", "--format=%(refname)"), "refs/heads/main")
	y.sound()
}

// In agent mode the base may go on between the commit and its landing: then it is
// made again on what is there.
func TestASpecWhoseBaseGoesOn(t *testing.T) {
	t.Parallel()
	y := newYard(t, 1, inAgentMode)
	y.begin()
	y.work("t-1", 1, y.writes("one.txt", "1\n"))
	y.merge("t-1")
	land := ralph.TaskID("land:q-0001:0")
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: land, Kind: ralph.KindLand}}, ralph.TaskStarted{ID: land})
	y.do(land, ralph.Commit{})
	y.git("commit", "-q", "--allow-empty", "-m", "by a person")
	base := y.git("rev-parse", "HEAD")
	if l := one[ralph.Landed](y, y.do(land, ralph.Land{})); l.Moved != base {
		t.Fatalf("landed: %+v", l)
	}
	y.merge()
	c := one[ralph.Committed](y, y.do(land, ralph.Commit{}))
	if l := one[ralph.Landed](y, y.do(land, ralph.Land{})); l.How == "" {
		t.Fatalf("committed %+v, landed: %+v", c, l)
	}
	y.equal("main", y.git("log", "--format=%s", "-2"), "ralph: complete feature\nby a person")
}

// B-033, B-069, X-74: at the end of a session, worktrees and branches that hold
// work stay, with their names; what is done with goes.
func TestCleaningUpKeepsWhatHoldsWork(t *testing.T) {
	t.Parallel()
	y := newYard(t, 4)
	y.begin()
	y.git("branch", "ralph/mine")
	y.work("t-1", 1, y.writes("one.txt", "1\n"))
	y.merge("t-1")
	y.start("t-2", 2)
	y.turn("t-2", y.writes("half.txt", "half\n"))
	y.apply(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskTimeout, BasedOnSeq: 1})
	y.work("t-3", 1, y.writes("three.txt", "3\n")) // not merged
	put(t, filepath.Join(y.tree(1), "stray.txt"), "of nobody\n")
	out := worktree.Worktrees{Repo: y.parts.Repo}.CleanUp(t.Context(), y.snapshot())
	y.equal("kept", strings.Join(out.Kept, " "), "ralph/.worktrees/2 ralph/merged-0001 ralph/t-2 ralph/t-3")
	y.equal("removed", strings.Join(out.Removed, " "), "ralph/.worktrees/1")
	y.equal("deleted", strings.Join(out.Branches, " "), "ralph/t-1")
	if out.Error != "" || len(out.Saved) != 1 || y.git("show", out.Saved[0].Ref+":stray.txt") != "of nobody" {
		t.Errorf("cleaned up: %+v", out)
	}
	y.equal("its file", y.gitIn(y.tree(2), "status", "--porcelain"), "A  half.txt")
	if y.git("rev-parse", "ralph/mine") == "" {
		t.Error("a person's branch is gone")
	}
	if again := (worktree.Worktrees{Repo: y.parts.Repo}).CleanUp(t.Context(), y.snapshot()); again.Error != "" || len(again.Removed) > 0 {
		t.Errorf("cleaned up again: %+v", again)
	}
}

// A merge that was not taken goes at the end of a session, whatever its subject is
// (commit.message); the commit of a spec that waits to land stays.
func TestCleaningUpKnowsAMergeByItsParents(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "PROJ-7 {id}"} {
		y := newYard(t, 2, withChecks("! { test -f b.txt && test -f c.txt; }"))
		y.x.Message = message
		y.begin()
		y.work("t-1", 1, y.writes("b.txt", "b\n"))
		y.work("t-2", 2, y.writes("c.txt", "c\n"))
		first := y.merging("t-1")
		took := one[ralph.Merged](y, y.do(first, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: y.tip()}))
		y.do(first, ralph.Advance{From: took.From, To: took.Commit})
		y.apply(ralph.TaskEnded{ID: first, Status: ralph.TaskDone, BasedOnSeq: 1})
		stage := y.merging("t-2")
		m := one[ralph.Merged](y, y.do(stage, ralph.Merge{Members: []ralph.TaskID{"t-2"}, Into: y.tip()}))
		if ran := one[ralph.ChecksRan](y, y.do(stage, ralph.Check{})); ran.Pass || m.Commit == "" {
			t.Fatalf("%+v %+v", m, ran)
		}
		y.apply(ralph.TaskEnded{ID: stage, Status: ralph.TaskFailed, BasedOnSeq: 1})
		y.git("update-ref", "refs/ralph/merge/spec", y.git("rev-parse", "ralph/t-1"))
		if got := y.git("for-each-ref", "--format=%(objectname) %(subject)", "refs/ralph/merge/"); !strings.Contains(got, m.Commit) ||
			strings.Contains(got, m.Commit+" PROJ-7") != (message != "") {
			t.Fatalf("held: %s", got)
		}
		out := worktree.Worktrees{Repo: y.parts.Repo}.CleanUp(t.Context(), y.snapshot())
		if out.Error != "" {
			t.Error(out.Error)
		}
		y.equal("held after it", y.git("for-each-ref", "--format=%(refname)", "refs/ralph/merge/"), "refs/ralph/merge/spec")
	}
}
