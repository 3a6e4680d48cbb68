package policy_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// Between two phases the session of the agent is made shorter when it is too full to
// go on in, and the first task of the next phase takes it over.
func TestCompactBetweenPhases(t *testing.T) {
	t.Parallel()
	full, half := ralph.ContextUse{Used: 86, Window: 100}, ralph.ContextUse{Used: 50, Window: 100}
	for name, c := range map[string]struct {
		edit    func(*policy.Config)
		phase   string // of the second task
		context ralph.ContextUse
		want    string
		rule    string
		session string // that is compacted
	}{
		"too full":        {nil, "second", full, "compact", "A-112", "x"},
		"room left":       {nil, "second", half, "turn 1 me", "D-044", ""},
		"the same phase":  {nil, "", full, "turn 1 me", "D-044", ""},
		"context: fresh":  {func(c *policy.Config) { c.Continue = false }, "second", full, "turn 1 me", "D-044", ""},
		"off":             {func(c *policy.Config) { c.ContextCompact = 0 }, "second", full, "turn 1 me", "D-044", ""},
		"another agent's": {func(c *policy.Config) { c.Agents = []string{"other"} }, "second", full, "turn 1 other", "D-044", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := policy.Config{Agents: []string{"me", "other"}, RecoverPrimary: true, MaxIterations: 9, Parallel: 1, Continue: true, ContextCompact: 0.85}
			b := building(t, config, ralph.Task{ID: "t-2", Status: ralph.TaskPending, Phase: c.phase}, ralph.Task{ID: "t-3", Status: ralph.TaskPending, Phase: c.phase})
			b.turn(ralph.TurnEnded{Session: "x", Context: c.context})
			b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-2"})
			if b.task = "t-2"; c.edit != nil {
				c.edit(&b.c)
			}
			step, ok := b.want(c.want, c.rule).(ralph.Compact)
			if !ok {
				return
			}
			if step != (ralph.Compact{Agent: "me", Session: c.session, Use: c.context, From: "t-1"}) {
				t.Errorf("compact: %+v", step)
			}
			b.add(ralph.Compacted{Task: "t-2", Agent: "me", How: ralph.CompactAgent, After: half, Session: "x"})
			if turn := b.want("turn 1 me", "D-044").(ralph.Turn); turn.Resume != "x" {
				t.Errorf("the phase goes on in session %q", turn.Resume)
			}
			b.turn(ralph.TurnEnded{Session: "y", Context: half})
			b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-3"})
			b.task = "t-3"
			b.want("turn 1 me", "D-044") // the phase has begun
		})
	}
}

// Tasks in worktrees have files of their own: a session does not move there, what
// is known of it does.
func TestPhasesInWorktrees(t *testing.T) {
	t.Parallel()
	b := building(t, policy.Config{Agents: []string{"me"}, MaxIterations: 9, Parallel: 2, Continue: true, ContextCompact: 0.85, Isolated: true},
		ralph.Task{ID: "t-2", Status: ralph.TaskPending, Phase: "second"})
	b.turn(ralph.TurnEnded{Session: "x", Context: ralph.ContextUse{Used: 9, Window: 10}})
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-2"},
		ralph.Prepared{Task: "t-2", Dir: "ralph/.worktrees/1", Branch: "ralph/t-2", Base: "h", Head: "h", Tree: "t"})
	b.task = "t-2"
	if step, ok := b.want("compact", "A-112").(ralph.Compact); !ok || step.Session != "" || step.From != "t-1" {
		t.Errorf("compact: %+v", step)
	}
	b.add(ralph.Compacted{Task: "t-2", Agent: "me", How: ralph.CompactHandover, Summary: "one is there"})
	if turn, ok := b.want("turn 1 me", "D-044").(ralph.Turn); !ok || turn.Resume != "" {
		t.Errorf("the turn: %+v", turn)
	}
}

// A session that was taken over is its agent's: after a switch the turn begins anew.
func TestTakenOverSessionIsOfItsAgent(t *testing.T) {
	t.Parallel()
	b := building(t, policy.Config{Agents: []string{"me", "other"}, RecoverPrimary: true, MaxIterations: 9, Parallel: 1, Continue: true, ContextCompact: 0.85})
	b.add(ralph.Compacted{Task: "t-1", Agent: "me", How: ralph.CompactAgent, Session: "x"})
	if turn, ok := b.want("turn 1 me", "D-044").(ralph.Turn); !ok || turn.Resume != "x" {
		t.Errorf("the turn: %+v", turn)
	}
	b.c.Agents = []string{"other"}
	if turn, ok := b.want("turn 1 other", "D-044").(ralph.Turn); !ok || turn.Resume != "" {
		t.Errorf("the turn of another agent: %+v", turn)
	}
}
