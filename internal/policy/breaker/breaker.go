// Package breaker owns when an outside service is called: how failures open its breaker, how
// long it rests, who tries it again, and the facts that say so. It does not own what is
// called (internal/forge, internal/outbox, internal/advice) nor the limits of agents, which
// trip one of its breakers (internal/policy).
package breaker

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// Config is when a breaker opens, is tried and closes: after so many failures within the
// window, the time of reset later, and after so many successes.
type Config struct {
	Failures  int           `json:"failures"`
	Window    time.Duration `json:"window"`
	Reset     time.Duration `json:"reset"`
	Successes int           `json:"successes"`
}

// Called is what became of a call, for a breaker.
type Called string

// What can become of a call. What is about the request itself, or about a limit, counts neither way.
const (
	CallBegins Called = "begins" // it is about to go out
	CallWorked Called = "worked"
	CallFailed Called = "failed"
	CallOver   Called = "over" // it says nothing of the service: a limit, or a refusal of what was asked
)

// Trip moves a breaker by what became of a call: closed to open by failures
// within the window, open to half-open by the first call after its wait, half-open to closed by
// successes in a row, and back to open by any failure. It is the one primitive for what is outside and can
// fail: trackers, the limits of agents, models that are asked.
func Trip(b ralph.Breaker, what Called, why string, c Config, now time.Time) ralph.Breaker {
	now = now.Round(0)
	open := ralph.Breaker{State: ralph.BreakerOpen, Opened: now, Until: now.Add(c.Reset), Why: why}
	switch b.Now() {
	case ralph.BreakerOpen:
		if what == CallBegins && !rests(b, now) {
			return ralph.Breaker{State: ralph.BreakerHalfOpen, Opened: b.Opened, Why: b.Why}
		}
	case ralph.BreakerHalfOpen:
		switch what {
		case CallFailed:
			return open
		case CallWorked:
			if b.Successes++; b.Successes >= c.Successes {
				return ralph.Breaker{State: ralph.BreakerClosed}
			}
		case CallBegins:
			return b
		}
		b.Trial, b.Until = "", time.Time{} // the next one may try
	default:
		if what != CallFailed {
			return b
		}
		b.Failures = slices.DeleteFunc(slices.Clone(b.Failures), func(at time.Time) bool { return now.Sub(at) >= c.Window })
		b.Failures, b.Why = append(b.Failures, now), why
		if len(b.Failures) >= c.Failures {
			return open
		}
	}
	return b
}

// rests reports whether an open breaker lets nothing through yet. One that opened after now was
// opened before the clock went back: nobody knows, so one tries.
func rests(b ralph.Breaker, now time.Time) bool {
	return b.Now() == ralph.BreakerOpen && now.Before(b.Until) && !now.Before(b.Opened)
}

// trialTime is how long a trial of a half-open breaker keeps others waiting: one whose process was killed
// ends with it.
const trialTime = time.Minute

// tried reports whether somebody else than by is trying a half-open breaker.
func tried(b ralph.Breaker, by string, now time.Time) bool {
	return b.Now() == ralph.BreakerHalfOpen && b.Trial != "" && b.Trial != by && now.Before(b.Until) && !now.Before(b.Until.Add(-trialTime))
}

// MayCall is when a service may be called by somebody, and what it waits for; zero is now.
func MayCall(x ralph.OutsideService, by string, now time.Time) (at time.Time, why string) {
	if rests(x.Breaker, now) {
		at, why = x.Breaker.Until, "its breaker is open: "+x.Breaker.Why
	}
	if tried(x.Breaker, by, now) {
		at, why = x.Breaker.Until, "one call is tried after: "+x.Breaker.Why
	}
	if now.Before(x.Until) && x.Until.After(at) {
		at, why = x.Until, x.Why
	}
	return at, why
}

// Begin is a call that somebody is about to make: whether it may be made, and what it does to the breaker.
// One that is not closed lets a single call through; who makes it may go on until it has ended.
func Begin(x ralph.OutsideService, by string, c Config, now time.Time) (facts []ralph.Fact, may bool) {
	if at, _ := MayCall(x, by, now); !at.IsZero() {
		return nil, false
	}
	b := Trip(x.Breaker, CallBegins, "", c, now)
	if b.Now() != ralph.BreakerHalfOpen || b.Trial == by && now.Before(b.Until) {
		return nil, true
	}
	b.Trial, b.Until = by, now.Add(trialTime).Round(0)
	return []ralph.Fact{ralph.BreakerMoved{Service: x.Service, From: x.Breaker.Now(), Breaker: b}}, true
}

// CallEnd is how a call to a service ended. At most one of Failed, Limited, Denied and Refused is so.
type CallEnd struct {
	Failed  bool
	Refused bool      // what was asked, and not the service: the next call may well work
	Limited time.Time // until when
	Denied  bool
	Why     string
	Fix     string // what a person can do
}

// deniedWait is how long a service is left alone that denied what it was asked: the credentials
// may be mended by then, and asking in vain costs little.
const deniedWait = 10 * time.Minute

// AfterCall are the facts of a service after a call: mostly none. A limit is no failure, and what
// the service refuses of a request is ours: neither counts.
func AfterCall(x ralph.OutsideService, end CallEnd, c Config, now time.Time) []ralph.Fact {
	over := func(until time.Time) []ralph.Fact {
		return append(moved(x, CallOver, "", c, now), ralph.ServiceLimited{Service: x.Service, Until: until.Round(0), Why: end.Why, Fix: end.Fix})
	}
	switch {
	case !end.Limited.IsZero():
		return over(end.Limited)
	case end.Denied:
		return over(now.Add(deniedWait))
	case end.Refused:
		return moved(x, CallOver, "", c, now)
	case end.Failed:
		return moved(x, CallFailed, end.Why, c, now)
	}
	return moved(x, CallWorked, "", c, now)
}

// moved is the fact of a breaker that a call moves; none where it stays as it is.
func moved(x ralph.OutsideService, what Called, why string, c Config, now time.Time) []ralph.Fact {
	next := Trip(x.Breaker, what, why, c, now)
	if b := x.Breaker; next.Now() == b.Now() && next.Successes == b.Successes && next.Trial == b.Trial && slices.Equal(next.Failures, b.Failures) && next.Until.Equal(b.Until) {
		return nil
	}
	return []ralph.Fact{ralph.BreakerMoved{Service: x.Service, From: x.Breaker.Now(), Breaker: next}}
}
