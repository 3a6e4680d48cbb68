package git

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// ErrNoCommits is what Head returns on a branch without a first commit.
var ErrNoCommits = errors.New("the repository has no commits yet")

// errorLines is how much of git's stderr an error message shows: hooks put
// their whole output there, the reason stands at its end.
const errorLines = 12

// Error is a git command that failed: a hook that refused, a conflict, a lock.
type Error struct {
	Args   []string // from the subcommand on
	Exit   int      // -1 when git was ended by a signal
	Stderr string   // everything git and its hooks said
}

func (e *Error) Error() string {
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	if cut := len(lines) - errorLines; cut > 0 {
		lines = lines[cut:]
	}
	s := fmt.Sprintf("git %s: exit %d", e.Args[0], e.Exit)
	if text := strings.Join(lines, "\n"); text != "" {
		s += ": " + text
	}
	return s
}

// ExitOf returns the exit code of a git command that failed, -1 for any other error.
func ExitOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Exit
	}
	return -1
}

// StderrOf returns what git said when it failed.
func StderrOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Stderr
	}
	return ""
}

// Refuse is a *ralph.Refusal: why, and what a person can do.
func Refuse(why, hint string) error {
	return &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrUsage}
}
