// Package forge is ralph at a service that keeps issues and pull requests: issues become specs,
// branches of specs become pull requests, and what comes back of these, red checks and reviews,
// becomes another round. The service is GitHub, or one with its API.
//
// It does NOT own how the service is spoken to (internal/tracker/github), pushing
// (internal/outgoing), the text of a pull request (internal/specdoc), or the loop that works on
// what it queues.
package forge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/outgoing"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
)

// Journal is where facts go.
type Journal interface {
	State() *ralph.State
	Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error
}

// Source is where issues come from.
type Source struct {
	Service ralph.Service // "": GitHub
	Repo    string
	Words   string   // the query as the settings have it
	Labels  []string // that it asks for
	Every   time.Duration
	Allow   []string // whose issues are taken: team, anyone, names
}

// Settings are those of land.* and inbox.*.
type Settings struct {
	Sources   []Source
	Poll      time.Duration // between two looks at a pull request
	Draft     bool
	Labels    []string
	Reviewers []string
	AutoMerge bool // when its checks are green
	Follow    bool // red checks and reviews become a round
	MaxRounds int
	Allow     []string // whose reviews
}

// Watcher keeps what is here and what is at the service alike: it tries pushes again, opens pull
// requests and follows them, and takes issues in. What it finds and does are facts; whatever
// cuts it, the next one goes on from them.
type Watcher struct {
	Journal  Journal
	Client   *github.Client // nil: Why
	Why      string         // there is no access
	Repo     string         // owner/name of pull requests
	Places   tracker.Places
	Breaker  breaker.Config
	Others   map[ralph.Service]Reached // beside GitHub: issues come from there as well
	Branches outgoing.Branches
	Root     string
	Set      Settings
	NewID    func(*ralph.State) ralph.SpecID
	Now      func() time.Time
	Redact   *redact.Redactor
	Said     func(ralph.Fact, *ralph.State) // who is shown what is recorded; nil: nobody
	By       string                         // who asks, beside a session: a breaker lets one through

	due   map[string]time.Time // when a thing is looked at again
	fails map[string]int       // in a row
	tags  map[string]string    // ETags
	told  map[string]string    // the error that a source is known to have
	retry time.Time            // the newest time that a person wanted all of it tried
}

// tick is how often it is looked whether something is due.
const tick = 500 * time.Millisecond

// Run goes round until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		_ = w.Round(ctx) // the disk may be full: the work itself says so
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Round does all that is due. What does not work is a fact and no error.
func (w *Watcher) Round(ctx context.Context) error {
	w.ready()
	for _, service := range ralph.Services() {
		if at := w.Journal.State().Outside(service).Retried; at.After(w.retry) {
			w.retry = at
			clear(w.due)
		}
	}
	var errs []error
	for _, p := range w.Journal.State().Pulls {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, w.push(ctx, p))
	}
	for _, p := range w.Journal.State().Pulls {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, w.pull(ctx, p))
	}
	for _, source := range w.Set.Sources {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		errs = append(errs, w.source(ctx, source))
	}
	errs = append(errs, w.named(ctx))
	return errors.Join(errs...)
}

func (w *Watcher) ready() {
	if w.due == nil {
		w.due, w.fails, w.tags, w.told = map[string]time.Time{}, map[string]int{}, map[string]string{}, map[string]string{}
	}
}

// isDue reports whether a thing is to be looked at, and notes that it is.
func (w *Watcher) isDue(what string, every time.Duration) bool {
	now := w.Now()
	if now.Before(w.due[what]) {
		return false
	}
	w.due[what] = now.Add(every)
	return true
}

const (
	firstPause = 5 * time.Second
	longPause  = 5 * time.Minute
)

// failed notes that a thing did not work, so that it is tried again later each time. What is wrong
// with the service itself is for its breaker to wait for.
func (w *Watcher) failed(what string, err error) {
	n := w.fails[what]
	if e, is := errors.AsType[*tracker.Error](err); is && !e.Ours() {
		n = 0
	}
	w.fails[what] = n + 1
	w.due[what] = w.Now().Add(min(firstPause<<min(n, 10), longPause))
}

// cut reports whether what did not work was ended by us: it has not failed, and whoever has a last
// try finds it due.
func (w *Watcher) cut(ctx context.Context, what string) bool {
	if ctx.Err() == nil {
		return false
	}
	delete(w.due, what)
	return true
}

func (w *Watcher) worked(what string) { delete(w.fails, what) }

// record writes facts that are decided on the newest state.
func (w *Watcher) record(ctx context.Context, decide func(*ralph.State) []ralph.Fact) error {
	var facts []ralph.Fact
	err := w.Journal.Update(context.WithoutCancel(ctx), "forge", func(s *ralph.State) ([]ralph.Fact, error) {
		facts = decide(s)
		return facts, nil
	})
	if w.Said != nil && err == nil {
		for _, f := range facts {
			w.Said(f, w.Journal.State())
		}
	}
	return err
}

// atWork reports whether a job works on a branch: its pull request is seen to when that is done.
func atWork(s *ralph.State, branch string) bool {
	return s.Job != nil && s.Plan.Integration != nil && s.Plan.Integration.Out.Branch == branch
}

// push tries again to push a branch that its remote does not have.
func (w *Watcher) push(ctx context.Context, p *ralph.Pull) error {
	what := "push " + p.Branch
	if !p.Waits() || p.Parked || w.Journal.State().GoesOut(p) || !w.isDue(what, firstPause) {
		return nil
	}
	f, err := w.Branches.Push(ctx, ralph.Publish{Branch: p.Branch, Remote: p.Remote, Commit: p.Commit, Of: p.Task})
	if err != nil || w.cut(ctx, what) {
		return err
	}
	if f.Error != "" {
		w.failed(what, nil)
		if f.Error == p.Error && !f.Parked {
			return nil // it is known
		}
	} else {
		w.worked(what)
	}
	return w.record(ctx, func(s *ralph.State) []ralph.Fact {
		if now := s.Pull(p.Branch); now == nil || !now.Waits() {
			return nil
		}
		return []ralph.Fact{f}
	})
}

// Wants reports whether there is anything to watch for.
func (w *Watcher) Wants(s *ralph.State) bool {
	return len(w.Set.Sources) > 0 || slices.ContainsFunc(s.Tracked, func(t *ralph.Tracked) bool { return w.lonely(s, t) }) || slices.ContainsFunc(s.Pulls, func(p *ralph.Pull) bool { return p.Waits() || p.How == ralph.LandPull && !p.Over() })
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// lets reports whether an item is taken, by who wrote it.
func (src Source) lets(i tracker.Item) bool {
	association := i.Association
	if i.Member {
		association = "MEMBER"
	}
	if i.Ref.Service == ralph.GitHub {
		return allowed(src.Allow, i.Author, association)
	}
	return slices.ContainsFunc(append([]string{""}, i.Names...), func(name string) bool { return allowed(src.Allow, name, association) })
}

// allowed reports whether text of an author is taken.
func allowed(allow []string, login, association string) bool {
	for _, a := range allow {
		switch {
		case a == "anyone", strings.EqualFold(a, login):
			return true
		case a == "team" && slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, association):
			return true
		}
	}
	return false
}
