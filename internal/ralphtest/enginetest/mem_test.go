package enginetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

func add(m *Mem, facts ...ralph.Fact) error {
	return m.Update(context.Background(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
}

func note(text string) ralph.Fact { return ralph.Noted{Text: text} }

// The chain of Mem is the file's: each event carries the hash of the line before.
func TestMemChains(t *testing.T) {
	m := NewMem(nil)
	if err := add(m, note("a"), note("b")); err != nil {
		t.Fatal(err)
	}
	if err := add(m, note("c")); err != nil {
		t.Fatal(err)
	}
	prev := ""
	for i, line := range m.Lines() {
		e := m.Events()[i]
		if e.Prev != prev || e.Seq != int64(i+1) || e.Hash != ralph.LineHash(line) {
			t.Errorf("event %d: %+v", i, e)
		}
		prev = e.Hash
	}
	again, err := Load(m.Lines(), nil)
	if err != nil || again.State().Hash != m.State().Hash || again.State().Seq != 3 {
		t.Errorf("loaded %+v, %v", again.State(), err)
	}
}

func TestMemAllOrNone(t *testing.T) {
	m := NewMem(nil)
	refused := errors.New("refused")
	err := m.Update(context.Background(), "test", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{note("a")}, refused })
	if !errors.Is(err, refused) || m.State().Seq != 0 {
		t.Errorf("%v, seq %d", err, m.State().Seq)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(refused)
	if err := m.Update(ctx, "test", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{note("a")}, nil }); !errors.Is(err, refused) {
		t.Errorf("after the end: %v", err)
	}
}

func TestMemCut(t *testing.T) {
	m := NewMem(nil)
	died := errors.New("died")
	m.CutAfter(2, died)
	if err := add(m, note("a"), note("b"), note("c")); !errors.Is(err, died) || m.State().Seq != 0 {
		t.Errorf("%v at %d, want nothing of a torn write", err, m.State().Seq)
	}
	if err := add(m, note("a"), note("b")); err != nil || m.State().Seq != 2 {
		t.Errorf("%v at %d, want the two facts", err, m.State().Seq)
	}
	if err := add(m, note("d")); !errors.Is(err, died) || m.State().Seq != 2 {
		t.Errorf("after the cut: %v at %d", err, m.State().Seq)
	}
}

// Wait wakes for a fact and ends with its context; State never changes later.
func TestMemWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMem(nil)
		before := m.State()
		woke := make(chan error, 1)
		go func() { woke <- m.Wait(context.Background(), 0) }()
		synctest.Wait()
		select {
		case <-woke:
			t.Fatal("woke without a fact")
		default:
		}
		if err := add(m, note("a")); err != nil {
			t.Fatal(err)
		}
		if err := <-woke; err != nil || before.Seq != 0 {
			t.Errorf("%v, the old state is at %d", err, before.Seq)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if err := m.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait without a fact: %v", err)
		}
	})
}
