package watch

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// ErrEnough ends a reading of the journal.
var ErrEnough = errors.New("enough was read")

// maxRecent is how many of the newest facts are kept in memory: what pages look at again
// and again, with each new fact.
const maxRecent = page.Window + page.AfterWindow + 500

// NewRecent returns a source that remembers the newest facts of another.
func NewRecent(of Source) Source { return &recent{Source: of} }

// recent is a source that remembers the newest facts, so that pages which look at them
// with every new one do not read and decode them from the disk each time. It keeps none
// before somebody wants them.
type recent struct {
	Source

	mu     sync.Mutex
	events []ralph.Event // one after the other; what is in it never changes
}

// Each reads the facts after one, as Source says.
func (r *recent) Each(after int64, visit func(ralph.Event) error) error {
	list, ok, err := r.since(after)
	if err != nil {
		return err
	}
	if !ok {
		return r.Source.Each(after, visit)
	}
	for _, e := range list {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// since are the facts after one, up to the newest; false when they are too many to keep, or
// none is known.
func (r *recent) since(after int64) ([]ralph.Event, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.State().Seq
	if newest-after > maxRecent || newest <= after { // what is newer than the state only the disk knows
		return nil, false, nil
	}
	if n := len(r.events); n > 0 && (r.events[0].Seq > after+1 || r.events[n-1].Seq < after || r.events[n-1].Seq > newest) {
		r.events = nil // it begins too late, or belongs to a journal that is gone
	}
	if err := r.fill(after, newest); err != nil {
		r.events = nil
		if errors.Is(err, errBroken) {
			err = nil
		}
		return nil, false, err
	}
	from, _ := slices.BinarySearchFunc(r.events, after+1, func(e ralph.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
	list := r.events[from:]
	if over := len(r.events) - maxRecent; over > maxRecent/4 {
		r.events = slices.Clone(r.events[over:]) // readers keep the old ones as long as they read
	}
	return list, true, nil
}

// errBroken says that facts do not follow each other: none are kept then.
var errBroken = errors.New("the chain of facts is broken")

// fill reads what is missing. r.mu is held.
func (r *recent) fill(after, newest int64) error {
	last, hash := after, ""
	if n := len(r.events); n > 0 {
		last, hash = r.events[n-1].Seq, r.events[n-1].Hash
	}
	if last >= newest {
		return nil
	}
	again, known := false, len(r.events) > 0
	err := r.Source.Each(last, func(e ralph.Event) error {
		if hash != "" && e.Prev != hash {
			again = true // a write was taken back after it was read
			return ErrEnough
		}
		r.events, hash = append(r.events, e), e.Hash
		return nil
	})
	switch {
	case again && known:
		r.events = nil
		return r.fill(after, newest)
	case again: // the chain is broken on the disk: that is for ralph verify to say
		return errBroken
	}
	return err
}
