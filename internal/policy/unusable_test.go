package policy_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// gone is a turn of an agent that cannot be used.
func gone(agent string, class ralph.ErrorClass) ralph.TurnEnded {
	f := failure(class)
	f.Agent = agent
	return f
}

// paused has the engine pause for its agents and returns the two facts.
func (b *board) paused() (ralph.AllLimited, ralph.Control) {
	b.t.Helper()
	step, why := policy.Next(&b.s, "t-1", b.c, b.now)
	end, ok := step.(ralph.Finish)
	if !ok || end.Status != ralph.TaskPending || why.Rule != "X-38" {
		b.t.Fatalf("%s by %s, want the task given back", words(step), why)
	}
	b.add(policy.Ending(&b.s, "t-1", end, why, b.c, b.now)...)
	r, ok := policy.Schedule(&b.s, nil, b.c, b.now).(policy.Record)
	if !ok || len(r.Facts) != 2 {
		b.t.Fatalf("schedules %+v, want a pause", r)
	}
	b.add(r.Facts...)
	return r.Facts[0].(ralph.AllLimited), r.Facts[1].(ralph.Control)
}

// uncounted: nothing of it counts against the task, the spec or the session.
func (b *board) uncounted() {
	b.t.Helper()
	x, r := b.s.Task("t-1"), b.s.Task("t-1").Run
	if x.RetryCount != 0 || r.ErrorTries != 0 || r.SameError != 0 || len(r.LimitHits) != 0 || r.Unchanged != 0 || r.Iterations != r.Errored ||
		b.s.Session.TaskFailures != 0 || b.s.Session.Consecutive != 0 || b.s.Session.Failed != 0 || b.s.Spec("q-1").Status != ralph.SpecActive {
		b.t.Errorf("counted: %+v, session %+v", r, b.s.Session)
	}
}

// R-H4: without a network the task is given back and nothing counts; each minute one turn
// tries, for as long as it takes, and people are told once.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	began := b.now
	for n := range 60 {
		first, second := "claude", "codex" // a task goes on with its agent
		if n%2 == 1 {
			first, second = second, first
		}
		b.turn(gone(first, ralph.ErrClassNetwork))
		b.want("turn "+strconv.Itoa(2*n+2)+" "+second, "X-36")
		b.turn(gone(second, ralph.ErrClassNetwork))
		b.uncounted()
		all, pause := b.paused()
		if all.Again != (n > 0) || !all.Until.Equal(b.now.Add(time.Minute)) {
			t.Fatalf("pause %d: %+v", n+1, all)
		}
		if words := "claude: no connection since 2025-01-20T10:00:00Z, next try " + b.now.Add(time.Minute).Format(time.RFC3339); !strings.Contains(pause.Cause, words) {
			t.Fatalf("pause %d says %q, want %q", n+1, pause.Cause, words)
		}
		if hold, ok := policy.Schedule(&b.s, nil, b.c, b.now).(policy.Hold); !ok || !hold.Until.Equal(all.Until) {
			t.Fatalf("holds %+v", hold)
		}
		b.now = b.now.Add(time.Minute)
		b.add(policy.Schedule(&b.s, nil, b.c, b.now).(policy.Record).Facts...)
		b.add(ralph.TaskStarted{ID: "t-1"})
		b.want("turn "+strconv.Itoa(2*n+3)+" "+second, "D-044")
	}
	b.begin("t-1", "claude")
	b.turn(ralph.TurnEnded{Agent: "claude", Changed: true})
	if l := b.s.Limit("claude"); l != nil || b.s.Limit("codex") == nil || !b.s.Limit("codex").First.Equal(began) {
		t.Errorf("after a good turn: %+v", b.s.Limits)
	}
}

// R-H4: without a login the next agent takes over; with none left the engine waits for a
// person, with the command. Resume asks again, and so does the next start.
func TestNotLoggedIn(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Logins = map[string]string{"claude": "claude /login", "codex": "codex login"}
	b := building(t, c)
	b.turn(gone("claude", ralph.ErrClassAuth))
	b.want("turn 2 codex", "X-36")
	if b.s.Session.Fallback != "not logged in" {
		t.Errorf("fallback %q", b.s.Session.Fallback)
	}
	b.turn(gone("codex", ralph.ErrClassAuth))
	b.uncounted()
	_, pause := b.paused()
	for _, want := range []string{"claude: not logged in: run `claude /login`, then resume", "codex: not logged in: run `codex login`"} {
		if !strings.Contains(pause.Cause, want) || strings.Contains(pause.Cause, "by itself") {
			t.Errorf("pause says %q, want %q", pause.Cause, want)
		}
	}
	b.now = b.now.Add(30 * 24 * time.Hour)
	if hold, ok := policy.Schedule(&b.s, nil, b.c, b.now).(policy.Hold); !ok || !hold.Until.IsZero() {
		t.Error("it went on without a person")
	}
	for name, again := range map[string][]ralph.Fact{
		"resume": {ralph.Control{Want: ralph.WantRun}},
		"start":  {ralph.SessionEnded{Reason: ralph.ReasonInterrupted}, ralph.SessionStarted{ID: "s-2", Mode: "agent"}},
	} {
		x := &board{t: t, s: *b.s.Clone(), c: b.c, now: b.now, task: b.task}
		x.add(again...)
		x.add(ralph.TaskStarted{ID: "t-1"})
		x.want("turn 3 codex", "D-044")
		if f := x.turn(gone("codex", ralph.ErrClassAuth))[0].(ralph.AgentLimited); f.Again || f.Login != "codex login" {
			t.Errorf("%s: asked again, it says %+v", name, f)
		}
		x.want("turn 4 claude", "X-36")
	}

	// While another one works, resume has the first asked again as well.
	b = building(t, c)
	b.turn(gone("claude", ralph.ErrClassAuth))
	b.want("turn 2 codex", "X-36")
	b.person(b.s.Steer(ralph.WantRun, "me"))
	if l := b.s.Limit("claude"); !l.Over(b.now) {
		t.Errorf("claude is not asked again: %+v", l)
	}
}

// F-22: an agent that ralph took off its own retries is not asked again at once; a service
// that only says "a while" is asked after that, then ever more rarely; one that names the
// time, then.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   ralph.AgentError
		agent []string
		waits []time.Duration
		hard  bool
	}{
		{"taken over", ralph.AgentError{Wait: 16 * time.Second, Retried: true}, []string{"claude", "codex"}, []time.Duration{16 * time.Second, 48 * time.Second, 144 * time.Second}, true},
		{"taken over at once", ralph.AgentError{Retried: true}, []string{"claude"}, []time.Duration{5 * time.Second, 15 * time.Second}, true},
		{"more than a minute", ralph.AgentError{Wait: time.Minute}, []string{"claude"}, []time.Duration{time.Minute, 3 * time.Minute, 9 * time.Minute, 15 * time.Minute}, true},
		{"tried by nobody", ralph.AgentError{}, []string{"claude"}, []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second}, false},
	} {
		for _, class := range []ralph.ErrorClass{ralph.ErrClassLimit, ralph.ErrClassBusy} {
			c := enginetest.Settings()
			c.Agents = tt.agent
			b := building(t, c)
			for n, wait := range tt.waits {
				f := gone("claude", class)
				e := tt.err
				e.Class, e.Message = class, "429"
				f.Err = &e
				got := b.turn(f)[0].(ralph.AgentLimited)
				if !got.Until.Equal(b.now.Add(wait)) || got.Hard != tt.hard || got.Class != "" {
					t.Errorf("%s, hit %d: until %s, hard %v; want %s", tt.name, n+1, got.Until.Sub(b.now), got.Hard, wait)
				}
				b.now = got.Until
			}
		}
	}
}

// a mode that ends at the first error does not pause for limits. While one task
// is about to fail of them, no other is started: it would be given back at the same instant,
// and started again, without end.
func TestNothingStartsThatNoAgentCanDo(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Parallel = 2
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	until := b.now.Add(time.Hour)
	b.add(ralph.ModeSet{Mode: ralph.Manual})
	for _, agent := range c.Agents {
		b.add(ralph.AgentLimited{Agent: agent, Task: "t-1", Since: b.now, Until: until, Hard: true})
	}
	last := failure(ralph.ErrClassLimit)
	last.Task = "t-1"
	b.add(last)
	move := policy.Schedule(&b.s, []ralph.TaskID{"t-1"}, b.c, b.now)
	if hold, ok := move.(policy.Hold); !ok || !hold.Until.Equal(until) {
		t.Fatalf("schedules %+v, want to wait until %s", move, until)
	}
}
