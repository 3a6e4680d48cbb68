package policy_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// continuing are settings under which a task goes on in its agent's own session.
func continuing() policy.Config {
	c := enginetest.Settings()
	c.Continue, c.ContextWarn, c.ContextCompact, c.ContextKill = true, 0.70, 0.85, 0.95
	return c
}

// full is a turn after which the agent's window is filled to so many percent.
func full(percent int64) ralph.TurnEnded {
	return ralph.TurnEnded{Changed: true, Session: "own", Context: ralph.ContextUse{Used: percent, Window: 100}}
}

// from construct.context_compact on the session is made shorter before
// the next turn, once; below it, in fresh sessions, on another agent and where nobody
// knows the window it is not.
func TestCompact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*policy.Config)
		f    ralph.TurnEnded
		want string
		rule string
	}{
		{"below", nil, full(84), "turn 2 claude", "B-026"},
		{"at the limit", nil, full(85), "compact", "A-113"},
		{"above", nil, full(99), "compact", "A-113"},
		{"fresh sessions", func(c *policy.Config) { c.Continue = false }, full(99), "turn 2 claude", "B-026"},
		{"never", func(c *policy.Config) { c.ContextCompact = 0 }, full(99), "turn 2 claude", "B-026"},
		{"no session", nil, ralph.TurnEnded{Changed: true, Context: ralph.ContextUse{Used: 99, Window: 100}}, "turn 2 claude", "B-026"},
		{"no window", nil, ralph.TurnEnded{Changed: true, Session: "own", Context: ralph.ContextUse{Used: 99}}, "turn 2 claude", "B-026"},
	} {
		c := continuing()
		if tt.edit != nil {
			tt.edit(&c)
		}
		b := building(t, c)
		b.turn(tt.f)
		step := b.want(tt.want, tt.rule)
		compact, ok := step.(ralph.Compact)
		if ok && (compact.Agent != "claude" || compact.Session != "own" || compact.Use != tt.f.Context) {
			t.Errorf("%s: %+v", tt.name, compact)
		}
	}
}

// After it the turn comes, in the session that is left or in a new one, even if it is
// as full as before; the next turn may make it necessary again.
func TestAfterCompact(t *testing.T) {
	t.Parallel()
	for how, resume := range map[string]string{ralph.CompactAgent: "own", ralph.CompactHandover: ""} {
		b := building(t, continuing())
		b.turn(full(90))
		b.want("compact", "A-113")
		b.add(ralph.Compacted{Task: "t-1", Agent: "claude", How: how, Session: "own", After: ralph.ContextUse{Used: 90, Window: 100}})
		if turn := b.want("turn 2 claude", "B-026").(ralph.Turn); turn.Resume != resume {
			t.Errorf("%s: resumes %q, want %q", how, turn.Resume, resume)
		}
		b.turn(full(90))
		b.want("compact", "A-113")
	}
}

// A stop, a pause and a passed budget come before it: it costs a turn.
func TestNoCompactAtABoundary(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]func(*board){
		"wait":           func(b *board) { b.person(b.s.Steer(ralph.WantPause, "me")) },
		"finish pending": func(b *board) { b.person(b.s.Steer(ralph.WantStop, "me")) },
		"finish timeout": func(b *board) { b.c.TaskBudget.Iterations = 1 },
		"turn 2 codex": func(b *board) {
			b.add(ralph.AgentLimited{Agent: "claude", Until: b.now.Add(time.Hour), Hard: true})
		},
	} {
		b := building(t, continuing())
		b.turn(full(90))
		f(b)
		step, _ := policy.Next(&b.s, "t-1", b.c, b.now)
		if tell, ok := step.(ralph.Emit); ok { // the switch of the last one
			b.add(tell.Fact)
			step, _ = policy.Next(&b.s, "t-1", b.c, b.now)
		}
		if words(step) != want {
			t.Errorf("%s, want %s", words(step), want)
		}
	}
}

// A full context is no time left: the task is split, in construct and in autopilot,
// once; what ran out of anything else waits for a person in autopilot (B-028).
func TestFullContextIsSplit(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), some(3)...)
	b.expect("t-1 slot 1 at 1", "t-2 slot 2 at 2", "t-3 slot 3 at 3", "hold: every slot is busy")
	b.add(ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "x"})
	b.turn(failure(ralph.ErrClassContext))
	b.end(ralph.TaskTimeout, "X-62")
	b.expect("hold: a task has to be decomposed") // by an agent that sees what the others have made
	b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskTimeout, Why: ralph.Why{Text: "30m used"}}, ralph.TaskEnded{ID: "t-3", Status: ralph.TaskBlocked})
	b.schedule("task.added decompose:a-s-1:t-1")
	b.next()
	b.add(b.schedule("task.started decompose:a-s-1:t-1").(policy.Record).Facts...)
	b.task = "decompose:a-s-1:t-1"
	b.want("turn 1 claude", "D-044")

	failed := *b
	failed.s = *b.s.Clone()
	failed.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskFailed})
	failed.expect("job pending, failed: 2 timed out, 1 blocked")

	part := ralph.Task{ID: "t-9", Name: "part", Parent: "t-1", Status: ralph.TaskPending}
	b.add(ralph.TaskAdded{Task: part})
	b.add(b.s.ReplaceTask("t-1", []ralph.TaskID{"t-9"}, ralph.Why{Text: "split"})...)
	b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskDone})
	b.rest()
	b.expect("t-9 slot 1 at 4", "hold: nothing else is ready")
	b.task = "t-9"
	b.add(ralph.Prepared{Task: "t-9", Dir: "ralph/.worktrees/4", Branch: "ralph/t-9", Base: "c0", Head: "c0", Tree: "x"})
	b.turn(failure(ralph.ErrClassContext))
	b.end(ralph.TaskTimeout, "X-62")
	b.expect("job pending, failed: 2 timed out, 1 blocked") // what came of a split is not split
}
