package git

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file of settings is read by git once, and again when it holds other words: the settings
// of a submodule are looked at before every command in it.
func TestSettingsAreReadOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	name := filepath.Join(t.TempDir(), "settings")
	b.Must(os.WriteFile(name, []byte("[a \"B c\"]\n\tX = 1\n[include]\n\tpath = other\n"), 0o600))
	b.Must(os.WriteFile(filepath.Join(filepath.Dir(name), "other"), []byte("[never]\n\tread = here\n"), 0o600))
	read := func(want string) {
		t.Helper()
		got, err := b.repo.Settings(t.Context(), name)
		b.Must(err)
		b.Equal("the settings", got, want)
	}
	read("a.B c.x\n1\x00include.path\nother\x00")
	git := b.repo.program
	b.repo.program = filepath.Join(t.TempDir(), "no git")
	read("a.B c.x\n1\x00include.path\nother\x00")
	b.Must(os.WriteFile(name, []byte("[a]\n\tY = 22\n"), 0o600))
	if got, err := b.repo.Settings(t.Context(), name); err == nil {
		t.Errorf("without git it knows what has changed: %q", got)
	}
	b.repo.program = git
	read("a.y\n22\x00")
	b.Must(os.WriteFile(name, nil, 0o600))
	read("")
}

// S1: nobody is waited for who has put something else in its place.
func TestSettingsAreAnOrdinaryFile(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	b.Must(syscall.Mkfifo(pipe, 0o600))
	b.Must(os.WriteFile(long, make([]byte, maxSettings+1), 0o600))
	for _, name := range []string{pipe, dir, long} {
		_, err := b.repo.Settings(t.Context(), name)
		b.Refused(err, "no ordinary file, or too large")
	}
}
