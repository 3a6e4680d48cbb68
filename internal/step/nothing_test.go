package step_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// F-05: the first claim with an empty diff is told and runs nothing; the second is held
// against the commands, and each of them has to be green.
func TestNothingToChangeIsProved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		red   bool   // the test command
		known string // what was red before the work
		reds  string // of the second claim
		again string // and of a third
	}{
		"green":                      {false, "", "", ""},
		"red":                        {true, "", "test", "test"},
		"red before proves nothing":  {true, "test", "empty diff", "empty diff"},
		"of what is green, all know": {false, "test", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmds := &commands{red: map[string][]bool{"test": {c.red, c.red}}}
			w, trees := checkable(t, policy.Config{Checks: true, Diff: policy.DiffChecks{Empty: "red"}}, cmds)
			trees.tree = "t0"
			claim := func(reds, ran string) {
				t.Helper()
				cmds.ran = nil
				got, _ := w.check(t, strings.Fields(c.known)...)
				if strings.Join(got.Reds(), " ") != reds || got.Pass != (reds == "") || !got.Empty || strings.Join(cmds.ran, " ") != ran {
					t.Fatalf("ran %q, want %q; red %q, want %q: %+v", cmds.ran, ran, got.Reds(), reds, got)
				}
				if done := w.state.Task("t-1").NothingToChange(); done != got.Pass {
					t.Errorf("nothing to change: %v", done)
				}
				w.apply(ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalComplete}, Tree: "t0"})
			}
			claim("empty diff", "")
			claim(c.reds, "vet test")
			claim(c.again, "") // on the same tree nothing runs twice
		})
	}
}
