package codex

import (
	"slices"
	"testing"
)

// The shims of a turn are in front of the PATH of its commands, and not of the server's,
// which outlives the turn.
func TestCodexShims(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/usr/bin", "HOME=/home/ada", "RALPH_SHIMS=/run/1/bin", "PATH=/run/1/bin:/usr/bin"}
	server, _ := divide(env)
	if !slices.Equal(server, []string{"PATH=/usr/bin", "HOME=/home/ada"}) {
		t.Errorf("the server gets %q", server)
	}
	if got := commandEnv(server, env)["PATH"]; got != "/run/1/bin:/usr/bin" {
		t.Errorf("the commands get PATH %q", got)
	}
}
