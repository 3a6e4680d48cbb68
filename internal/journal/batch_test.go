package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// The facts of one write hold together: a write that a crash cut, wherever, is
// as if it had not been, and the journal goes on after it.
func TestACutWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, note("before")))
	path := filepath.Join(root, "ralph/.state/journal.jsonl")
	before := fileSize(path)
	must(t, update(j, note("one"), note("two"), note("three")))
	must(t, j.Close())
	whole, err := os.ReadFile(path)
	must(t, err)

	for cut := before + 1; cut < int64(len(whole)); cut += 7 {
		root := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(root, "ralph/.state"), 0o700))
		must(t, os.WriteFile(filepath.Join(root, "ralph/.state/journal.jsonl"), whole[:cut], 0o600))
		reader := open(t, journal.Options{Root: root, Read: true, NewID: newID})
		if s := reader.State(); s.Seq != 1 {
			t.Fatalf("cut at byte %d: a reader folds %d facts, want 1", cut, s.Seq)
		}
		if n := len(checkChain(t, reader)); n != 1 {
			t.Fatalf("cut at byte %d: Each gives %d facts, want 1", cut, n)
		}
		j := open(t, options(root))
		must(t, update(j, note("after")))
		events := checkChain(t, j)
		if n := len(events); n != 2 || events[1].Fact != note("after") {
			t.Fatalf("cut at byte %d: after the next write the journal has %d facts: %v", cut, n, events)
		}
		must(t, j.Close())
	}
}

// A whole write is seen at once by who follows.
func TestAWholeWriteIsFoldedAtOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	other := open(t, options(root))
	must(t, update(j, note("one"), ralph.Noted{Text: "two"}))
	if s := other.State(); s.Seq != 2 {
		t.Fatalf("the follower is at fact %d, want 2", s.Seq)
	}
}
