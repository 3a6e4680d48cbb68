package step_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// R-M4: a person is told once of each file outside that an agent's own tool could not write:
// Codex says no more of it than that it failed, Claude Code names a file beside it that it would
// have renamed. What failed inside or for another reason, was done or declined is not the sandbox's doing.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, refusedChanges)
}

func refusedChanges(t *testing.T) {
	outside := t.TempDir()
	at := func(name string) string { return filepath.Join(outside, name) }
	edit := func(status, output string, files ...string) ralph.StreamEvent {
		return ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{Kind: ralph.ItemEdit, Status: status, Output: output, Files: files}}
	}
	d := newDesk(t, policy.Config{Approvals: "auto", Sandbox: "bubblewrap"})
	d.agent.events = []ralph.StreamEvent{
		edit(ralph.ItemFailed, "", at("codex.txt")),
		edit(ralph.ItemFailed, "", at("codex.txt")),
		edit(ralph.ItemFailed, "EROFS: read-only file system, open '"+at("claude.txt.tmp.2.ab")+"'", at("claude.txt")),
		edit(ralph.ItemFailed, "", "inside.txt"),
		edit(ralph.ItemFailed, "String to replace not found in file.", at("other.txt")),
		edit(ralph.ItemCompleted, "", at("done.txt")),
		edit(ralph.ItemDeclined, "", at("declined.txt")),
	}
	if _, err := d.turn(t, t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range d.mem.Events() {
		if f, ok := e.Fact.(ralph.SandboxRefused); ok {
			told = append(told, f.Path)
		}
	}
	slices.Sort(told)
	if want := []string{at("claude.txt"), at("codex.txt")}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}
