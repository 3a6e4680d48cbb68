package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/views"
)

// R-M5: where the fact is in the journal and only a file made from it is not, the error
// says that there is nothing to repeat; the next command writes the file.
func TestViewError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j, err := journal.Open(journal.Options{Root: root, Inbox: true, NewID: func(p string) string { return p + "-1" }})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close() //nolint:errcheck // a test
	add := func(id ralph.SpecID) error {
		return j.Update(t.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
			return s.AddSpec(id, string(id)+".md", time.Now()), nil
		})
	}
	if err := add("q-0001"); err != nil {
		t.Fatal(err)
	}
	base := baseOf(t, root)
	text, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(base), os.MkdirAll(filepath.Join(base, "in the way"), 0o755)); err != nil {
		t.Fatal(err)
	}
	var stale *views.ViewError
	if err := add("q-0002"); !errors.As(err, &stale) || !strings.Contains(err.Error(), "nothing to repeat") {
		t.Errorf("got %v, want a ViewError that says there is nothing to repeat", err)
	}
	if err := errors.Join(os.RemoveAll(base), os.WriteFile(base, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := add("q-0003"); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, x := range j.State().Inbox {
		ids = append(ids, string(x.ID))
	}
	if got := strings.Join(ids, " "); got != "q-0001 q-0002 q-0003" {
		t.Errorf("the inbox is %s", got)
	}
	if b, err := os.ReadFile(filepath.Join(root, "ralph/inbox.jsonl")); err != nil || strings.Count(string(b), "\n") != 3 {
		t.Errorf("inbox.jsonl: %q, %v", b, err)
	}
}

// baseOf is the copy of inbox.jsonl that edits are compared with.
func baseOf(t *testing.T, root string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(filepath.Join(root, "ralph/.state"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "inbox.jsonl" {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatalf("no base of inbox.jsonl: %v", err)
	}
	return found
}
