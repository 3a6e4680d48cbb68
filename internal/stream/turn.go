package stream

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Turn is the state of one turn of an agent.
type Turn struct {
	Thread string
	ID     string // "" where the agent has no name for it
	// Begun is false while only events that name the turn were heard of.
	Begun  bool
	Status ralph.TurnStatus  // "" while it goes on
	Err    *ralph.AgentError // why it failed

	Items     []Item           // the last 1000, in the order in which they began
	Plan      []ralph.PlanStep // the last one
	Diff      string           // the last one
	Usage     ralph.Usage      // the last one
	Context   ralph.ContextUse // the last one
	Compacts  int
	Errors    []ralph.AgentError // the last 20, also those that the agent got over
	Open      []ralph.Request    // what waits for an answer
	Requests  int                // all that was asked
	Unknown   []ralph.StreamEvent
	NUnknown  int
	Forgotten []ralph.ItemCount // items that are not in Items any more
}

// Ended reports whether turn.completed came.
func (t *Turn) Ended() bool { return t.Status != "" }

// Item is one item of a turn; it is Open until item.completed.
type Item struct {
	ralph.Item
	Open bool
}

// item is an Item that grows: deltas are gathered apart, or each would copy all of it.
type item struct {
	Item
	more []byte
}

// turn is a Turn that grows. Its state has no Items.
type turn struct {
	state Turn
	items []item
	at    map[string]int // the newest item of each id, counted from the first that ever was; nil: to be looked for anew
	gone  int            // items that at counts and that were let go
	files []string
	asked []string // ids of requests
}

// add folds an event and returns by how many bytes the items grew.
func (t *turn) add(e ralph.StreamEvent) int {
	switch e.Kind {
	case ralph.StreamTurn:
		t.state.Begun = true
		return 0
	case ralph.StreamItem, ralph.StreamDelta, ralph.StreamItemDone:
		return t.item(e)
	case ralph.StreamUnknown:
		t.unknown(e)
		return 0
	case ralph.StreamResolved:
		t.resolved(e.Request.ID)
		return 0
	}
	if t.state.Ended() {
		return 0 // late, or a replay: it changes nothing
	}
	switch e.Kind {
	case ralph.StreamPlan:
		t.state.Plan = slices.Clone(e.Plan[:min(len(e.Plan), maxPlan)])
		for i, p := range t.state.Plan {
			t.state.Plan[i] = ralph.PlanStep{Text: head(p.Text, maxPart), Status: head(p.Status, maxWord)}
		}
	case ralph.StreamDiff:
		t.state.Diff = head(e.Diff, maxDiff)
	case ralph.StreamUsage:
		t.state.Usage = e.Usage
		if e.Context != (ralph.ContextUse{}) {
			t.state.Context = e.Context
		}
	case ralph.StreamCompacted:
		t.state.Compacts++
	case ralph.StreamApproval, ralph.StreamInput:
		t.request(e.Request)
	case ralph.StreamError:
		return t.failed(e)
	case ralph.StreamTurnDone:
		return t.end(e)
	default:
		t.unknown(e)
	}
	return 0
}

func (t *turn) unknown(e ralph.StreamEvent) {
	t.state.NUnknown++
	if len(e.Raw) > maxRaw { // a part of JSON is none: keep it as a string
		cut, err := json.Marshal(strings.ToValidUTF8(string(e.Raw[:maxRaw/2]), ""))
		if err != nil {
			cut = nil
		}
		e.Raw = cut
	}
	e.Raw, e.Method = slices.Clone(e.Raw), head(e.Method, maxPart)
	t.state.Unknown = last(append(t.state.Unknown, e), maxUnknown)
}

func (t *turn) request(q ralph.Request) {
	if q.ID != "" && slices.Contains(t.asked, q.ID) {
		return // the same question once more
	}
	t.state.Requests++
	t.asked = last(append(t.asked, q.ID), maxRequests)
	t.state.Open = last(append(t.state.Open, beginning(q)), maxOpen)
}

// beginning is a request as it is kept: to be told of, not to be decided by.
func beginning(q ralph.Request) ralph.Request {
	for _, s := range []*string{&q.Tool, &q.Command, &q.Dir, &q.Text, &q.Detail} {
		*s = head(*s, maxPart)
	}
	q.Paths, q.Options = beginnings(q.Paths), beginnings(q.Options)
	q.Questions = slices.Clone(q.Questions[:min(len(q.Questions), maxParts)])
	for i, one := range q.Questions {
		q.Questions[i] = ralph.Question{ID: head(one.ID, maxListed), Text: head(one.Text, maxListed), Options: beginnings(one.Options)}
	}
	return q
}

func beginnings(list []string) []string {
	out := slices.Clone(list[:min(len(list), maxParts)])
	for i, s := range out {
		out[i] = head(s, maxListed)
	}
	return out
}

func (t *turn) resolved(id string) {
	t.state.Open = slices.DeleteFunc(t.state.Open, func(q ralph.Request) bool { return q.ID == id })
}

// failed keeps an error. One that the agent gets over by asking its model again is
// followed by new items that repeat the words of those which it broke off.
func (t *turn) failed(e ralph.StreamEvent) int {
	if e.Err != nil {
		err := *e.Err
		err.Message = head(err.Message, maxMessage)
		t.state.Errors = last(append(t.state.Errors, err), maxErrors)
	}
	if !e.WillRetry {
		return 0
	}
	return t.drop(func(it *item) bool {
		return it.Open && (it.Kind == ralph.ItemMessage || it.Kind == ralph.ItemReasoning)
	})
}

// end ends the turn. Items that are not whole by now never will be, but for commands
// in the background, which end when they end.
func (t *turn) end(e ralph.StreamEvent) int {
	t.state.Begun = true
	if t.state.Status = e.Status; t.state.Status == "" {
		t.state.Status = ralph.TurnCompleted
	}
	if e.Err != nil {
		err := *e.Err
		err.Message = head(err.Message, maxMessage)
		t.state.Err = &err
	}
	t.state.Open = nil
	return t.drop(func(it *item) bool { return it.Open && it.Kind != ralph.ItemCommand })
}

func (t *turn) drop(what func(*item) bool) int {
	bytes := 0
	t.at = nil
	t.items = slices.DeleteFunc(t.items, func(it item) bool {
		gone := what(&it)
		if gone {
			bytes -= it.size()
		}
		return gone
	})
	return bytes
}

// item folds an event of an item and returns by how many bytes the items grew.
func (t *turn) item(e ralph.StreamEvent) int {
	i := t.find(e)
	if i < 0 {
		if t.state.Ended() && e.Kind != ralph.StreamItemDone {
			return 0 // begun too late to belong to the turn
		}
		t.items = append(t.items, item{Item: Item{Item: ralph.Item{ID: e.Item.ID, Kind: e.Item.Kind}, Open: true}})
		i = len(t.items) - 1
		if t.at != nil {
			t.at[e.Item.ID] = i + t.gone
		}
	}
	it := &t.items[i]
	before := it.size()
	switch {
	case e.Kind == ralph.StreamItemDone:
		it.whole(e.Item)
		for _, f := range it.Files {
			t.file(f)
		}
	case !it.Open: // it is whole already
	case e.Kind == ralph.StreamItem:
		it.begin(e.Item)
	default:
		it.grow(e.Delta)
	}
	grown := it.size() - before
	if len(t.items) > maxItems {
		grown -= t.forget()
	}
	return grown
}

// find returns the index of an event's item. Items without an id are told apart by
// their order: the end of one is that of the last open one of its kind.
func (t *turn) find(e ralph.StreamEvent) int {
	if e.Item.ID != "" {
		if t.at == nil {
			t.at = make(map[string]int, len(t.items))
			for i := range t.items {
				t.at[t.items[i].ID] = i + t.gone
			}
		}
		if i, ok := t.at[e.Item.ID]; ok {
			return i - t.gone
		}
		return -1
	}
	for i := len(t.items) - 1; i >= 0; i-- {
		it := &t.items[i]
		if it.ID == "" && it.Open && it.Kind == e.Item.Kind && e.Kind != ralph.StreamItem {
			return i
		}
	}
	return -1
}

// grow takes more of the words of an item, or of a command's or tool's output.
func (it *item) grow(delta string) {
	if it.more = append(it.more, delta...); len(it.more) > 2*maxText {
		it.more = append(it.more[:0], it.more[len(it.more)-maxText:]...)
	}
}

// read puts together what deltas brought: what an item's event said of it first.
func (it *item) read() Item {
	out := it.Item
	if len(it.more) == 0 {
		return out
	}
	switch it.Kind {
	case ralph.ItemCommand, ralph.ItemTool, ralph.ItemEdit:
		out.Output = tail(out.Output+string(it.more), maxText)
	default:
		out.Text = tail(out.Text+string(it.more), maxText)
	}
	return out
}

// begin takes what an item.started says. Words of deltas that came before it stay;
// an item that begins a second time begins anew.
func (it *item) begin(in ralph.Item) {
	if it.Type != "" {
		it.more = nil
	}
	it.Item.Item = bounded(in)
}

// whole takes what an item.completed says; what it leaves out stays as it was.
func (it *item) whole(in ralph.Item) {
	if it.Kind == "" {
		it.Kind = in.Kind
	}
	old := it.read()
	it.Item, it.more = Item{Item: bounded(in)}, nil
	it.Text, it.Output = cmp.Or(it.Text, old.Text), cmp.Or(it.Output, old.Output)
	it.Type, it.Parent = cmp.Or(it.Type, old.Type), cmp.Or(in.Parent, old.Parent)
	it.Status = cmp.Or(it.Status, ralph.ItemCompleted)
	if it.Kind == "" {
		it.Kind = old.Kind
	}
	if len(it.Files) == 0 {
		it.Files = old.Files
	}
	if in.Exit == nil {
		it.Exit = old.Exit
	}
}

func bounded(in ralph.Item) ralph.Item {
	in.Text, in.Output = tail(in.Text, maxText), tail(in.Output, maxText)
	in.Files = slices.Clone(in.Files[:min(len(in.Files), maxFiles)])
	in.Type, in.Status = head(in.Type, maxPart), head(in.Status, maxWord)
	return in
}

func (t *turn) file(name string) {
	if name = head(name, maxPart); name != "" && len(t.files) < maxFiles && !slices.Contains(t.files, name) {
		t.files = append(t.files, name)
	}
}

// forget lets the oldest items go, whole ones first, and returns their bytes. A
// tenth at once, so that it is seldom done.
func (t *turn) forget() int {
	bytes, n := 0, maxItems/10
	if oldest := t.items[:n]; !slices.ContainsFunc(oldest, func(it item) bool { return it.Open }) { // as nearly always
		for i := range oldest {
			it := &oldest[i]
			bytes += it.size()
			t.state.Forgotten = count(t.state.Forgotten, it.Kind, 1)
			if at, ok := t.at[it.ID]; ok && at == i+t.gone {
				delete(t.at, it.ID)
			}
		}
		t.items, t.gone = slices.Delete(t.items, 0, n), t.gone+n
		return bytes
	}
	t.at = nil
	for _, open := range []bool{false, true} {
		t.items = slices.DeleteFunc(t.items, func(it item) bool {
			if n <= 0 || it.Open != open {
				return false
			}
			n--
			bytes += it.size()
			t.state.Forgotten = count(t.state.Forgotten, it.Kind, 1)
			return true
		})
	}
	return bytes
}

// copy returns the state for a caller to keep.
func (t *turn) copy(thread string) Turn {
	out := t.state
	out.Thread = thread
	for i := range t.items {
		out.Items = append(out.Items, t.items[i].read())
	}
	out.Plan = slices.Clone(out.Plan)
	out.Errors, out.Open = slices.Clone(out.Errors), slices.Clone(out.Open)
	out.Unknown, out.Forgotten = slices.Clone(out.Unknown), slices.Clone(out.Forgotten)
	return out
}

// size is how many bytes an item keeps.
func (it *item) size() int {
	n := len(it.Text) + len(it.Output) + len(it.more)
	for _, f := range it.Files {
		n += len(f)
	}
	return n
}

func count(counts []ralph.ItemCount, kind ralph.ItemKind, n int) []ralph.ItemCount {
	for i := range counts {
		if counts[i].Kind == kind {
			counts[i].N += n
			return counts
		}
	}
	return append(counts, ralph.ItemCount{Kind: kind, N: n})
}

// last returns the last n of a list. What it leaves out can be collected.
func last[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	return slices.Clone(list[len(list)-n:])
}

// head and tail cut at whole runes. What they return shares no memory with what
// they cut.
func head(s string, n int) string { return strings.Clone(text.Head(s, n)) }

func tail(s string, n int) string { return strings.Clone(text.Tail(s, n)) }
