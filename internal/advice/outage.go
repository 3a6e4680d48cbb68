package advice

import (
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
)

// How long a model is left alone that could not be asked, where it does not say so itself: twice
// as long each time in a row.
const (
	firstRest   = 30 * time.Second
	longestRest = 10 * time.Minute
	longestWord = 24 * time.Hour // that is believed of a provider
)

// Outages remember which models cannot be asked now, so that no decision waits for one that the
// decision before has waited for in vain. The zero value knows of none. It is safe for
// concurrent use. Each model has a breaker as trackers have one, which a single failure opens.
type Outages struct {
	mu  sync.Mutex
	out map[string]outage
}

type outage struct {
	breaker ralph.Breaker
	failed  int // in a row
}

// rests says why a model is not asked now; "" is that it is asked.
func (o *Outages) rests(name string, now time.Time) string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.out[name].breaker
	until, _ := breaker.MayCall(ralph.OutsideService{Breaker: b}, "", now)
	if until.IsZero() {
		o.tries(name, now)
		return ""
	}
	return fmt.Sprintf("it could not be asked %s ago and is left alone for %s more", now.Sub(b.Opened).Round(time.Second), until.Sub(now).Round(time.Second))
}

// tries has one decision try a model whose rest is over: others are not held up by it meanwhile.
func (o *Outages) tries(name string, now time.Time) {
	x, out := o.out[name]
	if !out {
		return
	}
	facts, _ := breaker.Begin(ralph.OutsideService{Breaker: x.breaker}, "a decision", breaker.Config{}, now)
	for _, f := range facts {
		if f, is := f.(ralph.BreakerMoved); is {
			x.breaker = f.Breaker
		}
	}
	o.out[name] = x
}

// tell notes how asking a model went. e is why it could not be asked, nil where it could.
func (o *Outages) tell(name string, now time.Time, failed bool, e *model.Error) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !failed {
		delete(o.out, name)
		return
	}
	x := o.out[name]
	c := breaker.Config{Failures: 1, Reset: restAfter(x.failed, e)}
	before := x.breaker.Opened
	x.breaker = breaker.Trip(breaker.Trip(x.breaker, breaker.CallBegins, "", c, now), breaker.CallFailed, "", c, now)
	if !x.breaker.Opened.Equal(before) { // else it was asked before it was known to be out
		x.failed++
	}
	if o.out == nil {
		o.out = map[string]outage{}
	}
	o.out[name] = x
}

// restAfter is how long a model is left alone after so many failures before this one.
func restAfter(failed int, e *model.Error) time.Duration {
	rest := firstRest
	for n := 0; n < failed && rest < longestRest; n++ {
		rest *= 2
	}
	rest = min(rest, longestRest)
	if e != nil {
		rest = max(rest, min(e.RetryAfter, longestWord))
	}
	return rest
}
