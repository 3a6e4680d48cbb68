package step

import (
	"path"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/stream"
)

// turnRecorder gathers the stream of a turn.
type turnRecorder struct {
	mu    sync.Mutex
	store *stream.Store
	n     int
	feed  *feed // shows it to people meanwhile; nil: nobody
}

func newHeard() *turnRecorder { return &turnRecorder{store: stream.New()} }

// shown keeps what is heard in the folder of the turn, too.
func (h *turnRecorder) shown(dir string, r *redact.Redactor) *turnRecorder {
	h.feed = newFeed(dir)
	h.feed.redact = r
	return h
}

// main is the turn as far as it is known.
func (h *turnRecorder) main() (stream.Turn, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.store.Main()
}

// close ends what is shown, with the last of it.
func (h *turnRecorder) close() {
	if h.feed != nil {
		h.feed.close(h.main)
	}
}

func (h *turnRecorder) add(e ralph.StreamEvent) {
	if e.Kind == ralph.StreamOutput {
		return // it is in the output of the turn, and no part of what it did
	}
	h.mu.Lock()
	h.store.Add(e)
	h.n++
	h.mu.Unlock()
	if h.feed != nil {
		h.feed.stir(h.main)
	}
}

// turnRecord is summary.json in the folder of a turn: what it was in short, with the
// last values of plan and diff.
type turnRecord struct {
	Summary  ralph.TurnSummary `json:"summary"`
	Plan     []ralph.PlanStep  `json:"plan,omitempty"`
	Diff     string            `json:"diff,omitempty"` // as the agent told it; git knows better
	Requests []asked           `json:"requests,omitempty"`
	Open     []ralph.Request   `json:"open_requests,omitempty"` // that the agent left behind
}

// summarize returns what the turn was in short, and keeps summary.json where there is
// anything to say.
func (x *Executor) summarize(h *turnRecorder, a *asker, res ralph.TurnResult, rec *record) (ralph.TurnSummary, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	var sum ralph.TurnSummary
	r := turnRecord{Requests: a.asks}
	if h.n > 0 {
		sum = h.store.Summary()
		if t, ok := h.store.Main(); ok {
			r.Plan, r.Diff, r.Open = t.Plan, t.Diff, t.Open
		}
	}
	sum.Diff = diffSummary([]byte(r.Diff), "agent")
	sum.Requests, sum.Waited = max(sum.Requests, len(a.asks)), res.Waited
	r.Summary = sum
	if h.n == 0 && len(a.asks) == 0 {
		return sum, nil
	}
	return sum, x.keep(path.Join(rec.rel, summaryName), r)
}
