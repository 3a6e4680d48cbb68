package specs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// Spec names and symbolic links never lead out of ralph/specs (product.md 12).
func TestReadStaysInside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "ralph/specs")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"secret.md": "secret", "ralph/specs/a.md": "a", "ralph/specs/sub/b.md": "b"} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.md": "../../secret.md", "abs.md": filepath.Join(root, "secret.md"), "in.md": "sub/b.md"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"a.md": "a", "sub/b.md": "b", "in.md": "b"} {
		if got, err := Read(root, file); got != want || err != nil {
			t.Errorf("Read(%q) = %q, %v", file, got, err)
		}
	}
	for _, file := range []string{"out.md", "abs.md", "../../secret.md", "sub", "/etc/passwd"} {
		if got, err := Read(root, file); err == nil {
			t.Errorf("Read(%q) = %q, want an error", file, got)
		}
	}
	if _, err := Read(root, "gone.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing spec: %v", err)
	}
}

// What specs said that wait is kept as it was last, within bounds, while they wait, and told when their folder is gone.
func TestKept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "ralph/specs")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	inbox := []*ralph.Spec{
		{File: "a.md", Status: ralph.SpecActive}, {File: "b.md", Status: ralph.SpecPending}, {File: "done.md", Status: ralph.SpecPending}, {File: "none.md", Status: ralph.SpecPending},
	}
	for name, text := range map[string]string{"a.md": "a", "b.md": "b", "done.md": "was to be done", "other.md": "not queued"} {
		write(name, text)
	}
	var k Kept
	look := func(told bool) {
		t.Helper()
		if note := k.Look(root, inbox); (note != "") != told {
			t.Errorf("it is told %q", note)
		}
	}
	look(false)
	write("a.md", "a was changed")
	write("b.md", "\xff is no text any more")
	large := strings.Repeat("x", specfile.MaxSize)
	for n := range maxKeptBytes/specfile.MaxSize + 1 {
		name := fmt.Sprintf("large-%02d.md", n)
		write(name, large)
		inbox = append(inbox, &ralph.Spec{File: name, Status: ralph.SpecPending})
	}
	inbox[2].Status = ralph.SpecDone
	look(false)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	look(true)
	look(false) // once
	for name, want := range map[string]string{
		"a.md": "a was changed", "b.md": "b", "done.md": "", "none.md": "", "other.md": "", "": "",
		"large-00.md": large, "large-14.md": large, "large-15.md": "", "large-16.md": "",
	} {
		if text, err := k.Read(root, name); text != want || (err == nil) != (want != "" || name == "") {
			t.Errorf("%s says %.20q, %v", name, text, err)
		}
	}
	write("a.md", "back")
	look(false)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	look(true) // again
}
