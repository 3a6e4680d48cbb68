package lookup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/lookup"
)

// S6: what a runner of tasks would run is read in the work tree alone, and where it is small.
func TestReads(t *testing.T) {
	t.Parallel()
	work, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"work/Makefile": "a:\n", "work/large": strings.Repeat("x", 1<<17), "out/secret": "no"} {
		dir, file, _ := strings.Cut(name, "/")
		if err := os.WriteFile(filepath.Join(map[string]string{"work": work, "out": outside}[dir], file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(work, "justfile")); err != nil {
		t.Fatal(err)
	}
	read := lookup.At(work, nil).Read
	if text, ok := read(filepath.Join(work, "Makefile")); !ok || text != "a:\n" {
		t.Errorf("the Makefile is %q, %t", text, ok)
	}
	for _, name := range []string{filepath.Join(work, "large"), filepath.Join(work, "justfile"), filepath.Join(work, "none"), work, filepath.Join(outside, "secret"), filepath.Join(work, "../"+filepath.Base(outside)+"/secret")} {
		if text, ok := read(name); ok {
			t.Errorf("%s is read: %q", name, text)
		}
	}
}
