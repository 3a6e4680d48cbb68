package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/ralphtest"
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
	makeCaches(c, []string{"HOME=" + home, "PATH=" + bin})
	for name, want := range map[string]bool{".claude": true, ".cache": true, ".codex": false, ".config/opencode": false, ".npm": false} {
		if _, err := os.Stat(filepath.Join(home, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
	ralphtest.Program(t, filepath.Join(bin, "opencode"), "#!/bin/sh\n")
	makeCaches(c, []string{"HOME=" + home, "PATH=" + bin})
	if _, err := os.Stat(filepath.Join(home, ".config/opencode")); err != nil {
		t.Error(err)
	}
	c.Sandbox.Write = nil
	other := t.TempDir()
	makeCaches(c, []string{"HOME=" + other, "PATH=" + bin})
	if list, err := os.ReadDir(other); err != nil || len(list) > 0 {
		t.Errorf("%v, %v: what the settings do not open is made", list, err)
	}
}
