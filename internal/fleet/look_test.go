package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/workers"
)

// A worker is as its newest start stands, however the server orders what it was asked by it.
func TestWorkersAsTheyStoodLast(t *testing.T) {
	t.Parallel()
	at := func(name, run string, state workers.State, s int) seen {
		return seen{announced: announced{Name: name, Run: run, State: state}, At: time.Unix(int64(s), 0)}
	}
	got := ""
	for _, s := range newestOf([]seen{
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
