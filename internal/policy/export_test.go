package policy

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// Best is the task that a free slot gets, of those with that claim at least.
func Best(s *ralph.State, c Config, claim int8) *ralph.Task { return best(s, c, claim, time.Time{}) }

// MergeQueue is the beginning of the queue of merges.
func MergeQueue(s *ralph.State, c Config, taken map[ralph.TaskID]bool) []*ralph.Task {
	return mergeQueue(s, c, taken)
}

// Resolvable reports whether an agent may still resolve the task's merge.
func Resolvable(t *ralph.Task, c Config) bool { return resolvable(t, c) }
