package records_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/text"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is a run of checks with a long output, as its fact has it.
func kept(t *testing.T, root, output string) ralph.ChecksRan {
	t.Helper()
	ran := ralph.ChecksRan{Task: "t-1", Results: []ralph.CheckResult{{Name: "vet", Pass: true, Output: "fine\n"}, {Name: "test", Exit: 1, Output: output}}}
	text, err := json.Marshal(ran)
	must(t, err)
	whole, err := records.Keep(root, "ralph/.state/tasks/t-1/1", "checks", text, true)
	must(t, err)
	ran.Whole = whole
	ran.Results, _ = ralph.BriefResults(ran.Results)
	return ran
}

// Issue 16.1: the whole comes back from the file, as long as it is what the fact says.
func TestWhole(t *testing.T) {
	t.Parallel()
	root, long := t.TempDir(), strings.Repeat("a line of a test program\n", 3000)
	ran := kept(t, root, long)
	if ran.Results[1].Brief == 0 || len(ran.Results[1].Output) > 4<<10 {
		t.Fatalf("the fact has %d bytes of the output", len(ran.Results[1].Output))
	}
	if got := records.Checks(root, &ran).Results; got[1].Output != long || got[1].Brief != 0 || got[0].Output != "fine\n" {
		t.Errorf("%d bytes of the whole, %d said to be left out", len(got[1].Output), got[1].Brief)
	}
	file := filepath.Join(root, ran.Path())
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v", ran.Path(), info.Mode())
	}

	text, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, text[:len(text)/2], 0o600))
	if got := records.Checks(root, &ran).Results[1].Output; !strings.Contains(got, "t-1/1/checks.json is not as it was then") || strings.Contains(got, long[:8000]) {
		t.Errorf("half a file: %q", got)
	}
	must(t, os.Remove(file))
	got := records.Checks(root, &ran).Results[1].Output
	if !strings.HasPrefix(got, ran.Results[1].Output) || !strings.Contains(got, "t-1/1/checks.json is gone") {
		t.Errorf("a file that is gone: %q", got)
	}
}

// A second run of the same turn leaves the file alone that a fact names, and so does one that
// a kill cut before its fact: what a fact names never changes.
func TestKeptStays(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	first := kept(t, root, strings.Repeat("first\n", 2000))
	second := kept(t, root, strings.Repeat("second\n", 2000))
	again := kept(t, root, strings.Repeat("second\n", 2000))
	if first.Path() != "ralph/.state/tasks/t-1/1/checks.json" || second.Path() == first.Path() || again.Whole != second.Whole {
		t.Errorf("%s, %s, %s", first.Path(), second.Path(), again.Path())
	}
	for _, ran := range []ralph.ChecksRan{first, second} {
		if s, err := records.Sum(root, ran.Path()); err != nil || s != ran.Record {
			t.Errorf("%s has %s, %v, the fact says %s", ran.Path(), s, err, ran.Record)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "ralph/.state/tasks/t-1/1"))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%v", entries)
	}
}

// A text that cannot be written whole is there under no name.
func TestNothingHalf(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "ralph/.state/tasks/t-1/1")
	sum := sha256.Sum256([]byte("text"))
	for _, name := range []string{"checks.json", "checks-" + hex.EncodeToString(sum[:])[:16] + ".json"} { // both renames fail
		must(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o700))
	}
	if _, err := records.Keep(root, "ralph/.state/tasks/t-1/1", "checks", []byte("text"), true); err == nil {
		t.Error("it is said to be kept")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v is left (%v)", entries, err)
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	root, long := t.TempDir(), strings.Repeat("<<<<<<< ours\n", 5000)
	c := ralph.Conflict{Ours: "a", Theirs: "b", Files: []ralph.ConflictFile{{Path: "x", Kind: "content", Marked: long}, {Path: "y", Kind: "binary"}}}
	text, err := json.Marshal(c)
	must(t, err)
	brief, _ := c.Brief()
	brief.Whole, err = records.Keep(root, "ralph/.state/tasks/merge-1", "conflict", text, true)
	must(t, err)
	task := ralph.Task{ID: "t-1"}
	task.Run.Queue.Merged = &ralph.Merged{Conflict: &brief}
	if got := records.Task(root, &task).Run.Queue.Merged.Conflict.Files; got[0].Marked != long || got[1].Marked != "" {
		t.Errorf("%d bytes", len(got[0].Marked))
	}
	must(t, os.Remove(filepath.Join(root, brief.Path())))
	if got := records.Task(root, &task).Run.Queue.Merged.Conflict.Files; !strings.Contains(got[0].Marked, "is gone") {
		t.Errorf("%q", got[0].Marked)
	}
	if len(brief.Files[0].Marked) > 4<<10 || task.Run.Queue.Merged.Conflict.Files[0].Marked != brief.Files[0].Marked {
		t.Error("the state's own conflict was changed")
	}
}

// A gate quotes outputs in brief; a person decides by the whole.
func TestDetail(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var b strings.Builder
	for b.Len() < 7000 {
		b.WriteString(strings.Repeat("x", b.Len()%70) + "\n")
	}
	ran := kept(t, root, b.String())
	task := ralph.Task{ID: "t-1"}
	task.Run.Checks = &ran
	if got := records.Detail(root, &task, "$ test\n"+text.Plain(ran.Results[1].Output)+"\nend", 8<<10); got != "$ test\n"+b.String()+"\nend" {
		t.Errorf("%q", got)
	}
}
