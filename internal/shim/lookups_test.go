package shim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/shim"
)

// Issue 17, row 2: turns of a session look for programs once, and again when a folder of PATH has
// changed: what is installed meanwhile gets its shim, and what is gone none.
func TestLookups(t *testing.T) {
	t.Parallel()
	bin, other := t.TempDir(), t.TempDir()
	install := func(dir, name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	install(bin, "npm")
	settle := func() { // as if nobody had touched it for an hour
		t.Helper()
		if err := os.Chtimes(bin, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	looked := new(shim.Lookups)
	has := func(path, name string) bool {
		t.Helper()
		dir := t.TempDir()
		if _, err := (shim.Set{Self: "/bin/false", Programs: []string{"npm", "cargo"}, Lookups: looked}).Put(dir, []string{"PATH=" + path}); err != nil {
			t.Fatal(err)
		}
		_, err := os.Stat(filepath.Join(dir, "bin", name))
		return err == nil
	}
	if !has(bin, "npm") || has(bin, "cargo") || !has(bin, "npm") || has(bin, "cargo") {
		t.Error("not the programs that are there")
	}
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o600); err != nil { // which no folder tells
		t.Fatal(err)
	}
	if !has(bin, "npm") {
		t.Error("a turn looked again, and nothing had changed")
	}
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	install(bin, "cargo")
	if !has(bin, "cargo") {
		t.Error("what was installed between two turns has no shim")
	}
	if err := os.Remove(filepath.Join(bin, "npm")); err != nil {
		t.Fatal(err)
	}
	if has(bin, "npm") {
		t.Error("what is gone has a shim")
	}
	install(other, "npm")
	if !has(bin+":"+other, "npm") || has(bin, "npm") {
		t.Error("another PATH has other programs")
	}
}
