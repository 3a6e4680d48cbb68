package step_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// retrying is an agent that tells what it meets, waits as it says it does, and ends well
// when it comes through.
type retrying []ralph.StreamEvent

func (r retrying) Turn(ctx context.Context, _ ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	for _, e := range r {
		on.Event(e)
		wait := time.Second
		if e.Err != nil {
			wait = max(e.Err.Wait, time.Second)
		}
		select {
		case <-ctx.Done():
			return ralph.TurnResult{Exit: ralph.ExitUser, Code: -1}, nil
		case <-time.After(wait):
		}
	}
	return ralph.TurnResult{Exit: ralph.ExitOK, Text: "<ralph>COMPLETE</ralph>"}, nil
}

func tries(class ralph.ErrorClass, waits ...time.Duration) []ralph.StreamEvent {
	var out []ralph.StreamEvent
	for _, w := range waits {
		out = append(out, ralph.StreamEvent{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Class: class, Message: "retry", Wait: w}})
	}
	return out
}

// F-22, R-H4: an agent that tries again by itself is let do so for as long as
// errors.rate_limit_patience, of which it is told once; without a login not at all.
func TestAgentTriesAgain(t *testing.T) {
	t.Parallel()
	const s = time.Second
	works := []ralph.StreamEvent{{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: "1", Kind: ralph.ItemMessage, Text: "on we go"}}}
	doubling := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s} // as claude does
	far := tries(ralph.ErrClassLimit, s)
	far[0].Err.ResetAt = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		events []ralph.StreamEvent
		class  ralph.ErrorClass // "": the turn came to its own end
		took   time.Duration
		told   int
	}{
		{"a limit that lasts", tries(ralph.ErrClassLimit, doubling...), ralph.ErrClassLimit, 15 * s, 1},
		{"overloaded", tries(ralph.ErrClassBusy, doubling...), ralph.ErrClassBusy, 15 * s, 1},
		{"no network", tries(ralph.ErrClassNetwork, doubling...), ralph.ErrClassNetwork, 15 * s, 1},
		{"it does not say how long it waits", tries(ralph.ErrClassNetwork, make([]time.Duration, 40)...), ralph.ErrClassNetwork, 30 * s, 1},
		{"its time is known", far, ralph.ErrClassLimit, 0, 1},
		{"one long wait", tries(ralph.ErrClassLimit, 50*s), ralph.ErrClassLimit, 0, 1},
		{"no login", tries(ralph.ErrClassAuth, s, s), ralph.ErrClassAuth, 0, 1},
		{"it gets over it", slices.Concat(tries(ralph.ErrClassLimit, 8*s, 16*s), works, tries(ralph.ErrClassLimit, 8*s, 16*s)), "", 49 * s, 1},
		{"the service is broken", tries(ralph.ErrClassServer, doubling...), "", 63 * s, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, policy.Config{Patience: 30 * s})
				me := d.x.Agents["me"]
				me.Agent = retrying(tt.events)
				d.x.Agents["me"] = me
				began := time.Now()
				f, err := d.turn(t, t.Context(), func() {})
				if err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got != tt.took {
					t.Errorf("took %s, want %s", got, tt.took)
				}
				told := 0
				for _, e := range d.mem.Events() {
					if f, ok := e.Fact.(ralph.AgentRetries); ok && f.Agent == "me" && f.Task == "t-1" && f.Class == tt.events[0].Err.Class {
						told++
					}
				}
				if told != tt.told {
					t.Errorf("told %d times, want %d", told, tt.told)
				}
				switch {
				case tt.class == "":
					if f.Failed() {
						t.Errorf("failed: %+v", f.Err)
					}
				case f.Exit != ralph.ExitFailed || f.Err == nil || f.Err.Class != tt.class || !f.Err.Retried || f.Err.Message == "":
					t.Errorf("%s, %+v; want a turn that was taken over", f.Exit, f.Err)
				case d.mem.State().Limit("me") == nil:
					t.Error("the agent is not known to be away")
				}
			})
		})
	}
}

// D-051: a stop need not wait for an agent that only waits; one that works ends its turn.
func TestStopWhileItTriesAgain(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, policy.Config{Patience: time.Hour})
			events := tries(ralph.ErrClassLimit, 20*time.Minute)
			if !waits {
				events = append(tries(ralph.ErrClassLimit, time.Second), ralph.StreamEvent{Kind: ralph.StreamItem}, ralph.StreamEvent{Kind: ralph.StreamItemDone})
			}
			me := d.x.Agents["me"]
			me.Agent = retrying(events)
			d.x.Agents["me"] = me
			began := time.Now()
			f, err := d.turn(t, t.Context(), func() {
				if !waits {
					<-time.After(1500 * time.Millisecond) // it works again
				}
				d.person(t, func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantStop, "SIGTERM") })
			})
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began)
			if waits && (f.Exit != ralph.ExitUser || took != 0) || !waits && (f.Exit != ralph.ExitOK || took != 3*time.Second) {
				t.Errorf("waits %v: %s after %s", waits, f.Exit, took)
			}
		})
	}
}

// R-H4: what everybody knows is not told with each try.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Patience: 5 * time.Second})
		me := d.x.Agents["me"]
		me.Agent = retrying(tries(ralph.ErrClassNetwork, time.Second, 2*time.Second, 4*time.Second))
		d.x.Agents["me"] = me
		for range 3 {
			if _, err := d.turn(t, t.Context(), func() {}); err != nil {
				t.Fatal(err)
			}
		}
		var kinds []string
		for _, e := range d.mem.Events() {
			if k := e.Fact.Kind(); strings.HasPrefix(k, "agent.") {
				kinds = append(kinds, k)
			}
		}
		if got := strings.Join(kinds, " "); got != "agent.retries agent.limited agent.limited agent.limited" {
			t.Errorf("told %s", got)
		}
	})
}
