package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// dashboard is the repository as the dashboard sees it (web.Source), and what may be
// done there from it (action.Desk). It is safe for concurrent use.
type dashboard struct {
	env    workspace.Env
	root   string
	writer *journal.File

	mu       sync.Mutex
	listener *listener

	aroundMu sync.Mutex
	around   around
}

func openDashboard(env workspace.Env, root string) (*dashboard, error) {
	writer, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Shown(); err != nil { // as each other command that looks
		_ = writer.Close()
		return nil, err
	}
	return &dashboard{env: env, root: root, writer: writer, listener: newListener(env, root)}, nil
}

// options are what the pages need, one line each.
func (d *dashboard) options() web.Options {
	return web.Options{
		Source:   d,
		Desk:     d,
		Root:     d.root,
		Version:  d.env.Version,
		Build:    buildOf(d.env),
		Log:      d.log,
		Trouble:  d.Trouble,
		Gates:    newGateFiles(d.env, d.root),
		Proofs:   proofs{d.env},
		Schedule: schedule{d},
		Next:     schedule{d}.next,
		Settings: &settingsDesk{env: d.env, root: d.root, now: d.Now},
		Doctor:   doctorDesk{d.env},
		Specs:    specFolder{d.root},
		Turns:    turnFiles{d.root},
		Whole:    func(t *ralph.Task) *ralph.Task { return records.Task(d.root, t) },
	}
}

// log tells whoever started this of a mistake in ralph itself.
func (d *dashboard) log(text string) {
	if d.env.Stderr != nil {
		fmt.Fprintln(d.env.Stderr, text)
	}
}

func (d *dashboard) close() { _ = d.writer.Close() }

// State is the newest state, with inbox.jsonl and plan.jsonl as a person has saved them;
// the same one as long as nothing has changed.
func (d *dashboard) State() *ralph.State {
	s, _ := d.writer.Shown() // Trouble tells of a file that cannot be read
	return s
}

// Trouble is which file a person has saved so that it cannot be read, and where it is wrong.
func (d *dashboard) Trouble() string {
	if _, err := d.writer.Shown(); err != nil {
		return err.Error()
	}
	return ""
}

// Engine says who works here, with the last words of the agents at work.
func (d *dashboard) Engine(s *ralph.State) report.Engine {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := engineOf(d.writer)
	e.Words = d.listener.words(s, e)
	return e
}

func (d *dashboard) Wait(ctx context.Context, seq int64) error { return d.writer.Wait(ctx, seq) }

func (d *dashboard) Each(after int64, visit func(ralph.Event) error) error {
	return d.writer.Each(after, visit)
}

func (d *dashboard) Now() time.Time { return d.writer.Now() }
