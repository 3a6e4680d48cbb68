package policy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// used is a turn that used so much.
func used(tokens int64, dollars float64, took time.Duration) ralph.TurnEnded {
	return ralph.TurnEnded{Changed: true, Usage: ralph.Usage{Input: tokens, Cost: dollars, Known: true}, Took: took}
}

// limitOf is a limit of 10 of what one turn uses 1 of.
func limitOf(what string) policy.Budget {
	switch what {
	case "tokens":
		return policy.Budget{Tokens: 10}
	case "cost":
		return policy.Budget{Cost: 10}
	case "time":
		return policy.Budget{Time: 10 * time.Minute}
	}
	return policy.Budget{Iterations: 10}
}

func inScope(c *policy.Config, scope string, limit policy.Budget) {
	switch scope {
	case "session":
		c.Budget = limit
	case "spec":
		c.SpecBudget = limit
	case "task":
		c.TaskBudget = limit
	}
}

// session, spec and task by tokens, cost, time and iterations. All
// but iterations are passed strictly; the last allowed iteration is the last. Each is
// warned of at 80 %, once. The session is over: it ends and its task is given back;
// the spec: it fails, in autopilot the session ends; the task: it is out of time.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"session", "spec", "task"} {
		for _, what := range []string{"tokens", "cost", "time", "iterations"} {
			t.Run(scope+" "+what, func(t *testing.T) {
				t.Parallel()
				c := enginetest.Settings()
				c.TaskTimeout, c.MaxIterations = 0, 1000
				inScope(&c, scope, limitOf(what))
				b := building(t, c)
				warned := 0
				last := 11 // the turn with which it is over
				if what == "iterations" {
					last = 10
				}
				for n := 1; n <= last; n++ {
					b.now = b.now.Add(time.Minute)
					b.turn(used(1, 1, time.Minute))
					m, warns := policy.Schedule(&b.s, []ralph.TaskID{"t-1"}, b.c, b.now).(policy.Record)
					if warns && n < last {
						b.add(m.Facts...)
						f, ok := m.Facts[0].(ralph.BudgetWarned)
						if warned++; !ok || n != 8 || f.Scope != scope || f.What != what || !strings.HasPrefix(f.Text, "80 % of the "+scope+"'s budget is used: ") || (f.Task == "t-1") != (scope == "task") {
							t.Errorf("after %d turns: %+v", n, m.Facts)
						}
					}
					if n < last {
						b.want(fmt.Sprintf("turn %d claude", n+1), "B-026")
					}
				}
				if warned != 1 {
					t.Errorf("warned %d times", warned)
				}
				b.over(scope, what)
			})
		}
	}
}

// over: what follows when a budget is passed.
func (b *board) over(scope, what string) {
	b.t.Helper()
	setting := map[string]string{"session": "budget.", "spec": "budget.spec.", "task": "budget.task."}[scope] + what
	if _, why := policy.Next(&b.s, "t-1", b.c, b.now); why.Stop != setting { // E-095, F-38
		b.t.Errorf("the stop condition is %q, want %q", why.Stop, setting)
	}
	if scope == "task" {
		b.want("finish timeout", "X-60")
		return
	}
	b.want("finish pending", "X-60")
	b.schedule("hold", "t-1")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending})
	if scope == "spec" {
		b.add(b.schedule("task.added shelve:q-1").(policy.Record).Facts...)
		b.schedule("task.started shelve:q-1")
		return
	}
	b.add(b.schedule("job.ended pending").(policy.Record).Facts...)
	stop := b.schedule("stop budget exceeded").(policy.Stop)
	if cause := stop.Ended(&b.s).Cause; (cause == "max_iterations") != (what == "iterations") || cause != "budget" && what != "iterations" {
		b.t.Errorf("cause %s", cause)
	}
}

// what is over names itself: tokens that are over are no used-up iterations,
// also when the iterations are used up in the same turn.
func TestCauseOfTheEnd(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Budget = policy.Budget{Tokens: 1, Iterations: 1}
	b := building(t, c)
	b.turn(used(5, 0, 0))
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.JobEnded{Status: ralph.SpecPending})
	stop := b.schedule("stop budget exceeded").(policy.Stop)
	if f := stop.Ended(&b.s); f.Cause != "budget" || !strings.Contains(f.Detail, "5 tokens") {
		t.Errorf("%+v", f)
	}
}

// the causes in document A's words.
func TestCauses(t *testing.T) {
	t.Parallel()
	b := newBoard(t, enginetest.Settings())
	for stop, want := range map[policy.Stop]string{
		{Reason: ralph.ReasonComplete}: "all_done", {Reason: ralph.ReasonEmpty}: "no_tasks", {Reason: ralph.ReasonFailed}: "failed",
		{Reason: ralph.ReasonFailed, Cause: "no_tasks"}: "no_tasks", {Reason: ralph.ReasonMaxSpecs}: "max_specs", {Reason: ralph.ReasonMaxCost}: "max_cost",
		{Reason: ralph.ReasonMaxFailures}: "max_failures", {Reason: ralph.ReasonBudget}: "budget", {Reason: ralph.ReasonInterrupted}: "stopped",
		{Reason: ralph.ReasonAborted}: "aborted", {Reason: ralph.ReasonLimited}: "agents_limited", {Reason: ralph.ReasonDenied}: "start_denied",
		{Reason: ralph.ReasonHook}: "stopped_by_a_hook", {Reason: ralph.ReasonPerson}: "a_person_is_needed", {Reason: ralph.ReasonError}: "error",
	} {
		if f := stop.Ended(&b.s); f.Cause != want || f.Reason != stop.Reason {
			t.Errorf("%s: %q, want %q", stop.Reason, f.Cause, want)
		}
	}
	b.add(ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md"}}, ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md"}, ralph.JobEnded{Status: ralph.SpecDone})
	if f := (policy.Stop{Reason: ralph.ReasonEmpty}).Ended(&b.s); f.Cause != "all_done" {
		t.Errorf("an inbox that was worked off: %q", f.Cause)
	}
}

// an unknown cost is over a cost limit, in every scope and from the first turn
// on, planning included; a later turn with a known one does not hide it.
func TestUnknownCostIsOver(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"session", "spec", "task"} {
		c := enginetest.Settings()
		inScope(&c, scope, policy.Budget{Cost: 100})
		b := building(t, c)
		b.turn(ralph.TurnEnded{Changed: true})
		b.turn(used(1, 1, 0))
		want := "finish pending"
		if scope == "task" {
			want = "finish timeout"
		}
		b.want(want, "X-60")
	}
	c := enginetest.Settings()
	c.SpecBudget.Cost = 1
	b := stageOn(t, c, ralph.KindPlan)
	b.turn(used(0, 1.5, 0))
	b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskDone})
	b.schedule("task.added shelve:q-1")
}

// The time of the session or the spec ends a turn and not its task: that is given
// back, and a backoff is not waited for. The task's own time is its own.
func TestTimeOfTheSessionCutsATurn(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"session", "spec", "task"} {
		c := enginetest.Settings()
		inScope(&c, scope, policy.Budget{Time: 10 * time.Minute})
		b := building(t, c)
		turn := b.want("turn 1 claude", "D-044").(ralph.Turn)
		if turn.Timeout != 10*time.Minute+time.Second {
			t.Errorf("%s: may take %s", scope, turn.Timeout)
		}
		b.now = b.now.Add(turn.Timeout)
		b.turn(ralph.TurnEnded{Exit: ralph.ExitTimeout, Took: turn.Timeout})
		want := "finish pending"
		if scope == "task" {
			want = "finish timeout"
		}
		b.want(want, "X-60")
	}
	c := enginetest.Settings()
	c.Budget.Time = 10 * time.Minute
	b := building(t, c)
	b.now = b.now.Add(time.Hour)
	b.turn(ralph.TurnEnded{Exit: ralph.ExitTimeout, Took: 30 * time.Minute}) // its own time was up as well
	b.want("finish timeout", "B-029")

	b = stageOn(t, c, ralph.KindVerify)
	b.now = b.now.Add(11 * time.Minute)
	b.turn(ralph.TurnEnded{Exit: ralph.ExitTimeout, Took: 5 * time.Minute})
	b.want("finish pending", "X-60") // and no retry is told of
	if len(b.told) > 0 {
		t.Errorf("told %+v", b.told)
	}
}

// The task budget is for tasks: a stage is not held by what is left of one, least of
// all to no time or to time without end.
func TestTaskBudgetIsNoStages(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.TaskBudget = policy.Budget{Time: time.Minute, Cost: 0.5}
	b := stageOn(t, c, ralph.KindVerify)
	b.turn(ralph.TurnEnded{Exit: ralph.ExitFailed, Took: time.Minute + time.Second, Usage: ralph.Usage{Cost: 1, Known: true}})
	b.wait(2*time.Second, "X-31")
	if turn := b.want("turn 2 claude", "D-044").(ralph.Turn); turn.Timeout != c.StageTimeout || turn.MaxCost != 0 {
		t.Errorf("%+v", turn)
	}
}

// A spec that is over its budget fails, whatever of it was still to do: stages that
// were given back are not begun again, neither before its changes are put away nor
// while they are.
func TestSpecOverBudget(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.SpecBudget.Iterations = 1
	for _, kind := range []ralph.TaskKind{ralph.KindPlan, ralph.KindDecompose, ralph.KindVerify, ralph.KindInvestigate} {
		b := stageOn(t, c, kind)
		b.add(ralph.TaskAdded{Task: ralph.Task{ID: "t-9", Name: "nine", Status: ralph.TaskPending}})
		b.turn(failure(ralph.ErrClassServer))
		b.add(ralph.TurnEnded{Task: "t-9", Stage: ralph.KindBuild, Exit: ralph.ExitOK})
		b.want("finish pending", "X-60")
		b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskPending})
		b.add(b.schedule("task.added shelve:q-1").(policy.Record).Facts...)
		b.add(b.schedule("task.started shelve:q-1").(policy.Record).Facts...)
	}
}

// In autopilot the plan is the one spec: over its budget the session ends, once.
func TestPilotOverSpecBudget(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.SpecBudget.Cost = 1
	b := parallelOn(t, c, some(2)...)
	b.expect("t-1 slot 1 at 1", "t-2 slot 2 at 2", "hold: nothing else is ready")
	b.turn(used(0, 2, 0))
	b.want("finish pending", "X-60")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskPending})
	b.expect("job pending", "stop budget exceeded")
}

// The reservation: what the turns under way may use counts as used. No more turns
// begin than fit; one alone is never held, and after each the held ones are asked again.
func TestReservation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit policy.Budget
		fit   int
	}{
		{"room for two more by cost", policy.Budget{Cost: 4.9}, 2},
		{"exactly for two", policy.Budget{Cost: 4}, 2},
		{"room for two more by tokens", policy.Budget{Tokens: 4900}, 2},
		{"room for two more by iterations", policy.Budget{Iterations: 4}, 2},
		{"room for none: one alone", policy.Budget{Cost: 2.2}, 1},
		{"no limit", policy.Budget{}, 8},
	} {
		for _, scope := range []string{"session", "spec"} {
			c := enginetest.Settings()
			c.Parallel = 8
			inScope(&c, scope, tt.limit)
			var more []ralph.Task
			for n := range 8 {
				more = append(more, ralph.Task{ID: ralph.TaskID(fmt.Sprint("t-", n+2)), Name: "x", Status: ralph.TaskActive})
			}
			b := building(t, c, more...)
			b.turn(used(500, 0.5, 0))
			b.turn(used(1500, 1.5, 0)) // the mean is 1000 and 1
			b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
			var begun []ralph.TaskID
			for _, x := range more {
				step, why := policy.Next(&b.s, x.ID, b.c, b.now)
				turn, ok := step.(ralph.Turn)
				if !ok {
					if w := step.(ralph.Wait); !w.Until.IsZero() || why.Rule != "X-60" {
						t.Errorf("%s: waits until %s by %s", tt.name, w.Until, why.Rule)
					}
					continue
				}
				if turn.Reserve.Cost != 1 || turn.Reserve.Input != 1000 {
					t.Errorf("%s: reserves %+v", tt.name, turn.Reserve)
				}
				b.add(ralph.StepStarted{Task: x.ID, Step: turn, DecidedAt: b.now})
				begun = append(begun, x.ID)
			}
			if len(begun) != tt.fit {
				t.Errorf("%s of the %s: %d begin, want %d", tt.name, scope, len(begun), tt.fit)
			}
			b.task = begun[0]
			b.turn(used(0, 0, 0)) // it used nothing: its reservation is settled
			if r := b.s.Reserved(); r.Cost != float64(len(begun)-1) {
				t.Errorf("%s: %+v is still reserved", tt.name, r)
			}
		}
	}
}

// Whatever is set, used and reserved: a turn may never cost more than what is left of
// any budget, but for the cent without which the agent would have no limit.
func TestMaxCostOfATurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dollars := func(name string) float64 { return float64(rapid.IntRange(0, 500).Draw(rt, name)) / 100 }
		c := enginetest.Settings()
		c.MaxCost, c.Budget.Cost, c.SpecBudget.Cost, c.TaskBudget.Cost = dollars("max"), dollars("session"), dollars("spec"), dollars("task")
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskActive})
		b.turn(used(1, dollars("used"), 0))
		b.add(ralph.StepStarted{Task: "t-2", Step: ralph.Turn{Agent: "claude", Reserve: ralph.Usage{Cost: dollars("reserved"), Known: true}}, DecidedAt: b.now})
		step, _ := policy.Next(&b.s, "t-1", b.c, b.now)
		turn, ok := step.(ralph.Turn)
		if !ok {
			return
		}
		left := math.Inf(1)
		for _, limit := range []float64{c.MaxCost, c.Budget.Cost, c.SpecBudget.Cost} {
			if limit > 0 { // all was used in one session on one spec
				left = min(left, limit-b.s.Session.Usage.Cost-b.s.Task("t-2").Run.Reserved.Cost)
			}
		}
		if c.TaskBudget.Cost > 0 {
			left = min(left, c.TaskBudget.Cost-b.s.Task("t-1").Run.Usage.Cost)
		}
		switch {
		case math.IsInf(left, 1) && turn.MaxCost != 0:
			rt.Errorf("may cost %f without a limit", turn.MaxCost)
		case !math.IsInf(left, 1) && (turn.MaxCost <= 0 || turn.MaxCost <= left || turn.MaxCost > max(left, 0)+0.02+1e-6):
			rt.Errorf("may cost %f, %f is left", turn.MaxCost, left)
		}
	})
}

// A warning that is out is not said again after a restart of the session; a new plan
// and a new attempt have their own.
func TestWarnedOnce(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.MaxCost = 10
	b := building(t, c)
	b.turn(used(0, 9, 0))
	f := b.schedule("budget.warned", "t-1").(policy.Record).Facts[0].(ralph.BudgetWarned)
	if f.Text != "90 % of the session's budget is used: $9.00 of $10.00" {
		t.Errorf("%q", f.Text)
	}
	b.add(f)
	b.schedule("hold", "t-1")
	b.add(ralph.SessionStarted{ID: "s-1", Resumed: true})
	b.schedule("task.started t-1")
	b.add(ralph.TaskStarted{ID: "t-1"})
	b.turn(used(0, 2, 0))
	b.schedule("hold", "t-1") // over: it ends, and there is nothing to warn of
}

// The time of the session or the spec passes without a fact: who waits then, for a
// person or others, looks up, and so does the engine for its warning. Else a
// session whose time is up would wait for a task that waits for the session.
func TestTimePassesWithoutAFact(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"session", "spec"} {
		c := enginetest.Settings()
		inScope(&c, scope, policy.Budget{Time: 10 * time.Minute})
		c.Parallel = 2
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
		b.add(ralph.TaskStarted{ID: "t-2"}, ralph.StepStarted{Task: "t-2", Step: ralph.Turn{Agent: "claude"}}) // beside it an agent works
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
		b.ask("B-025")
		if hold := b.schedule("hold", "t-1", "t-2").(policy.Hold); hold.Until.Sub(b.now) != 8*time.Minute+time.Microsecond {
			t.Errorf("%s: holds for %s, and the warning is due", scope, hold.Until.Sub(b.now))
		}
		b.now = b.now.Add(8*time.Minute + time.Microsecond)
		b.add(b.schedule("budget.warned", "t-1", "t-2").(policy.Record).Facts...)
		if hold := b.schedule("hold", "t-1", "t-2").(policy.Hold); hold.Until.Sub(b.now) != 2*time.Minute {
			t.Errorf("%s: holds for %s, and its time is up", scope, hold.Until.Sub(b.now))
		}
		b.wait(2*time.Minute, "B-025")
		b.want("finish pending", "X-60")
		b = building(t, c) // F-18, X-59: nobody works, so a question uses up no time either
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
		gate := b.ask("B-025")
		b.now = b.now.Add(10 * time.Hour)
		if hold := b.schedule("hold", "t-1").(policy.Hold); !hold.Until.IsZero() {
			t.Errorf("%s: holds until %s, and no clock runs", scope, hold.Until)
		}
		b.want("wait", "B-025")
		b.person(b.s.Answer(gate, "8080"))
		b.want("turn 2 claude", "B-013")
		b.now = b.now.Add(10*time.Minute + time.Microsecond)
		b.want("finish pending", "X-60")
		b = building(t, c)
		b.add(ralph.Control{Want: ralph.WantPause}) // a pause uses up no time
		b.now = b.now.Add(10 * time.Hour)
		b.want("wait", "B-058")
		b.add(ralph.Control{Want: ralph.WantRun})
		b.want("turn 1 claude", "D-044")
		b.now = b.now.Add(10*time.Minute + time.Microsecond)
		b.want("finish pending", "X-60")
	}
}
