package outbox_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/outbox"
)

func outboxOf(facts ...ralph.Fact) *ralph.State {
	s := &ralph.State{}
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for i, f := range facts {
		s.Apply(ralph.Event{Seq: int64(i + 1), At: at.Add(time.Duration(i) * time.Second), Fact: f})
	}
	return s
}

// Entries of one item go out in their order, a parked one is passed over, and one that may have
// arrived waits until nothing of it can be under way (C-055).
func TestNextPush(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	ref := func(item, id string) ralph.PushRef {
		return ralph.PushRef{ID: ralph.PushID(id), Service: ralph.GitHub, Item: item}
	}
	want := func(item, id string, seq int64) ralph.Fact {
		return ralph.PushWanted{PushRef: ref(item, id), What: ralph.PushComment, Seq: seq}
	}
	first, other := want("o/r#1", "a", 1), want("o/r#2", "x", 3)
	second := want("o/r#1", "b", 2)
	for _, tt := range []struct {
		name  string
		facts []ralph.Fact
		now   time.Duration
		id    ralph.PushID
		wait  time.Duration // from the beginning
	}{
		{"the oldest", []ralph.Fact{second, first, other}, 5 * time.Second, "b", 0},
		{"in the order of its item", []ralph.Fact{first, second, other}, 5 * time.Second, "a", 0},
		{"another item, while the first may have arrived", []ralph.Fact{first, second, other, ralph.PushTried{PushRef: ref("o/r#1", "a")}}, 5 * time.Second, "x", 0},
		{"nothing else: its wait", []ralph.Fact{first, second, ralph.PushTried{PushRef: ref("o/r#1", "a")}}, 5 * time.Second, "a", 2*time.Second + time.Minute},
		{"after its wait", []ralph.Fact{first, second, ralph.PushTried{PushRef: ref("o/r#1", "a")}}, 2 * time.Minute, "a", 0},
		{"at once, where revisions tell", []ralph.Fact{first, ralph.PushTried{PushRef: ref("o/r#1", "a"), Rev: 7}}, 2 * time.Second, "a", 0},
		{"at once, when its answer came", []ralph.Fact{first, ralph.PushTried{PushRef: ref("o/r#1", "a")}, ralph.PushFailed{PushRef: ref("o/r#1", "a"), Arrived: true, Heard: true}}, 3 * time.Second, "a", 0},
		{"what is parked stops nothing", []ralph.Fact{first, second, ralph.PushRefused{PushRef: ref("o/r#1", "a"), Why: "410"}}, 5 * time.Second, "b", 0},
		{"a limit holds all", []ralph.Fact{first, ralph.ServiceLimited{Service: ralph.GitHub, Until: at.Add(time.Hour)}}, 5 * time.Second, "a", time.Hour},
		{"until a person says so", []ralph.Fact{first, ralph.ServiceLimited{Service: ralph.GitHub, Until: at.Add(time.Hour)}, ralph.ServiceRetried{Service: ralph.GitHub}}, 5 * time.Second, "a", 0},
	} {
		_, p, when := outbox.NextPush(outboxOf(tt.facts...), ralph.GitHub, time.Minute, at.Add(tt.now), outbox.Steady{})
		wait := time.Duration(0)
		if !when.IsZero() {
			wait = when.Sub(at)
		}
		if p == nil || p.ID != tt.id || wait != tt.wait {
			t.Errorf("%s: %+v in %s", tt.name, p, wait)
		}
	}
}

// What may have arrived waits by the time since the machine was started: a clock that was set an hour on
// ends no wait, also across a start of ralph, and one that stands still makes none longer (C-055).
func TestSettleAcrossClocks(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	ref := ralph.PushRef{ID: "a", Service: ralph.Jira, Item: "P-1"}
	tried := func(boot string, up time.Duration) *ralph.State {
		return outboxOf(ralph.PushWanted{PushRef: ref, What: ralph.PushComment, Seq: 1}, ralph.PushTried{PushRef: ref, Boot: boot, UpMS: up.Milliseconds()})
	}
	for _, tt := range []struct {
		name    string
		boot    string
		up      time.Duration // when it was tried, at 1 s
		clock   time.Duration // from the beginning
		nowBoot string
		nowUp   time.Duration
		waits   time.Duration
	}{
		{"the clock goes an hour on", "b1", time.Hour, time.Hour, "b1", time.Hour + 10*time.Second, 50 * time.Second},
		{"the clock stands still", "b1", time.Hour, time.Second, "b1", time.Hour + time.Minute, 0},
		{"the machine was started again", "b1", time.Hour, 2 * time.Second, "b2", 20 * time.Second, 40 * time.Second},
		{"and runs for a while", "b1", time.Hour, 2 * time.Second, "b2", time.Minute, 0},
		{"nobody knows: the clock has to do", "", 0, 31 * time.Second, "b1", time.Hour, 30 * time.Second},
		{"nor now", "b1", time.Hour, 31 * time.Second, "", 0, 30 * time.Second},
	} {
		now := at.Add(tt.clock)
		_, _, when := outbox.NextPush(tried(tt.boot, tt.up), ralph.Jira, time.Minute, now, outbox.Steady{Boot: tt.nowBoot, Up: tt.nowUp})
		wait := time.Duration(0)
		if !when.IsZero() {
			wait = when.Sub(now)
		}
		if wait != tt.waits {
			t.Errorf("%s: it waits %s, want %s", tt.name, wait, tt.waits)
		}
	}
}

// How things stand is said once: what was not tried yet makes room for what is newer (C-071).
func TestStatusTakesThePlaceOfAnOlderOne(t *testing.T) {
	t.Parallel()
	var facts []ralph.Fact
	for i := range int64(5) {
		facts = append(facts, ralph.PushWanted{PushRef: ralph.PushRef{ID: ralph.PushID(rune('a' + i)), Service: ralph.Jira, Item: "P-1"}, What: ralph.PushStatus, Seq: i + 1})
	}
	s := outboxOf(append(facts, ralph.PushWanted{PushRef: ralph.PushRef{ID: "c", Service: ralph.Jira, Item: "P-1"}, What: ralph.PushComment, Seq: 9})...)
	if waiting, _ := s.Waiting(ralph.Jira); waiting != 2 || s.Remotes[0].Pushes[0].Seq != 5 {
		t.Errorf("%+v", s.Remotes[0].Pushes)
	}
}
