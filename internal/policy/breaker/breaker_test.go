package breaker_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
)

func githubBreaker() breaker.Config {
	return breaker.Config{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2}
}

// C-009, C-044 to C-050, C-052 to C-054: every transition, with the numbers of each service,
// under a clock of the test's own.
func TestTrip(t *testing.T) {
	t.Parallel()
	slow := breaker.Config{Failures: 5, Window: 2 * time.Minute, Reset: 2 * time.Minute, Successes: 2}
	type move struct {
		after time.Duration
		what  breaker.Called
		want  ralph.BreakerState
	}
	const closed, open, half = ralph.BreakerClosed, ralph.BreakerOpen, ralph.BreakerHalfOpen
	const begins, worked, failed = breaker.CallBegins, breaker.CallWorked, breaker.CallFailed
	for _, tt := range []struct {
		name  string
		c     breaker.Config
		moves []move
	}{
		{"three failures open GitHub's", githubBreaker(), []move{{0, failed, closed}, {time.Second, failed, closed}, {time.Second, failed, open}}},
		{"spread wider than the window they do not", githubBreaker(), []move{{0, failed, closed}, {40 * time.Second, failed, closed}, {30 * time.Second, failed, closed}, {40 * time.Second, failed, closed}}},
		{"five open the others'", slow, []move{{0, failed, closed}, {0, failed, closed}, {0, failed, closed}, {0, failed, closed}, {0, failed, open}, {119 * time.Second, begins, open}, {time.Second, begins, half}}},
		{"59 s it is open, after 60 s half-open, two good calls close it", githubBreaker(), []move{
			{0, failed, closed}, {0, failed, closed}, {0, failed, open}, {59 * time.Second, begins, open}, {time.Second, begins, half}, {0, worked, half}, {0, worked, closed},
		}},
		{"a failure of the trial opens it again, and its wait begins anew", githubBreaker(), []move{
			{0, failed, closed}, {0, failed, closed}, {0, failed, open}, {time.Minute, begins, half}, {0, worked, half}, {0, failed, open}, {59 * time.Second, begins, open}, {time.Second, begins, half}, {0, worked, half}, {0, worked, closed},
		}},
		{"closed again it counts from none", githubBreaker(), []move{
			{0, failed, closed}, {0, failed, closed}, {0, failed, open}, {time.Minute, begins, half}, {0, worked, half}, {0, worked, closed}, {0, failed, closed}, {0, failed, closed},
		}},
		{"successes while closed change nothing", githubBreaker(), []move{{0, failed, closed}, {0, worked, closed}, {0, failed, closed}, {0, begins, closed}, {0, failed, open}}},
	} {
		b, now := ralph.Breaker{}, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
		for i, m := range tt.moves {
			now = now.Add(m.after)
			if b = breaker.Trip(b, m.what, "why", tt.c, now); b.Now() != m.want {
				t.Errorf("%s: after move %d it is %s, want %s", tt.name, i+1, b.Now(), m.want)
			}
		}
	}
}

// A limit, a right that is missing and a refusal move no breaker; only the first two hold the service.
func TestAfterCallCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	x := ralph.OutsideService{Service: ralph.GitHub, Breaker: ralph.Breaker{Failures: []time.Time{now, now}}}
	limited := breaker.AfterCall(x, breaker.CallEnd{Limited: now.Add(40 * time.Minute), Why: "limit"}, githubBreaker(), now)
	if diff := cmp.Diff([]ralph.Fact{ralph.ServiceLimited{Service: ralph.GitHub, Until: now.Add(40 * time.Minute), Why: "limit"}}, limited); diff != "" {
		t.Error(diff)
	}
	denied := breaker.AfterCall(x, breaker.CallEnd{Denied: true, Why: "no", Fix: "look"}, githubBreaker(), now)
	if f, ok := denied[0].(ralph.ServiceLimited); !ok || len(denied) != 1 || !f.Until.After(now) || f.Fix != "look" {
		t.Errorf("%+v", denied)
	}
	if failed := breaker.AfterCall(x, breaker.CallEnd{Failed: true, Why: "500"}, githubBreaker(), now); len(failed) != 1 || failed[0].(ralph.BreakerMoved).Breaker.Now() != ralph.BreakerOpen {
		t.Errorf("%+v", failed)
	}
	if fine := breaker.AfterCall(x, breaker.CallEnd{}, githubBreaker(), now); len(fine) != 0 {
		t.Errorf("%+v", fine)
	}
}

// Whatever happens, an open breaker lets nothing through before its time, and one call after it.
func TestBreakerHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b, now := ralph.Breaker{}, time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 60).Draw(rt, "moves") {
			now = now.Add(time.Duration(rapid.IntRange(0, 70).Draw(rt, "seconds")) * time.Second)
			may, _ := breaker.MayCall(ralph.OutsideService{Breaker: b}, "t", now)
			if b.Now() == ralph.BreakerOpen && now.Before(b.Opened.Add(time.Minute)) != !may.IsZero() {
				rt.Fatalf("open since %s, at %s it may be called: %v", b.Opened, now, may)
			}
			if !may.IsZero() {
				continue
			}
			b = breaker.Trip(b, breaker.CallBegins, "", githubBreaker(), now)
			if b.Now() == ralph.BreakerOpen {
				rt.Fatal("a call goes out while it is open")
			}
			b = breaker.Trip(b, rapid.SampledFrom([]breaker.Called{breaker.CallWorked, breaker.CallFailed}).Draw(rt, "call"), "why", githubBreaker(), now)
		}
	})
}

// C-046: of all who call a service, one tries a breaker whose wait is over. The next one may when that has
// ended, however it did, and after a minute when nobody is left to say so.
func TestHalfOpenLetsOneThrough(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	open := ralph.Breaker{State: ralph.BreakerOpen, Opened: at, Until: at.Add(time.Minute), Why: "500"}
	for _, tt := range []struct {
		name  string
		ends  *breaker.CallEnd // nil: it does not
		after time.Duration
		other bool // may another begin then
	}{
		{"while it is under way", nil, time.Second, false},
		{"it worked", &breaker.CallEnd{}, time.Second, true},
		{"it failed", &breaker.CallEnd{Failed: true, Why: "502"}, time.Second, false},
		{"it failed, a minute ago", &breaker.CallEnd{Failed: true, Why: "502"}, time.Minute, true},
		{"what it asked was refused", &breaker.CallEnd{Refused: true}, time.Second, true},
		{"it met a limit", &breaker.CallEnd{Limited: at.Add(time.Hour)}, time.Minute, false},
		{"it was killed", nil, time.Minute, true},
		{"the clock went back an hour", nil, -time.Hour, true},
	} {
		x := ralph.OutsideService{Service: ralph.GitHub, Breaker: open}
		now := at.Add(time.Minute)
		apply := func(facts []ralph.Fact) {
			for _, f := range facts {
				switch f := f.(type) {
				case ralph.BreakerMoved:
					x.Breaker = f.Breaker
				case ralph.ServiceLimited:
					x.Until = f.Until
				}
			}
		}
		facts, may := breaker.Begin(x, "one", githubBreaker(), now)
		if apply(facts); !may || x.Breaker.Now() != ralph.BreakerHalfOpen {
			t.Fatalf("%s: the first: %v, %+v", tt.name, may, x)
		}
		if facts, may := breaker.Begin(x, "one", githubBreaker(), now); !may || len(facts) > 0 {
			t.Errorf("%s: who tries cannot go on", tt.name)
		}
		if tt.ends != nil {
			apply(breaker.AfterCall(x, *tt.ends, githubBreaker(), now))
		}
		if _, may := breaker.Begin(x, "other", githubBreaker(), now.Add(tt.after)); may != tt.other {
			t.Errorf("%s: another may: %v", tt.name, may)
		}
	}
}

// A breaker that opened by a clock that was an hour ahead is tried at once, and not in an hour.
func TestBreakerAcrossClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	b := ralph.Breaker{}
	for range 3 {
		b = breaker.Trip(b, breaker.CallFailed, "500", githubBreaker(), now.Add(time.Hour))
	}
	if at, _ := breaker.MayCall(ralph.OutsideService{Breaker: b}, "t", now); !at.IsZero() {
		t.Errorf("it may be called in %s", at.Sub(now))
	}
	if b = breaker.Trip(b, breaker.CallBegins, "", githubBreaker(), now); b.Now() != ralph.BreakerHalfOpen {
		t.Errorf("the call finds it %s", b.Now())
	}
	if b = breaker.Trip(b, breaker.CallFailed, "500", githubBreaker(), now); !b.Until.Equal(now.Add(time.Minute)) {
		t.Errorf("its wait ends in %s", b.Until.Sub(now))
	}
}
