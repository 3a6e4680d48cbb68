package thread_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/thread"
	"pgregory.net/rapid"
)

// play gives a thread one whole turn.
func play(t *testing.T, th *thread.Thread, x thread.Ended, events ...ralph.StreamEvent) {
	t.Helper()
	if err := th.Begin(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprint("turn ", th.State.Turn)
	for _, e := range slices.Concat([]ralph.StreamEvent{{Kind: ralph.StreamTurn}}, events, []ralph.StreamEvent{{Kind: ralph.StreamTurnDone}}) {
		e.Thread, e.Turn = "agent's", name
		th.Add(e, noon())
	}
	th.Settle(x)
}

func said(words string) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: words, Kind: ralph.ItemMessage, Text: words}}
}

func planned(status string) ralph.StreamEvent {
	return ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: []ralph.PlanStep{{Text: "look", Status: status}}}
}

// E-030, E-036, E-037, E-044: what a turn was is in the state: turn, items, plan, usage,
// errors, what waits, the last decision; the open turn can be looked at before it ends.
func TestState(t *testing.T) {
	t.Parallel()
	th := thread.New("t", "goal")
	if err := th.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []ralph.StreamEvent{
		{Kind: ralph.StreamSession},
		{Kind: ralph.StreamTurn, Turn: "1"},
		planned("pending"), planned("completed"),
		{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: "c", Kind: ralph.ItemCommand, Text: "make"}},
		{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 10, Cost: 1, Known: true}, Context: ralph.ContextUse{Used: 5, Window: 10}},
		{Kind: ralph.StreamApproval, Request: ralph.Request{ID: "a", Command: "curl\nx", Tool: "Bash"}},
		{Kind: ralph.StreamInput, Request: ralph.Request{ID: "q", Text: "which?"}},
		{Kind: ralph.StreamInput, Request: ralph.Request{ID: "q", Text: "which?"}},
		{Kind: ralph.StreamCompacted},
		{Kind: ralph.StreamCompacted},
		{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Class: ralph.ErrClassBusy, Message: "busy"}},
	} {
		e.Thread = "agent's"
		th.Add(e, noon())
	}
	s := &th.State
	want := []thread.Pending{{ID: "a", Text: "Bash curl x", Since: noon()}, {ID: "q", Question: true, Text: "which?", Since: noon()}}
	if !reflect.DeepEqual(s.Pending, want) || s.Ready || !s.Open || s.TurnID != "1" || s.Session != "agent's" {
		t.Errorf("%+v", s)
	}
	in := s.Input()
	if !slices.Equal(in.PendingApprovals, []string{"Bash curl x"}) || !slices.Equal(in.PendingToolInputs, []string{"which?"}) { // E-045
		t.Errorf("%+v", in)
	}
	if live, ok := th.Live(); !ok || live.Plan[0].Status != "completed" || live.Usage.Input != 10 || len(live.Items) != 1 || live.Compacts != 2 {
		t.Errorf("live: %+v", live)
	}
	th.Add(ralph.StreamEvent{Kind: ralph.StreamResolved, Thread: "agent's", Request: ralph.Request{ID: "a"}}, noon())
	if len(s.Pending) != 1 || s.Pending[0].ID != "q" {
		t.Errorf("%+v", s.Pending)
	}
	th.Add(said("I am done."), noon())
	if s.Ready { // E-083: not before
		t.Error("ready before its turn ended")
	}
	th.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: "agent's", Status: ralph.TurnFailed, Err: &ralph.AgentError{Class: ralph.ErrClassAuth, Message: "log in"}}, noon())
	if !s.Ready || s.Open || len(s.Pending) != 0 { // E-083: right after
		t.Errorf("%+v", s)
	}
	th.Settle(thread.Ended{Tree: "x", Took: time.Second, Diff: ralph.DiffSummary{Files: 2, Added: 3, Deleted: 4}, Held: []string{"rm -rf /"}})
	if s.Plan[0].Status != "completed" || !slices.Equal(s.Compactions, []int{1, 1}) || s.Message != "I am done." || len(s.Errors) != 2 ||
		s.Usage.Cost != 1 || s.Context.Used != 5 || s.Spent != time.Second || s.Held[0] != "rm -rf /" || len(s.Items) != 2 {
		t.Errorf("%+v", s)
	}
	if _, ok := th.Live(); ok {
		t.Error("a turn is still under way")
	}
	d := thread.Temper(thread.Rules(s), thread.ByRules, s, thread.Usual(), noon())
	s.Decided(d)
	if s.Ready || s.Decisions[0].Stop != "failed" {
		t.Errorf("%+v", s.Decisions)
	}
	in = s.Input() // E-043, E-044, E-047
	got, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	wantIn := `{"thread_id":"t","turn_id":"1","goal":"goal","last_turn_status":"failed","turn_error":"authentication: log in","last_message":"I am done.",` +
		`"turn_plan":[{"text":"look","status":"completed"}],"diff_summary":{"files":2,"added":3,"deleted":4},"token_usage":{"input":10,"output":0,"cost":1,"context":5,"window":10},` +
		`"pending_approvals":null,"pending_tool_inputs":null,"recent_actions":[{"turn":1,"action":"stop","reason":"the turn failed, and no retry mends it: authentication: log in","stop":"failed"}],"compaction_events":[1,1]}`
	if string(got) != wantIn {
		t.Errorf("%s\nwant %s", got, wantIn)
	}
}

// E-082, E-012, E-016: a thread never has two turns, only its own end ends one, and what comes late, or is
// played again on a resume, changes nothing.
func TestOneTurn(t *testing.T) {
	t.Parallel()
	th := thread.New("t", "goal")
	play(t, th, thread.Ended{}, said("one"))
	if err := th.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := th.Begin(); err == nil || th.State.Turn != 2 {
		t.Errorf("a second turn beside the first: %v, %d", err, th.State.Turn)
	}
	late := func(e ralph.StreamEvent, thread, turn string) {
		e.Thread, e.Turn = thread, turn
		th.Add(e, noon())
	}
	late(ralph.StreamEvent{Kind: ralph.StreamTurnDone}, "agent's", "turn 1")
	late(ralph.StreamEvent{Kind: ralph.StreamTurn}, "a subagent's", "9")
	late(ralph.StreamEvent{Kind: ralph.StreamTurnDone}, "a subagent's", "9")
	if th.State.Ready || !th.State.Open {
		t.Fatal("another turn's end ended this one")
	}
	late(ralph.StreamEvent{Kind: ralph.StreamTurn}, "agent's", "turn 2")
	late(ralph.StreamEvent{Kind: ralph.StreamTurnDone}, "agent's", "turn 2")
	if !th.State.Ready || th.State.TurnID != "turn 2" {
		t.Errorf("%+v", th.State)
	}
	before := th.State
	late(ralph.StreamEvent{Kind: ralph.StreamTurn}, "agent's", "turn 2")
	late(ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: ralph.Usage{Input: 99}}, "agent's", "turn 2")
	late(ralph.StreamEvent{Kind: ralph.StreamInput, Request: ralph.Request{ID: "1"}}, "agent's", "turn 2")
	if !reflect.DeepEqual(before, th.State) {
		t.Errorf("%+v", th.State)
	}
}

// X-57, E-072, E-073: what is progress: a commit, a changed file, a changed plan. Failed
// turns count as failing alike, until one does not or files have changed.
func TestProgress(t *testing.T) {
	t.Parallel()
	th := thread.New("t", "goal")
	s := &th.State
	fails := func(class ralph.ErrorClass, tree string) {
		t.Helper()
		if err := th.Begin(); err != nil {
			t.Fatal(err)
		}
		th.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Status: ralph.TurnFailed, Err: &ralph.AgentError{Class: class}}, noon())
		th.Settle(thread.Ended{Tree: tree, Head: "2"})
	}
	at := func(name string, idle, failing int, changed bool) {
		t.Helper()
		if s.Idle != idle || s.Failing != failing || s.Changed != changed {
			t.Errorf("%s: idle %d, failing %d, changed %v", name, s.Idle, s.Failing, s.Changed)
		}
	}
	play(t, th, thread.Ended{Tree: "a", Head: "1"}, planned("pending"))
	at("the first look", 0, 0, false)
	play(t, th, thread.Ended{Tree: "a", Head: "1"}, planned("pending"))
	play(t, th, thread.Ended{Tree: "a", Head: "1"})
	at("twice nothing", 2, 0, false)
	play(t, th, thread.Ended{Tree: "a", Head: "1"}, planned("completed"))
	at("another plan", 0, 0, false)
	play(t, th, thread.Ended{Tree: "a", Head: "2"})
	at("a commit", 0, 0, true)
	s.Decided(thread.Decision{Action: signature.ActionReview})
	at("a review", 0, 0, false)
	play(t, th, thread.Ended{Tree: "b", Head: "2"})
	at("files", 0, 0, true)
	fails(ralph.ErrClassBusy, "b")
	fails(ralph.ErrClassBusy, "b")
	at("two errors", 0, 2, true)
	fails(ralph.ErrClassServer, "b")
	at("another error", 0, 1, true)
	fails(ralph.ErrClassServer, "c")
	at("the same, with changes", 0, 1, true)
	play(t, th, thread.Ended{Tree: "c", Head: "2"})
	at("a good turn that does nothing", 1, 0, true)
}

// E-046: the last ten decisions are shown, and the state stays small over hundreds of turns
// of an agent that floods it.
func TestStaysSmall(t *testing.T) {
	t.Parallel()
	th := thread.New("t", "goal")
	flood := strings.Repeat("flood ", 1500)
	size := 0
	for n := range 300 {
		if err := th.Begin(); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			id := fmt.Sprint(i)
			th.Add(ralph.StreamEvent{Kind: ralph.StreamApproval, Request: ralph.Request{ID: id, Text: flood}}, noon())
			th.Add(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: id, Kind: ralph.ItemMessage, Text: flood}}, noon())
			th.Add(ralph.StreamEvent{Kind: ralph.StreamCompacted}, noon())
			th.Add(ralph.StreamEvent{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Message: flood}}, noon())
		}
		if len(th.State.Pending) != 20 {
			t.Fatalf("%d requests wait", len(th.State.Pending))
		}
		th.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone}, noon())
		th.Settle(thread.Ended{Held: slices.Repeat([]string{flood}, 50)})
		th.State.Decided(thread.Temper(signature.DecisionOut{Action: signature.ActionPause, Reason: flood, NextInput: flood, Confidence: 1}, "m", &th.State, thread.Limits{}, noon()))
		b, err := json.Marshal(th.State)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case n == 20:
			size = len(b)
		case n > 20 && len(b) > size+100: // numbers get longer
			t.Fatalf("%d bytes after turn %d, %d after the 21st", len(b), n+1, size)
		}
	}
	if len(th.State.Decisions) != 10 || th.State.Decisions[9].Turn != 300 || size > 64<<10 {
		t.Errorf("%d decisions, %d bytes", len(th.State.Decisions), size)
	}
}

// E-003, E-005, E-006: the same events give the same state and the same decisions, live or
// cut and taken up from its JSON between any two turns.
func TestSameFromItsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		live, kept := thread.New("t", "goal"), thread.New("t", "goal")
		for range rapid.IntRange(1, 8).Draw(t, "turns") {
			var events []ralph.StreamEvent
			for range rapid.IntRange(0, 6).Draw(t, "events") {
				e := ralph.StreamEvent{
					Kind: rapid.SampledFrom([]ralph.StreamKind{
						ralph.StreamTurn, ralph.StreamSession, ralph.StreamItemDone, ralph.StreamPlan, ralph.StreamUsage, ralph.StreamCompacted,
						ralph.StreamApproval, ralph.StreamResolved, ralph.StreamError, ralph.StreamTurnDone,
					}).Draw(t, "kind"),
					Thread:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "thread"),
					Usage:   ralph.Usage{Input: int64(rapid.IntRange(0, 9).Draw(t, "input"))},
					Item:    ralph.Item{ID: "1", Kind: ralph.ItemMessage, Text: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")},
					Request: ralph.Request{ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "request")},
					Plan:    []ralph.PlanStep{{Text: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "step")}},
				}
				if rapid.Bool().Draw(t, "failed") {
					e.Status, e.Err = ralph.TurnFailed, &ralph.AgentError{Class: rapid.SampledFrom([]ralph.ErrorClass{ralph.ErrClassBusy, ralph.ErrClassAuth}).Draw(t, "class")}
				}
				events = append(events, e)
			}
			events = append(events, ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: live.State.Session})
			x := thread.Ended{Tree: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tree"), Finished: rapid.Bool().Draw(t, "finished")}
			b, err := json.Marshal(kept.State)
			if err != nil {
				t.Fatal(err)
			}
			var s thread.State
			if err := json.Unmarshal(b, &s); err != nil {
				t.Fatal(err)
			}
			kept = thread.From(s)
			for _, th := range []*thread.Thread{live, kept} {
				if err := th.Begin(); err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					th.Add(e, noon())
				}
				if th.State.Open { // the end was of another thread
					th.Add(ralph.StreamEvent{Kind: ralph.StreamTurnDone}, noon())
				}
				if th.State.Open {
					t.Fatalf("the turn does not end: %+v", th.State)
				}
				th.Settle(x)
				th.State.Decided(thread.Temper(thread.Rules(&th.State), thread.ByRules, &th.State, thread.Usual(), noon()))
			}
			one, err1 := json.Marshal(live.State)
			two, err2 := json.Marshal(kept.State)
			if err1 != nil || err2 != nil || string(one) != string(two) {
				t.Fatalf("live %s\nkept %s %v %v", one, two, err1, err2)
			}
		}
	})
}

// After a crash the turn that was under way is lost, and nobody waits for its answers.
func TestFromACrash(t *testing.T) {
	t.Parallel()
	th := thread.New("t", "goal")
	play(t, th, thread.Ended{Tree: "a"})
	if err := th.Begin(); err != nil {
		t.Fatal(err)
	}
	th.Add(ralph.StreamEvent{Kind: ralph.StreamInput, Request: ralph.Request{ID: "1"}}, noon())
	again := thread.From(th.State)
	if again.State.Open || len(again.State.Pending) != 0 || again.State.Session != "agent's" {
		t.Errorf("%+v", again.State)
	}
	if err := again.Begin(); err != nil || again.State.Turn != 3 {
		t.Errorf("%v, turn %d", err, again.State.Turn)
	}
}

// A hundred threads that are always ready, 2,000 turns: 20 for each, served
// fairly, and each decided by the rules.
func TestHundredThreads(t *testing.T) {
	t.Parallel()
	s := thread.NewSchedule(thread.Pace{Slots: 4})
	threads, turns := map[string]*thread.Thread{}, map[string]int{}
	for n := range 100 {
		id := fmt.Sprint(n)
		threads[id] = thread.New(id, "goal")
		s.Add(id)
	}
	for n := range 2000 {
		id, _, ok := s.Next(noon())
		if !ok {
			t.Fatal("no thread is ready")
		}
		th := threads[id]
		play(t, th, thread.Ended{Tree: fmt.Sprint(n)}, planned("pending"), said("done"))
		d := thread.Temper(thread.Rules(&th.State), thread.ByRules, &th.State, thread.Usual(), noon())
		if d.Action != signature.ActionContinue {
			t.Fatalf("%+v", d)
		}
		th.State.Decided(d)
		turns[id]++
		if err := s.Done(id, false, noon()); err != nil {
			t.Fatal(err)
		}
	}
	for id, n := range turns {
		if n != 20 {
			t.Errorf("thread %s had %d turns", id, n)
		}
	}
}

// A whole turn of a thread, without its agent: events, state, decision, the next in turn.
func BenchmarkTurn(b *testing.B) {
	s := thread.NewSchedule(thread.UsualPace())
	threads := map[string]*thread.Thread{}
	for n := range 100 {
		id := fmt.Sprint(n)
		threads[id] = thread.New(id, "goal")
		s.Add(id)
	}
	events := []ralph.StreamEvent{{Kind: ralph.StreamTurn}, planned("pending"), said("done"), {Kind: ralph.StreamTurnDone}}
	n := 0
	for b.Loop() {
		id, _, _ := s.Next(noon())
		th := threads[id]
		if err := th.Begin(); err != nil {
			b.Fatal(err)
		}
		for _, e := range events {
			th.Add(e, noon())
		}
		n++
		th.Settle(thread.Ended{Tree: fmt.Sprint(n)})
		th.State.Decided(thread.Temper(thread.Rules(&th.State), thread.ByRules, &th.State, thread.Usual(), noon()))
		if err := s.Done(id, false, noon()); err != nil {
			b.Fatal(err)
		}
	}
}

// A decision by the rules costs next to nothing (below 1 ms a turn).
func BenchmarkDecide(b *testing.B) {
	s := turned()
	l := thread.Usual()
	for b.Loop() {
		_ = thread.Temper(thread.Rules(&s), thread.ByRules, &s, l, noon())
	}
}
