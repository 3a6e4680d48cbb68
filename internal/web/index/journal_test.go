package index_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// A journal on the disk, whose segments end while it is read and followed: no fact is
// missed, none counts twice.
func TestFollowsAJournalOverSegments(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := start
	j, err := journal.Open(journal.Options{Root: root, SegmentSize: 2000, Now: func() time.Time { at = at.Add(time.Second); return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	put := func(facts ...ralph.Fact) {
		if err := j.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			t.Fatal(err)
		}
	}
	work := func(n int) {
		id := ralph.TaskID(fmt.Sprintf("t-%04d", n))
		put(ralph.TaskAdded{Task: ralph.Task{ID: id, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id, Slot: 1})
		put(turn(id, "claude", 0.5, 3*time.Second))
		put(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Slot: 1})
	}
	put(ralph.SessionStarted{ID: "s-1", Mode: "autopilot"})
	for n := range 60 {
		work(n)
	}
	x := index.New(index.Options{Journal: j, Work: time.Nanosecond, Rest: time.Microsecond})
	defer x.Close()
	x.Start()
	for n := range 60 {
		work(100 + n)
	}
	state := j.State()
	reach(t, x, state.Seq)
	if segments, err := filepath.Glob(filepath.Join(root, "ralph/.state/journal-*.jsonl")); err != nil || len(segments) < 5 {
		t.Fatalf("only %d segments (%v)", len(segments), err)
	}
	s, ok := x.Session("s-1")
	if !ok || s.Totals != state.Session.Count || s.Totals.TasksDone != 120 || s.Tasks != 120 || x.Overall() != state.Totals {
		t.Errorf("%+v\nwant %+v", s.Totals, state.Session.Count)
	}
	if s.Running != state.Running(state.At) {
		t.Errorf("it ran %v, want %v (B-100)", s.Running, state.Running(state.At))
	}
}

// Parts of the log out of the past are what they were when they were new, wherever the
// reading begins.
func TestWindow(t *testing.T) {
	t.Parallel()
	j := newTape()
	at := start
	for n := range 12 { // more than one mark
		at = j.record(fmt.Sprintf("s-%d", n), at, "claude", 50).Add(time.Hour)
	}
	var all []index.Line
	log, s := report.Log{}, &ralph.State{}
	for _, e := range j.facts {
		s.Apply(e)
		for _, text := range log.Lines(e, s) {
			all = append(all, index.Line{Seq: e.Seq, Text: text})
		}
	}
	x := read(t, j)
	any := func(*index.Line) bool { return true }
	newest := int64(len(j.facts))
	same := func(a, b index.Line) bool { return a.Seq == b.Seq && a.Text == b.Text }
	for _, first := range []int64{1, 700, 1024, 1025, 1500, newest - 3} {
		last := min(first+300, newest)
		want := slices.DeleteFunc(slices.Clone(all), func(l index.Line) bool { return l.Seq < first || l.Seq > last })
		got, err := x.Window(t.Context(), first, last, any, 1<<20, false)
		if err != nil || !slices.EqualFunc(got, want, same) {
			t.Errorf("facts %d to %d: %d lines, want %d (%v)", first, last, len(got), len(want), err)
		}
	}
	got, err := x.Window(t.Context(), 1, newest, any, 20, false)
	if err != nil || len(got) < 20 || len(got) > 25 || !slices.EqualFunc(got, all[len(all)-len(got):], same) {
		t.Errorf("the newest: %d lines (%v)", len(got), err)
	}
	got, err = x.Window(t.Context(), 1, newest, any, 20, true)
	if err != nil || len(got) < 20 || len(got) > 25 || !slices.EqualFunc(got, all[:len(got)], same) {
		t.Errorf("the oldest: %d lines (%v)", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Window(ctx, 1, newest, any, 20, false); err == nil {
		t.Error("a request that is over is answered")
	}
}
