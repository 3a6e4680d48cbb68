package policy_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
)

// resolved carries the board's resolve to its end, from a tip.
func (b *board) resolved(base, commit string) {
	b.t.Helper()
	t := b.s.Task(b.task)
	b.add(ralph.Prepared{Task: b.task, Dir: t.Run.Worktree.Dir, Branch: t.Run.Worktree.Branch, Base: base, Head: commit, Tree: "x", Conflicts: []string{"a.go"}})
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
	b.want("check", "B-010")
	b.checked(nil)
	b.want("commit", "X-69")
	b.add(ralph.Committed{Task: b.task, Commit: commit})
	b.end(ralph.TaskDone, "B-022")
}

// conflicted takes a task's merge to its conflict in a file.
func (b *board) conflicted(id, file string) {
	b.t.Helper()
	b.stage("merge " + id)
	b.merged("", conflict("content", file))
	b.end(ralph.TaskFailed, "X-72")
}

// Of merges that conflict in the same file one is resolved and merged before the next
// begins: what an agent made beside it would be outdated at once. Other files do not
// wait for it.
func TestResolvesOfOneFileTakeTurns(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 3)
	for _, x := range []struct{ id, file string }{{"t-1", "a.go"}, {"t-2", "a.go"}, {"t-3", "b.go"}} {
		b.conflicted(x.id, x.file)
	}
	b.expect("resolve t-1 slot 1 at 1", "resolve t-3 slot 2 at 2", "hold: nothing else is ready")
}

// A resolve that worked and lost the race to another merge uses up no try: only one
// that the very tip it was made for does not take.
func TestRacesAreNoTries(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.ConflictRetries = 1
	b := onQueue(t, c, 1)
	b.conflicted("t-1", "a.go")
	b.stage("resolve t-1 slot 1 at 1")
	b.resolved("c0", "c-both")
	b.add(ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "c9", Tip: "c9", Tree: "tree-c9"}) // others were merged meanwhile
	b.conflicted("t-1", "a.go")
	b.stage("resolve t-1 slot 1 at 1")
	b.resolved("c9", "c-again")
	b.conflicted("t-1", "a.go") // nothing came after it: the agent's work does not fit
	b.stage("merge t-1")
	b.ask("X-72", "after 1 try of an agent", "<<<<<<< a.go")
}

// A task that is sent back while its merge is resolved begins anew: the old commit is
// not taken for the new attempt's, and the resolve ends.
func TestSentBackWhileResolving(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 1)
	b.conflicted("t-1", "a.go")
	b.stage("resolve t-1 slot 1 at 1")
	if _, err := b.s.RejectTask("t-1", "not good"); err == nil {
		t.Error("a task whose merge an agent resolves was sent back: two agents would share a branch")
	}
	b.add(ralph.TaskRejected{ID: "t-1", Reason: "not good"}) // by whatever way
	b.add(ralph.MergeQueued{Task: "t-1", Branch: "ralph/t-1", Commit: "c-old"})
	if x := b.s.Task("t-1").Run; x.Commit != "" || x.Queue.State != "" {
		t.Errorf("the new attempt begins with %+v", x)
	}
	b.end(ralph.TaskSkipped, "X-72")
}
