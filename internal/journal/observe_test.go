package journal_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// A reader that began before there was anything is shown every fact once and in
// order, also over segments that ended while it did not look (`ralph log -f`).
func TestReaderObserves(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.Read = true
	var seen []int64
	opt.Observe = func(e ralph.Event, s *ralph.State) {
		if s.Seq != e.Seq {
			t.Errorf("fact %d is shown with the state of %d", e.Seq, s.Seq)
		}
		seen = append(seen, e.Seq)
	}
	r := open(t, opt)
	if len(seen) > 0 {
		t.Fatalf("it was shown %v of nothing", seen)
	}
	short := options(root)
	short.SegmentSize = 600 // a segment every few facts
	w := open(t, short)
	var want []int64
	for n := range 12 {
		for range n { // more than a segment between two looks
			must(t, update(w, note(fmt.Sprintf("note %d", len(want)))))
			want = append(want, int64(len(want)+1))
		}
		r.State()
		if !slices.Equal(seen, want) {
			t.Fatalf("it was shown %v\nwant %v", seen, want)
		}
	}
	opt.Observe = func(e ralph.Event, _ *ralph.State) { t.Errorf("fact %d was there before it began", e.Seq) }
	open(t, opt).State()
}
