//go:build soak

package outbox_test

import (
	"fmt"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// C-022, C-055: the whole of TestOnceAcrossKills: processes that are killed every 20 to 170 ms over 60
// entries for each service, three runs of each kind.
func TestOnceLong(t *testing.T)       { long(t, right, well) }
func TestOnceLongTrips(t *testing.T)  { long(t, right, failing) }
func TestOnceLongClocks(t *testing.T) { long(t, jumping, failing) }

func long(t *testing.T, clock func(kill int) string, between func(*trackertest.Server, int)) {
	for _, service := range ralph.Services() {
		t.Run(string(service), func(t *testing.T) {
			for range 3 {
				run(t, service, 60, clock, between)
			}
		})
	}
}

// jumping is a clock that somebody sets at each start and once more in the life of a process: an hour on
// or back, and each time an hour ahead of all that was, so that the journal follows.
func jumping(kill int) string {
	hour := func(n int) string { return fmt.Sprintf("%dh", n) }
	if kill%3 == 2 {
		return hour(-1) + "," + hour(kill+2)
	}
	return hour(kill+1) + "," + hour(kill+[]int{2, -1}[kill%2])
}
