package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// board is a real state, made of facts only, with the time.
type board struct {
	t    *testing.T
	s    ralph.State
	c    policy.Config
	now  time.Time
	task ralph.TaskID
	told []ralph.Fact // by Tell
}

func newBoard(t *testing.T, c policy.Config) *board {
	b := &board{t: t, c: c, now: time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC), task: "t-1"}
	b.add(ralph.SessionStarted{ID: "s-1", Mode: c.Session, DryRun: c.PlanOnly})
	return b
}

// building is a board with one active build task, t-1, of the job q-1.
func building(t *testing.T, c policy.Config, more ...ralph.Task) *board {
	b := newBoard(t, c)
	b.add(ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}},
		ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "prepare:q-1", Kind: ralph.KindPrepare, Status: ralph.TaskDone}},
		ralph.Prepared{Task: "prepare:q-1", Head: "h", Tree: "t"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}})
	for _, t := range more {
		b.add(ralph.TaskAdded{Task: t})
	}
	b.add(ralph.TaskStarted{ID: "t-1"})
	return b
}

// stage is a board whose task is a stage of the given kind.
func stageOn(t *testing.T, c policy.Config, kind ralph.TaskKind) *board {
	b := building(t, c)
	b.task = ralph.TaskID(string(kind) + ":q-1")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
		ralph.TaskAdded{Task: ralph.Task{ID: b.task, Kind: kind, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: b.task})
	return b
}

func (b *board) add(facts ...ralph.Fact) {
	for _, f := range facts {
		at := b.now
		if at.Before(b.s.At) {
			at = b.s.At // as in the journal: facts keep their order
		}
		b.s.Apply(ralph.Event{Seq: b.s.Seq + 1, At: at, Hash: fmt.Sprint(b.s.Seq + 1), Fact: f})
	}
}

// rest lets task.delay pass.
func (b *board) rest() { b.now = b.now.Add(b.c.TaskDelay) }

// turn ends a turn of the board's task as the executor records it.
func (b *board) turn(f ralph.TurnEnded) []ralph.Fact {
	f.Task = b.task
	if f.Exit == "" {
		f.Exit = ralph.ExitOK
	}
	if f.Agent == "" {
		f.Agent = b.c.Agents[0]
	}
	f.Ended = b.now
	more := policy.AfterTurn(&b.s, f, b.c)
	b.add(append([]ralph.Fact{f}, more...)...)
	return more
}

func words(step ralph.Step) string {
	switch step := step.(type) {
	case ralph.Finish:
		return "finish " + string(step.Status)
	case ralph.Turn:
		return fmt.Sprintf("turn %d %s", step.Iteration, step.Agent)
	}
	return step.StepName()
}

// want asks Next and compares the step in words, and the rule.
func (b *board) want(step, rule string) ralph.Step {
	b.t.Helper()
	got, why := policy.Next(&b.s, b.task, b.c, b.now)
	for told := 0; told < 3; told++ { // what is only said is said
		tell, ok := got.(ralph.Emit)
		if !ok || step == "tell" {
			break
		}
		b.told = append(b.told, tell.Fact)
		b.add(tell.Fact)
		got, why = policy.Next(&b.s, b.task, b.c, b.now)
	}
	if words(got) != step || why.Rule != rule {
		b.t.Errorf("Next: %s by %s (%s), want %s by %s", words(got), why.Rule, why.Text, step, rule)
	}
	return got
}

// wait asks for a wait of exactly d, and lets it pass.
func (b *board) wait(d time.Duration, rule string) {
	b.t.Helper()
	got := b.want("wait", rule)
	if w, ok := got.(ralph.Wait); ok && w.Until.Sub(b.now) != d {
		b.t.Errorf("waits %s, want %s", w.Until.Sub(b.now), d)
	}
	b.now = b.now.Add(d)
}

func limit(agent string) ralph.TurnEnded {
	return ralph.TurnEnded{Agent: agent, Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassLimit, Message: "429"}}
}

func failure(class ralph.ErrorClass) ralph.TurnEnded {
	return ralph.TurnEnded{Exit: ralph.ExitFailed, Code: 1, Err: &ralph.AgentError{Class: class, Message: "boom"}}
}
