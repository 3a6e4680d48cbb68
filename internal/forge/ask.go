package forge

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// The service has one limit and one breaker, whoever asks it: what is found here holds what is
// sent to issues as well (internal/outbox), and the other way round.

// Reached is a service as issues are read of it.
type Reached struct {
	Client interface {
		tracker.Client
		tracker.Searcher
		tracker.Reader
	}
	Why     string // there is no client
	Breaker breaker.Config
}

// reach is how a service is asked for issues.
func (w *Watcher) reach(service ralph.Service) Reached {
	if service != ralph.GitHub {
		return w.Others[service]
	}
	x := Reached{Why: w.Why, Breaker: w.Breaker}
	if w.Client != nil {
		x.Client = w.Client
	}
	return x
}

// may reports whether there is a client of GitHub and nothing holds the service.
func (w *Watcher) may() bool { return w.mayAsk(ralph.GitHub) }

func (w *Watcher) mayAsk(service ralph.Service) bool {
	at, _ := breaker.MayCall(w.Journal.State().Outside(service), w.by(), w.Now())
	return w.reach(service).Client != nil && at.IsZero()
}

// asked makes a call of GitHub, or a few that belong together, and records what it tells about the service.
func (w *Watcher) asked(ctx context.Context, call func() error) error {
	return w.askedOf(ctx, ralph.GitHub, call)
}

func (w *Watcher) askedOf(ctx context.Context, service ralph.Service, call func() error) error {
	c := w.reach(service).Breaker
	may := false
	err := w.record(ctx, func(s *ralph.State) (facts []ralph.Fact) {
		facts, may = breaker.Begin(s.Outside(service), w.by(), c, w.Now())
		return facts
	})
	if err != nil {
		return err
	}
	if !may {
		return errBusy
	}
	err = call()
	if ctx.Err() != nil {
		return err // cut here: that says nothing of the service
	}
	e, failed := errors.AsType[*tracker.Error](err)
	recorded := w.record(ctx, func(s *ralph.State) []ralph.Fact {
		var end breaker.CallEnd
		if failed {
			end = e.End(w.Now())
			end.Why = w.Redact.String(end.Why)
		}
		return append(w.renamed(s), breaker.AfterCall(s.Outside(service), end, c, w.Now())...)
	})
	return errors.Join(err, recorded)
}

// errBusy is that somebody else has begun to try the service meanwhile.
var errBusy = errors.New("the service is being tried")

// by is who asks, for a breaker that lets one call through.
func (w *Watcher) by() string { return cmp.Or(w.By, "forge") }

// renamed are the facts of repositories that answer under another name by now.
func (w *Watcher) renamed(s *ralph.State) []ralph.Fact {
	if w.Client == nil {
		return nil
	}
	now := w.Client.Renames()
	var facts []ralph.Fact
	for _, from := range slices.Sorted(maps.Keys(now)) {
		if to := now[from]; s.Renamed(ralph.GitHub, from) != to {
			facts = append(facts, ralph.RepoRenamed{Service: ralph.GitHub, From: from, To: to})
		}
	}
	return facts
}
