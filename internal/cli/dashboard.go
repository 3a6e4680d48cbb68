package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web"
)

// dashboard is the repository as the dashboard sees it (web.Source), and what may be
// done there from it (action.Desk). It is safe for concurrent use.
type dashboard struct {
	env    Env
	root   string
	writer *journal.File // what actions append to
	reader *journal.File // shows inbox.jsonl and plan.jsonl as a person has saved them

	mu       sync.Mutex
	listener *listener
	last     *ralph.State // the newest that was read
	seq      int64
	files    [2]os.FileInfo // the views, as they were then

	aroundMu sync.Mutex
	around   around
}

func openDashboard(env Env, root string) (*dashboard, error) {
	writer, err := openJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	reader, err := openReader(env, true, true)
	if err != nil {
		_ = writer.Close()
		return nil, err
	}
	return &dashboard{env: env, root: root, writer: writer, reader: reader, listener: newListener(env, root)}, nil
}

// options are what the pages need, one line each.
func (d *dashboard) options() web.Options {
	return web.Options{
		Source:   d,
		Desk:     d,
		Root:     d.root,
		Version:  d.env.Version,
		Build:    buildOf(d.env),
		Gates:    newGateFiles(d.env, d.root),
		Proofs:   proofs{d.env},
		Schedule: schedule{d},
		Settings: &settingsDesk{env: d.env, root: d.root, now: d.Now},
		Doctor:   doctorDesk{d.env},
		Specs:    specFolder{d.root},
		Turns:    turnFiles{d.root},
	}
}

func (d *dashboard) close() {
	_ = d.writer.Close()
	_ = d.reader.Close()
}

// State is the newest state, the same one as long as nothing has changed.
func (d *dashboard) State() *ralph.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	seq, files := d.writer.State().Seq, viewFiles(d.root)
	if d.last == nil || seq != d.seq || !sameFile(files[0], d.files[0]) || !sameFile(files[1], d.files[1]) {
		d.last, d.seq, d.files = d.reader.State(), seq, files
	}
	return d.last
}

// viewFiles are the files that a person may have saved; nil for one that is not there.
func viewFiles(root string) (files [2]os.FileInfo) {
	for i, name := range []string{"ralph/inbox.jsonl", "ralph/plan.jsonl"} {
		files[i], _ = os.Stat(filepath.Join(root, name))
	}
	return files
}

// sameFile reports whether a file looks as it did.
func sameFile(a, b os.FileInfo) bool {
	return (a == nil) == (b == nil) && (a == nil || a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size())
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
	return d.reader.Each(after, visit)
}

func (d *dashboard) Now() time.Time { return d.writer.Now() }
