package tail

import (
	"context"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/observe/wanted"
)

// Times of the coordinator.
const (
	markEvery = 250 * time.Millisecond // how often it is looked whether somebody looks
	staleIn   = 4 * time.Second        // nobody has looked for so long: nobody does
	askEvery  = 400 * time.Millisecond // between two questions to a worker
	restFor   = 10 * time.Second       // from a worker that does not answer, or is too old to
)

// Wait is how long a worker may wait for something to answer with.
const Wait = 1500 * time.Millisecond

// Tails are the turns of a coordinator that are under way on workers. Each worker is asked one
// question at a time, for all its turns that somebody looks at.
type Tails struct {
	// Ask asks a worker; Where finds out who has a step, "" while nobody has.
	Ask   func(ctx context.Context, worker string, wants []Want) ([]Part, error)
	Where func(ctx context.Context, id string) (worker string, err error)

	mu    sync.Mutex
	turns map[string]*turn     // by ref
	busy  map[string]bool      // workers that are being asked
	next  map[string]time.Time // workers, not to be asked before
}

type turn struct {
	id      string // of the step's workflow
	copy    *Copy
	mark    wanted.Turn
	until   time.Time // somebody looks
	worker  string    // who has it; "" for not known
	finding bool
	not     time.Time // before then nobody is asked who has it
}

// New returns one that follows nothing yet.
func New(ask func(context.Context, string, []Want) ([]Part, error), where func(context.Context, string) (string, error)) *Tails {
	return &Tails{Ask: ask, Where: where, turns: map[string]*turn{}, busy: map[string]bool{}, next: map[string]time.Time{}}
}

// Follow has a turn asked for while somebody looks. When stop returns, nothing more is written.
func (x *Tails) Follow(id string, mark wanted.Turn, c *Copy) (stop func()) {
	ref, t := c.Want().Ref, &turn{id: id, copy: c, mark: mark}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns[ref] = t
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.turns[ref] == t {
			delete(x.turns, ref)
		}
		mark.End()
		_ = c.Close()
	}
}

// Run looks who looks, until ctx ends.
func (x *Tails) Run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	tick := time.NewTicker(markEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			x.tick(ctx, &asking)
		}
	}
}

func (x *Tails) tick(ctx context.Context, asking *sync.WaitGroup) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	for _, t := range x.turns {
		if t.mark.Asked() {
			t.until = now.Add(staleIn)
		}
		switch worker := t.worker; {
		case now.After(t.until):
		case worker == "":
			if !t.finding && !now.Before(t.not) {
				t.finding = true
				asking.Go(func() { x.find(ctx, t) })
			}
		case !x.busy[worker] && !now.Before(x.next[worker]):
			x.busy[worker] = true
			asking.Go(func() { x.ask(ctx, worker) })
		}
	}
}

// find finds out who has a turn.
func (x *Tails) find(ctx context.Context, t *turn) {
	worker, err := x.Where(ctx, t.id)
	x.mu.Lock()
	defer x.mu.Unlock()
	t.finding, t.worker, t.not = false, worker, time.Now().Add(askEvery)
	if err != nil {
		t.not = time.Now().Add(restFor)
	}
}

// ask asks a worker until it has no more to say.
func (x *Tails) ask(ctx context.Context, worker string) {
	rest := askEvery
	for more := true; more; {
		wants := x.wants(worker)
		if len(wants) == 0 {
			break
		}
		parts, err := x.Ask(ctx, worker, wants)
		if more = x.add(worker, wants, parts) && err == nil; err != nil {
			rest = restFor
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.busy, worker)
	x.next[worker] = time.Now().Add(rest)
}

// wants are the turns of a worker that somebody looks at.
func (x *Tails) wants(worker string) (out []Want) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	for _, t := range x.turns {
		if t.worker == worker && !now.After(t.until) {
			out = append(out, t.copy.Want())
		}
	}
	return out
}

// add takes in an answer. A turn that it lacks is somebody else's by now.
func (x *Tails) add(worker string, wants []Want, parts []Part) (more bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	came := map[string]Part{}
	for _, p := range parts {
		came[p.Ref] = p
	}
	for _, w := range wants {
		t, p := x.turns[w.Ref], came[w.Ref]
		if t == nil || t.worker != worker { // its turn has ended meanwhile
			continue
		}
		if p.Attempt == "" {
			t.worker = ""
			continue
		}
		if err := t.copy.Add(p); err != nil { // the turn's own files come at its end
			t.worker, t.not = "", time.Now().Add(restFor)
			continue
		}
		more = more || p.More
	}
	return more
}
