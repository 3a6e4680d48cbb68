package policy

import "github.com/ralph-loop/ralph"

// Best is the task that a free slot gets, of those with that claim at least.
func Best(s *ralph.State, c Config, claim int8) *ralph.Task { return best(s, c, claim) }
