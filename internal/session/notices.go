package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/notify"
)

const (
	// noticeLimit is how long the end of an engine waits for notices to go out.
	noticeLimit = 3 * time.Second
	// noticeForced is the same for an end at once: a person waits for it.
	noticeForced = 300 * time.Millisecond
)

// notices are what goes to those who are elsewhere: sounds at once, messages by a follower of
// the journal for each sink, so that none waits for another and nothing is lost with a kill.
type notices struct {
	sounds  *notify.Sounds // nil: none
	letters map[*notify.Letter]*follow.Follower[notify.Notice]
}

// startNotices begins to tell of events. It is for a process that has the lock:
// what another engine does is told by that one.
func (x *Session) startNotices(c *notify.Dispatcher) error {
	c.Start(func(f ralph.NoticeFailed) {
		// Should the disk be full, that shows at the next fact of the work.
		_ = x.journal.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
	}, func(id ralph.ApprovalID) bool {
		return slices.ContainsFunc(x.journal.State().Approvals, func(g *ralph.Approval) bool { return g.ID == id })
	})
	n := &notices{sounds: c.Sounds, letters: map[*notify.Letter]*follow.Follower[notify.Notice]{}}
	wanted := map[string]bool{}
	var err error
	for _, l := range c.Letters {
		wanted[l.Name()] = true
		err = errors.Join(err, x.followLetter(n, l))
	}
	x.mu.Lock()
	x.notices = n
	x.mu.Unlock()
	// What is not in the settings any more is not told later, should it come back.
	return errors.Join(err, follow.Forget(x.journal, func(name string) bool {
		return wanted[name] || !strings.HasPrefix(name, notify.LetterPrefix)
	}))
}

// followLetter begins to write to one sink, from where the last session has come to.
func (x *Session) followLetter(n *notices, l *notify.Letter) error {
	f, err := follow.Start(x.journal, follow.Options[notify.Notice]{
		Name: l.Name(), From: x.journal.State().Seq, See: l.See, Deliver: l.Deliver, Gather: notify.Burst,
		Note: func(words string) { x.console.Note("notices: %s", words) },
	})
	if errors.Is(err, ralph.ErrActive) { // what is left of an engine whose lock was taken away
		x.console.Note("no notices are sent: %v", err)
		return nil
	}
	if err == nil {
		n.letters[l] = f
	}
	return err
}

// endNotices waits for what is left to go out. The second call finds nothing to do.
func (x *Session) endNotices(limit time.Duration) {
	x.mu.Lock()
	n := x.notices
	x.notices = nil
	x.mu.Unlock()
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var ends sync.WaitGroup
	for l, f := range n.letters {
		ends.Go(func() {
			if f.Close(ctx) > 0 {
				l.Left()
			}
		})
	}
	if n.sounds != nil {
		n.sounds.Close(limit)
	}
	ends.Wait()
}

// hear lets an event be heard. It never waits.
func (x *Session) hear(e ralph.Event, s *ralph.State) {
	x.mu.Lock()
	n := x.notices
	x.mu.Unlock()
	if n != nil && n.sounds != nil {
		n.sounds.See(e, s)
	}
}
