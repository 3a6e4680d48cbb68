package backend_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// The settings that actions go by are read again when somebody has saved them, and only then: a
// screen that is open all day asks every few seconds.
func TestSettingsAreReadWhenTheyAreSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		file := filepath.Join(root, "ralph/config.yaml")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		save := func(words string, at time.Time) {
			t.Helper()
			if err := os.WriteFile(file, []byte(words), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
		j, err := journal.Open(journal.Options{Root: root, NewID: func(prefix string) string { return prefix + "-none" }})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.Close() }()
		b := backend.New(workspace.Env{Dir: root}, root, j, backend.Surface{By: "ui"})
		key := func() string {
			time.Sleep(time.Minute) // long enough for a look
			return b.Context().Keys["pause"]
		}
		first := time.Now()
		save("version: 1\nui:\n  keys: {pause: P}\n", first)
		if k := key(); k != "P" {
			t.Fatalf("the key is %q", k)
		}
		save("version: 1\nui:\n  keys: {pause: Q}\n", first) // nothing says that it was saved
		if k := key(); k != "P" {
			t.Errorf("a file that looks as it did was read again: %q", k)
		}
		save("version: 1\nui:\n  keys: {pause: Q}\n", first.Add(time.Second))
		if k := key(); k != "Q" {
			t.Errorf("after it was saved the key is %q", k)
		}
	})
}
