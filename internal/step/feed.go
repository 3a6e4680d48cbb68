package step

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/stream"
	"github.com/ralph-loop/ralph/internal/text"
)

// FeedName is the file in the folder of a turn that says what the agent does, while it
// does it: Feed, as JSON, replaced as a whole.
const FeedName = "feed.json"

// Feed is what an agent does in a turn, for people who look on: its own plan, its diff,
// and what it did last, a line each. The receipt has none of it.
type Feed struct {
	Plan  []ralph.PlanStep `json:"plan,omitempty"`
	Diff  string           `json:"diff,omitempty"` // as the agent tells it; git knows better
	Cut   int              `json:"cut,omitempty"`  // bytes of it that are left out
	Items []FeedItem       `json:"items,omitempty"`
	More  int              `json:"more,omitempty"` // items before these
	Usage ralph.Usage      `json:"usage,omitzero"`
}

// FeedItem is one thing that an agent did.
type FeedItem struct {
	Kind   ralph.ItemKind `json:"kind"`
	Type   string         `json:"type,omitempty"`
	Text   string         `json:"text,omitempty"`
	Files  []string       `json:"files,omitempty"`
	Exit   *int           `json:"exit,omitempty"`
	Status string         `json:"status,omitempty"` // "" while it goes on
}

const (
	feedEvery = 250 * time.Millisecond // a flood of words is not a flood of writes
	feedItems = 60
	feedText  = 300      // bytes
	feedDiff  = 64 << 10 // bytes
	feedFiles = 6
)

// feed writes the feed of a turn. It is for people: when it cannot be written, the turn
// goes on without it.
type feed struct {
	path   string
	redact *redact.Redactor

	mu    sync.Mutex
	timer *time.Timer // nil: nothing waits to be written
	over  bool
}

func newFeed(dir string) *feed { return &feed{path: filepath.Join(dir, FeedName)} }

// stir notes that there is news, which is written soon, together with what comes until then.
func (f *feed) stir(read func() (stream.Turn, bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer == nil && !f.over {
		f.timer = time.AfterFunc(feedEvery, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.timer = nil
			if !f.over {
				f.write(read)
			}
		})
	}
}

// close writes what is left to say.
func (f *feed) close(read func() (stream.Turn, bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
		f.write(read)
	}
}

func (f *feed) write(read func() (stream.Turn, bool)) {
	t, ok := read()
	if !ok {
		return
	}
	b, err := json.Marshal(feedOf(t, f.redact))
	if err != nil {
		return
	}
	if os.WriteFile(f.path+".new", b, 0o600) == nil {
		_ = os.Rename(f.path+".new", f.path)
	}
}

// feedOf is a turn as it is shown.
func feedOf(t stream.Turn, r *redact.Redactor) Feed {
	t.Diff, t.Plan = r.String(t.Diff), redact.Value(r, t.Plan) // before they are cut
	out := Feed{Diff: text.Head(t.Diff, feedDiff), Usage: t.Usage}
	out.Cut = len(t.Diff) - len(out.Diff)
	for _, x := range t.Plan {
		out.Plan = append(out.Plan, ralph.PlanStep{Text: text.Head(x.Text, feedText), Status: x.Status})
	}
	for _, n := range t.Forgotten {
		out.More += n.N
	}
	from := max(0, len(t.Items)-feedItems)
	out.More += from
	for _, x := range redact.Value(r, t.Items[from:]) {
		item := FeedItem{Kind: x.Kind, Type: text.Head(x.Type, 64), Text: text.Head(strings.TrimSpace(x.Text), feedText), Exit: x.Exit, Status: x.Status}
		for _, name := range x.Files[:min(len(x.Files), feedFiles)] {
			item.Files = append(item.Files, text.Head(name, feedText))
		}
		if !x.Open && item.Status == "" {
			item.Status = ralph.ItemCompleted
		}
		out.Items = append(out.Items, item)
	}
	return out
}
