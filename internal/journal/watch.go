package journal

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/ralph-loop/ralph"
)

const (
	// pollEvery is how soon a fact from another process is seen at first.
	pollEvery = 50 * time.Millisecond
	// quietAfter is the number of looks without news after which the system is
	// asked to tell: an agent thinks for minutes, and each look wakes two threads.
	quietAfter = 10
	// pollWatched is how often to look all the same, for file systems whose
	// changes from elsewhere the system does not tell (network mounts).
	pollWatched = time.Second
)

// Tolerate is for an engine that has begun: from here on a view that cannot be read ends
// nothing, and what people save in the views is taken also while it waits.
func (j *File) Tolerate() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.views.Tolerant = true
}

// Moved is what is closed when there is a fact after seq; nil when there is one.
func (j *File) Moved(seq int64) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state.Seq > seq {
		return nil
	}
	return j.moved
}

// Wait returns when the state has moved past seq, or with ctx.
func (j *File) Wait(ctx context.Context, seq int64) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var news watch
	defer news.close()
	quiet := 0
	for {
		j.mu.Lock()
		err := j.catchUp()
		past, moved := j.state.Seq > seq, j.moved
		saved := j.views.Tolerant && j.views.ChangedSince()
		j.mu.Unlock()
		if err != nil || past {
			return err
		}
		if saved {
			if err := j.Update(ctx, "file", func(*ralph.State) ([]ralph.Fact, error) { return nil, nil }); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		case <-news.told():
		case <-tick.C:
			// The look after the watch was set sees what came before it.
			if quiet++; quiet == quietAfter && news.open(j.dir) {
				tick.Reset(pollWatched)
			}
		}
	}
}

// watch hears of changes of the journal. The zero watch hears nothing.
type watch struct {
	events *fsnotify.Watcher
	change chan struct{}
}

// open begins to listen; false when the system cannot tell (no watches left).
func (w *watch) open(dir string) bool {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return false
	}
	if events.Add(dir) != nil {
		_ = events.Close()
		return false
	}
	w.events, w.change = events, make(chan struct{}, 1)
	go w.listen()
	return true
}

// listen passes on what concerns the journal; the folder has other files too.
// It ends when the watch is closed.
func (w *watch) listen() {
	for {
		select {
		case e, ok := <-w.events.Events:
			if !ok {
				return
			}
			if filepath.Base(e.Name) != journalName {
				continue
			}
		case _, ok := <-w.events.Errors: // too many events at once: look
			if !ok {
				return
			}
		}
		select {
		case w.change <- struct{}{}:
		default:
		}
	}
}

func (w *watch) told() <-chan struct{} { return w.change }

func (w *watch) close() {
	if w.events != nil {
		_ = w.events.Close()
	}
}
