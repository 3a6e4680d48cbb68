package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workers"
)

// `ralph status` says on which worker each slot's agent is, and how the workers stand; without a fleet it
// speaks of none.
func TestStatusOfAFleet(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	x.Start("t-0001", 1)
	x.Start("t-0002", 2)
	engine := storytest.Alive()
	if said := status.Text(x.S, engine, x.Now); strings.Contains(said, "Fleet:") || strings.Contains(said, "worker") {
		t.Errorf("without a fleet: %s", said)
	}
	engine.Fleet = &workers.Moment{
		Workers: []workers.Worker{
			{Name: "nor\x1bth", State: workers.Ready, Agents: []string{"claude", "codex"}, Labels: []string{"gpu"}, Slots: 4, Busy: 1, Version: "v0.9.0", Heard: x.Now, Wrong: []string{"has another key"}},
			{Name: "south", State: workers.Lost, Agents: []string{"claude"}, Slots: 2, Version: "v0.9.0", Heard: x.Now.Add(-90 * time.Second)},
		},
		Steps: []workers.Step{{Task: "t-0001", Worker: "north"}, {Task: "t-0002", Attempt: 2, Trouble: "no\nroom"}},
	}
	said := status.Text(x.S, engine, x.Now)
	for _, want := range []string{
		"t-0001 One, ", ", on north\n", ", waits for a worker\n", "Fleet:   2 workers, 1 of 4 slots busy\n",
		"north ready, 1 of 4 slots busy, claude codex, gpu, ralph v0.9.0, it has another key\n",
		"south lost, not heard of since " + x.Now.Add(-90*time.Second).Local().Format("15:04:05") + " (1m 30s), claude, ralph v0.9.0\n",
		"t-0002: attempt 2; before: no room\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}
