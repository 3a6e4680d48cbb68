package wire

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// The time limit of a turn stands still while an agent waits for an answer, with any
// number of questions at once, and goes on with what was left of it.
func TestTimeLimitStandsStillForAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var over, times atomic.Int64
		a := NewAsking(func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
			time.Sleep(map[string]time.Duration{"long": 10 * time.Hour, "short": time.Hour}[q.Text])
			return ralph.Reply{Allow: true}, nil
		}, 10*time.Minute, func() { over.Store(int64(time.Since(begin))); times.Add(1) })
		time.Sleep(4 * time.Minute)
		go func() { _, _ = a.Answer(t.Context(), ralph.Request{Text: "long"}) }()
		synctest.Wait()
		time.Sleep(time.Hour)
		if r, err := a.Answer(t.Context(), ralph.Request{Text: "short"}); err != nil || !r.Allow {
			t.Errorf("reply %+v, %v", r, err)
		}
		time.Sleep(8*time.Hour + 5*time.Minute)
		if times.Load() != 0 {
			t.Fatalf("over after %s", time.Duration(over.Load()))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := time.Duration(over.Load()); got != 10*time.Hour+10*time.Minute {
			t.Errorf("over after %s", got)
		}
		if _, err := a.Answer(t.Context(), ralph.Request{Text: "short"}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if times.Load() != 1 {
			t.Errorf("the limit was said to be reached %d times", times.Load())
		}
		if got := a.Stop(); got != 11*time.Hour {
			t.Errorf("waited %s", got)
		}
	})
}

// Without anybody to ask, what an agent asks is denied, with words that it can read.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	a := NewAsking(nil, 0, nil)
	if r, err := a.Answer(t.Context(), ralph.Request{}); err != nil || r.Allow || r.Text == "" {
		t.Errorf("reply %+v, %v", r, err)
	}
	a.Stop()
}

// A storm of requests is bounded: who asks too much at once is told so, and the others
// get their answers.
func TestTooManyAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		var asked, told atomic.Int64
		a := NewAsking(func(context.Context, ralph.Request) (ralph.Reply, error) {
			asked.Add(1)
			<-answer
			return ralph.Reply{Allow: true}, nil
		}, time.Minute, func() {})
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if r, err := a.Answer(t.Context(), ralph.Request{}); err == nil && !r.Allow && r.Text != "" {
					told.Add(1)
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		close(answer)
		all.Wait()
		if asked.Load() != MaxAsks || told.Load() != 1000-MaxAsks {
			t.Errorf("%d asked, %d told", asked.Load(), told.Load())
		}
		if got := a.Stop(); got != time.Hour {
			t.Errorf("waited %s", got)
		}
	})
}
