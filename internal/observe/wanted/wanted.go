// Package wanted owns the marks by which those who look at turns on other machines ask for their
// output: other processes than the coordinator, which only share the repository's folder with it.
//
// It does NOT own what is looked at (observe), nor how the output comes (internal/fleet/tail).
package wanted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/step"
)

// Turn is the turn of a task that is under way on another machine. Its folder is there while it is;
// the mark in it is made by who looks, again and again, and taken away by the coordinator. So no two
// clocks are compared, a mark that is left behind counts once, and of a turn on this machine none is made.
type Turn struct{ dir string }

// Of is the turn of a task in a repository.
func Of(root string, id ralph.TaskID) Turn {
	return Turn{filepath.Join(root, "ralph/.state/fleet/looks", filepath.Base(step.RecordsOf(id)))}
}

// Begin has the turn asked for from now on. What was asked before is no news.
func (t Turn) Begin() error {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return fmt.Errorf("let the output of a turn be asked for: %w", err)
	}
	if err := os.Remove(t.mark()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("let the output of a turn be asked for: %w", err)
	}
	return nil
}

// Ask says that somebody looks at it now. Nobody hears it of a turn on this machine, nor where the
// folder may not be written: then what is shown comes at the turn's end.
func (t Turn) Ask() {
	if f, err := os.OpenFile(t.mark(), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
	}
}

// Asked reports whether somebody has looked since this was asked last.
func (t Turn) Asked() bool { return os.Remove(t.mark()) == nil }

// End has it asked for no more.
func (t Turn) End() { _ = os.RemoveAll(t.dir) }

// File is where the coordinator keeps what it knows of the turn, until its end.
func (t Turn) File() string { return filepath.Join(t.dir, "copy.json") }

func (t Turn) mark() string { return filepath.Join(t.dir, "wanted") }
