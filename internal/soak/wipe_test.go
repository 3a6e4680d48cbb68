//go:build linux && soak

package soak

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// An agent that deletes ralph's own state stops the run with words that say what
// happened; what git and the inbox still know is enough to go on (product.md 2, 8).
// It goes around the shims, which hold `rm -rf` for a person, as an agent can. The sandbox
// is off, as on a system that has none: in one it cannot.
func TestAgentDeletesTheState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rm, mend string }{
		{"the state", "/bin/rm -rf ralph/.state", ""},
		{"the journal", "rm ralph/.state/journal.jsonl", ""},
		{"what git ignores", "git clean -ffdxq ralph", ""},
		{"all of ralph", "/bin/rm -rf ralph", "checkout -- ralph"},
		{"the whole tree", "/bin/rm -rf $(ls -A | grep -v '^.git$')", "checkout -- ."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, setup{specs: []string{"first", "second"}, build: once(c.rm), sandbox: "off"})
			res := r.exits(2, "agent")
			if !strings.Contains(res.errs, "deleted while ralph works") || strings.Contains(res.errs, "state is kept") {
				t.Errorf("it does not say what happened: %s", res)
			}
			if c.mend != "" {
				r.git(strings.Fields(c.mend)...)
			}
			if n := len(r.inbox()); n != 2 {
				t.Errorf("%d specs in the inbox, want both", n)
			}
			r.exits(0, "agent", "--allow-dirty")
			r.checkFinished("first", "second")
		})
	}
}

// S1: in the sandbox that users have the same agents delete and move nothing that is ralph's
// or git's, and the work is done in one go.
func TestSandboxedAgentDeletesNoState(t *testing.T) {
	t.Parallel()
	if !ralphtest.Bubblewrap() {
		t.Skip("bubblewrap does not work here")
	}
	for _, c := range []struct{ name, rm string }{
		{"the state", "/bin/rm -rf ralph/.state"},
		{"the journal", "rm ralph/.state/journal.jsonl"},
		{"what git ignores", "git clean -ffdxq ralph/.state"},
		{"the records of turns", "/bin/rm -rf ralph/.state/tasks ralph/.state/procs ralph/.state/views"},
		{"git's settings and hooks", `mv .git/config "$SOAK/config"; /bin/rm -rf .git/hooks .git/config; echo x > .git/config`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, setup{specs: []string{"first", "second"}, build: once(c.rm)})
			res := r.exits(0, "agent")
			if !exists(r.note("once")) || strings.Contains(res.errs, "deleted") {
				t.Errorf("it was not tried, or something was deleted: %s", res)
			}
			r.checkFinished("first", "second")
		})
	}
}

// once is an agent that does its work, and on its first turn besides what rm says.
func once(rm string) string {
	return "mkdir -p work; echo x > \"work/$RALPH_SPEC.$RALPH_TASK_NAME\"\n" +
		"if ! test -e $SOAK/once; then touch $SOAK/once\n" + rm + "\nfi\n" + complete
}

// The records of a turn are for people: without them the work goes on.
func TestAgentDeletesTheRecordsOfItsTurn(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first", "second"}, build: once("/bin/rm -rf ralph/.state/tasks ralph/.state/procs ralph/.state/views"), sandbox: "off"})
	r.exits(0, "agent")
	r.checkFinished("first", "second")
}

// A spec that is deleted while it is worked on fails; it does not stop ralph for
// good, and the next one goes on (D-076).
func TestAgentDeletesItsSpec(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first", "second"}, build: once("rm ralph/specs/first.md")})
	r.exits(1, "agent")
	statuses := map[string]int{}
	for _, status := range r.inbox() {
		statuses[status]++
	}
	if statuses["failed"] != 1 || statuses["done"] != 1 {
		t.Errorf("the inbox has %v, want one failed and one done", statuses)
	}
	if out := r.ok("query", "inbox"); !strings.Contains(out, "spec file ralph/specs/first.md not found") {
		t.Errorf("the record does not say why:\n%s", out)
	}
	if subjects := r.git("log", "--format=%s", ":/^queue..HEAD"); subjects != "ralph: complete second" {
		t.Errorf("commits %q, want only the second", subjects)
	}
	r.checkReplay()
}

// Without its repository ralph stops and goes on when it is back. The sandbox is off: in one
// an agent cannot move it.
func TestAgentMovesGitAway(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first"}, build: once(`mv .git "$SOAK/git"`), sandbox: "off"})
	r.exits(2, "agent")
	r.exits(2, "agent")
	startIn(t, r.home, r.root, r.env(), "mv", r.note("git"), r.path(".git")).wait(patience)
	r.exits(0, "agent")
	r.checkFinished("first")
}

// S1: in the sandbox nothing can be put in the place of the repository: it stays where it
// is, and with it settings and hooks. What git itself writes there an agent can carry away,
// in the checkout (docs/threat-model.md): ralph stops, and goes on when it is back.
func TestSandboxedAgentMovesGitAway(t *testing.T) {
	t.Parallel()
	if !ralphtest.Bubblewrap() {
		t.Skip("bubblewrap does not work here")
	}
	t.Run("in the work tree", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, setup{specs: []string{"first"}, build: once(`mv .git git && touch "$SOAK/moved"`)})
		r.exits(0, "agent")
		if exists(r.note("moved")) {
			t.Error("it could move .git")
		}
		r.checkFinished("first")
	})
	t.Run("piece by piece", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t, setup{specs: []string{"first"}, build: once(`mv .git "$SOAK/git" || touch "$SOAK/refused"`)})
		write(t, r.path(".git/hooks/post-commit"), "")
		for range 2 {
			t.Log(r.exits(2, "agent"))
		}
		if !exists(r.note("refused")) || !exists(r.path(".git/config")) || !exists(r.path(".git/hooks/post-commit")) {
			t.Error("it could move settings and hooks")
		}
		startIn(t, r.home, r.root, r.env(), "cp", "-a", r.note("git")+"/.", r.path(".git")).wait(patience)
		r.exits(0, "agent")
		r.checkFinished("first")
	})
}
