package shim_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/shim"
)

// contents are the programs in a turn's folder, and which files they are.
func contents(t *testing.T, dir string) (texts map[string]string, files []os.FileInfo) {
	t.Helper()
	texts = map[string]string{}
	for _, folder := range []string{"bin", "hooks"} {
		list, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			name := filepath.Join(dir, folder, e.Name())
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[folder+"/"+e.Name()], files = string(b)+info.Mode().String(), append(files, info)
		}
	}
	return texts, files
}

func sameFiles(a, b []os.FileInfo) bool {
	return slices.EqualFunc(a, b, func(x, y os.FileInfo) bool { return os.SameFile(x, y) && x.ModTime().Equal(y.ModTime()) })
}

// Issue 17, row 2: the next turn in a folder has the shims and hooks that are there, and nothing is
// written. What an agent without a sandbox changed there is what it was, whatever it did.
func TestShimsStay(t *testing.T) {
	t.Parallel()
	real, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"tool", "npm", "git"} {
		ralphtest.Program(t, filepath.Join(real, name), "#!/bin/sh\n")
	}
	next := func(rules string) {
		t.Helper()
		s := shim.Set{
			Self: "/bin/false", Programs: []string{"git", "npm", "tool"}, Rules: []byte(rules), Lookups: new(shim.Lookups),
			Plain: map[string][][]string{"git": {{"status"}}},
		}
		if _, err := s.Put(dir, []string{"PATH=" + real}); err != nil {
			t.Fatal(err)
		}
		if b, err := shim.Rules(dir); err != nil || string(b) != rules {
			t.Errorf("the turn is judged by %q, %v", b, err)
		}
	}
	next("1")
	texts, files := contents(t, dir)
	if len(texts) != 3+14 {
		t.Fatalf("%d programs", len(texts))
	}
	next("2")
	if _, again := contents(t, dir); !sameFiles(files, again) {
		t.Error("the second turn wrote its shims anew")
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	evil := []byte("#!/bin/sh\necho evil\n")
	for what, change := range map[string]func() error{
		"other text": func() error { return os.WriteFile(in("bin/git"), evil, 0o700) },
		"text of the same length": func() error {
			b, err := os.ReadFile(in("hooks/pre-push"))
			b[len(b)-2] ^= 1
			return errors.Join(err, os.WriteFile(in("hooks/pre-push"), b, 0o700))
		},
		"another file in the place of a link": func() error {
			return errors.Join(os.Remove(in("bin/npm")), os.WriteFile(in("bin/npm"), evil, 0o700))
		},
		"a link elsewhere": func() error { return errors.Join(os.Remove(in("bin/npm")), os.Symlink("/bin/true", in("bin/npm"))) },
		"one more":         func() error { return os.WriteFile(in("bin/rm"), evil, 0o700) },
		"one less":         func() error { return os.Remove(in("hooks/pre-push")) },
		"another name":     func() error { return os.Rename(in("bin/npm"), in("bin/npx")) },
		"not to be run":    func() error { return os.Chmod(in("bin/git"), 0o600) },
		"for all to write": func() error { return os.Chmod(in("bin"), 0o777) }, //nolint:gosec // as an agent may
		"a folder elsewhere": func() error {
			return errors.Join(os.Rename(in("hooks"), in("away")), os.Symlink("away", in("hooks")))
		},
		"no folder": func() error { return os.RemoveAll(in("bin")) },
	} {
		if err := change(); err != nil {
			t.Fatal(what, err)
		}
		next(what)
		now, _ := contents(t, dir)
		for name, text := range texts {
			if now[name] != text {
				t.Errorf("%s: %s is %q", what, name, now[name])
			}
		}
		if len(now) != len(texts) {
			t.Errorf("%s: %d programs, want %d", what, len(now), len(texts))
		}
		for _, folder := range []string{"bin", "hooks"} {
			if is, err := os.Lstat(in(folder)); err != nil || is.Mode() != os.ModeDir|0o700 {
				t.Errorf("%s: %s is %v %v", what, folder, is, err)
			}
		}
		if err := os.RemoveAll(in("away")); err != nil {
			t.Fatal(err)
		}
	}
}
