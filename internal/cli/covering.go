package cli

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/coverage"
)

// covering is internal/coverage as the executor needs it.
type covering struct{}

func (covering) Prepare(command, scratch string) (with, profile string) {
	return coverage.Prepare(command, scratch)
}

func (covering) Spoiled(output string) bool { return coverage.Spoiled(output) }

func (covering) Read(dir string, since time.Time, profile string) (*ralph.Coverage, error) {
	return coverage.Read(dir, since, profile)
}
