package bootstrap

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/coverage"
)

// Coverage is internal/coverage as the executor needs it.
type Coverage struct{}

func (Coverage) Prepare(command, scratch string) (with, profile string) {
	return coverage.Prepare(command, scratch)
}

func (Coverage) Spoiled(output string) bool { return coverage.Spoiled(output) }

func (Coverage) Read(dir string, since time.Time, profile string) (*ralph.Coverage, error) {
	return coverage.Read(dir, since, profile)
}
