package ralph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// The first limit that is known is not forgotten for what a turn that began before it
// reports later: never shorter, never softer; but one that is over is.
func TestLimitsAddUp(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	limited := func(since, until int, hard bool) ralph.AgentLimited {
		return ralph.AgentLimited{Agent: "claude", Since: at(since), Until: at(until), Hard: hard, Task: "t-1"}
	}
	for _, tt := range []struct {
		name   string
		second ralph.AgentLimited
		until  int
		hard   bool
	}{
		{"later and shorter", limited(10, 11, false), 60, true},
		{"later and longer", limited(10, 90, false), 90, true},
		{"after its end", limited(60, 61, false), 61, false},
		{"the clock went back", limited(-60, -59, false), -59, false},
	} {
		s := fold(limited(0, 60, true), tt.second)
		if l := s.Limit("claude"); len(s.Limits) != 1 || !l.Until.Equal(at(tt.until)) || l.Hard != tt.hard || l.Task != "t-1" {
			t.Errorf("%s: %+v", tt.name, s.Limits)
		}
	}
	s := fold(ralph.AgentLimited{Agent: "claude", Until: at(60)}) // as it was written before there was Since
	if l := s.Limit("claude"); !l.Since.Equal(s.At) {
		t.Errorf("since %s", l.Since)
	}
}

// The counters of limits begin anew with a start, the limits stay.
func TestHitsAreOfOneStart(t *testing.T) {
	t.Parallel()
	s := fold(ralph.SessionStarted{ID: "s"}, ralph.TaskAdded{Task: task("t-1")}, ralph.AgentLimited{Agent: "a", Until: start.Add(time.Hour)},
		ralph.TurnEnded{Task: "t-1", Agent: "a", Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassBusy}})
	before := s.Clone()
	apply(s, ralph.SessionStarted{ID: "s", Resumed: true})
	if before.Task("t-1").Run.Hits("a") != 1 || s.Task("t-1").Run.Hits("a") != 0 || len(s.Limits) != 1 {
		t.Errorf("hits %d, then %d; limits %v", before.Task("t-1").Run.Hits("a"), s.Task("t-1").Run.Hits("a"), s.Limits)
	}
}

// A limit that is over, or from before the clock went back, may be tried.
func TestLimitOver(t *testing.T) {
	t.Parallel()
	l := ralph.Limit{Since: start, Until: start.Add(time.Hour)}
	for d, over := range map[time.Duration]bool{0: false, time.Hour - 1: false, time.Hour: true, 2 * time.Hour: true, -time.Minute: true} {
		if l.Over(start.Add(d)) != over {
			t.Errorf("%s after its begin: over %v", d, !over)
		}
	}
}

// An agent's limit is taken away by a good turn that began after it, and by no other.
func TestAgentWorksAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		began time.Duration
		exit  ralph.ExitKind
		agent string
		left  int
	}{
		{time.Hour, ralph.ExitOK, "claude", 0},
		{time.Minute, ralph.ExitOK, "claude", 1}, // it began before the end of the limit
		{time.Hour, ralph.ExitFailed, "claude", 1},
		{time.Hour, ralph.ExitOK, "codex", 1},
	} {
		s := fold(ralph.TaskAdded{Task: task("t-1")}, ralph.AgentLimited{Agent: "claude", Since: start, Until: start.Add(time.Hour)},
			ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: tt.agent}, DecidedAt: start.Add(tt.began)},
			ralph.TurnEnded{Task: "t-1", Agent: tt.agent, Exit: tt.exit})
		if len(s.Limits) != tt.left {
			t.Errorf("%+v: %v", tt, s.Limits)
		}
	}
}

// The sum's cost is unknown as soon as one turn's is, in whatever order, and also
// when that turn reported nothing at all.
func TestUnknownCostStays(t *testing.T) {
	t.Parallel()
	turn := func(known bool) ralph.Fact {
		u := ralph.Usage{}
		if known {
			u = ralph.Usage{Input: 1, Cost: 1, Known: true}
		}
		return ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Usage: u}
	}
	for _, tt := range []struct {
		turns []bool
		known bool
	}{{[]bool{true, true}, true}, {[]bool{false}, false}, {[]bool{false, true}, false}, {[]bool{true, false, true}, false}} {
		s := fold(ralph.SessionStarted{ID: "s"}, ralph.TaskAdded{Task: task("t-1")})
		for _, known := range tt.turns {
			apply(s, turn(known))
		}
		for where, u := range map[string]ralph.Usage{"session": s.Session.Usage, "plan": s.Plan.Usage, "task": s.Task("t-1").Run.Usage, "totals": s.Totals.Usage} {
			if u.Known != tt.known {
				t.Errorf("%v: the %s's cost is known: %v", tt.turns, where, u.Known)
			}
		}
	}
	s := fold(ralph.SessionStarted{ID: "s"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitSpawn}, turn(true))
	if !s.Session.Usage.Known {
		t.Error("a program that did not start cost nothing")
	}
}

// What the errors of a mode are: failed and timed-out tasks since it was set.
func TestErrorsSinceTheMode(t *testing.T) {
	t.Parallel()
	end := func(n int, status ralph.TaskStatus) ralph.Fact {
		return ralph.TaskEnded{ID: ralph.TaskID(fmt.Sprint("t-", n)), Status: status}
	}
	s := engineIn("running")
	apply(s, end(1, ralph.TaskFailed), end(2, ralph.TaskTimeout))
	if got := fmt.Sprint(s.Session.Errors); got != "[t-1 t-2]" {
		t.Errorf("errors %s", got)
	}
	apply(s, end(2, ralph.TaskDone), end(2, ralph.TaskSkipped), end(2, ralph.TaskBlocked), end(2, ralph.TaskPending))
	if got := fmt.Sprint(s.Session.Errors); got != "[t-1 t-2]" {
		t.Errorf("errors %s", got)
	}
	for _, f := range []ralph.Fact{ralph.ModeSet{Mode: ralph.Manual}, ralph.SessionStarted{ID: "s", Resumed: true}, ralph.SessionStarted{ID: "s2"}} {
		c := s.Clone()
		apply(c, f)
		if len(c.Session.Errors) != 0 {
			t.Errorf("%s keeps %v", f.Kind(), c.Session.Errors)
		}
	}
}

// A retry after a crash is a new attempt: its first retry is told again.
func TestRetryIsToldAgainAfterACrash(t *testing.T) {
	t.Parallel()
	s := fold(ralph.TaskAdded{Task: task("t-1")}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitFailed},
		ralph.Retrying{Task: "t-1", Attempt: 1, Until: start}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitCrashed},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true})
	if r := s.Task("t-1").Run; r.Told != 0 || r.ErrorTries != 0 {
		t.Errorf("told %d of %d", r.Told, r.ErrorTries)
	}
}

// Compacted: it costs like a turn, is no iteration, and its window is what is left;
// a handover begins a new session with the summary, until a good turn.
func TestCompacted(t *testing.T) {
	t.Parallel()
	for _, how := range []string{ralph.CompactAgent, ralph.CompactHandover} {
		s := fold(ralph.SessionStarted{ID: "s"}, ralph.TaskAdded{Task: task("t-1")},
			ralph.TurnEnded{Task: "t-1", Agent: "claude", Exit: ralph.ExitOK, Session: "old", Context: ralph.ContextUse{Used: 90, Window: 100}, Usage: ralph.Usage{Known: true}},
			ralph.ContextWarned{Task: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Compact{Agent: "claude"}},
			ralph.Compacted{Task: "t-1", How: how, Session: "old", Summary: "so far", Usage: ralph.Usage{Cost: 0.5, Known: true}, Took: time.Minute})
		r := s.Task("t-1").Run
		session, handover := "old", "so far"
		if how == ralph.CompactHandover {
			session = ""
		}
		if r.Session != session || r.Handover != handover || r.Iterations != 1 || r.Shortened != 1 || r.InFlight != 0 || len(r.Alerts) != 0 ||
			r.Spent != time.Minute || s.Session.Usage.Cost != 0.5 || s.Plan.Usage.Cost != 0.5 || s.Session.Turns != 1 || r.Context != (ralph.ContextUse{}) {
			t.Errorf("%s: %+v, session %+v", how, r, s.Session)
		}
		apply(s, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitFailed})
		if s.Task("t-1").Run.Handover == "" {
			t.Errorf("%s: an error lost the summary", how)
		}
		apply(s, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK})
		if s.Task("t-1").Run.Handover != "" {
			t.Errorf("%s: the summary is told again", how)
		}
	}
	s := fold(ralph.SessionStarted{ID: "s"}, ralph.TaskAdded{Task: task("t-1")}, ralph.Compacted{Task: "t-1", How: ralph.CompactHandover})
	if !s.Session.Usage.Known {
		t.Error("a handover without an agent has an unknown cost")
	}
}

// byTheMinute tells a new state facts at minutes, and wants how many minutes the session and its spec have run at one.
func byTheMinute(t *testing.T) (at func(minute int, facts ...ralph.Fact), want func(minute, session, spec int)) {
	t.Helper()
	var s ralph.State
	start := time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)
	at = func(minute int, facts ...ralph.Fact) {
		for _, f := range facts {
			s.Apply(ralph.Event{Seq: s.Seq + 1, By: "engine", At: start.Add(time.Duration(minute) * time.Minute), Fact: f})
		}
	}
	want = func(minute, session, spec int) {
		t.Helper()
		now := start.Add(time.Duration(minute) * time.Minute)
		if a, b := s.Running(now), s.JobElapsed(now); a != time.Duration(session)*time.Minute || b != time.Duration(spec)*time.Minute {
			t.Errorf("minute %d: the session ran %s, the spec %s; want %d and %d minutes", minute, a, b, session, spec)
		}
	}
	return at, want
}

// F-18, X-59: while all that is at work waits for answers, between turns or in the middle
// of one, no running time passes; beside an agent at work it does.
func TestQuestionsAreNoRunningTime(t *testing.T) {
	t.Parallel()
	at, want := byTheMinute(t)
	asks := func(id ralph.ApprovalID, task ralph.TaskID, inTurn bool) ralph.Fact {
		return ralph.Asked{Approval: ralph.Approval{ID: id, Kind: ralph.ApprovalQuestion, Task: task, InTurn: inTurn}}
	}
	at(0, ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "j", File: "a.md"})
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		at(0, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "x"}}, ralph.TaskStarted{ID: id}, ralph.StepStarted{Task: id, Step: ralph.Turn{Agent: "me"}})
	}
	at(5, ralph.TurnEnded{Task: "t-1", Agent: "me", Exit: ralph.ExitOK}, asks("g-1", "t-1", false))
	want(10, 10, 10) // the other one works
	at(10, asks("g-2", "t-2", true))
	want(600, 10, 10) // it asks in the middle of its turn
	at(600, ralph.Answered{ID: "g-2"})
	want(605, 15, 15)
	at(605, asks("g-3", "t-2", true))
	at(700, ralph.Noted{Text: "somebody looked"})
	want(800, 15, 15)
	at(800, ralph.Answered{ID: "g-1"}) // its task may go on: it is at work again
	want(803, 18, 18)
}

// F-18: how long turns take is counted by the same clock: what one waited for answers in its middle is none of it, so
// that no turn took longer than the session ran.
func TestTurnsAreTimedAsTheSession(t *testing.T) {
	t.Parallel()
	turn := func(took, waited time.Duration) ralph.Fact {
		return ralph.TurnEnded{Task: "t-1", Agent: "me", Exit: ralph.ExitOK, Took: took, Summary: ralph.TurnSummary{Waited: waited}}
	}
	s := fold(ralph.SessionStarted{ID: "s-1"}, ralph.TaskAdded{Task: task("t-1")}, turn(19*time.Second, 18*time.Second), turn(3*time.Second, 0), turn(time.Second, 2*time.Second))
	if n := s.Totals; n.TurnTime != 4*time.Second || n.TurnMax != 3*time.Second || s.Session.Count.TurnMax != n.TurnMax {
		t.Errorf("%s in all, the slowest %s", n.TurnTime, n.TurnMax)
	}
}

// while all that is at work are threads that a person paused, no running time passes.
func TestPausedThreadsAreNoRunningTime(t *testing.T) {
	t.Parallel()
	at, want := byTheMinute(t)
	at(0, ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto}, ralph.PlanStarted{}, ralph.JobStarted{Job: "j"})
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		at(0, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "x"}}, ralph.ThreadStarted{Task: id}, ralph.TaskStarted{ID: id},
			ralph.StepStarted{Task: id, Step: ralph.Turn{Agent: "me"}})
	}
	ended := func(id ralph.TaskID) ralph.Fact {
		return ralph.TurnEnded{Task: id, Agent: "me", Exit: ralph.ExitOK}
	}
	at(5, ralph.ThreadWanted{Task: "t-1", Want: ralph.ThreadPause}, ralph.ThreadWanted{Task: "t-2", Want: ralph.ThreadPause})
	at(6, ended("t-1"))
	want(10, 10, 10) // the other one is in its turn
	at(10, ended("t-2"))
	want(600, 10, 10)
	at(600, ralph.ThreadWanted{Task: "t-2", Want: ralph.ThreadRun})
	want(605, 15, 15)
}

// a pause that is reached, and a start that waits for approval, are no running
// time, neither for the session nor for its spec; what came before and after is.
func TestRestIsNoRunningTime(t *testing.T) {
	t.Parallel()
	at, want := byTheMinute(t)
	at(0, ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart}})
	want(30, 0, 0)
	at(30, ralph.Answered{ID: "g-1", Verdict: ralph.Approved}, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one"}},
		ralph.JobStarted{Job: "j", File: "a.md"}, ralph.TaskStarted{ID: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "me"}})
	want(40, 10, 10)
	at(40, ralph.Control{Want: ralph.WantPause}) // pausing: the turn goes on
	want(45, 15, 15)
	at(50, ralph.TurnEnded{Task: "t-1", Agent: "me", Exit: ralph.ExitOK}) // paused
	want(500, 20, 20)
	at(600, ralph.Noted{Text: "somebody looked"})
	want(700, 20, 20)
	at(700, ralph.Control{Want: ralph.WantRun})
	want(705, 25, 25)
	at(705, ralph.Control{Want: ralph.WantPause})
	// it dies while it is paused, and what it was on is left
	at(900, ralph.SessionStarted{ID: "s-1", Mode: "agent", Resumed: true})
	want(905, 30, 30)
	at(905, ralph.Control{Want: ralph.WantPause})
	at(990, ralph.JobEnded{Status: ralph.SpecPending}, ralph.SessionEnded{Reason: ralph.ReasonInterrupted})
	want(2000, 30, 30)
}
