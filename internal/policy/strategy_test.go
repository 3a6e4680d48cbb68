package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// 2 s, 4 s, 8 s; X-33: 5 s, 15 s, 45 s.
func TestBackoff(t *testing.T) {
	for _, tt := range []struct {
		base      time.Duration
		factor, n int
		want      time.Duration
	}{
		{2 * time.Second, 2, 1, 2 * time.Second},
		{2 * time.Second, 2, 2, 4 * time.Second},
		{2 * time.Second, 2, 3, 8 * time.Second},
		{5 * time.Second, 3, 1, 5 * time.Second},
		{5 * time.Second, 3, 2, 15 * time.Second},
		{5 * time.Second, 3, 3, 45 * time.Second},
		{5 * time.Second, 3, 1000, 24 * time.Hour},
		{0, 3, 1000, 0},
	} {
		if got := policy.Backoff(tt.base, tt.factor, tt.n); got != tt.want {
			t.Errorf("Backoff(%s, %d, %d) = %s, want %s", tt.base, tt.factor, tt.n, got, tt.want)
		}
	}
}

// the first attempt and two retries, then failed.
func TestRetry(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.wait(2*time.Second, "X-31")
	b.want("turn 2 claude", "X-31")
	b.turn(failure(ralph.ErrClassServer))
	b.wait(4*time.Second, "X-31")
	b.turn(failure(ralph.ErrClassServer))
	b.want("finish failed", "X-32")
}

// A good turn between errors begins the count again.
func TestRetryCountsInARow(t *testing.T) {
	b := building(t, enginetest.Settings())
	for range 3 {
		b.turn(failure(ralph.ErrClassServer))
		b.wait(2*time.Second, "X-31")
		b.turn(ralph.TurnEnded{Changed: true})
		b.want("turn "+string(rune('0'+b.s.Task("t-1").Run.Iterations+1))+" claude", "B-026")
	}
}

// what an error leads to under each strategy.
func TestStrategyTable(t *testing.T) {
	for _, tt := range []struct {
		strategy string
		class    ralph.ErrorClass
		want     string
		rule     string
	}{
		{"retry", ralph.ErrClassServer, "wait", "X-31"},
		{"skip", ralph.ErrClassServer, "finish skipped", "X-16"},
		{"abort", ralph.ErrClassServer, "finish failed", "X-39"},
		{"retry", ralph.ErrClassAuth, "turn 2 codex", "X-36"},
		{"skip", ralph.ErrClassAuth, "turn 2 codex", "X-36"},
		{"abort", ralph.ErrClassNetwork, "turn 2 codex", "X-36"},
		{"retry", ralph.ErrClassRequest, "finish failed", "X-43"},
		{"retry", ralph.ErrClassContext, "finish timeout", "X-62"},
		{"skip", ralph.ErrClassLimit, "wait", "X-33"},
		{"abort", ralph.ErrClassBusy, "wait", "X-33"},
		{"retry", ralph.ErrClassRefusal, "wait", "X-31"},
	} {
		t.Run(tt.strategy+" "+string(tt.class), func(t *testing.T) {
			c := enginetest.Settings()
			c.Strategy = tt.strategy
			b := building(t, c)
			b.turn(failure(tt.class))
			b.want(tt.want, tt.rule)
		})
	}
}

// max_retries 0 gives document B's row exactly.
func TestNoRetries(t *testing.T) {
	c := enginetest.Settings()
	c.MaxRetries = 0
	b := building(t, c)
	b.turn(failure(ralph.ErrClassServer))
	b.want("finish failed", "X-32")
}

// E-073, F-11, A-061: the same kind of error again and again ends it, when nothing changes
// in between. The retries of one error are none of them: errors.max_retries counts those.
func TestSameError(t *testing.T) {
	c := enginetest.Settings()
	c.MaxRetries = 5
	b := building(t, c)
	for n := range 5 {
		b.turn(failure(ralph.ErrClassServer))
		b.wait(policy.Backoff(c.RetryBase, 2, n+1), "X-31")
	}
	b.turn(failure(ralph.ErrClassServer))
	b.want("finish failed", "X-32")

	b = building(t, c)
	episode := func(class ralph.ErrorClass, changed bool) {
		b.turn(failure(class))
		b.turn(failure(ralph.ErrClassRefusal)) // its retry, which meets something else
		b.turn(ralph.TurnEnded{Changed: changed})
	}
	episode(ralph.ErrClassServer, false)
	episode(ralph.ErrClassServer, true)
	for range 2 {
		episode(ralph.ErrClassServer, false)
	}
	b.turn(limit("claude")) // no error of the task
	b.turn(failure(ralph.ErrClassOutput))
	b.wait(c.RetryBase, "X-31") // of another kind: the row begins anew
	b.turn(ralph.TurnEnded{})
	for range 2 {
		episode(ralph.ErrClassServer, false)
	}
	b.turn(failure(ralph.ErrClassServer))
	b.want("finish failed", "E-073")
}

// each crash raises retry_count; past max_retries the task is failed.
func TestCrashLoop(t *testing.T) {
	b := building(t, enginetest.Settings())
	for n := range 2 {
		b.turn(ralph.TurnEnded{Exit: ralph.ExitCrashed})
		b.want("finish pending", "B-075")
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true}, ralph.TaskStarted{ID: "t-1"})
		if got := b.s.Task("t-1").RetryCount; got != n+1 {
			t.Fatalf("retry_count %d after crash %d", got, n+1)
		}
		b.want("turn "+string(rune('0'+n+2))+" claude", "D-044")
	}
	b.turn(ralph.TurnEnded{Exit: ralph.ExitCrashed})
	b.want("finish failed", "X-44")
}

// B-074: a task that a person's end released begins its next start with a turn.
func TestEndedByUserStartsAgain(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.turn(ralph.TurnEnded{Exit: ralph.ExitUser})
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskStarted{ID: "t-1"})
	b.want("turn 2 claude", "D-044")
}

// 5 s, 15 s, 45 s on the agent, the fourth hit switches at once,
// and the next agent has a counter of its own. No retry is used up.
func TestLimitChain(t *testing.T) {
	b := building(t, enginetest.Settings())
	for _, wait := range []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second} {
		b.turn(limit("claude"))
		b.wait(wait, "X-33")
	}
	b.turn(limit("claude"))
	b.want("turn 5 codex", "X-36")
	b.turn(limit("codex"))
	b.wait(5*time.Second, "X-33")
	b.want("turn 6 codex", "X-33")
	if r := b.s.Task("t-1").Run; r.ErrorTries != 0 || b.s.Task("t-1").RetryCount != 0 {
		t.Errorf("a limit used up a retry: %+v", r)
	}
}

// the reset time that the service names wins; a far one is not waited for
// while another agent is free.
func TestLimitReset(t *testing.T) {
	b := building(t, enginetest.Settings())
	f := limit("claude")
	f.Err.ResetAt = b.now.Add(30 * time.Second)
	b.turn(f)
	b.wait(30*time.Second, "X-33")

	b = building(t, enginetest.Settings())
	f = limit("claude")
	f.Err.ResetAt = b.now.Add(3 * time.Hour)
	b.turn(f)
	b.want("turn 2 codex", "X-36")
}

// with all agents at their limit the task is given back, and nothing is tried
// until the first is free.
func TestAllLimited(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.add(
		ralph.AgentLimited{Agent: "claude", Hard: true, Until: b.now.Add(2 * time.Hour)},
		ralph.AgentLimited{Agent: "codex", Hard: true, Until: b.now.Add(time.Hour)},
	)
	b.want("finish pending", "X-38")
	b.now = b.now.Add(time.Hour)
	b.want("turn 1 codex", "D-044")
}

// a task stays on its agent; the next one goes to the primary again,
// without recover_primary to the agent that the switch led to.
func TestRecoverPrimary(t *testing.T) {
	for _, recover := range []bool{true, false} {
		c := enginetest.Settings()
		c.RecoverPrimary = recover
		b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
		want := "codex"
		if recover {
			want = "claude"
		}
		b.add(ralph.AgentSwitched{Task: "t-1", From: "claude", To: "codex", Reason: ralph.SwitchLimit})
		b.turn(ralph.TurnEnded{Agent: "codex", Changed: true})
		b.want("turn 2 codex", "B-026")
		b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-2"})
		b.task = "t-2"
		b.want("turn 1 "+want, "D-044")
	}
}

// An agent that is no longer configured is not chosen again.
func TestAgentGone(t *testing.T) {
	c := enginetest.Settings()
	c.RecoverPrimary = false
	b := building(t, c)
	b.turn(ralph.TurnEnded{Agent: "gone", Changed: true})
	b.want("turn 2 claude", "B-026")
}

// B-014, B-017, B-020: a warning at five idle turns, once, and again only after
// progress in between; errors are no idle turns; the agent goes on.
func TestStuckWarning(t *testing.T) {
	c := enginetest.Settings()
	c.NoProgressTurns = 0
	b := building(t, c)
	idle := func(want bool) {
		t.Helper()
		more := b.turn(ralph.TurnEnded{})
		if got := len(more) == 1 && more[0].(ralph.Noted).Rule == ralph.RuleStuck; got != want || len(more) > 1 {
			t.Errorf("after %d idle turns: %v, want a warning: %v", b.s.Task("t-1").Run.Unchanged, more, want)
		}
	}
	for range 4 {
		idle(false)
	}
	if more := b.turn(failure(ralph.ErrClassServer)); len(more) != 0 {
		t.Errorf("an error counted as an idle turn: %v", more)
	}
	idle(true)
	b.want("turn 7 claude", "B-026")
	for range 6 {
		idle(false)
	}
	b.turn(ralph.TurnEnded{Changed: true})
	for range 4 {
		idle(false)
	}
	idle(true)
}

// E-072, X-56: with a limit on idle turns the task fails there, not before.
func TestNoProgress(t *testing.T) {
	b := building(t, enginetest.Settings())
	for range 4 {
		b.turn(ralph.TurnEnded{})
		step, _ := policy.Next(&b.s, "t-1", b.c, b.now)
		if _, ok := step.(ralph.Turn); !ok {
			t.Fatalf("stopped early: %s", words(step))
		}
	}
	b.turn(ralph.TurnEnded{})
	b.want("finish failed", "E-072")
}

// D-077: a structured answer that does not fit is asked for once more with the
// exact words; an error in between does not earn another try.
func TestReask(t *testing.T) {
	for _, kind := range []ralph.TaskKind{ralph.KindPlan, ralph.KindInvestigate, ralph.KindVerify, ralph.KindDecompose} {
		b := stageOn(t, enginetest.Settings(), kind)
		b.want("turn 1 claude", "D-044")
		b.turn(ralph.TurnEnded{Mismatch: "tasks: expected array", Session: "x"})
		turn, _ := b.want("turn 2 claude", "D-077").(ralph.Turn)
		if turn.Feedback != "tasks: expected array" || turn.Resume != "x" || turn.Stage != kind {
			t.Errorf("%s: asked again with %+v", kind, turn)
		}
		b.turn(failure(ralph.ErrClassServer))
		b.wait(2*time.Second, "X-31")
		b.want("turn 3 claude", "D-044")
		b.turn(ralph.TurnEnded{Mismatch: "still not"})
		b.want("finish failed", "D-077")
	}
}

// A stage that the driver had to end, without a typed error, is tried three times.
func TestStageTimesOut(t *testing.T) {
	b := stageOn(t, enginetest.Settings(), ralph.KindVerify)
	for _, wait := range []time.Duration{2 * time.Second, 4 * time.Second} {
		b.turn(ralph.TurnEnded{Exit: ralph.ExitTimeout})
		b.wait(wait, "X-31")
	}
	b.turn(ralph.TurnEnded{Exit: ralph.ExitTimeout})
	b.want("finish failed", "X-32")
}

// D-079: a commit is tried once more; X-69: likewise a task's own.
func TestCommitRetriedOnce(t *testing.T) {
	b := stageOn(t, enginetest.Settings(), ralph.KindLand)
	b.want("commit", "D-046")
	b.add(ralph.Committed{Task: b.task, Error: "hook"})
	b.want("commit", "D-079")
	b.add(ralph.Committed{Task: b.task, Error: "hook"})
	b.want("finish failed", "D-079")

	c := enginetest.Settings()
	c.AutoCommit = true
	b = building(t, c)
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
	b.add(ralph.ChecksRan{Task: "t-1", Pass: true})
	b.want("commit", "X-69")
	b.add(ralph.Committed{Task: "t-1", Error: "hook"})
	b.want("commit", "X-69")
	b.add(ralph.Committed{Task: "t-1", Commit: "c1"})
	b.want("finish done", "B-022")
}

// R-H7: a hook that refuses twice sends the task back to its agent, also where there is no
// check at all, and as often as a task may take turns.
func TestCommitHookIsARedCheck(t *testing.T) {
	c := enginetest.Settings()
	c.AutoCommit, c.Checks, c.Diff, c.MaxIterations = true, false, policy.DiffChecks{}, 2 // nothing but the hook looks, and twice is enough
	b := building(t, c)
	no := ralph.Committed{Task: "t-1", Error: "exit 1", Hook: "lint: no\n"}
	for _, then := range []string{"turn 2 claude", "finish timeout"} {
		b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Changed: true})
		b.want("commit", "X-69")
		b.add(no)
		b.want("commit", "X-69")
		b.add(no)
		b.want(then, map[string]string{"turn 2 claude": "B-023", "finish timeout": "B-028"}[then])
	}
}

// D-072: the changes of a failed spec are put away as configured.
func TestShelve(t *testing.T) {
	b := stageOn(t, enginetest.Settings(), ralph.KindShelve)
	if got := b.want("shelve", "D-072").(ralph.Shelve); got.How != "stash" {
		t.Errorf("shelves by %s", got.How)
	}
	b.add(ralph.Shelved{Task: b.task})
	b.want("finish done", "D-072")

	b = stageOn(t, enginetest.Settings(), ralph.KindShelve)
	b.add(ralph.Shelved{Task: b.task, Error: "disk full"})
	b.want("finish failed", "D-072")
}

// D-051, B-058: at the boundary a stop releases, a pause holds; a turn under way
// is let be, and so is the claim it made.
func TestBoundaries(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    ralph.TurnEnded
		stop string
		rule string
		hold string
	}{
		{"no signal", ralph.TurnEnded{Changed: true}, "finish pending", "D-051", "wait"},
		{"a claim is checked first", ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}}, "check", "B-010", "check"},
		{"a backoff is a boundary", failure(ralph.ErrClassServer), "finish pending", "D-051", "wait"},
		{"a limit is a boundary", limit("claude"), "finish pending", "D-051", "wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := building(t, enginetest.Settings())
			b.turn(tt.f)
			b.add(ralph.Control{Want: ralph.WantStop})
			b.want(tt.stop, tt.rule)
			b.add(ralph.Control{Want: ralph.WantPause})
			if got, _ := policy.Next(&b.s, "t-1", b.c, b.now); words(got) != tt.hold {
				t.Errorf("paused: %s, want %s", words(got), tt.hold)
			}
		})
	}
}

// B-039: a task with a step under way gets no second one.
func TestInFlight(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.add(ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild}})
	if w := b.want("wait", "B-039").(ralph.Wait); !w.Until.IsZero() {
		t.Errorf("waits until %s, want until the state moves", w.Until)
	}
}

// B-013, B-025, X-76: a question waits, is answered, or expires.
func TestQuestion(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
	if ask := b.want("ask", "B-025").(ralph.Ask); ask.Text != "port?" {
		t.Errorf("asks %q", ask.Text)
	}
	b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1", Text: "port?", Deadline: b.now.Add(time.Hour)}})
	b.wait(time.Hour, "B-025")
	b.want("finish blocked", "X-76")
	b.add(ralph.Answered{ID: "g-1", Text: "80"}, ralph.Answered{ID: "g-1", Text: "81"})
	b.want("turn 2 claude", "B-013")
	if got := b.s.Task("t-1").Run.Answers; len(got) != 1 || got[0].Answer != "80" {
		t.Errorf("answers %v: the first wins", got)
	}
}

// context: continue goes on in the agent's own session, but never in another agent's.
func TestContinue(t *testing.T) {
	c := enginetest.Settings()
	c.Continue = true
	b := building(t, c)
	b.turn(ralph.TurnEnded{Changed: true, Session: "own"})
	if turn := b.want("turn 2 claude", "B-026").(ralph.Turn); turn.Resume != "own" {
		t.Errorf("resumes %q", turn.Resume)
	}
	b.turn(ralph.TurnEnded{Agent: "codex", Changed: true, Session: "other"})
	b.add(ralph.AgentSwitched{Task: "t-1", From: "codex", To: "claude", Reason: ralph.SwitchBack})
	if turn := b.want("turn 3 claude", "B-026").(ralph.Turn); turn.Resume != "" {
		t.Errorf("resumes %q of another agent", turn.Resume)
	}
}

// D-107, X-60: strictly greater; an unknown cost is over any limit that is set; a
// program that did not start cost nothing.
func TestOverBudget(t *testing.T) {
	known := func(cost float64) ralph.Usage { return ralph.Usage{Input: 600, Output: 400, Cost: cost, Known: true} }
	for _, tt := range []struct {
		name   string
		edit   func(*policy.Config)
		usage  ralph.Usage
		exit   ralph.ExitKind
		pass   time.Duration
		over   bool
		reason ralph.Reason
	}{
		{"no limits", func(*policy.Config) {}, ralph.Usage{}, ralph.ExitOK, time.Hour, false, ""},
		{"max-cost reached", func(c *policy.Config) { c.MaxCost = 1 }, known(1), ralph.ExitOK, 0, false, ""},
		{"max-cost passed", func(c *policy.Config) { c.MaxCost = 1 }, known(1.01), ralph.ExitOK, 0, true, ralph.ReasonMaxCost},
		{"max-cost, unknown", func(c *policy.Config) { c.MaxCost = 1 }, ralph.Usage{Input: 1}, ralph.ExitOK, 0, true, ralph.ReasonMaxCost},
		{"max-cost, not started", func(c *policy.Config) { c.MaxCost = 1 }, ralph.Usage{}, ralph.ExitSpawn, 0, false, ""},
		{"budget cost reached", func(c *policy.Config) { c.Budget.Cost = 1 }, known(1), ralph.ExitOK, 0, false, ""},
		{"budget cost passed", func(c *policy.Config) { c.Budget.Cost = 1 }, known(1.01), ralph.ExitOK, 0, true, ralph.ReasonBudget},
		{"tokens reached", func(c *policy.Config) { c.Budget.Tokens = 1000 }, known(0), ralph.ExitOK, 0, false, ""},
		{"tokens passed", func(c *policy.Config) { c.Budget.Tokens = 999 }, known(0), ralph.ExitOK, 0, true, ralph.ReasonBudget},
		{"time reached", func(c *policy.Config) { c.Budget.Time = time.Hour }, known(0), ralph.ExitOK, time.Hour, false, ""},
		{"time passed", func(c *policy.Config) { c.Budget.Time = time.Hour }, known(0), ralph.ExitOK, time.Hour + 1, true, ralph.ReasonBudget},
		{"iterations used up", func(c *policy.Config) { c.Budget.Iterations = 1 }, known(0), ralph.ExitOK, 0, true, ralph.ReasonBudget},
		{"iterations left", func(c *policy.Config) { c.Budget.Iterations = 2 }, known(0), ralph.ExitOK, 0, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := enginetest.Settings()
			tt.edit(&c)
			b := building(t, c)
			b.turn(ralph.TurnEnded{Usage: tt.usage, Exit: tt.exit, Changed: true})
			over, reason := policy.OverBudget(&b.s, c, b.now.Add(tt.pass))
			if over != tt.over || reason != tt.reason {
				t.Errorf("%v %q, want %v %q", over, reason, tt.over, tt.reason)
			}
			if b.now = b.now.Add(tt.pass); over && !strings.HasPrefix(tt.name, "time") {
				b.want("finish pending", "X-60")
			}
		})
	}
}

// turns that an error or a limit cut short use up none of max_iterations.
func TestErrorsUseUpNoIteration(t *testing.T) {
	c := enginetest.Settings()
	c.MaxIterations = 2
	b := building(t, c)
	b.turn(failure(ralph.ErrClassServer))
	b.wait(2*time.Second, "X-31")
	b.turn(ralph.TurnEnded{Changed: true})
	b.want("turn 3 claude", "B-026")
	b.turn(ralph.TurnEnded{Changed: true})
	b.want("finish timeout", "B-028")
}
