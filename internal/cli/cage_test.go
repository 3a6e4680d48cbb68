package cli

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Issue 15: in a fresh home the folders of the agents that are installed are
// made, for the sandbox to open them, and none of others.
func TestAgentsHaveTheirFoldersInAFreshHome(t *testing.T) {
	t.Parallel()
	home, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"claude", "sh"} {
		ralphtest.Program(t, filepath.Join(bin, name), "#!/bin/sh\n")
	}
	c := config.Defaults()
	c.Agents = append(c.Agents, ralph.AgentSpec{Name: "mine", Driver: "acp", Command: []string{filepath.Join(bin, "opencode")}})
	profile.MakeCaches(c, []string{"HOME=" + home, "PATH=" + bin})
	for name, want := range map[string]bool{".claude": true, ".cache": true, ".codex": false, ".config/opencode": false, ".npm": false} {
		if _, err := os.Stat(filepath.Join(home, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
	ralphtest.Program(t, filepath.Join(bin, "opencode"), "#!/bin/sh\n")
	profile.MakeCaches(c, []string{"HOME=" + home, "PATH=" + bin})
	if _, err := os.Stat(filepath.Join(home, ".config/opencode")); err != nil {
		t.Error(err)
	}
	c.Sandbox.Write = nil
	other := t.TempDir()
	profile.MakeCaches(c, []string{"HOME=" + other, "PATH=" + bin})
	if list, err := os.ReadDir(other); err != nil || len(list) > 0 {
		t.Errorf("%v, %v: what the settings do not open is made", list, err)
	}
}

// S11: a socket that a program of the user's listens at is hidden from agents in bubblewrap,
// unless a person has opened its folder.
func TestServersAreHidden(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/net/unix"); err != nil {
		t.Skip("no list of sockets on this system")
	}
	at := ralphtest.Server(t, nil)
	for _, x := range []struct {
		kind   string
		open   []string
		hidden bool
	}{{sandbox.Bubblewrap, nil, true}, {sandbox.Bubblewrap, []string{filepath.Dir(at)}, false}, {sandbox.Landlock, nil, false}} {
		root := t.TempDir()
		g := &profile.Sandbox{Kind: x.kind, Root: root, Set: config.Sandbox{ExtraWrite: x.open}}
		b, err := g.Box(root, nil, g.Tree(root, true))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(b.Hide, at); got != x.hidden {
			t.Errorf("%s, open %q: hidden is %t, want %t", x.kind, x.open, got, x.hidden)
		}
	}
}
