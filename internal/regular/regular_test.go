package regular_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/regular"
	"golang.org/x/sys/unix"
)

// folder has a file, and of whatever else an agent may put in its place one of each.
func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	for name, text := range map[string]string{secret: "a key\n", root + "/a/file": "one\ntwo\n", root + "/b/open": "no end"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"a/out": secret, "a/in": "file", "a/nowhere": root + "/a/new", "linked": "a", "a/zero": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(root+"/a/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// No name that is no regular file is read or written below a folder, and none makes anybody wait.
func TestOnlyRegularFilesBelowAFolder(t *testing.T) {
	t.Parallel()
	root := folder(t)
	for _, name := range []string{"a/out", "a/in", "a/nowhere", "linked/file", "a/zero", "a/pipe", "a", "a/file/x", "../x", "/etc/passwd", "", "."} {
		head, headErr := regular.Head(root, name, 100)
		tail, tailErr := regular.Tail(root, name, 100)
		if headErr == nil || tailErr == nil {
			t.Errorf("%q is read: %q %q", name, head, tail)
		}
		if err := regular.AppendLine(root, name, "more"); err == nil {
			t.Errorf("%q is written", name)
		}
	}
	if _, err := os.Lstat(root + "/a/new"); err == nil {
		t.Error("a link that leads nowhere made a file")
	}
	for name, want := range map[string]error{"a/out": regular.ErrNotRegular, "linked/file": regular.ErrNotRegular, "a/pipe": regular.ErrNotRegular, "a/none": os.ErrNotExist} {
		if _, err := regular.Head(root, name, 1); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestPartsOfFiles(t *testing.T) {
	t.Parallel()
	root := folder(t)
	for _, c := range []struct {
		most       int64
		head, tail string
	}{{100, "one\ntwo\n", "one\ntwo\n"}, {8, "one\ntwo\n", "one\ntwo\n"}, {3, "one", "wo\n"}, {0, "", ""}} {
		head, err := regular.Head(root, "a/file", c.most)
		if err != nil || string(head) != c.head {
			t.Errorf("%d: %q %v, want %q", c.most, head, err, c.head)
		}
		tail, err := regular.Tail(root, "a/file", c.most)
		if err != nil || string(tail) != c.tail {
			t.Errorf("%d: %q %v, want %q", c.most, tail, err, c.tail)
		}
	}
}

func TestLinesAreAppended(t *testing.T) {
	t.Parallel()
	root := folder(t)
	for name, want := range map[string]string{"a/file": "one\ntwo\nmore\nand\n", "b/open": "no end\nmore\nand\n", "c/d/new": "more\nand\n"} {
		for _, line := range []string{"more", "and"} {
			if err := regular.AppendLine(root, name, line); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
}

// ReadFile and ReadIn follow links, wait for nothing, and read no more than was asked for.
func TestReadWholeFiles(t *testing.T) {
	t.Parallel()
	root := folder(t)
	top, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	long := strings.Repeat("x", 5000)
	if err := os.WriteFile(root+"/long", []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		most    int64
		want    string
		in, out bool // whether it is read in the folder, and by its path
	}{
		{"a/file", 8, "one\ntwo\n", true, true},
		{"a/file", 7, "", false, false},
		{"a/in", 100, "one\ntwo\n", true, true},
		{"long", 5000, long, true, true},
		{"long", 4999, "", false, false},
		{"a/out", 100, "a key\n", false, true},
		{"a/pipe", 100, "", false, false},
		{"a/zero", 100, "", false, false},
		{"a", 100, "", false, false},
	} {
		if b, err := regular.ReadIn(top, c.name, c.most); (err == nil) != c.in || c.in && string(b) != c.want {
			t.Errorf("%s in the folder, at most %d: %.20q %v", c.name, c.most, b, err)
		}
		if b, err := regular.ReadFile(filepath.Join(root, c.name), c.most); (err == nil) != c.out || c.out && string(b) != c.want {
			t.Errorf("%s, at most %d: %.20q %v", c.name, c.most, b, err)
		}
	}
	if b, err := regular.ReadFile("/proc/self/status", 1<<20); err != nil || len(b) == 0 { // it says that it has no bytes
		t.Errorf("%q %v", b, err)
	}
}
