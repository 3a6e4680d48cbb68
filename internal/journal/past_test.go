package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// Issue 16.6: the state after any fact, over snapshots that are kept between and with none
// of them left, is the one that the facts up to it add up to.
func TestStateAfterAnyFact(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.SegmentSize = 2 << 10
	j := open(t, opt)
	for i := range 200 {
		id := ralph.TaskID(fmt.Sprint("t-", i))
		facts := []ralph.Fact{ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "Add the login form", Status: ralph.TaskPending}}}
		if i%3 == 0 {
			facts = append(facts, ralph.TaskStarted{ID: id}, ralph.Noted{Text: "a note"})
		}
		must(t, update(j, facts...))
	}
	pasts := func() []string {
		names, err := filepath.Glob(filepath.Join(root, "ralph/.state/snapshot-*.json"))
		must(t, err)
		return names
	}
	if n := len(pasts()); n < 8 || n > 16 {
		t.Errorf("%d snapshots are kept", n)
	}
	then := &ralph.State{}
	var states []*ralph.State
	must(t, j.Each(0, func(e ralph.Event) error {
		then.Apply(e)
		states = append(states, then.Clone())
		return nil
	}))
	opt.Read = true
	same := func(why string, every int) {
		t.Helper()
		r := open(t, opt)
		for n := 0; n < len(states); n += every {
			s, err := r.At(states[n].Seq)
			if err != nil {
				t.Fatalf("%s: %v", why, err)
			}
			sameState(t, states[n], s)
		}
		at := states[len(states)/2].At
		last := slices.IndexFunc(states, func(s *ralph.State) bool { return s.At.After(at) }) // facts of one write have one time
		if s, err := r.AtTime(at); err != nil || s.Seq != int64(last) {
			t.Errorf("%s: at %s fact %d, want %d: %v", why, at, s.Seq, last, err)
		}
		if s, err := r.AtTime(states[0].At.Add(-1)); err != nil || s.Seq != 0 {
			t.Errorf("%s: before the first: %d, %v", why, s.Seq, err)
		}
		for _, seq := range []int64{-1, j.State().Seq + 1} {
			if _, err := r.At(seq); !errors.Is(err, ralph.ErrNotFound) {
				t.Errorf("%s: after fact %d: %v", why, seq, err)
			}
		}
	}
	same("snapshots between", 13)

	// What is no snapshot of this history is not believed: one that is none, one of an
	// earlier fact than its name says, one after whose fact others came.
	kept := pasts()
	texts := make([]string, len(kept))
	for i, name := range kept {
		texts[i] = read(t, filepath.Dir(name), filepath.Base(name))
	}
	write(t, root, "ralph/.state/"+filepath.Base(kept[1]), "{}")
	write(t, root, "ralph/.state/"+filepath.Base(kept[3]), texts[2])
	for _, i := range []int{4, len(kept) - 1} {
		hash := states[slices.IndexFunc(states, func(s *ralph.State) bool { return strings.Contains(texts[i], `"hash":"`+s.Hash) })].Hash
		other := strings.ReplaceAll(texts[i], hash, strings.Repeat("0", len(hash)))
		write(t, root, "ralph/.state/"+filepath.Base(kept[i]), strings.ReplaceAll(other, "the login form", "the logout form"))
	}
	same("strange snapshots", 5)
	for _, name := range pasts() {
		must(t, os.Remove(name))
	}
	same("no snapshots", 97)
}
