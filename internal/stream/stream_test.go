package stream_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/stream"
)

func fold(events ...ralph.StreamEvent) *stream.Store {
	s := stream.New()
	for _, e := range events {
		s.Add(e)
	}
	return s
}

// of names the thread and turn of events.
func of(thread, turn string, events ...ralph.StreamEvent) []ralph.StreamEvent {
	for i := range events {
		events[i].Thread, events[i].Turn = thread, turn
	}
	return events
}

func started(id string, kind ralph.ItemKind) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamItem, Item: ralph.Item{ID: id, Kind: kind, Type: "x"}}
}

func delta(id string, kind ralph.ItemKind, s string) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamDelta, Item: ralph.Item{ID: id, Kind: kind}, Delta: s}
}

func done(i ralph.Item) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: i}
}

func begun() ralph.StreamEvent { return ralph.StreamEvent{Kind: ralph.StreamTurn} }

func over(s ralph.TurnStatus) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamTurnDone, Status: s}
}

func counted(sum ralph.TurnSummary) string {
	var out []string
	for _, c := range sum.Items {
		out = append(out, fmt.Sprintf("%d %s", c.N, c.Kind))
	}
	return strings.Join(out, ", ")
}

// E-014: items once each, in whatever shape they come: with deltas, without, without
// a start, with the delta first, said twice.
func TestItemsOnceEach(t *testing.T) {
	t.Parallel()
	s := fold(of("a", "1", begun(),
		started("m", ralph.ItemMessage), delta("m", ralph.ItemMessage, "Hel"), delta("m", ralph.ItemMessage, "lo"),
		started("c", ralph.ItemCommand), done(ralph.Item{ID: "c", Kind: ralph.ItemCommand, Text: "ls", Output: "x"}),
		done(ralph.Item{ID: "c", Kind: ralph.ItemCommand, Text: "ls", Output: "x"}),
		delta("early", ralph.ItemMessage, "before its start"), started("early", ralph.ItemMessage),
		done(ralph.Item{ID: "r", Kind: ralph.ItemReasoning, Text: "hm"}),
	)...)
	turn, ok := s.Main()
	if !ok || len(turn.Items) != 4 || turn.Ended() {
		t.Fatalf("%+v %v", turn, ok)
	}
	if m := turn.Items[0]; m.Text != "Hello" || !m.Open {
		t.Errorf("message %+v", m)
	}
	if c := turn.Items[1]; c.Output != "x" || c.Open || c.Status != ralph.ItemCompleted {
		t.Errorf("command %+v", c)
	}
	if e := turn.Items[2]; e.Text != "before its start" {
		t.Errorf("delta first: %+v", e)
	}
	if got := counted(s.Summary()); got != "2 message, 1 command, 1 reasoning" {
		t.Error(got)
	}
	s.Add(of("a", "1", done(ralph.Item{ID: "m", Kind: ralph.ItemMessage, Text: "Hello, whole"}))[0])
	if s.Text() != "Hello, whole" {
		t.Errorf("an item's end must outweigh its deltas: %q", s.Text())
	}
}

// E-016, E-017, E-020: only turn.completed ends a turn, an error before it does not.
func TestOnlyCompletedEnds(t *testing.T) {
	t.Parallel()
	s := fold()
	for _, k := range []ralph.StreamKind{
		ralph.StreamSession, ralph.StreamTurn, ralph.StreamItem, ralph.StreamDelta, ralph.StreamItemDone, ralph.StreamPlan,
		ralph.StreamDiff, ralph.StreamUsage, ralph.StreamCompacted, ralph.StreamApproval, ralph.StreamInput, ralph.StreamResolved,
		ralph.StreamError, ralph.StreamUnknown, "new.kind",
	} {
		s.Add(ralph.StreamEvent{Kind: k, Thread: "a", Turn: "1", Err: &ralph.AgentError{Message: "500"}})
		if s.Ended() {
			t.Fatalf("%s ended the turn", k)
		}
	}
	s.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: "a", Turn: "1", Status: ralph.TurnFailed, Err: &ralph.AgentError{Message: "500"}})
	turn, _ := s.Main()
	if !s.Ended() || turn.Status != ralph.TurnFailed || turn.Err.Message != "500" {
		t.Errorf("%+v", turn)
	}
	sum := s.Summary()
	if len(sum.Errors) != 1 || sum.Unknown != 2 || sum.Requests != 2 {
		t.Errorf("%+v", sum)
	}
}

// Late events do not open a turn again; a background command's end is still taken.
func TestLateEvents(t *testing.T) {
	t.Parallel()
	s := fold(of("a", "1", begun(), started("c", ralph.ItemCommand), started("m", ralph.ItemMessage),
		ralph.StreamEvent{Kind: ralph.StreamApproval, Request: ralph.Request{ID: "9"}},
		over(ralph.TurnInterrupted),
		begun(), started("late", ralph.ItemMessage), over(ralph.TurnCompleted),
		ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 7}},
		delta("c", ralph.ItemCommand, "still"), done(ralph.Item{ID: "c", Kind: ralph.ItemCommand, Status: ralph.ItemFailed}),
	)...)
	turn, _ := s.Main()
	if turn.Status != ralph.TurnInterrupted || turn.Usage.Input != 0 || len(turn.Open) != 0 {
		t.Errorf("%+v", turn)
	}
	if len(turn.Items) != 1 || turn.Items[0].Output != "still" || turn.Items[0].Open {
		t.Errorf("items %+v", turn.Items)
	}
}

// A retried answer begins again as a new item: the broken off words are not counted.
func TestRetriedItems(t *testing.T) {
	t.Parallel()
	s := fold(of("a", "1", begun(), started("m1", ralph.ItemMessage), delta("m1", ralph.ItemMessage, "I beg"),
		ralph.StreamEvent{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Message: "Reconnecting... 1/5"}},
		started("m2", ralph.ItemMessage), done(ralph.Item{ID: "m2", Kind: ralph.ItemMessage, Text: "I begin."}),
		over(ralph.TurnCompleted))...)
	if sum := s.Summary(); counted(sum) != "1 message" || len(sum.Errors) != 1 || s.Text() != "I begin." {
		t.Errorf("%+v %q", sum, s.Text())
	}
}

// E-082 as far as the store goes: interleaved threads stay apart, a subagent's end is
// not the root's, an old turn that a resume replays counts for nothing (E-012).
func TestThreadsApart(t *testing.T) {
	t.Parallel()
	var events []ralph.StreamEvent
	events = append(events, of("root", "", ralph.StreamEvent{Kind: ralph.StreamSession})...)
	events = append(events, of("root", "old", ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 99}})...)
	events = append(events, of("root", "1", begun())...)
	events = append(events, of("sub", "2", begun(), started("x", ralph.ItemMessage))...)
	events = append(events, of("root", "1", started("x", ralph.ItemMessage))...)
	events = append(events, of("sub", "2", done(ralph.Item{ID: "x", Kind: ralph.ItemMessage, Text: "sub"}), over(ralph.TurnCompleted))...)
	s := fold(events...)
	if s.Ended() || s.Text() != "" {
		t.Errorf("the subagent ended the root's turn, or spoke for it: %q", s.Text())
	}
	for _, e := range of("root", "1", done(ralph.Item{ID: "x", Kind: ralph.ItemMessage, Text: "root"}),
		done(ralph.Item{ID: "y", Kind: ralph.ItemMessage, Text: "a remark"}), over(ralph.TurnCompleted)) {
		s.Add(e)
	}
	if all := s.Turns(); !s.Ended() || s.Text() != "a remark" || len(all) != 2 || all[0].Usage.Input != 0 {
		t.Errorf("%q %+v", s.Text(), all)
	}
	s.Add(of("root", "1", done(ralph.Item{ID: "x", Kind: ralph.ItemMessage, Text: "the answer", Final: true}))[0])
	if s.Text() != "the answer" {
		t.Errorf("final words: %q", s.Text())
	}
}

// E-021 to E-024, E-030: the last plan, diff, usage and window; compactions, errors
// and requests are counted, the open ones known.
func TestLastOfEach(t *testing.T) {
	t.Parallel()
	plan := func(status string) ralph.StreamEvent {
		return ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: []ralph.PlanStep{{Text: "look", Status: status}}}
	}
	s := fold(of("a", "1", begun(), plan("pending"), plan("completed"),
		ralph.StreamEvent{Kind: ralph.StreamDiff, Diff: "one"}, ralph.StreamEvent{Kind: ralph.StreamDiff, Diff: "two"},
		ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 1}, Context: ralph.ContextUse{Used: 5, Window: 10}},
		ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 2}},
		ralph.StreamEvent{Kind: ralph.StreamCompacted}, ralph.StreamEvent{Kind: ralph.StreamCompacted},
		ralph.StreamEvent{Kind: ralph.StreamApproval, Request: ralph.Request{ID: "1"}},
		ralph.StreamEvent{Kind: ralph.StreamApproval, Request: ralph.Request{ID: "1"}},
		ralph.StreamEvent{Kind: ralph.StreamInput, Request: ralph.Request{ID: "2"}},
		ralph.StreamEvent{Kind: ralph.StreamResolved, Request: ralph.Request{ID: "1"}},
		done(ralph.Item{ID: "e", Kind: ralph.ItemEdit, Files: []string{"a.go", "b.go"}}),
		done(ralph.Item{ID: "f", Kind: ralph.ItemEdit, Files: []string{"a.go"}}),
	)...)
	turn, _ := s.Main()
	if turn.Plan[0].Status != "completed" || turn.Diff != "two" || turn.Usage.Input != 2 || turn.Context.Used != 5 || turn.Compacts != 2 {
		t.Errorf("%+v", turn)
	}
	if len(turn.Open) != 1 || turn.Open[0].ID != "2" {
		t.Errorf("open %+v", turn.Open)
	}
	if sum := s.Summary(); sum.Requests != 2 || sum.Compacts != 2 || !slices.Equal(sum.Files, []string{"a.go", "b.go"}) || len(sum.Plan) != 1 {
		t.Errorf("%+v", sum)
	}
}

// Agents without names for threads, turns or items work too.
func TestNameless(t *testing.T) {
	t.Parallel()
	s := fold(started("", ralph.ItemCommand), done(ralph.Item{Kind: ralph.ItemCommand, Text: "ls"}),
		started("", ralph.ItemCommand), done(ralph.Item{Kind: ralph.ItemCommand, Text: "pwd"}),
		done(ralph.Item{Kind: ralph.ItemMessage, Text: "Done."}), over(""))
	if turn, _ := s.Main(); counted(s.Summary()) != "2 command, 1 message" || s.Text() != "Done." || turn.Status != ralph.TurnCompleted {
		t.Errorf("%+v", s.Summary())
	}
}

// A flood of words, items, threads and errors stays bounded, and is counted.
func TestBounded(t *testing.T) {
	t.Parallel()
	s := fold(of("a", "1", begun())...)
	big := strings.Repeat("x", 1<<20)
	for i := range 3000 {
		id := fmt.Sprint(i)
		if i%100 == 0 {
			s.Add(of("a", "1", done(ralph.Item{ID: id, Kind: ralph.ItemCommand, Output: big}))[0])
			continue
		}
		s.Add(of("a", "1", done(ralph.Item{ID: id, Kind: ralph.ItemMessage, Text: id}))[0])
		s.Add(of("thread"+id, "1", begun())[0])
		s.Add(of("a", "1", ralph.StreamEvent{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Message: id}})[0])
	}
	for range 100_000 {
		s.Add(of("a", "1", delta("long", ralph.ItemMessage, strings.Repeat("word ", 20)))[0])
	}
	turn, _ := s.Main()
	bytes := 0
	for _, it := range turn.Items {
		bytes += len(it.Text) + len(it.Output)
	}
	if len(turn.Items) > 1000 || bytes > 16<<20 || len(turn.Errors) > 20 || len(s.Turns()) > 256 {
		t.Errorf("%d items, %d bytes, %d errors, %d turns", len(turn.Items), bytes, len(turn.Errors), len(s.Turns()))
	}
	if got := counted(s.Summary()); got != "2971 message, 30 command" && got != "30 command, 2971 message" {
		t.Error(got)
	}
}

// Items that go on while others are let go stay what they are: which item an event is of is not
// counted from those that are gone.
func TestItemsAmongMany(t *testing.T) {
	t.Parallel()
	s := fold(of("a", "1", begun())...)
	for i := range 5000 {
		id := fmt.Sprint(i % 1500) // ids come again, some while they are still known
		s.Add(of("a", "1", ralph.StreamEvent{Kind: ralph.StreamItem, Item: ralph.Item{ID: id, Kind: ralph.ItemCommand, Text: fmt.Sprint("call ", i)}})[0])
		s.Add(of("a", "1", done(ralph.Item{ID: id, Kind: ralph.ItemCommand, Text: fmt.Sprint("call ", i), Output: fmt.Sprint("said ", i)}))[0])
	}
	turn, _ := s.Main()
	if n := len(turn.Items); n < 900 || n > 1000 {
		t.Fatalf("%d items", n)
	}
	for k, it := range turn.Items {
		i := 5000 - len(turn.Items) + k
		if it.Open || it.ID != fmt.Sprint(i%1500) || it.Text != fmt.Sprint("call ", i) || it.Output != fmt.Sprint("said ", i) {
			t.Fatalf("item %d is %+v, want that of call %d", k, it, i)
		}
	}
}

// E-015: an event of a kind that nobody knows is kept, in bounds, and still JSON.
func TestUnknownIsKept(t *testing.T) {
	t.Parallel()
	s := stream.New()
	for range 100 {
		s.Add(ralph.StreamEvent{Kind: ralph.StreamUnknown, Method: "item/new", Raw: json.RawMessage(`"` + strings.Repeat("ü", 1<<20) + `"`)})
	}
	turn, _ := s.Main()
	if turn.NUnknown != 100 || s.Summary().Unknown != 100 || len(turn.Unknown) > 32 || turn.Unknown[0].Method != "item/new" {
		t.Errorf("%d of %d kept", len(turn.Unknown), turn.NUnknown)
	}
	if raw := turn.Unknown[0].Raw; len(raw) > 4<<10 || !json.Valid(raw) {
		t.Errorf("%d bytes: %.100s", len(raw), raw)
	}
}

// E-003, E-031: any events in any order fold without a panic, and the same events give
// the same state, live (looked at in between) or replayed.
func TestSameEventsSameState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 0, 60).Draw(t, "events")
		live, replayed := stream.New(), stream.New()
		ended := 0
		for _, e := range events {
			live.Add(e)
			_, _, _ = live.Summary(), live.Text(), live.Turns()
			if e.Kind == ralph.StreamTurnDone {
				ended++
			}
			if n := endedTurns(live); n > ended {
				t.Fatalf("%d turns are over after %d turn.completed", n, ended)
			}
		}
		for _, e := range events {
			replayed.Add(e)
		}
		if !reflect.DeepEqual(live.Turns(), replayed.Turns()) || !reflect.DeepEqual(live.Summary(), replayed.Summary()) || live.Text() != replayed.Text() {
			t.Fatalf("live %+v\nreplayed %+v", live.Turns(), replayed.Turns())
		}
	})
}

func endedTurns(s *stream.Store) int {
	n := 0
	for _, t := range s.Turns() {
		if t.Ended() {
			n++
		}
	}
	return n
}

func drawEvent(t *rapid.T) ralph.StreamEvent {
	kinds := []ralph.StreamKind{
		ralph.StreamSession, ralph.StreamTurn, ralph.StreamItem, ralph.StreamDelta, ralph.StreamItemDone, ralph.StreamPlan,
		ralph.StreamDiff, ralph.StreamUsage, ralph.StreamCompacted, ralph.StreamApproval, ralph.StreamInput, ralph.StreamResolved,
		ralph.StreamError, ralph.StreamTurnDone, ralph.StreamUnknown, "", "another",
	}
	word := rapid.SampledFrom([]string{"", "1", "2", "3"})
	e := ralph.StreamEvent{
		Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Thread: word.Draw(t, "thread"), Turn: word.Draw(t, "turn"),
		Delta: rapid.StringN(0, 5, -1).Draw(t, "delta"), WillRetry: rapid.Bool().Draw(t, "retry"),
		Item: ralph.Item{
			ID: word.Draw(t, "item"), Kind: rapid.SampledFrom([]ralph.ItemKind{"", ralph.ItemMessage, ralph.ItemCommand, ralph.ItemEdit}).Draw(t, "item kind"),
			Text: word.Draw(t, "text"), Final: rapid.Bool().Draw(t, "final"), Files: []string{word.Draw(t, "file")},
		},
		Request: ralph.Request{ID: word.Draw(t, "request")},
	}
	if rapid.Bool().Draw(t, "err") {
		e.Err = &ralph.AgentError{Message: word.Draw(t, "message")}
	}
	return e
}

// However much an agent says in places where little is expected, the state and what
// goes into the journal stay small.
func TestLongWordsAreBounded(t *testing.T) {
	t.Parallel()
	s, long := stream.New(), strings.Repeat("long ", 1<<16)
	many := slices.Repeat([]string{long}, 200)
	s.Add(ralph.StreamEvent{Kind: ralph.StreamTurn})
	for n := range 300 {
		s.Add(ralph.StreamEvent{Kind: ralph.StreamApproval, Request: ralph.Request{
			ID: fmt.Sprint(n), Tool: long, Command: long, Dir: long, Text: long, Detail: long, Paths: many, Options: many,
			Questions: slices.Repeat([]ralph.Question{{ID: long, Text: long, Options: []string{long}}}, 100),
		}})
	}
	s.Add(ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: slices.Repeat([]ralph.PlanStep{{Text: long, Status: long}}, 300)})
	for n := range 50 {
		s.Add(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: fmt.Sprint(n), Type: long, Status: long, Files: []string{fmt.Sprint(n, long)}}})
		s.Add(ralph.StreamEvent{Kind: ralph.StreamUnknown, Method: long})
	}
	turn, _ := s.Main()
	if n := len(turn.Open); n != 100 || turn.Requests != 300 {
		t.Errorf("%d of %d requests", n, turn.Requests)
	}
	for n := range turn.Items {
		turn.Items[n].Files = nil // these are bounded with all that items hold
	}
	s.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Status: ralph.TurnFailed, Err: &ralph.AgentError{Message: long}})
	ended, _ := s.Main()
	sum := s.Summary()
	for name, v := range map[string]struct {
		v    any
		most int
	}{"state": {turn, 16 << 20}, "one request": {turn.Open[0], 100 << 10}, "error": {ended.Err, 4 << 10}, "summary": {sum, 100 << 10}} {
		b, err := json.Marshal(v.v)
		if err != nil || len(b) > v.most {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
