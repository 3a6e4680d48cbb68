// Package dashboard owns the process behind the pages: where it listens, who may come in, and what
// the pages may ask of the repository (web.Source, action.Backend, settings, files of turns).
//
// It does NOT own the pages (web), or any command (cli).
package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Backend is the repository as the dashboard sees it (web.Source), and what may be
// done there from it (action.Backend). It is safe for concurrent use.
type Backend struct {
	*backend.Repository // action.Backend

	Env    workspace.Env
	root   string
	writer *journal.File

	mu       sync.Mutex
	listener *observe.OutputTail
}

// OpenBackend opens the journal to read and write, as each command does.
func OpenBackend(env workspace.Env, root string) (*Backend, error) {
	writer, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Shown(); err != nil { // as each other command that looks
		_ = writer.Close()
		return nil, err
	}
	acts := backend.New(env, root, writer, backend.Surface{By: "web", Cause: "the dashboard", Witness: person.WitnessOf})
	return &Backend{Repository: acts, Env: env, root: root, writer: writer, listener: observe.NewOutputTail(env, root)}, nil
}

// options are what the pages need, one line each.
func (d *Backend) options() web.Options {
	return web.Options{
		Source:   d,
		Backend:  d,
		Root:     d.root,
		Version:  d.Env.Version,
		Build:    BuildOf(d.Env),
		Log:      d.log,
		Trouble:  d.Trouble,
		Gates:    NewGateFiles(d.Env, d.root),
		Proofs:   Proofs{d.Env},
		Schedule: schedule{d},
		Next:     schedule{d}.next,
		Past:     d.writer.At,
		Settings: &settingsDesk{env: d.Env, root: d.root, now: d.Now},
		Doctor:   doctorDesk{d.Env},
		Specs:    specFolder{d.root},
		Turns:    turnFiles{d.root},
		Whole:    func(t *ralph.Task) *ralph.Task { return records.Task(d.root, t) },
	}
}

// log tells whoever started this of a mistake in ralph itself.
func (d *Backend) log(text string) {
	if d.Env.Stderr != nil {
		fmt.Fprintln(d.Env.Stderr, text)
	}
}

// Close closes the journal.
func (d *Backend) Close() { _ = d.writer.Close() }

// State is the newest state, with inbox.jsonl and plan.jsonl as a person has saved them;
// the same one as long as nothing has changed.
func (d *Backend) State() *ralph.State {
	s, _ := d.writer.Shown() // Trouble tells of a file that cannot be read
	return s
}

// Trouble is which file a person has saved so that it cannot be read, and where it is wrong.
func (d *Backend) Trouble() string {
	if _, err := d.writer.Shown(); err != nil {
		return err.Error()
	}
	return ""
}

// Engine says who works here, with the last words of the agents at work.
func (d *Backend) Engine(s *ralph.State) status.Engine {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := observe.Engine(d.writer)
	e.Words = d.listener.Words(s, e)
	return e
}

// Wait implements web.Source.
func (d *Backend) Wait(ctx context.Context, seq int64) error { return d.writer.Wait(ctx, seq) }

// Each implements web.Source.
func (d *Backend) Each(after int64, visit func(ralph.Event) error) error {
	return d.writer.Each(after, visit)
}

// Now implements web.Source.
func (d *Backend) Now() time.Time { return d.writer.Now() }
