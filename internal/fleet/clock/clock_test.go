package clock

import (
	"testing"
	"time"
)

// Wherever the clocks of a server, a coordinator and a worker are, the worker finds the coordinator's time,
// but for the time that words take; and clocks that are as one are left alone.
func TestWorkerFindsTheCoordinatorsTime(t *testing.T) {
	t.Parallel()
	server := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	for _, coordinator := range []time.Duration{-time.Hour, 0, time.Hour} {
		for _, worker := range []time.Duration{-time.Hour, 0, 2 * time.Second, time.Hour} {
			asked := server.Add(coordinator)
			ahead := Apart(asked, asked.Add(40*time.Millisecond), server.Add(20*time.Millisecond))
			later := 3 * time.Hour // the step has waited
			began := server.Add(later + worker + 5*time.Millisecond)
			shift := Shift(ahead, server.Add(later), began)
			off := began.Add(shift).Sub(server.Add(later + coordinator))
			if off.Abs() > usual {
				t.Errorf("coordinator %s and worker %s before the server: it takes the time to be %s off", coordinator, worker, off)
			}
			if (coordinator-worker).Abs() < time.Minute && shift != 0 {
				t.Errorf("coordinator %s and worker %s before the server: one clock is shifted by %s", coordinator, worker, shift)
			}
		}
	}
	if got := Shift(time.Hour, time.Time{}, server); got != 0 {
		t.Errorf("where the server says nothing: %s", got)
	}
}
