package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Snapshots between: of those that the current one has replaced some are kept, so that the
// state after any fact is a short way from one that is known. Each is believed by its key,
// as the current one is, and by the hash of the fact that it was made after.

// maxPast is how many are kept; then each second of them goes.
const maxPast = 16

const pastPrefix = "snapshot-"

func pastName(seq int64) string { return fmt.Sprintf("%s%012d.json", pastPrefix, seq) }

// pastSeq is the inverse of pastName; 0 for another name.
func pastSeq(name string) int64 {
	var seq int64
	if _, err := fmt.Sscanf(name, pastPrefix+"%d.json", &seq); err != nil || pastName(seq) != name {
		return 0
	}
	return seq
}

// pasts lists the snapshots between, oldest first.
func (j *File) pasts() []string {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), pastPrefix) && pastSeq(e.Name()) > 0 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// keepPast keeps the snapshot that was just written beyond the next one, as a second name
// of the same file. It saves time alone: where there are no such names nothing is kept.
func (j *File) keepPast() {
	if os.Link(filepath.Join(j.dir, snapshotName), filepath.Join(j.dir, pastName(j.state.Seq))) != nil {
		return
	}
	if names := j.pasts(); len(names) > maxPast {
		for i := 0; i < len(names)-1; i += 2 {
			_ = os.Remove(filepath.Join(j.dir, names[i])) // it is tried again with the next
		}
	}
}

// dropPast takes all of them away: what they were made of is no longer the journal.
func (j *File) dropPast() error {
	for _, name := range j.pasts() {
		if err := os.Remove(filepath.Join(j.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// errThere ends the reading of facts at the one that was asked for.
var errThere = errors.New("there")

// At is the state after the fact with a seq: what State was then. The error is a
// *ralph.Refusal when there is no such fact.
func (j *File) At(seq int64) (*ralph.State, error) {
	s, err := j.past(func(s int64, _ time.Time) bool { return s <= seq })
	if err != nil {
		return nil, err
	}
	if s.Seq != seq {
		return nil, &ralph.Refusal{Why: fmt.Sprintf("there is no fact %d: the journal has %d", seq, s.Seq), Hint: "`[[log --json]]` shows each with its seq", Kind: ralph.ErrNotFound}
	}
	return s, nil
}

// AtTime is the state after the last fact that is not newer than an instant; an empty one
// before the first.
func (j *File) AtTime(at time.Time) (*ralph.State, error) {
	return j.past(func(_ int64, t time.Time) bool { return !t.After(at) })
}

// past is the state after the last fact of those that come first and for which until holds.
func (j *File) past(until func(seq int64, at time.Time) bool) (*ralph.State, error) {
	for _, name := range slices.Backward(j.pasts()) {
		b, err := os.ReadFile(filepath.Join(j.dir, name))
		if err != nil {
			continue
		}
		s := decodeSnapshot(b)
		if s == nil || s.Seq != pastSeq(name) || !until(s.Seq, s.At) {
			continue
		}
		if fits, err := j.foldTo(s, until); err != nil || fits {
			return s, err
		}
	}
	s := &ralph.State{}
	_, err := j.foldTo(s, until)
	return s, err
}

// foldTo folds the facts after s for which until holds; false where s is the state of
// another history.
func (j *File) foldTo(s *ralph.State, until func(seq int64, at time.Time) bool) (fits bool, err error) {
	seq, hash, fits := s.Seq, s.Hash, true
	err = j.Each(max(0, seq-1), func(e ralph.Event) error {
		switch {
		case e.Seq == seq && e.Hash != hash, e.Seq == seq+1 && e.Prev != hash:
			fits = false
			return errThere
		case e.Seq <= seq:
			return nil
		case !until(e.Seq, e.At):
			return errThere
		}
		s.Apply(e)
		return nil
	})
	if errors.Is(err, errThere) {
		err = nil
	}
	return fits, err
}
