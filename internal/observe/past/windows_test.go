package past

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// counted is a journal of a hundred facts that counts how often it is read.
type counted struct{ read int }

func (c *counted) Each(after int64, visit func(ralph.Event) error) error {
	c.read++
	for seq := after + 1; seq <= 100; seq++ {
		e := ralph.Event{Seq: seq, At: time.Unix(seq, 0), By: "engine", Fact: ralph.Noted{Text: "a note"}}
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (*counted) Wait(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

// However many pages of the log are looked at, few are kept, and one that is kept is not read again.
func TestWindowsKeptAreBounded(t *testing.T) {
	t.Parallel()
	j := &counted{}
	x := index.New(index.Options{Journal: j})
	defer x.Close()
	x.Start()
	if err := x.Reach(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	var w Windows
	read := w.Read(x)
	for first := int64(1); first <= 90; first += 3 {
		lines, err := read(t.Context(), "all", first, first+2, func(*index.Line) bool { return true }, 10, true)
		if err != nil || len(lines) == 0 {
			t.Fatalf("%d lines, %v", len(lines), err)
		}
		before := j.read
		if again, err := read(t.Context(), "all", first, first+2, nil, 10, true); err != nil || len(again) != len(lines) || j.read != before {
			t.Fatalf("what is kept was read again: %d lines, %v", len(again), err)
		}
		if n := len(w.keys); n > maxWindows || n != len(w.list) {
			t.Fatalf("%d pages are kept, %d", n, len(w.list))
		}
	}
}
