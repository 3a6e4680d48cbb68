package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// mode switches the board's mode as a person does.
func (b *board) mode(mode ralph.Autonomy) {
	b.t.Helper()
	b.person(b.s.SetMode(mode))
}

// ways are what can go wrong with a turn; all of them are errors to the modes that
// end at the first one.
func ways() map[string]ralph.TurnEnded {
	return map[string]ralph.TurnEnded{
		"an error": failure(ralph.ErrClassServer), "a limit": limit("claude"), "overloaded": failure(ralph.ErrClassBusy),
		"a crash": {Exit: ralph.ExitCrashed}, "no start": {Exit: ralph.ExitSpawn, Err: &ralph.AgentError{Class: ralph.ErrClassSpawn, Message: "boom"}},
		"a timeout": {Exit: ralph.ExitTimeout, Took: time.Hour}, "a full context": failure(ralph.ErrClassContext), "a bad key": failure(ralph.ErrClassAuth),
	}
}

// in modes manual and step the first failure ends the run as
// aborted, whatever it is: no retry, no wait, no other agent, no splitting. In
// autopilot the session ends; in agent mode and construct the spec fails first.
func TestFirstErrorEnds(t *testing.T) {
	t.Parallel()
	for _, mode := range []ralph.Autonomy{ralph.Manual, ralph.Stepwise} {
		for name, f := range ways() {
			for _, c := range []policy.Config{enginetest.Settings(), parallelSettings()} {
				b := building(t, c)
				b.mode(mode)
				if c.Isolated {
					b.add(ralph.Prepared{Task: "t-1", Dir: "d", Branch: "ralph/t-1", Head: "h", Tree: "t"})
				}
				b.turn(f)
				step, why := policy.Next(&b.s, "t-1", b.c, b.now)
				end, ok := step.(ralph.Finish)
				if !ok || end.Status != ralph.TaskFailed && end.Status != ralph.TaskTimeout {
					t.Errorf("%s, %s in mode %s: %s by %s", c.Session, name, mode, words(step), why.Rule)
					continue
				}
				b.add(ralph.TaskEnded{ID: "t-1", Status: end.Status, Why: why})
				want := []string{"job.ended pending", "stop aborted"}
				if !c.Isolated {
					want = []string{"task.added shelve:q-1", "task.started shelve:q-1", "job.ended failed", "stop aborted"}
				}
				b.steps(name, want)
			}
		}
	}
}

// steps carries out what Schedule says, and compares it in words. A shelving ends at once.
func (b *board) steps(name string, want []string) {
	b.t.Helper()
	var got []string
	for range want {
		m := policy.Schedule(&b.s, nil, b.c, b.now)
		got = append(got, moveWords(m))
		if r, ok := m.(policy.Record); ok {
			b.add(r.Facts...)
		}
		if t := b.s.Task("shelve:q-1"); t != nil && t.Status == ralph.TaskActive {
			b.add(ralph.TaskEnded{ID: t.ID, Status: ralph.TaskDone})
		}
		if stop, ok := m.(policy.Stop); ok && (stop.Task != "t-1" || stop.Ended(&b.s).Cause != "aborted") {
			b.t.Errorf("%s: %+v", name, stop)
		}
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %v, want %v", name, got, want)
	}
}

// A stage that fails ends the run as well, also by a limit.
func TestFailedStageEnds(t *testing.T) {
	t.Parallel()
	for name, f := range ways() {
		if name == "a full context" || name == "a timeout" {
			f.Exit = ralph.ExitFailed
		}
		b := stageOn(t, enginetest.Settings(), ralph.KindPlan)
		b.mode(ralph.Manual)
		b.turn(f)
		step, why := policy.Next(&b.s, b.task, b.c, b.now)
		if words(step) != "finish failed" {
			t.Errorf("%s: %s by %s", name, words(step), why.Rule)
			continue
		}
		b.add(ralph.TaskEnded{ID: b.task, Status: ralph.TaskFailed, Why: why})
		b.add(b.schedule("task.added shelve:q-1").(policy.Record).Facts...)
		b.add(ralph.TaskEnded{ID: "shelve:q-1", Status: ralph.TaskDone})
		b.add(b.schedule("job.ended failed").(policy.Record).Facts...)
		b.schedule("stop aborted")
	}
}

// Red checks, a task left out and a question are no errors: the run goes on.
func TestWhatIsNoError(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings(), ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.mode(ralph.Manual)
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
	b.add(ralph.ChecksRan{Task: "t-1"})
	b.want("turn 2 claude", "B-023")
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "?"}})
	b.want("ask", "B-025")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped})
	b.schedule("task.started t-2")
}

// manual goes at full speed: no task.delay. Its agent is the primary one, also
// when a fallback was at work; a worktree that cannot be made ready is an error.
func TestManualIsPlain(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.TaskDelay = time.Hour
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
	b.schedule("hold")
	b.mode(ralph.Stepwise)
	b.schedule("hold")
	b.mode(ralph.Manual)
	b.schedule("task.started t-2")

	b = building(t, c)
	b.add(ralph.AgentSwitched{Task: "t-1", From: "claude", To: "codex", Reason: ralph.SwitchLimit})
	b.turn(ralph.TurnEnded{Agent: "codex", Changed: true})
	b.mode(ralph.Manual)
	b.want("turn 2 claude", "B-026")

	b = parallelOn(t, parallelSettings(), some(1)...)
	b.mode(ralph.Manual)
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Error: "no room"})
	b.want("finish failed", "B-097")
}

// The mode is switched while something goes on: to autopilot, and an error that was
// not dealt with yet is tried again; to manual in a backoff, and it ends the run; a
// failure from before the switch does not.
func TestSwitchOverAnError(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	b.mode(ralph.Manual)
	b.turn(failure(ralph.ErrClassServer))
	b.mode(ralph.Autopilot)
	b.wait(2*time.Second, "X-31")
	b.want("turn 2 claude", "X-31")

	b = building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.now = b.now.Add(time.Second)
	b.want("wait", "X-31")
	b.mode(ralph.Manual)
	b.want("finish failed", "X-39")

	b = building(t, enginetest.Settings())
	b.mode(ralph.Manual)
	b.turn(limit("claude"))
	b.mode(ralph.Autopilot)
	b.want("turn 2 codex", "X-36") // manual's limit is a hard one: there was no second try

	b = building(t, enginetest.Settings())
	b.add(spec("b", ralph.SpecPending), ralph.JobEnded{Status: ralph.SpecFailed})
	b.mode(ralph.Manual)
	b.schedule("plan.started, job.started b resume=false")

	b = parallelOn(t, parallelSettings(), some(3)...)
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskTimeout})
	b.mode(ralph.Manual)
	b.expect("t-3 slot 1 at 1", "hold: nothing else is ready")
	b.add(ralph.TaskEnded{ID: "t-3", Status: ralph.TaskTimeout})
	b.expect("job pending", "stop aborted")
}

// errors.strategy abort ends the run for a failed task, in every mode, and not for one
// that ran out of time; a person who sends it back in time saves the run.
func TestAbortStrategy(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Strategy = "abort"
	b := parallelOn(t, c, some(2)...)
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout})
	b.expect("t-2 slot 1 at 1", "hold: nothing else is ready")
	b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskFailed, Why: ralph.Why{Text: "boom"}})
	c2 := b.s.Clone()
	b.add(ralph.TaskRetried{ID: "t-2"})
	b.schedule("task.started t-2")
	b.s = *c2
	b.expect("job pending", "stop aborted")
}

// in mode step each task waits for its own approval; nothing
// starts before. A second gate is not put up; another mode takes it back.
func TestStepGates(t *testing.T) {
	t.Parallel()
	for _, c := range []policy.Config{enginetest.Settings(), parallelSettings()} {
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Notes: "as told", Status: ralph.TaskPending}, ralph.Task{ID: "t-3", Name: "three", Status: ralph.TaskPending})
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
		b.mode(ralph.Stepwise)
		b.rest()
		f := b.schedule("asked").(policy.Record).Facts[0].(ralph.Asked)
		if f.Approval.Kind != ralph.ApprovalStep || f.Approval.Task != "t-2" || f.Approval.Text != "start task t-2 (two)?" || f.Approval.Detail != "as told" || !f.Approval.AskedAt.Equal(b.now) {
			t.Errorf("asks %+v", f.Approval)
		}
		b.add(f)
		b.schedule("hold")
		deny := *b
		deny.s = *b.s.Clone()
		b.person(b.s.Approve(f.Approval.ID))
		b.schedule("task.started t-2")
		deny.person(deny.s.Deny(f.Approval.ID, "no"))
		g := deny.schedule("asked").(policy.Record).Facts[0].(ralph.Asked)
		if g.Approval.Task != "t-3" || g.Approval.ID == f.Approval.ID {
			t.Errorf("after a no it asks %+v", g.Approval)
		}
		deny.add(g)
		deny.mode(ralph.Autopilot)
		deny.schedule("task.started t-3")
	}
}

// What a person assigns is approved with that, and its gate is gone; another task's
// gate stays. A task that was given back needs no second approval.
func TestStepGateAndPeople(t *testing.T) {
	t.Parallel()
	ask := func() *board {
		b := building(t, enginetest.Settings(), ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}, ralph.Task{ID: "t-3", Name: "three", Status: ralph.TaskPending})
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
		b.mode(ralph.Stepwise)
		b.rest()
		b.add(b.schedule("asked").(policy.Record).Facts...)
		return b
	}
	b := ask()
	b.person(b.s.AssignTask("t-2"))
	b.add(b.schedule("task.started t-2").(policy.Record).Facts...)
	b.task = "t-2"
	b.want("turn 1 claude", "D-044") // and it does not wait for an answer

	b = ask()
	b.person(b.s.AssignTask("t-3"))
	b.add(b.schedule("task.started t-3").(policy.Record).Facts...)
	if b.s.ApprovalOfKind(ralph.ApprovalStep) == nil {
		t.Error("the gate of t-2 is gone")
	}

	b = ask()
	edited := *b.s.Task("t-2")
	edited.Name = "twice"
	b.person(b.s.EditTask(edited))
	if f := b.schedule("asked").(policy.Record).Facts[0].(ralph.Asked); f.Approval.Text != "start task t-2 (twice)?" {
		t.Errorf("asks %q", f.Approval.Text)
	}

	b = ask()
	b.add(ralph.TaskRemoved{ID: "t-2"})
	if f := b.schedule("asked").(policy.Record).Facts[0].(ralph.Asked); f.Approval.Task != "t-3" {
		t.Errorf("asks about %s", f.Approval.Task)
	}

	b = ask()
	b.person(b.s.Approve(b.s.Approvals[0].ID))
	b.add(ralph.TaskStarted{ID: "t-2"}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskPending})
	b.rest()
	b.schedule("task.started t-2")
}

// the start waits for a person in every mode and session;
// without the setting nobody is asked. Paused, stopped and denied it does not start;
// the next start asks anew.
func TestStartGate(t *testing.T) {
	t.Parallel()
	for session, words := range map[string]string{
		"agent": "ralph agent wants to start on 1 spec of the inbox", "autopilot": "ralph autopilot wants to start on 0 tasks of the plan",
		"construct": "ralph construct wants to start on a.md",
	} {
		for _, mode := range ralph.Autonomies() {
			c := enginetest.Settings()
			c.Session, c.ApproveStart = session, true
			if session == "construct" {
				c.Only = "a.md"
			}
			b := newBoard(t, c)
			b.add(spec("a", ralph.SpecPending), ralph.ModeSet{Mode: mode})
			f := b.schedule("asked").(policy.Record).Facts[0].(ralph.Asked)
			if f.Approval.Kind != ralph.ApprovalStart || f.Approval.Text != words || f.Approval.Task != "" {
				t.Errorf("%s in mode %s asks %+v", session, mode, f.Approval)
			}
			b.add(f)
			b.schedule("hold")
			denied, stopped := *b, *b
			denied.s, stopped.s = *b.s.Clone(), *b.s.Clone()
			denied.person(denied.s.Deny(f.Approval.ID, "not now"))
			if stop := denied.schedule("stop start denied").(policy.Stop); stop.Detail != "not now" {
				t.Errorf("denied: %+v", stop)
			}
			stopped.person(stopped.s.Steer(ralph.WantStop, "me"))
			stopped.schedule("stop interrupted")
			b.add(ralph.Control{Want: ralph.WantPause, Cause: "me"})
			b.person(b.s.Approve(f.Approval.ID))
			b.schedule("hold") // paused still
			b.person(b.s.Steer(ralph.WantRun, ""))
			if m := policy.Schedule(&b.s, nil, b.c, b.now); moveWords(m) == "asked" || moveWords(m) == "hold" {
				t.Errorf("%s: approved, and then %s", session, moveWords(m))
			}
			b.add(ralph.SessionStarted{ID: "s-1", Resumed: true})
			b.schedule("asked")
		}
	}
	b := newBoard(t, enginetest.Settings())
	b.add(spec("a", ralph.SpecPending))
	b.schedule("plan.started, job.started a resume=false")
}

// B-091, X-29: in mode semi a person assigns each task, also in construct and in
// place; the stages of the spec need nobody.
func TestSemiInPlace(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Session, c.Only, c.Commit = "construct", "a.md", false
	b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.mode(ralph.Semi)
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
	if hold := b.schedule("hold").(policy.Hold); hold.Why != "waiting for you: [[assign <id>]]" || b.s.Mode() != "waiting_user" {
		t.Errorf("%+v while %s", hold, b.s.Mode())
	}
	b.person(b.s.AssignTask("t-2"))
	b.rest()
	b.add(b.schedule("task.started t-2").(policy.Record).Facts...)
	blocked := *b
	blocked.s = *b.s.Clone()
	b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone})
	b.schedule("task.added verify:q-1:1")

	b = &blocked // F-15, B-030: a blocked last task is the person's to decide
	b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskBlocked, Why: ralph.Why{Text: "no api"}})
	if hold := b.schedule("hold").(policy.Hold); !strings.Contains(hold.Why, "t-2 is blocked; [[retry t-2]]") || b.s.Mode() != "waiting_user" {
		t.Errorf("%+v while %s", hold, b.s.Mode())
	}
	b.mode(ralph.Autopilot)
	b.schedule("job.ended failed")
}

// A task that waits for a person holds no end up: over the budget, aborted or without
// agents the session ends, and the question is asked again at the next start.
func TestEndWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*board){
		"budget": func(b *board) { b.c.Budget.Cost = 1; b.add(ralph.TurnEnded{Task: "t-2", Usage: ralph.Usage{Cost: 2}}) },
		"abort":  func(b *board) { b.c.Strategy = "abort"; b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskFailed}) },
		"limits": func(b *board) {
			b.c.LimitWait = "off"
			for _, agent := range b.c.Agents {
				b.add(ralph.AgentLimited{Agent: agent, Until: b.now.Add(time.Hour), Hard: true})
			}
		},
	} {
		b := parallelOn(t, parallelSettings(), some(2)...)
		b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "x"})
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
		b.ask("B-025", "port?")
		f(b)
		step, why := policy.Next(&b.s, "t-1", b.c, b.now)
		if words(step) != "finish pending" {
			t.Errorf("%s: %s by %s: %s", name, words(step), why.Rule, why.Text)
		}
	}
}

// A backoff is a boundary: it ends with the session, whatever ends that.
func TestEndDuringABackoff(t *testing.T) {
	t.Parallel()
	for _, f := range []ralph.TurnEnded{failure(ralph.ErrClassServer), limit("claude")} {
		b := parallelOn(t, parallelSettings(), some(2)...)
		b.c.Strategy = "retry"
		b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0", Tree: "x"})
		b.turn(f)
		b.want("wait", map[bool]string{true: "X-33", false: "X-31"}[f.Limited()])
		b.c.Budget.Iterations = 1
		b.want("finish pending", "X-60")
	}
}

// a limit that a stage of mode step has just met fails the spec, however long
// the limit lasts: whether it is over when somebody looks decides nothing.
func TestLimitOfAStageEndsOneWay(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{0, time.Hour} {
		c := enginetest.Settings()
		c.MaxLimitRetries = 0
		b := building(t, c)
		b.mode(ralph.Stepwise)
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskAdded{Task: ralph.Task{ID: "verify:j:1", Kind: ralph.KindVerify, Status: ralph.TaskPending}},
			ralph.TaskStarted{ID: "verify:j:1"})
		b.task = "verify:j:1"
		b.turn(limit("claude"))
		b.now = b.now.Add(later)
		b.schedule("hold", "verify:j:1")
		b.want("finish failed", "A-093")
	}
}

// A turn that its cap has ended has passed the budget that the cap came from: the task
// is given back at once, and nothing is tried again.
func TestCapOfABudget(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.Budget.Cost = 0.15
	b := building(t, c)
	turn := b.want("turn 1 claude", "D-044").(ralph.Turn)
	if turn.MaxCost <= 0.15 || turn.MaxCost > 0.17 {
		t.Fatalf("may cost %v", turn.MaxCost)
	}
	f := failure(ralph.ErrClassBudget)
	f.Usage = ralph.Usage{Cost: turn.MaxCost, Known: true}
	b.turn(f)
	b.want("finish pending", "X-60")
	c.TaskBudget, c.Budget = c.Budget, policy.Budget{}
	b = building(t, c)
	b.turn(f)
	b.want("finish timeout", "X-60")
}

// F-04, X-34, X-60: an end by a budget is no error of the task, however often it comes. The
// next session begins with a turn at once; errors of another kind stay counted.
func TestBudgetIsNoError(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]ralph.TurnEnded{
		"its cap":  failure(ralph.ErrClassBudget),
		"its time": {Exit: ralph.ExitTimeout, Took: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := enginetest.Settings()
			c.MaxCost = 0.5
			b := building(t, c)
			f.Usage = ralph.Usage{Cost: 0.6, Known: true}
			for n := range 5 {
				if n == 2 {
					e := failure(ralph.ErrClassServer)
					e.Usage = ralph.Usage{Input: 1, Known: true}
					b.turn(e)
					b.wait(2*time.Second, "X-31")
				}
				b.want(fmt.Sprintf("turn %d claude", b.s.Task("t-1").Run.Iterations+1), map[bool]string{true: "X-31", false: "D-044"}[n == 2])
				b.turn(f)
				step, why := policy.Next(&b.s, "t-1", b.c, b.now)
				if words(step) != "finish pending" || why.Rule != "X-60" {
					t.Fatalf("stop %d: %s, %s", n+1, words(step), why)
				}
				b.add(policy.Ending(&b.s, "t-1", step.(ralph.Finish), why, b.c, b.now)...)
				r := b.s.Task("t-1").Run
				if want := map[bool]int{true: 1}[n >= 2]; r.ErrorTries != want || r.SameError != want || r.Last != nil || b.s.Task("t-1").RetryCount != 0 {
					t.Fatalf("stop %d: %d errors, %d of a kind, last %+v", n+1, r.ErrorTries, r.SameError, r.Last)
				}
				b.add(ralph.JobEnded{Status: ralph.SpecPending}, ralph.SessionEnded{Reason: ralph.ReasonMaxCost},
					ralph.SessionStarted{ID: ralph.SessionID(fmt.Sprint(n)), Mode: "agent"}, ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md", Resume: true}, ralph.TaskStarted{ID: "t-1"})
			}
		})
	}
}
