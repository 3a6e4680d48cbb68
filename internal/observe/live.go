package observe

import (
	"context"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Live is the journal of a repository for those who go on looking at it: the dashboard, the
// terminal screen. It is safe for concurrent use.
type Live struct {
	journal *journal.File

	mu    sync.Mutex
	tail  *OutputTail
	fleet Fleet
}

// NewLive looks at a journal that is open; Close closes it.
func NewLive(env workspace.Env, root string, j *journal.File) *Live {
	return &Live{journal: j, tail: NewOutputTail(env, root)}
}

// Close closes the journal.
func (l *Live) Close() error { return l.journal.Close() }

// Hurry has what is still written wait no longer than that for the lock of others.
func (l *Live) Hurry(limit time.Duration) { l.journal.Hurry(limit) }

// State is the newest state, with inbox.jsonl and plan.jsonl as a person has saved them;
// the same one as long as nothing has changed.
func (l *Live) State() *ralph.State {
	s, _ := l.journal.Shown() // Trouble tells of a file that cannot be read
	return s
}

// Trouble is which file a person has saved so that it cannot be read, and where it is wrong.
func (l *Live) Trouble() string {
	if _, err := l.journal.Shown(); err != nil {
		return err.Error()
	}
	return ""
}

// Engine says who works here, with the last words of the agents at work.
func (l *Live) Engine(s *ralph.State) status.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := engine(l.journal, &l.fleet)
	e.Words = l.tail.Words(s, e)
	return e
}

// Wait returns when there is a fact after seq, or with ctx.
func (l *Live) Wait(ctx context.Context, seq int64) error { return l.journal.Wait(ctx, seq) }

// Each visits the facts after one.
func (l *Live) Each(after int64, visit func(ralph.Event) error) error {
	return l.journal.Each(after, visit)
}

// At is the state after a fact.
func (l *Live) At(seq int64) (*ralph.State, error) { return l.journal.At(seq) }

// AtTime is the state at a time.
func (l *Live) AtTime(at time.Time) (*ralph.State, error) { return l.journal.AtTime(at) }

// Now is the journal's clock.
func (l *Live) Now() time.Time { return l.journal.Now() }
