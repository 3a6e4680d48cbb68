package thread_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/thread"
	"pgregory.net/rapid"
)

// E-084: three threads that are always ready, 30 turns: ten each, in turn.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	s := thread.NewSchedule(thread.Pace{Slots: 1})
	for _, id := range []string{"a", "b", "c", "a"} {
		s.Add(id)
	}
	for n := range 30 {
		id, _, ok := s.Next(noon())
		if want := []string{"a", "b", "c"}[n%3]; !ok || id != want {
			t.Fatalf("turn %d: %q, want %q", n, id, want)
		}
		if other, _, ok := s.Next(noon()); ok {
			t.Fatalf("%s beside %s, and there is one slot", other, id)
		}
		if err := s.Done(id, false, noon()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Done("a", false, noon()); err == nil {
		t.Error("a turn ended that nobody began")
	}
}

// E-085: turns that end at once and change nothing come further and further apart; one
// that changes something ends that.
func TestCooldown(t *testing.T) {
	t.Parallel()
	s := thread.NewSchedule(thread.UsualPace())
	s.Add("a")
	now := noon()
	take := func() time.Duration {
		t.Helper()
		_, until, ok := s.Next(now)
		if ok {
			return 0
		}
		waits := until.Sub(now)
		now = until
		if _, _, ok := s.Next(now.Add(-1)); ok {
			t.Fatal("it is ready before its cooldown is over")
		}
		if _, _, ok := s.Next(now); !ok {
			t.Fatal("it is not ready after its cooldown")
		}
		return waits
	}
	var gaps []time.Duration
	for n := range 10 {
		gaps = append(gaps, take()/time.Second)
		if err := s.Done("a", n != 7, now); err != nil {
			t.Fatal(err)
		}
	}
	if want := []time.Duration{0, 2, 4, 8, 16, 32, 60, 60, 0, 2}; !slices.Equal(gaps, want) {
		t.Errorf("%v, want %v", gaps, want)
	}
	if _, until, ok := s.Next(now.Add(-time.Hour)); !ok {
		t.Errorf("the clock went back by an hour, and it waits until %s", until)
	}
}

// A thread that is taken out gives its slot back; added again it is ready.
func TestRemove(t *testing.T) {
	t.Parallel()
	s := thread.NewSchedule(thread.Pace{Slots: 1})
	s.Add("a")
	s.Add("b")
	if id, _, _ := s.Next(noon()); id != "a" {
		t.Fatal(id)
	}
	s.Remove("a")
	s.Remove("nobody")
	if id, _, _ := s.Next(noon()); id != "b" {
		t.Fatal(id)
	}
	s.Add("a")
	if err := s.Done("b", false, noon()); err != nil {
		t.Fatal(err)
	}
	if id, _, _ := s.Next(noon()); id != "a" {
		t.Fatal(id)
	}
}

// E-082, E-084: over random turns, a hundred times as long as others too, no thread has two
// turns, no more are at work than there are slots, no slot stays empty while a thread is
// ready, and between two turns of one each other that is ready all the while has one.
func TestFair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pace := thread.Pace{Slots: rapid.IntRange(0, 4).Draw(t, "slots")}
		s := thread.NewSchedule(pace)
		threads := rapid.IntRange(1, 8).Draw(t, "threads")
		length := map[string]int{}
		since := map[string]int{} // of ready threads: how many were served since
		for n := range threads {
			id := fmt.Sprint(n)
			length[id] = rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "length")
			since[id] = 0
			s.Add(id)
		}
		ends := map[string]int{} // of those at work
		for at := range 400 {
			now := noon().Add(time.Duration(at) * time.Second)
			for n := range threads {
				id := fmt.Sprint(n)
				if end, working := ends[id]; working && end <= at {
					delete(ends, id)
					since[id] = 0
					if err := s.Done(id, rapid.Bool().Draw(t, "empty"), now); err != nil {
						t.Fatal(err)
					}
				}
			}
			for {
				id, _, ok := s.Next(now)
				if !ok {
					break
				}
				if _, working := ends[id]; working {
					t.Fatalf("%s has two turns", id)
				}
				ends[id] = at + length[id]
				delete(since, id)
				for other := range since {
					if since[other]++; since[other] >= threads {
						t.Fatalf("%s is ready, and %d turns of others were before it", other, since[other])
					}
				}
			}
			if pace.Slots > 0 && len(ends) > pace.Slots || len(since) > 0 && (pace.Slots == 0 || len(ends) < pace.Slots) {
				t.Fatalf("%d at work, %d ready, %d slots", len(ends), len(since), pace.Slots)
			}
		}
	})
}
