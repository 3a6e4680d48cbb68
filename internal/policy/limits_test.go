package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// hit ends a turn of the board's task at a limit, and returns the fact of it.
func (b *board) hit(agent string, reset time.Time) ralph.AgentLimited {
	b.t.Helper()
	f := limit(agent)
	f.Err.ResetAt = reset
	more := b.turn(f)
	out, ok := more[len(more)-1].(ralph.AgentLimited)
	if !ok {
		b.t.Fatalf("no limit in %v", more)
	}
	return out
}

// begin puts the receipt of a turn of a task at now.
func (b *board) begin(id ralph.TaskID, agent string) {
	b.add(ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: agent}, DecidedAt: b.now})
}

// 5 s, 15 s, 45 s, and 0 with the hit after which the task
// turns to another agent; the fact says which hit it is and until when.
func TestLimitFacts(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	for try, want := range []int64{5000, 15000, 45000, 0} {
		f := b.hit("claude", time.Time{})
		wait := 5 * time.Second
		for range try {
			wait *= 3
		}
		if f.Try != try+1 || f.BackoffMS != want || f.Hard != (want == 0) || !f.Since.Equal(b.now) || !f.Until.Equal(b.now.Add(wait)) || f.Task != "t-1" || f.Message != "rate_limit: 429" {
			t.Errorf("hit %d: %+v", try+1, f)
		}
		b.now = b.now.Add(wait)
	}
	if f := b.hit("codex", time.Time{}); f.Try != 1 || f.BackoffMS != 5000 {
		t.Errorf("the other agent has no counter of its own: %+v", f)
	}
}

// a good turn ends the row of its agent, and no other does.
func TestLimitCounterIsItsAgents(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	b.hit("claude", time.Time{})
	b.now = b.now.Add(time.Minute)
	b.hit("codex", time.Time{})
	b.now = b.now.Add(time.Minute)
	b.turn(ralph.TurnEnded{Agent: "codex", Changed: true})
	if f := b.hit("claude", time.Time{}); f.Try != 2 {
		t.Errorf("claude: hit %d, want 2", f.Try)
	}
	b.now = b.now.Add(time.Minute)
	if f := b.hit("codex", time.Time{}); f.Try != 1 {
		t.Errorf("codex worked meanwhile: hit %d, want 1", f.Try)
	}
	b.now = b.now.Add(time.Minute)
	b.turn(failure(ralph.ErrClassServer))
	if f := b.hit("claude", time.Time{}); f.Try != 3 {
		t.Errorf("an error in between: hit %d, want 3", f.Try)
	}
}

// A limit whose end nobody knows is asked for ever more rarely, at most every 15
// minutes: it may last for hours. A release does not begin the counter anew.
func TestLimitWithoutEnd(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Agents = c.Agents[:1]
	b := building(t, c)
	var waits []time.Duration
	for range 8 {
		f := b.hit("claude", time.Time{})
		waits = append(waits, f.Until.Sub(b.now))
		if f.Hard {
			b.want("finish pending", "X-38")
			b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskStarted{ID: "t-1"})
		}
		b.now = f.Until
	}
	for n, want := range []float64{5, 15, 45, 135, 405, 900, 900, 900} {
		if waits[n].Seconds() != want {
			t.Errorf("hit %d waits %s, want %g s", n+1, waits[n], want)
		}
	}
	if x := b.s.Task("t-1"); x.RetryCount != 0 || x.Run.ErrorTries != 0 {
		t.Errorf("limits used up retries: %+v", x)
	}
}

// the reset time that the service gives wins. One that is further off than the
// longest backoff is not waited for while another agent is free; one in the past is
// no time.
func TestResetTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reset, wait time.Duration
		hard        bool
	}{
		{time.Second, time.Second, false},
		{45 * time.Second, 45 * time.Second, false},
		{46 * time.Second, 46 * time.Second, true},
		{5 * time.Hour, 5 * time.Hour, true},
		{-time.Minute, 5 * time.Second, false},
	} {
		b := building(t, enginetest.Settings())
		if f := b.hit("claude", b.now.Add(tt.reset)); f.Until.Sub(b.now) != tt.wait || f.Hard != tt.hard || (f.BackoffMS == 0) != tt.hard {
			t.Errorf("reset in %s: %+v", tt.reset, f)
		}
	}
}

// overloaded is a limit like any other; what is no limit goes to the error
// strategy, and a limit under every strategy does not.
func TestWhatIsALimit(t *testing.T) {
	t.Parallel()
	for class, limit := range map[ralph.ErrorClass]bool{
		ralph.ErrClassLimit: true, ralph.ErrClassBusy: true, ralph.ErrClassServer: false, ralph.ErrClassOther: false,
		ralph.ErrClassRequest: false, ralph.ErrClassContext: false, ralph.ErrClassRefusal: false, ralph.ErrClassBudget: false, ralph.ErrClassSpawn: false,
	} {
		for _, strategy := range []string{"retry", "skip", "abort"} {
			c := enginetest.Settings()
			c.Strategy = strategy
			b := building(t, c)
			b.turn(failure(class))
			if (b.s.Limit("claude") != nil) != limit {
				t.Errorf("%s under %s: limits %v", class, strategy, b.s.Limits)
			}
			if limit {
				b.wait(5*time.Second, "X-33")
			}
		}
	}
}

// One slot's limit spares the others the same failure: who needs the agent waits for
// a soft one, and takes the next agent at a hard one.
func TestLimitIsShared(t *testing.T) {
	t.Parallel()
	two := ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskActive}
	b := building(t, enginetest.Settings(), two)
	b.hit("claude", time.Time{})
	b.task = "t-2"
	b.wait(5*time.Second, "X-33")
	b.want("turn 1 claude", "D-044")
	b.task = "t-1"
	b.hit("claude", b.now.Add(time.Hour))
	b.task = "t-2"
	b.want("turn 1 codex", "D-044")
	if f, ok := b.told[len(b.told)-1].(ralph.AgentSwitched); !ok || f != (ralph.AgentSwitched{Task: "t-2", From: "claude", To: "codex", Reason: ralph.SwitchLimit}) {
		t.Errorf("told %+v", b.told)
	}
	if x := b.s.Session; x.Agent != "codex" || x.Fallback != "rate-limited" {
		t.Errorf("active agent %s, fallback %q", x.Agent, x.Fallback)
	}
}

// A turn that began before a limit and meets it later knows less than is known.
func TestLateLimit(t *testing.T) {
	t.Parallel()
	two := ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskActive}
	b := building(t, enginetest.Settings(), two)
	reset := b.now.Add(time.Hour)
	b.hit("claude", reset)
	b.task = "t-2"
	if f := b.hit("claude", time.Time{}); !f.Until.Equal(reset) || !f.Hard {
		t.Errorf("%+v, want until %s and hard", f, reset)
	}
	// The executor decides on the state at the beginning of its turn, in which the
	// limit is not: the fact says less, and what is known stays.
	b.add(ralph.AgentLimited{Agent: "claude", Since: b.now, Until: b.now.Add(5 * time.Second), Task: "t-2", Try: 1, BackoffMS: 5000})
	if l := b.s.Limit("claude"); !l.Until.Equal(reset) || !l.Hard {
		t.Errorf("%+v", l)
	}
}

// After a limit one turn tries alone for 10 s, then all go, also those that follow
// right behind the second one; when it meets the limit again the others have not.
func TestProbe(t *testing.T) {
	t.Parallel()
	more := []ralph.Task{{ID: "t-2", Name: "two", Status: ralph.TaskActive}, {ID: "t-3", Name: "three", Status: ralph.TaskActive}}
	b := building(t, enginetest.Settings(), more...)
	b.hit("claude", time.Time{})
	b.now = b.now.Add(5 * time.Second)
	b.want("turn 2 claude", "X-33")
	b.begin("t-1", "claude")
	b.now = b.now.Add(time.Second)
	b.task = "t-2"
	b.wait(9*time.Second, "X-33")
	b.want("turn 1 claude", "D-044")
	b.begin("t-2", "claude")
	b.task = "t-3"
	b.want("turn 1 claude", "D-044") // not 10 s after the second: the first has shown it
}

// A probe that fails for another reason shows nothing: the next one goes alone again.
// A good one ends the limit for all.
func TestProbeEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		f    ralph.TurnEnded
		want string
	}{
		{"an error", failure(ralph.ErrClassServer), "wait"},
		{"good", ralph.TurnEnded{Changed: true}, "turn 1 claude"},
	} {
		more := []ralph.Task{{ID: "t-2", Name: "two", Status: ralph.TaskActive}, {ID: "t-3", Name: "three", Status: ralph.TaskActive}}
		b := building(t, enginetest.Settings(), more...)
		b.hit("claude", time.Time{})
		b.now = b.now.Add(5 * time.Second)
		b.begin("t-1", "claude")
		b.now = b.now.Add(time.Second)
		b.turn(tt.f)
		b.begin("t-2", "claude")
		b.task = "t-3"
		if got, _ := policy.Next(&b.s, "t-3", b.c, b.now); words(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, words(got), tt.want)
		}
	}
}

// The clock goes back: a limit from before that is tried at once, by one turn alone;
// one that is met after it holds as long as it says, although facts keep their order
// and are dated by the clock as it was.
func TestLimitAndClockBack(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings(), ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskActive})
	b.hit("claude", b.now.Add(time.Hour))
	b.now = b.now.Add(-3 * time.Hour)
	b.add(ralph.AgentSwitched{Task: "t-1", From: "codex", To: "claude"})
	b.want("turn 2 claude", "X-33")
	b.begin("t-1", "claude")
	b.task = "t-2"
	b.wait(10*time.Second, "X-33")
	b.task = "t-1"
	f := b.hit("claude", time.Time{})
	if f.Try != 2 || b.s.At.Before(b.now) {
		t.Fatalf("%+v at %s", f, b.s.At)
	}
	b.wait(15*time.Second, "X-33")
	b.want("turn 3 claude", "X-33")
}

// the chain in any direction, in order, with as many as there are.
func TestChain(t *testing.T) {
	t.Parallel()
	for _, chain := range [][]string{{"claude", "codex"}, {"codex", "claude"}, {"gemini", "codex", "claude"}} {
		c := enginetest.Settings()
		c.Agents = chain
		b := building(t, c)
		for n, agent := range chain {
			b.hit(agent, b.now.Add(time.Hour+time.Duration(n)*time.Minute))
			if n+1 < len(chain) {
				b.want("turn "+string(rune('2'+n))+" "+chain[n+1], "X-36")
			}
		}
		b.want("finish pending", "X-38")
		b.now = b.now.Add(time.Hour) // the first of them is free again: back to it
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskStarted{ID: "t-1"})
		b.want("turn "+string(rune('1'+len(chain)))+" "+chain[0], "D-044")
		if f := b.told[len(b.told)-1].(ralph.AgentSwitched); f.Reason != ralph.SwitchBack || b.s.Session.Fallback != "" {
			t.Errorf("%v: %+v, fallback %q", chain, f, b.s.Session.Fallback)
		}
	}
}

// with every agent at a hard limit the task is given back with
// document A's words and no retry, and the pause is the next thing that is recorded,
// before anything is started: by `limits.wait` it ends by itself, waits for a person,
// or the session ends.
func TestAllAgentsLimited(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]string{
		"": "agents.limited, control", "auto": "agents.limited, control", "ask": "agents.limited, control", "off": "job.ended pending",
	} {
		c := enginetest.Settings()
		c.LimitWait = wait
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
		b.hit("codex", b.now.Add(2*time.Hour))
		b.hit("claude", b.now.Add(time.Hour))
		_, why := policy.Next(&b.s, "t-1", b.c, b.now)
		b.want("finish pending", "X-38")
		if why.Text != "All agents rate limited" {
			t.Errorf("%s: %q", wait, why.Text)
		}
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Why: why})
		m, ok := b.schedule(want).(policy.Record)
		if !ok {
			continue
		}
		b.add(m.Facts...)
		b.allLimitedIn(wait, m)
	}
}

func (b *board) allLimitedIn(wait string, m policy.Move) {
	b.t.Helper()
	if wait == "off" {
		if stop := b.schedule("stop agents limited").(policy.Stop); stop.Ended(&b.s).Cause != "agents_limited" || !strings.Contains(stop.Detail, "claude until") {
			b.t.Errorf("%+v", stop)
		}
		return
	}
	f := m.(policy.Record).Facts[0].(ralph.AllLimited)
	if first := b.now.Add(time.Hour); !f.Until.Equal(first) || f.Task != "t-1" || len(f.Agents) != 2 {
		b.t.Errorf("%+v, want until %s", f, first)
	}
	if s := b.s.Session; s.Pause != ralph.PauseLimits || !strings.Contains(s.Cause, "codex until") || strings.Contains(s.Cause, "by itself") == (wait == "ask") {
		b.t.Errorf("paused by %s: %s", s.Pause, s.Cause)
	}
	hold := b.schedule("hold").(policy.Hold)
	if hold.Until.IsZero() != (wait == "ask") {
		b.t.Errorf("%s holds until %s", wait, hold.Until)
	}
	b.now = b.now.Add(time.Hour)
	if wait == "ask" {
		b.schedule("hold")
		b.person(b.s.Steer(ralph.WantRun, ""))
		b.schedule("task.started t-1")
		return
	}
	b.add(b.schedule("control").(policy.Record).Facts...)
	if b.s.Session.Want != ralph.WantRun || len(b.s.Limits) != 2 {
		b.t.Errorf("%+v, limits %v", b.s.Session, b.s.Limits)
	}
	b.schedule("task.started t-1")
}

// A person during the pause for limits: their pause stays, a stop ends the session, a
// mode that ends at the first error does as well.
func TestPersonWhileAllLimited(t *testing.T) {
	t.Parallel()
	limited := func() *board {
		b := building(t, enginetest.Settings())
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending})
		for _, agent := range b.c.Agents {
			b.add(ralph.AgentLimited{Agent: agent, Since: b.now, Until: b.now.Add(time.Hour), Hard: true})
		}
		b.add(b.schedule("agents.limited, control").(policy.Record).Facts...)
		return b
	}
	b := limited()
	b.person(b.s.Steer(ralph.WantPause, "me"))
	b.now = b.now.Add(2 * time.Hour)
	b.schedule("hold")
	b.person(b.s.Steer(ralph.WantRun, ""))
	b.schedule("task.started t-1")

	b = limited()
	b.person(b.s.Steer(ralph.WantPause, "me"))
	b.person(b.s.Steer(ralph.WantRun, "")) // too early: the limits are still there
	b.schedule("agents.limited, control")

	b = limited()
	b.person(b.s.Steer(ralph.WantStop, "me"))
	b.schedule("job.ended pending")

	b = limited()
	b.person(b.s.SetMode(ralph.Manual))
	b.add(b.schedule("job.ended pending").(policy.Record).Facts...)
	b.schedule("stop agents limited")
}

// with recover_primary false new tasks stay on the fallback, also when
// the primary is free; and go back only when the fallback is limited itself.
func TestStayOnFallback(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.RecoverPrimary = false
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.hit("claude", b.now.Add(time.Hour))
	b.want("turn 2 codex", "X-36")
	b.turn(ralph.TurnEnded{Agent: "codex", Changed: true})
	b.now = b.now.Add(2 * time.Hour)
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-2"})
	b.task = "t-2"
	b.want("turn 1 codex", "D-044")
	b.hit("codex", b.now.Add(time.Hour))
	b.want("turn 2 claude", "X-36")
}

// Stages are turns like any other: their limits, switches and releases.
func TestStageMeetsLimit(t *testing.T) {
	t.Parallel()
	for _, kind := range []ralph.TaskKind{ralph.KindPlan, ralph.KindInvestigate, ralph.KindVerify, ralph.KindDecompose} {
		b := stageOn(t, enginetest.Settings(), kind)
		b.hit("claude", time.Time{})
		b.wait(5*time.Second, "X-33")
		b.want("turn 2 claude", "D-044")
		b.hit("claude", b.now.Add(time.Hour))
		b.want("turn 3 codex", "D-044")
		b.hit("codex", b.now.Add(time.Hour))
		b.want("finish pending", "X-38")
		b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskPending})
		b.schedule("agents.limited, control")
	}
}

// An answer that did not fit is asked for once more in the agent's own session; at
// its limit another agent is asked, which has no such session (D-077, X-37).
func TestReaskOfAnotherAgent(t *testing.T) {
	t.Parallel()
	b := stageOn(t, enginetest.Settings(), ralph.KindVerify)
	b.turn(ralph.TurnEnded{Mismatch: "not an object", Session: "own"})
	b.add(ralph.AgentLimited{Agent: "claude", Since: b.now, Until: b.now.Add(time.Hour), Hard: true})
	if turn := b.want("turn 2 codex", "D-077").(ralph.Turn); turn.Resume != "" || turn.Feedback != "not an object" {
		t.Errorf("%+v", turn)
	}
}

// A person who resumes the pause for limits has all agents tried again at once, and
// one turn alone is the first to do so.
func TestResumeTriesAlone(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings(), ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskActive})
	for _, agent := range b.c.Agents {
		b.add(ralph.AgentLimited{Agent: agent, Since: b.now, Until: b.now.Add(time.Hour), Hard: true})
	}
	b.add(ralph.Control{Want: ralph.WantPause, From: ralph.PauseLimits})
	b.now = b.now.Add(time.Minute)
	b.person(b.s.Steer(ralph.WantRun, ""))
	b.want("turn 1 claude", "D-044")
	b.begin("t-1", "claude")
	b.task = "t-2"
	b.wait(10*time.Second, "X-33")
}

// F-40: the round of a session that works on its fallback goes back to the
// primary agent when its limit is over, and begins the next task then, in this order. To
// take the fallback is no part of a round: that comes with the turn that needs it.
func TestRecoveryComesBeforeTheNextTask(t *testing.T) {
	t.Parallel()
	for _, recover := range []bool{true, false} {
		c := enginetest.Settings()
		c.RecoverPrimary = recover
		b := building(t, c)
		b.add(ralph.TaskAdded{Task: ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}})
		b.hit("claude", b.now.Add(time.Hour))
		b.want("turn 2 codex", "X-36")
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
		b.now = b.now.Add(time.Minute) // past task.delay
		kinds := func() string {
			m, ok := policy.Schedule(&b.s, nil, b.c, b.now).(policy.Record)
			if !ok {
				t.Fatalf("nothing is recorded: %+v", policy.Schedule(&b.s, nil, b.c, b.now))
			}
			var out []string
			for _, f := range m.Facts {
				out = append(out, f.Kind())
			}
			return strings.Join(out, " ")
		}
		if got := kinds(); got != "task.started" {
			t.Errorf("while the limit holds: %s", got)
		}
		b.now = b.now.Add(2 * time.Hour)
		want := map[bool]string{true: "agent.switched task.started", false: "task.started"}[recover]
		if got := kinds(); got != want {
			t.Errorf("recover_primary %v: %s, want %s", recover, got, want)
		}
		b.add(policy.Schedule(&b.s, nil, b.c, b.now).(policy.Record).Facts...)
		told := len(b.told)
		step, _ := policy.Next(&b.s, "t-2", b.c, b.now)
		if turn, ok := step.(ralph.Turn); !ok || turn.Agent != map[bool]string{true: "claude", false: "codex"}[recover] || len(b.told) != told {
			t.Errorf("recover_primary %v: then %#v", recover, step)
		}
	}
}
