package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
)

// cursor is the fact up to which a follower has delivered all.
type cursor struct {
	Seq  int64     `json:"seq"`
	Hash string    `json:"hash"`
	At   time.Time `json:"at"` // of the fact
}

const (
	followersDir = "followers"
	// Beside the cursor <name>: where the newest follower began, which survives a loss of
	// power, and the lock of who follows.
	baseEnd, lockEnd = ".base", ".lock"
)

// cursorStore is the cursor of one name on the disk.
type cursorStore struct {
	dir  string // ralph/.state
	name string
	held *flock.Flock // while this process has the name
}

func (c *cursorStore) file(end string) string {
	return filepath.Join(c.dir, followersDir, c.name+end)
}

// path is what the cursor is called in messages.
func (c *cursorStore) path() string { return views.StateDir + "/" + followersDir + "/" + c.name }

func (c *cursorStore) there() bool {
	_, err := os.Stat(c.file(""))
	return err == nil
}

// load reads the cursor, or where the follower before this one began.
func (c *cursorStore) load() (at cursor, known bool) {
	for _, end := range []string{"", baseEnd} {
		b, err := os.ReadFile(c.file(end))
		if err == nil && json.Unmarshal(b, &at) == nil && at.Seq >= 0 {
			return at, true
		}
	}
	return cursor{}, false
}

func (c *cursorStore) write(end string, at cursor, durable bool) error {
	b, err := json.Marshal(at)
	if err == nil {
		_, err = views.WriteAtomic(c.file(end), append(b, '\n'), 0o600, durable)
	}
	if err != nil {
		return fmt.Errorf("write %s%s: %w", c.path(), end, err)
	}
	return nil
}

func (c *cursorStore) save(at cursor) error { return c.write("", at, false) }

// base notes where a follower begins, for good.
func (c *cursorStore) base(at cursor) error {
	if err := c.write(baseEnd, at, true); err != nil {
		return err
	}
	return c.save(at)
}

// lock takes the name for this process; the kernel gives it back when that ends.
func (c *cursorStore) lock() error {
	if err := os.MkdirAll(filepath.Join(c.dir, followersDir), 0o700); err != nil {
		return fmt.Errorf("make the folder of followers: %w", err)
	}
	name := followersDir + "/" + c.name + lockEnd
	c.held = flock.New(filepath.Join(c.dir, name), flock.SetPermissions(0o600))
	taken, err := c.held.TryLock()
	switch {
	case err != nil:
		return cannotLock(name, err)
	case !taken:
		return &ralph.Refusal{Why: "another process follows the journal as " + c.name, Hint: "what it delivers comes from there; the next start takes over when it has ended", Kind: ralph.ErrActive}
	}
	return nil
}

func (c *cursorStore) unlock() { _ = c.held.Unlock() } // closing the descriptor frees it in any case

// ForgetFollowers takes away the cursors of the followers that are not wanted any more: should
// one come back, it begins with what is new then. One that a live process has stays.
func (j *File) ForgetFollowers(wanted func(name string) bool) error {
	entries, err := os.ReadDir(filepath.Join(j.dir, followersDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the followers: %w", err)
	}
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), lockEnd)
		if !isLock || wanted(name) {
			continue
		}
		c := cursorStore{dir: j.dir, name: name}
		if c.lock() != nil {
			continue
		}
		for _, end := range []string{"", baseEnd, lockEnd} {
			if gone := os.Remove(c.file(end)); gone != nil && !errors.Is(gone, os.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("forget a follower: %w", gone))
			}
		}
		c.unlock()
	}
	return err
}

// Follows is how far a follower has come.
type Follows struct {
	Name   string
	Seq    int64 // up to this fact all is delivered
	Behind int64 // facts after it
}

// Followers says how far each follower has come, by name.
func (j *File) Followers() []Follows {
	entries, _ := os.ReadDir(filepath.Join(j.dir, followersDir)) // without the folder nobody follows
	newest := j.State().Seq
	var list []Follows
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), lockEnd)
		if at, known := (&cursorStore{dir: j.dir, name: name}).load(); isLock && known {
			list = append(list, Follows{name, at.Seq, max(0, newest-at.Seq)})
		}
	}
	slices.SortFunc(list, func(a, b Follows) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// cursorAt is the cursor of a fact; of the newest, when there are not so many.
func (j *File) cursorAt(seq int64) (cursor, error) {
	j.mu.Lock()
	newest := cursor{j.state.Seq, j.state.Hash, j.state.At}
	j.mu.Unlock()
	switch {
	case seq <= 0:
		return cursor{}, nil
	case seq >= newest.Seq:
		return newest, nil
	}
	at := newest
	err := j.Each(seq-1, func(e ralph.Event) error {
		at = cursor{e.Seq, e.Hash, e.At}
		return errFull
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return at, err
}

// inChain is a cursor that this journal has. Where a repair, a backup or a loss of power took
// facts away after it was written, others may have its number: then it is the last fact that
// was recorded before its own was. Those are the same as then, and all others are new.
func (j *File) inChain(at cursor) (cursor, error) {
	now, err := j.cursorAt(at.Seq)
	if err != nil || now.Seq == at.Seq && now.Hash == at.Hash {
		return now, err
	}
	last := cursor{}
	err = j.Each(0, func(e ralph.Event) error {
		if e.Seq > at.Seq || e.At.After(at.At) {
			return errFull
		}
		last = cursor{e.Seq, e.Hash, e.At}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return last, err
}

// stateAt is the state after a fact, for the caller alone.
func (j *File) stateAt(seq int64) (*ralph.State, error) {
	j.mu.Lock()
	newest := j.state.Clone()
	j.mu.Unlock()
	if newest.Seq <= seq {
		return newest, nil
	}
	s := &ralph.State{}
	if b, err := os.ReadFile(filepath.Join(j.dir, snapshotName)); err == nil {
		if then := decodeSnapshot(b); then != nil && then.Seq <= seq {
			s = then
		}
	}
	err := j.Each(s.Seq, func(e ralph.Event) error {
		if e.Seq > seq {
			return errFull
		}
		s.Apply(e)
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return s, err
}
