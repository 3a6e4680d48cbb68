package past

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
)

// nothing is a journal without facts.
type nothing struct{}

func (nothing) Each(int64, func(ralph.Event) error) error { return nil }

// However many sessions are looked at, few reports are kept, and the one looked at last is among them.
func TestReportsKeptAreBounded(t *testing.T) {
	t.Parallel()
	x := NewReports(nothing{}, func(int64) *ralph.State { return &ralph.State{} }, func() {}, &watch.Panics{})
	defer x.Close()
	for range 3 {
		for _, id := range []ralph.SessionID{"s-00", "s-01", "s-02", "s-03", "s-04", "s-05"} {
			x.Of(id, 1, 1)
			if n := len(x.list); n > maxReports || x.list[0].id != id {
				t.Fatalf("%d reports are kept, %s first", n, x.list[0].id)
			}
		}
	}
	if len(x.list) != maxReports {
		t.Errorf("%d reports are kept, want %d", len(x.list), maxReports)
	}
}
