package advice_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/thread"
)

// A model that could not be asked is passed over for a while: half a minute, twice as long each time, ten minutes
// at most, or as long as its provider says. One answer, and it is asked as before.
func TestOutages(t *testing.T) {
	t.Parallel()
	var fails error = &model.Error{Kind: model.Overloaded}
	asked, now := 0, noon()
	c := advice.Chain{Outages: new(advice.Outages), Now: func() time.Time { return now }}
	c.Engines = []advice.Engine{
		{Name: "first", Client: answering(func() (string, error) { asked++; return good, fails })},
		{Name: "second", Client: answering(func() (string, error) { return good, nil })},
	}
	step := func(after time.Duration, want bool) {
		t.Helper()
		now = now.Add(after)
		before := asked
		_, r := decide(t, c, turned())
		if (asked > before) != want {
			t.Errorf("after %s: asked is %v", after, asked > before)
		}
		if !want && (r.By != "second" || !strings.Contains(r.Asked[0].Error, "is left alone for") || r.Asked[0].Engine != "first") {
			t.Errorf("the record is %+v", r)
		}
	}
	step(0, true)
	step(29*time.Second, false)
	step(time.Second, true) // fails for the second time
	step(59*time.Second, false)
	step(time.Second, true)
	for _, rest := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		step(rest-time.Second, false)
		step(time.Second, true)
	}
	fails = &model.Error{Kind: model.Limit, RetryAfter: time.Hour}
	step(10*time.Minute, true)
	step(time.Hour-time.Second, false)
	fails = nil
	step(time.Second, true)
	step(0, true) // it answered: nothing of the outage is left
	fails = &model.Error{Kind: model.Unreachable}
	step(0, true)
	step(30*time.Second, true)
	step(-time.Hour, true) // the clock went back: nobody knows
}

// A person who breaks a question off says nothing of the model; a time that is over does.
func TestOutageOfWhom(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	e := engine(t, model.OpenAI, s)
	c := advice.Chain{Engines: []advice.Engine{e}, Outages: new(advice.Outages)}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, _, err := c.Decide(ctx, turned(), thread.Usual(), noon()); err == nil {
		t.Error("it was broken off, and there is a decision")
	}
	c.Engines[0].Timeout = 20 * time.Millisecond
	for n, want := range []string{"took too long", "left alone"} {
		if _, r := decide(t, c, turned()); !strings.Contains(r.Why, want) || r.Outcome != advice.Nobody {
			t.Errorf("%d: %+v", n, r)
		}
	}
}

// answering is a client of scripted words.
type answering func() (string, error)

func (f answering) Complete(context.Context, model.Request) (model.Response, error) {
	words, err := f()
	return model.Response{Text: words, Stop: model.End}, err
}

// One decision tries a model whose rest is over; those beside it are not held up by it (C-046).
func TestOneTriesAfterAnOutage(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	now, tries := noon(), 0
	c := advice.Chain{Outages: new(advice.Outages), Now: func() time.Time { return now }}
	c.Engines = []advice.Engine{{Name: "first", Client: answering(func() (string, error) {
		if tries++; tries > 1 {
			close(asked)
			<-goOn
		}
		return "", &model.Error{Kind: model.Overloaded}
	})}}
	decide(t, c, turned())
	now = now.Add(time.Hour)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = c.Decide(t.Context(), turned(), thread.Usual(), noon())
	}()
	<-asked
	if _, r := decide(t, c, turned()); len(r.Asked) != 1 || !strings.Contains(r.Asked[0].Error, "is left alone for") {
		t.Errorf("beside the one that tries: %+v", r)
	}
	close(goOn)
	<-done
}
