package ui

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Repository is the Source of a repository on the disk. It is safe for concurrent use.
type Repository struct {
	*backend.Repository // action.Backend
	*observe.Live
}

// OpenRepository opens the journal to read and write, as each command does.
func OpenRepository(env workspace.Env, root string) (*Repository, error) {
	j, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	surface := backend.Surface{By: "ui", Cause: "ralph ui", Witness: func(context.Context) ralph.Witness { return person.Witness(env) }}
	return &Repository{backend.New(env, root, j, surface), observe.NewLive(env, root, j)}, nil
}
