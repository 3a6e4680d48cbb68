package follow

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
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/views"
)

// cursor is the fact up to which a follower has delivered all.
type cursor struct {
	Seq  int64     `json:"seq"`
	Hash string    `json:"hash"`
	At   time.Time `json:"at"` // of the fact
}

const (
	// folder is where cursors are, relative to the repository.
	folder = "ralph/.state/followers"
	// Beside the cursor <name>: where the newest follower began, which survives a loss of
	// power, and the lock of who follows.
	baseEnd, lockEnd = ".base", ".lock"
)

// cursorStore is the cursor of one name on the disk.
type cursorStore struct {
	dir  string // where they are
	name string
	held *flock.Flock // while this process has the name
}

func (c *cursorStore) file(end string) string {
	return filepath.Join(c.dir, c.name+end)
}

// dirOf is where the cursors of a journal's followers are.
func dirOf(j *journal.File) string { return filepath.Join(j.Root(), folder) }

// path is what the cursor is called in messages.
func (c *cursorStore) path() string { return folder + "/" + c.name }

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
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of followers: %w", err)
	}
	c.held = flock.New(c.file(lockEnd), flock.SetPermissions(0o600))
	taken, err := c.held.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("lock %s%s: %w", c.path(), lockEnd, err)
	case !taken:
		return &ralph.Refusal{Why: "another process follows the journal as " + c.name, Hint: "what it delivers comes from there; the next start takes over when it has ended", Kind: ralph.ErrActive}
	}
	return nil
}

func (c *cursorStore) unlock() { _ = c.held.Unlock() } // closing the descriptor frees it in any case

// Forget takes away the cursors of the followers that are not wanted any more: should
// one come back, it begins with what is new then. One that a live process has stays.
func Forget(j *journal.File, wanted func(name string) bool) error {
	entries, err := os.ReadDir(dirOf(j))
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
		c := cursorStore{dir: dirOf(j), name: name}
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

// Position is how far a follower has come.
type Position struct {
	Name string
	Seq  int64 // up to this fact all is delivered
}

// Look says how far each follower has come, by name.
func Look(j *journal.File) []Position {
	entries, _ := os.ReadDir(dirOf(j)) // without the folder nobody follows
	var list []Position
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), lockEnd)
		if at, known := (&cursorStore{dir: dirOf(j), name: name}).load(); isLock && known {
			list = append(list, Position{name, at.Seq})
		}
	}
	slices.SortFunc(list, func(a, b Position) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// stateAt is the state after a fact, for the caller alone; the newest, when there are not so many.
func stateAt(j *journal.File, seq int64) (*ralph.State, error) {
	if s := j.State(); s.Seq <= seq {
		return s.Clone(), nil
	}
	return j.At(seq)
}

// inChain is the state after the fact of a cursor. Where a repair, a backup or a loss of power
// took facts away after it was written, another one may have its number: then it is the state
// after the last fact that was recorded before its own was. Those are the same as then, and
// all others are new.
func inChain(j *journal.File, at cursor) (*ralph.State, error) {
	s, err := stateAt(j, at.Seq)
	if err != nil || s.Seq == at.Seq && s.Hash == at.Hash {
		return s, err
	}
	return j.AtTime(at.At)
}
