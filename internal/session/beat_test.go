package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

// pulse is a session lock that notes its beats.
type pulse struct {
	mu      sync.Mutex
	beats   []time.Time
	held    error
	written error
}

func (p *pulse) Held() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

func (p *pulse) Beat(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.beats = append(p.beats, now)
	}
	return p.written
}

func (p *pulse) set(held, written error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.written = held, written
}

// the lock has a sign of life each minute, however long the engine is paused
// or merges. A full disk is told once and tried again; a lock that is lost ends
// everything within seconds, agents as well.
func TestBeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pulse{}
		run, lost := context.WithCancelCause(t.Context())
		var told []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			heartbeat(t.Context(), p, lost, func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) })
		}()
		last := time.Now()
		time.Sleep(8*time.Hour + time.Second)
		synctest.Wait()
		if len(p.beats) != 8*60 {
			t.Errorf("%d beats in 8 hours", len(p.beats))
		}
		for _, at := range p.beats {
			if gap := at.Sub(last); gap > time.Minute+lookEvery {
				t.Errorf("no sign of life for %s", gap)
			}
			last = at
		}

		p.set(nil, errors.New("no space"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(told) != 1 || run.Err() != nil {
			t.Errorf("told %q, %v", told, run.Err())
		}
		p.set(nil, nil)
		time.Sleep(lookEvery)
		synctest.Wait()
		if late := time.Since(p.beats[len(p.beats)-1]); late > lookEvery {
			t.Errorf("with space again, the last sign of life is %s old", late)
		}

		p.set(ralph.ErrLocked, nil)
		time.Sleep(lookEvery)
		synctest.Wait()
		if !errors.Is(context.Cause(run), ralph.ErrLocked) {
			t.Errorf("the lock is lost, and: %v", context.Cause(run))
		}
		<-ended
	})
}
