package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// retries are the facts that were told of the board's task.
func (b *board) retries() []ralph.Retrying {
	var out []ralph.Retrying
	for _, f := range b.told {
		if r, ok := f.(ralph.Retrying); ok {
			out = append(out, r)
		}
	}
	return out
}

// each retry is told once, with its number and
// its wait: 2 s, 4 s, 8 s; the end says what the error was and how often it was tried.
func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	for _, most := range []int{2, 3} {
		c := enginetest.Settings()
		c.MaxRetries, c.SameErrorTurns = most, 0
		b := building(t, c)
		wait := 2 * time.Second
		for n := 1; n <= most; n++ {
			b.turn(failure(ralph.ErrClassServer))
			b.now = b.now.Add(100 * time.Millisecond) // it takes a moment until somebody looks
			b.want("wait", "X-31")
			b.want("wait", "X-31") // and again, as for every fact that wakes the task
			told := b.retries()
			if len(told) != n {
				t.Fatalf("told %d times after %d errors", len(told), n)
			}
			f := told[n-1]
			want := ralph.Retrying{Task: "t-1", Agent: "claude", Attempt: n, Of: most, BackoffMS: wait.Milliseconds(), Until: b.s.Task("t-1").Run.LastAt.Add(wait), Error: "server: boom"}
			if f != want {
				t.Errorf("told %+v, want %+v", f, want)
			}
			b.now = f.Until
			b.want(fmt.Sprintf("turn %d claude", n+1), "X-31")
			wait *= 2
		}
		b.turn(failure(ralph.ErrClassServer))
		_, why := policy.Next(&b.s, "t-1", b.c, b.now)
		b.want("finish failed", "X-32")
		if want := fmt.Sprintf("server: boom (tried %d times)", most+1); why.Text != want || len(b.retries()) != most {
			t.Errorf("%q, want %q; told %d", why.Text, want, len(b.retries()))
		}
	}
}

// a crash begins a new attempt; the retries in it are told again.
func TestRetryAfterACrashIsTold(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.wait(2*time.Second, "X-31")
	b.turn(ralph.TurnEnded{Exit: ralph.ExitCrashed})
	b.want("finish pending", "B-075")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true}, ralph.TaskStarted{ID: "t-1"})
	b.turn(failure(ralph.ErrClassServer))
	b.wait(2*time.Second, "X-31")
	if told := b.retries(); len(told) != 2 || told[1].Attempt != 1 {
		t.Errorf("told %+v", told)
	}
}

// limits in between use up no retry, and a retry none of the limits.
func TestErrorsAndLimitsInTurn(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.SameErrorTurns = 0
	b := building(t, c)
	for n := 1; n <= 2; n++ {
		b.turn(failure(ralph.ErrClassServer))
		b.wait(seconds(2*n), "X-31")
		if f := b.hit("claude", time.Time{}); f.Try != n {
			t.Errorf("hit %d, want %d", f.Try, n)
		}
		b.now = b.now.Add(time.Minute)
	}
	b.turn(failure(ralph.ErrClassServer))
	b.want("finish failed", "X-32")
	if told := b.retries(); len(told) != 2 {
		t.Errorf("told %+v", told)
	}
}

// seconds is n seconds.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// What a person does in a backoff: paused, nothing is told and nothing begins, and
// the wait that passed meanwhile has passed; stopped, the task is given back at once
// and its next start waits no longer than what is left.
func TestPersonDuringABackoff(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.person(b.s.Steer(ralph.WantPause, "me"))
	b.want("wait", "B-058")
	if len(b.told) > 0 {
		t.Errorf("told %+v while paused", b.told)
	}
	b.now = b.now.Add(time.Hour)
	b.person(b.s.Steer(ralph.WantRun, ""))
	b.want("turn 2 claude", "X-31")

	b = building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.want("wait", "X-31")
	b.person(b.s.Steer(ralph.WantStop, "me"))
	b.want("finish pending", "D-051")
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.SessionStarted{ID: "s-1", Resumed: true}, ralph.TaskStarted{ID: "t-1"})
	b.now = b.now.Add(time.Second)
	b.wait(time.Second, "X-31")
	b.want("turn 2 claude", "X-31")
	if len(b.retries()) != 1 {
		t.Errorf("told %+v", b.retries())
	}
}

// The clock goes back: before the retry is told it waits its time from now on, in the
// wait it does not wait for the clock to come back. Nor does task.delay, or the next
// try to make a worktree ready.
func TestBackoffAndClockBack(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.now = b.now.Add(-3 * time.Hour)
	b.wait(2*time.Second, "X-31")
	b.want("turn 2 claude", "X-31")

	b = building(t, enginetest.Settings())
	b.turn(failure(ralph.ErrClassServer))
	b.want("wait", "X-31")
	b.now = b.now.Add(-3 * time.Hour)
	b.want("turn 2 claude", "X-31")

	c := enginetest.Settings()
	c.TaskDelay = time.Second
	b = building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	b.add(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
	b.schedule("hold")
	b.now = b.now.Add(-3 * time.Hour)
	b.schedule("task.started t-2")

	b = parallelOn(t, parallelSettings(), some(1)...)
	b.add(ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Error: "no room"})
	b.want("wait", "X-52")
	b.now = b.now.Add(-3 * time.Hour)
	b.want("prepare", "B-005")
}

// errors double from errors.retry_base, limits triple from
// errors.rate_limit_base, each with its own base.
func TestTwoBases(t *testing.T) {
	t.Parallel()
	c := enginetest.Settings()
	c.RetryBase, c.LimitBase = 7*time.Second, 11*time.Second
	b := building(t, c)
	b.turn(failure(ralph.ErrClassServer))
	b.wait(7*time.Second, "X-31")
	b.turn(failure(ralph.ErrClassServer))
	b.wait(14*time.Second, "X-31")
	b = building(t, c)
	b.hit("claude", time.Time{})
	b.wait(11*time.Second, "X-33")
	b.hit("claude", time.Time{})
	b.wait(33*time.Second, "X-33")
}

// a program that does not start is tried again; skip skips
// also then; what trying again cannot mend is not tried again under any strategy.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	spawn := ralph.TurnEnded{Exit: ralph.ExitSpawn, Err: &ralph.AgentError{Class: ralph.ErrClassSpawn, Message: "no such file"}}
	for strategy, want := range map[string][2]string{"retry": {"wait", "finish failed"}, "skip": {"finish skipped", "finish failed"}, "abort": {"finish failed", "finish failed"}} {
		c := enginetest.Settings()
		c.Strategy = strategy
		for n, f := range []ralph.TurnEnded{spawn, failure(ralph.ErrClassRequest)} {
			b := building(t, c)
			b.turn(f)
			if got, why := policy.Next(&b.s, "t-1", c, b.now); words(got) != want[n] && words(got) != "tell" {
				t.Errorf("%s, exit %s: %s by %s, want %s", strategy, f.Exit, words(got), why.Rule, want[n])
			}
		}
	}
}
