package tail

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph/internal/observe/wanted"
)

// asking counts the questions that a worker gets.
type asking struct {
	mu    sync.Mutex
	n     int
	wants []Want
	who   string
	gone  bool
	where int
	m     *machines
}

func (a *asking) ask(_ context.Context, worker string, wants []Want) ([]Part, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.wants = wants
	if a.gone || worker != a.who {
		return nil, errors.New("nobody answers")
	}
	return a.m.sources.Read(a.m.t.Context(), 0, "hub", wants), nil
}

func (a *asking) find(context.Context, string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.where++
	return a.who, nil
}

// asked is how often it was asked since the last time.
func (a *asking) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.n
	a.n = 0
	return n
}

// looked is how often it was looked for who has the turn.
func (a *asking) looked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.where
}

func (a *asking) set(who string, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.who, a.gone = who, gone
}

// looks has somebody look for a while, as a page does.
func looks(mark wanted.Turn, d time.Duration) {
	for range d / (200 * time.Millisecond) {
		mark.Ask()
		time.Sleep(200 * time.Millisecond) // of the bubble
	}
}

// A worker is asked while somebody looks, within two seconds, and no longer; one that has not got the
// step any more is asked no more, and one that does not answer, or is too old to, rarely. When a turn is
// over nothing is written any more.
func TestAskedOnlyWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachines(t)
		a := &asking{m: m, who: "w1"}
		mark := wanted.Of(m.root, "t-1")
		must(t, mark.Begin())
		x := New(a.ask, a.find)
		ctx, cancel := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { x.Run(ctx) })
		stop := x.Follow("id", mark, m.copy)
		m.prints("one\n")
		time.Sleep(time.Hour)
		if n := a.asked(); n != 0 || a.looked() != 0 {
			t.Fatalf("nobody looked, and it was asked %d times", n)
		}
		looks(mark, 2*time.Second)
		m.shows("one\n")
		m.prints("two\n")
		looks(mark, 2*time.Second)
		m.shows("one\ntwo\n")
		if n := a.asked(); n > 10 {
			t.Errorf("%d questions in four seconds", n)
		}
		time.Sleep(2 * staleIn)
		a.asked()
		time.Sleep(time.Hour)
		if n := a.asked(); n != 0 {
			t.Errorf("nobody looks any more, and it was asked %d times", n)
		}
		a.set("w1", true)
		looks(mark, time.Minute)
		if n := a.asked(); n == 0 || n > 8 {
			t.Errorf("a worker that does not answer was asked %d times in a minute", n)
		}
		m.sources.Show("ref", Source{Attempt: "a2", Repo: "hub", Root: m.sources.open["ref"].Root, Task: "t-1", Iteration: 5})
		a.set("w2", false)
		looks(mark, restFor+2*time.Second)
		m.shows("one\ntwo\n")
		synctest.Wait()
		if w := m.copy.Want(); w.Attempt != "a2" {
			t.Errorf("the worker that has it now was not asked: %+v", w)
		}
		stop()
		a.asked()
		m.prints("late\n")
		looks(mark, 5*time.Second)
		m.shows("one\ntwo\n")
		if n := a.asked(); n != 0 {
			t.Errorf("the turn is over, and its worker was asked %d times", n)
		}
		cancel()
		over.Wait()
	})
}
