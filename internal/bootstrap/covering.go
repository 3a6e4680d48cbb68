package bootstrap

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/coverage"
)

// Coverage is internal/coverage as the executor needs it.
type Coverage struct{}

// Prepare implements step.Coverage.
func (Coverage) Prepare(command, scratch string) (with, profile string) {
	return coverage.Prepare(command, scratch)
}

// Spoiled implements step.Coverage.
func (Coverage) Spoiled(output string) bool { return coverage.Spoiled(output) }

// Read implements step.Coverage.
func (Coverage) Read(dir string, since time.Time, profile string) (*ralph.Coverage, error) {
	return coverage.Read(dir, since, profile)
}
