package agentsock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/agentsock"
)

// listen begins a turn on a line of a session.
func listen(t *testing.T, lines *agentsock.Lines) (*agentsock.Server, *agentsock.Client) {
	t.Helper()
	l, err := lines.Listen(t.Context(), &told{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := agentsock.Find(l.Env())
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

func end(t *testing.T, l *agentsock.Server) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A turn has the folder of one that is over, with what lies there in folders and without its
// files; nobody of the turn before is heard, nor anybody between the two. Two turns at once never share.
func TestLinesOfASession(t *testing.T) {
	t.Parallel()
	lines := new(agentsock.Lines)
	one, before := listen(t, lines)
	two, other := listen(t, lines)
	dir := one.Dir()
	if two.Dir() == dir || agentsock.Folder(filepath.Join(two.Dir(), "s")) != filepath.Dir(dir) || filepath.Dir(two.Dir()) != filepath.Dir(dir) {
		t.Fatalf("%s and %s", dir, two.Dir())
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.WriteFile(filepath.Join(dir, "rules"), nil, 0o600), os.Symlink("/x", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	end(t, one)
	if err := one.Close(); err == nil {
		t.Error("a turn ended twice")
	}
	if _, err := before.Info(t.Context()); err == nil {
		t.Error("a turn that has ended is heard")
	}
	next, now := listen(t, lines)
	if next.Dir() != dir {
		t.Errorf("the next turn has %s, want %s", next.Dir(), dir)
	}
	for name, want := range map[string]bool{"bin": true, "s": true, "rules": false, "link": false} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
	if _, err := before.Info(t.Context()); err == nil {
		t.Error("a process of the turn before is heard in the next one")
	}
	for _, c := range []*agentsock.Client{now, other} {
		if info, err := c.Info(t.Context()); err != nil || info.Task != "t-1" {
			t.Errorf("%+v %v", info, err)
		}
	}
	end(t, two)
	end(t, next)
	if err := lines.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder of the session is left:", err)
	}
}

// A folder that an agent opened for others, or whose socket it took away or made its own, is no
// turn's any more.
func TestLinesThatAnAgentChanged(t *testing.T) {
	t.Parallel()
	lines := new(agentsock.Lines)
	t.Cleanup(func() { _ = lines.Close() })
	for what, change := range map[string]func(dir string) error{
		"opened":  func(dir string) error { return os.Chmod(dir, 0o755) },
		"unheard": func(dir string) error { return os.Remove(filepath.Join(dir, "s")) },
		"own": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "s")), os.WriteFile(filepath.Join(dir, "s"), nil, 0o600))
		},
		"moved": func(dir string) error { return errors.Join(os.Rename(dir, dir+"x"), os.Symlink(dir+"x", dir)) },
	} {
		l, _ := listen(t, lines)
		dir := l.Dir()
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		end(t, l)
		next, c := listen(t, lines)
		if next.Dir() == dir {
			t.Errorf("%s: the next turn has it all the same", what)
		}
		if _, err := c.Info(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		end(t, next)
	}
}
