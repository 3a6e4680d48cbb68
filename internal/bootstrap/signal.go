package bootstrap

import (
	"os"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// signalCommand is how agents with the environment environ call `ralph signal`: only where
// their PATH leads to this very program, else "".
func signalCommand(env workspace.Env, environ []string, root string) string {
	found, err := proc.LookPath("ralph", root, environ)
	if err != nil {
		return ""
	}
	there, err := os.Stat(found)
	if err != nil {
		return ""
	}
	if self, err := os.Stat(env.Self); err != nil || !os.SameFile(there, self) {
		return ""
	}
	return "ralph signal"
}
