// Package dashboard owns the process behind the pages: where it listens, who may come in, and what
// the pages may ask of the repository (web.Source, action.Backend, settings, files of turns).
//
// It does NOT own the pages (web), or any command (cli).
package dashboard

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Backend is the repository as the dashboard sees it (web.Source), and what may be
// done there from it (action.Backend). It is safe for concurrent use.
type Backend struct {
	*backend.Repository // action.Backend
	*observe.Live

	Env  workspace.Env
	root string
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
	return &Backend{Repository: acts, Live: observe.NewLive(env, root, writer), Env: env, root: root}, nil
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
		Past:     d.At,
		Settings: &settingsStore{env: d.Env, root: d.root, now: d.Now},
		Doctor:   doctorRun{d.Env},
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
func (d *Backend) Close() { _ = d.Live.Close() }
