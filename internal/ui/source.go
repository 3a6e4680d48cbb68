package ui

import (
	"context"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Repository is the Source of a repository on the disk. It is safe for concurrent use.
type Repository struct {
	*backend.Repository // action.Backend

	journal *journal.File

	mu   sync.Mutex
	tail *observe.OutputTail
}

// OpenRepository opens the journal to read and write, as each command does.
func OpenRepository(env workspace.Env, root string) (*Repository, error) {
	j, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	surface := backend.Surface{By: "ui", Cause: "ralph ui", Witness: func(context.Context) ralph.Witness { return person.Witness(env) }}
	return &Repository{Repository: backend.New(env, root, j, surface), journal: j, tail: observe.NewOutputTail(env, root)}, nil
}

// Close closes the journal.
func (r *Repository) Close() error { return r.journal.Close() }

// State is the newest state, with inbox.jsonl and plan.jsonl as a person has saved them.
func (r *Repository) State() *ralph.State {
	s, _ := r.journal.Shown() // Trouble tells of a file that cannot be read
	return s
}

// Trouble is which file a person has saved so that it cannot be read.
func (r *Repository) Trouble() string {
	if _, err := r.journal.Shown(); err != nil {
		return err.Error()
	}
	return ""
}

// Engine says who works here, with the last words of the agents at work.
func (r *Repository) Engine(s *ralph.State) status.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := observe.Engine(r.journal)
	e.Words = r.tail.Words(s, e)
	return e
}

// Wait implements Source.
func (r *Repository) Wait(ctx context.Context, seq int64) error { return r.journal.Wait(ctx, seq) }

// Each implements Source.
func (r *Repository) Each(after int64, visit func(ralph.Event) error) error {
	return r.journal.Each(after, visit)
}

// At implements Source.
func (r *Repository) At(seq int64) (*ralph.State, error) { return r.journal.At(seq) }

// AtTime implements Source.
func (r *Repository) AtTime(at time.Time) (*ralph.State, error) { return r.journal.AtTime(at) }

// Now implements Source.
func (r *Repository) Now() time.Time { return r.journal.Now() }
