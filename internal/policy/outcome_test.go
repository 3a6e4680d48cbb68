package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// history is a session with a task in its turn, recorded with the settings c.
func history(t *testing.T, c policy.Config) (*enginetest.Mem, ralph.StepStarted) {
	t.Helper()
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m := enginetest.NewMem(nil)
	write(t, m, 0, ralph.SessionStarted{ID: "s-1", Mode: "agent", Config: raw, Auto: ralph.Autopilot}, ralph.JobStarted{Job: "q-1", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "t-1"})
	return m, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: c.Agents[0], Iteration: 1}}
}

func write(t *testing.T, m *enginetest.Mem, receipt int64, facts ...ralph.Fact) {
	t.Helper()
	if err := m.Answer(t.Context(), "engine", receipt, func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
}

// What follows from a turn is written with its outcome, and decided again by a replay; what a
// journal says of it that does not follow is found.
func TestReplayOfWhatFollows(t *testing.T) {
	c := enginetest.Settings()
	c.StuckThreshold = 1 // so that the first turn without a change is said to be stuck
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	idle := ralph.TurnEnded{Task: "t-1", Stage: ralph.KindBuild, Agent: c.Agents[0], Iteration: 1, Exit: ralph.ExitOK, Ended: now}
	limit := idle
	limit.Exit, limit.Err = ralph.ExitFailed, &ralph.AgentError{Class: ralph.ErrClassLimit, Message: "too much"}
	for name, tt := range map[string]struct {
		turn   ralph.TurnEnded
		change func([]ralph.Fact) []ralph.Fact
		differ int
	}{
		"stuck":             {turn: idle},
		"a limit":           {turn: limit},
		"stuck, not said":   {idle, func(f []ralph.Fact) []ralph.Fact { return f[:1] }, 1},
		"a limit, not said": {limit, func(f []ralph.Fact) []ralph.Fact { return f[:1] }, 1},
		"a limit made up":   {idle, func(f []ralph.Fact) []ralph.Fact { return append(f, ralph.AgentLimited{Agent: "other"}) }, 1},
		"a limit of later": {limit, func(f []ralph.Fact) []ralph.Fact {
			l := f[1].(ralph.AgentLimited)
			l.Until = l.Until.Add(time.Hour)
			return []ralph.Fact{f[0], l}
		}, 1},
		"of an older ralph": {idle, func(f []ralph.Fact) []ralph.Fact {
			e := f[0].(ralph.TurnEnded)
			e.Ended = time.Time{}
			return []ralph.Fact{e}
		}, 0},
		"something else beside": {idle, func(f []ralph.Fact) []ralph.Fact { return append(f, ralph.Noted{Task: "t-1", Text: "psst"}) }, 0},
	} {
		m, receipt := history(t, c)
		receipt.BasedOnSeq = m.State().Seq
		number := receipt.BasedOnSeq + 1
		write(t, m, 0, receipt)
		facts := policy.OutcomeFacts(m.State(), number, receipt, []ralph.Fact{tt.turn}, c)
		if len(facts) != 2 {
			t.Fatalf("%s: %+v: want the turn and what follows", name, facts)
		}
		if tt.change != nil {
			facts = tt.change(facts)
		}
		write(t, m, number, facts...)
		got, err := replay.Replay(slices.Values(m.Events()), replay.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		differ := slices.DeleteFunc(got.Differences, func(d replay.Difference) bool { return d.Seq == number }) // no Prepare came first
		if len(differ) != tt.differ {
			t.Errorf("%s: %+v", name, differ)
		}
	}
}

// An outcome that comes when its task is gone is told, and what it saw of the world is kept.
func TestLateOutcome(t *testing.T) {
	c := enginetest.Settings()
	m, receipt := history(t, c)
	receipt.BasedOnSeq = m.State().Seq
	number := receipt.BasedOnSeq + 1
	write(t, m, 0, receipt)
	write(t, m, 0, ralph.TaskRemoved{ID: "t-1"})
	facts := policy.OutcomeFacts(m.State(), number, receipt, []ralph.Fact{
		ralph.CheckoutFound{Head: "h"}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Usage: ralph.Usage{Cost: 3, Known: true}}, ralph.TaskAdded{Task: ralph.Task{ID: "t-9"}},
	}, c)
	late, ok := facts[len(facts)-1].(ralph.StepLate)
	if len(facts) != 2 || !ok || late.Usage.Cost != 3 || late.Receipt != number || !slices.Equal(late.Facts, []string{"turn.ended", "task.added"}) || late.Text != "the task is no longer in the plan" {
		t.Errorf("%+v", facts)
	}
	if facts[0].Kind() != "checkout.found" {
		t.Errorf("%s is first", facts[0].Kind())
	}
}

// What becomes of a request that nobody answered is decided again by a replay.
func TestReplayOfUnanswered(t *testing.T) {
	c := enginetest.Settings()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, onTimeout := range []string{"deny", "stop"} {
		for name, tt := range map[string]struct {
			change func(*ralph.Answered)
			drop   bool // of what came with it
			differ bool
		}{
			"as it was":       {change: func(*ralph.Answered) {}},
			"approved":        {change: func(f *ralph.Answered) { f.Verdict = ralph.Approved }, differ: true},
			"before its time": {change: func(f *ralph.Answered) { f.DecidedAt = now.Add(-time.Hour) }, differ: true},
			"a person":        {change: func(f *ralph.Answered) { f.Verdict, f.DecidedAt = ralph.Approved, time.Time{} }, drop: true},
			"it went on":      {change: func(*ralph.Answered) {}, drop: true, differ: onTimeout == "stop"},
		} {
			c.OnTimeout = onTimeout
			m, receipt := history(t, c)
			write(t, m, 0, receipt)
			gate := ralph.Approval{ID: "g-1", Task: "t-1", Kind: ralph.ApprovalRequest, InTurn: true, AskedAt: now.Add(-time.Minute), Deadline: now}
			write(t, m, 0, ralph.Asked{Approval: gate})
			s := m.State()
			facts, _ := policy.Unanswered(s, s.Approvals[0], c, now)
			if want := map[string]int{"deny": 1, "stop": 2}[onTimeout]; len(facts) != want {
				t.Fatalf("%s: %+v", onTimeout, facts)
			}
			answer := facts[0].(ralph.Answered)
			tt.change(&answer)
			facts[0] = answer
			if tt.drop {
				facts = facts[:1]
			}
			write(t, m, 0, facts...)
			got, err := replay.Replay(slices.Values(m.Events()), replay.ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if differs := slices.ContainsFunc(got.Differences, func(d replay.Difference) bool { return d.Seq == s.Seq+1 }); differs != tt.differ {
				t.Errorf("%s, %s: %+v", onTimeout, name, got.Differences)
			}
		}
	}
}

// An outcome of a step that no task was at is a broken link of the history.
func TestVerifyOutcomes(t *testing.T) {
	c := enginetest.Settings()
	for name, tt := range map[string]struct {
		off    int64
		broken bool
	}{"its own receipt": {0, false}, "another": {1, true}} {
		m, receipt := history(t, c)
		receipt.BasedOnSeq = m.State().Seq
		write(t, m, 0, receipt)
		number := m.State().Seq
		write(t, m, number+tt.off, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK}, ralph.Noted{Task: "t-1", Text: "more of it"})
		v, err := replay.Verify(slices.Values(m.Events()))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(v.Broken, func(b replay.Broken) bool { return b.Link == "outcome" }); got != tt.broken {
			t.Errorf("%s: %+v", name, v.Broken)
		}
	}
}
