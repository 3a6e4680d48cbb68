package ui

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/workers"
)

func (r *repository) Drain(_ context.Context, worker string) (string, error) {
	return r.done("drain " + worker)
}

// onFleet is atWork with steps on other machines: one worker has one, one drains, one is lost, one is of another version.
func onFleet(t testing.TB) *repository {
	t.Helper()
	r := atWork(t)
	now := r.story.Now
	r.fleet = &workers.Moment{
		At: now, Until: now.Add(time.Minute), Pid: 42,
		Workers: []workers.Worker{
			{Name: "east", State: workers.Draining, Agents: []string{"codex"}, Slots: 2, Busy: 1, Version: "v0.9.0", Heard: now},
			{Name: "north", State: workers.Ready, Agents: []string{"claude", "codex"}, Labels: []string{"gpu"}, Slots: 4, Busy: 1, Version: "v0.9.0", Heard: now.Add(-3 * time.Second)},
			{Name: "old", State: workers.Ready, Agents: []string{"claude"}, Slots: 2, Version: "v0.8.0", Heard: now, Wrong: []string{"is another version of ralph and gets no steps of this one"}},
			{Name: "south", State: workers.Lost, Agents: []string{"claude"}, Slots: 2, Version: "v0.9.0", Heard: now.Add(-90 * time.Second)},
		},
		Steps: []workers.Step{{Task: "t-0002", Worker: "north", Since: now.Add(-20 * time.Second), Attempt: 2, Trouble: "activity heartbeat timeout"}, {Task: "t-0004", Worker: "east"}},
	}
	return r
}

// The slots say on which worker each agent is, and below them stand the workers: ready, draining, lost since when. What is
// known of one is a view, and it is drained with the menu, after a question.
func TestWorkers(t *testing.T) {
	t.Parallel()
	r := onFleet(t)
	p := play(t, r, 150, 44).press("1")
	p.want("on north: I read", "waits for you on east: ", "4 workers, 2 of 8 slots busy", "◷ east", "draining 1/2", "✓ north", "ready 1/4", "! old", "gets no steps 0/2",
		"✗ south", "lost since "+r.story.Now.Add(-90*time.Second).Local().Format("15:04:05"))
	p.press("j", "j", "j")
	p.want("✓ ready  north", "Slots      1 busy, 3 free, 4 in all", "Agents     claude, codex", "Labels     gpu", "Version    ralph v0.9.0", "3s ago",
		"t-0002  Write the body  for 20s", "attempt 2; before: activity heartbeat timeout")
	p.press("x")
	p.want("Drain")
	p.press("enter")
	p.want("Have north take no more steps?")
	p.press("y")
	if len(r.did) != 1 || r.did[0] != "drain north" {
		t.Fatalf("the menu did %q", r.did)
	}
	p.press("j", "j")
	p.want("✗ lost  south", "1m 30s ago", "Its steps begin again on other workers.")
	p.press("x")
	p.wantNot("Drain")
}

// Without a fleet nothing speaks of workers.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	play(t, atWork(t), 150, 40).press("1").wantNot("worker", "on north")
}
