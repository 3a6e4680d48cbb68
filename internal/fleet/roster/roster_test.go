package roster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workers"
)

// A worker is as its newest start stands, however the server orders what it was asked by it.
func TestWorkersAsTheyStoodLast(t *testing.T) {
	t.Parallel()
	at := func(name, run string, state workers.State, s int) Seen {
		return Seen{Said: Said{Name: name, Run: run, State: state}, At: time.Unix(int64(s), 0)}
	}
	got := ""
	for _, s := range Newest([]Seen{
		at("b", "1", "", 9), at("a", "1", workers.Draining, 5), at("a", "1", "", 7), // its last question ended after it said so
		at("c", "1", workers.Ended, 8), at("c", "2", "", 12), at("c", "1", workers.Draining, 9), // it was started again
		at("d", "1", workers.Draining, 3), at("d", "1", workers.Ended, 4), at("d", "1", "", 2),
	}) {
		got += fmt.Sprintf("%s %s %s %d\n", s.Name, s.Run, s.State, s.At.Unix())
	}
	if want := "a 1 draining 7\nb 1  9\nc 2  12\nd 1 ended 4\n"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// Who looks from elsewhere sees who has not ended: why one gets no steps, and who is lost by the server's time. Of one that
// is older than the words nothing is known but what it said last.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	said := func(name string, every, ago int) Seen {
		return Seen{Said: Said{Name: name, Revision: "1", Key: "k", Every: every}, At: now.Add(-time.Duration(ago) * time.Second)}
	}
	ended, drains, other := said("ended", 5, 0), said("drains", 5, 0), said("other", 5, 0)
	ended.State, drains.State, other.Revision, other.Key = workers.Ended, workers.Draining, "2", "j"
	all, ready := Reader{Key: "k", Revision: "1", Version: "v9"}.Views([]Seen{said("there", 5, 14), said("gone", 5, 16), said("older", 0, 200), ended, drains, other}, now, 15*time.Second)
	got := ""
	for _, w := range all {
		got += w.Name + " " + w.State + strings.Join(w.Wrong, ", ") + "\n"
	}
	const want = "there \ngone lost\nolder \ndrains draining\nother is another version of ralph and gets no steps of this one: install v9 there, has another RALPH_FLEET_KEY than this machine\n"
	if got != want || len(ready) != 3 || ready[1].Name != "older" {
		t.Errorf("%s, want\n%s, ready %+v", got, want, ready)
	}
}

// What a worker says of itself comes back, and is refused where the server would not take it.
func TestIdentity(t *testing.T) {
	t.Parallel()
	s, err := Said{Name: "north", Labels: []string{"gpu"}, Every: 5}.Identity()
	if back, ok := Of(s); err != nil || !ok || back.Name != "north" || back.Every != 5 || len(back.Labels) != 1 {
		t.Errorf("%v, %s: %+v", err, s, back)
	}
	if _, ok := Of("coordinator j-1"); ok {
		t.Error("a coordinator is a worker")
	}
	if _, err := (Said{Labels: []string{strings.Repeat("x", 1000)}}).Identity(); !errors.Is(err, ralph.ErrUsage) {
		t.Errorf("a long one: %v", err)
	}
}
