// Package place sees to it that steps under way find workers which have the labels that they ask for, and
// that people hear of a step which no worker can take.
//
// The queue of a step is named by all labels that it asks for. No worker can read a queue for each subset of
// what it has, so the coordinator tells each worker that has such a set to read its queue as well. It goes
// on looking while steps are under way: a worker that comes later hears of it too.
//
// It does NOT own what is at the server and how it is spoken to (internal/fleet), nor what a label is
// (internal/labels).
package place

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workers/match"
)

// each is how soon it is looked again which workers there are.
const each = 2 * time.Second

// readable is how long a list of labels may be to stand in the name of a queue as it is, in bytes.
const readable = 200

// Queue is the queue of those among the readers of another one that have some labels, each once and in the
// order of letters.
func Queue(queue string, labels []string) string {
	name := strings.Join(labels, ",")
	if len(name) > readable {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:16])
	}
	if name == "" {
		return queue
	}
	return queue + "/with/" + name
}

// Server is what can be known of workers, and done about steps.
type Server interface {
	// Workers are those that were heard of in the last minutes.
	Workers(ctx context.Context) ([]match.Worker, error)
	// Tell has a worker read the queues of some labels. It returns when the worker has said that it does.
	Tell(ctx context.Context, w match.Worker, labels []string) error
	// Replace gives a step up that nobody has begun, and that would ask for something else now. It reports
	// whether it did.
	Replace(ctx context.Context, id string, now match.Needs) bool
}

// Step is one step under way.
type Step struct {
	Task  ralph.TaskID
	Needs match.Needs
	Now   func() match.Needs // what it would need if it began now
}

// Places look after the steps under way.
type Places struct {
	server Server
	note   func(format string, args ...any)
	kick   chan struct{} // there is a new step

	mu    sync.Mutex
	steps map[string]*placed // by the workflow
	told  map[string]bool    // which worker knows of which labels
	said  map[string]int     // how many steps wait for a reason
}

type placed struct {
	Step

	words string // why it waits

	giving chan struct{} // held while it may be given up
	anew   bool          // given up, since something else is asked for now
}

// New makes Places; note tells people.
func New(server Server, note func(format string, args ...any)) *Places {
	return &Places{server: server, note: note, kick: make(chan struct{}, 1), steps: map[string]*placed{}, told: map[string]bool{}, said: map[string]int{}}
}

// Add looks after a step until over is called. That reports whether the step was given up to begin anew.
func (p *Places) Add(id string, s Step) (over func() (anew bool)) {
	x := &placed{Step: s, giving: make(chan struct{}, 1)}
	p.mu.Lock()
	p.steps[id] = x
	p.mu.Unlock()
	select {
	case p.kick <- struct{}{}:
	default:
	}
	return func() bool {
		x.giving <- struct{}{} // for good
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.steps[id] == x {
			delete(p.steps, id)
		}
		p.wait(x, "")
		return x.anew
	}
}

// Run looks until ctx is over.
func (p *Places) Run(ctx context.Context) {
	tick := time.NewTicker(each)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		case <-tick.C:
		}
		p.mu.Lock()
		steps := maps.Clone(p.steps)
		p.mu.Unlock()
		if len(steps) == 0 {
			continue
		}
		there, err := p.server.Workers(ctx)
		if err != nil {
			continue // that the server is away is heard of elsewhere
		}
		for _, id := range slices.Sorted(maps.Keys(steps)) {
			p.look(ctx, id, steps[id], there)
		}
	}
}

// look tells workers of what a step asks for, and people that there are none.
func (p *Places) look(ctx context.Context, id string, x *placed, there []match.Worker) {
	for _, w := range there {
		if len(x.Needs.Labels) > 0 && x.Needs.Of(w) {
			p.tell(ctx, w, x.Needs.Labels)
		}
	}
	words := x.Needs.Missing(there)
	if words != "" {
		select {
		case x.giving <- struct{}{}:
			now := x.Now()
			x.anew = x.anew || !slices.Equal(now.Labels, x.Needs.Labels) && p.server.Replace(ctx, id, now)
			<-x.giving
		default: // it is over
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps[id] == x {
		p.wait(x, words)
	}
}

// wait remembers why a step waits, and says it once for all that wait for the same. The caller has the lock.
func (p *Places) wait(x *placed, words string) {
	if words == x.words {
		return
	}
	p.said[x.words]--
	if p.said[words]++; words != "" && p.said[words] == 1 {
		p.note("%s waits: %s", x.Task, words)
	}
	x.words = words
}

// Missing says why a step waits: what no worker has, and how to start one that has; "": it does not.
func (p *Places) Missing(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.steps[id]; x != nil {
		return x.words
	}
	return ""
}

// tell has a worker read the queues of some labels, once. One that does not answer is told again.
func (p *Places) tell(ctx context.Context, w match.Worker, labels []string) {
	key := Queue(w.Name+"/"+w.Run, labels)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[key] {
		return
	}
	p.told[key] = true
	go func() {
		if err := p.server.Tell(ctx, w, labels); err != nil {
			p.mu.Lock()
			delete(p.told, key)
			p.mu.Unlock()
		}
	}()
}
