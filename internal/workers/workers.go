// Package workers owns what is known of the workers of a fleet: what a coordinator writes down of this moment for
// those who look, how a worker stands, and the words for both.
//
// It does NOT own asking the server (internal/fleet), nor the file's place and reading (internal/observe).
package workers

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Did is the line of the log that says which worker carried a step out; none for this machine.
func Did(f ralph.Fact) []string {
	switch f := f.(type) {
	case ralph.TurnEnded:
		if f.Worker != "" {
			return []string{fmt.Sprintf("WORKER: %s: a turn of %s by %s (%s)", text.SafeLine(f.Worker), f.Task, f.Agent, ralph.Elapsed(f.Took))}
		}
	case ralph.ChecksRan:
		if f.Worker != "" {
			return []string{fmt.Sprintf("WORKER: %s: the checks of %s (%s)", text.SafeLine(f.Worker), f.Task, ralph.Elapsed(f.Took))}
		}
	case ralph.Compacted:
		if f.Worker != "" {
			return []string{fmt.Sprintf("WORKER: %s: the session of %s was made shorter (%s)", text.SafeLine(f.Worker), f.Task, ralph.Elapsed(f.Took))}
		}
	}
	return nil
}
