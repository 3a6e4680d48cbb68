package ui

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/ui/watch"
)

// After kill -9 the screen asks what the command line and the dashboard ask, and names what
// answers: going on where it was, and beginning anew.
func TestInterruptedSessionIsAskedAbout(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"recover": "start autopilot resumed", "fresh": "start autopilot fresh"} {
		p := play(t, atWork(t), 80, 24)
		p.wantNot("Resume interrupted session?")
		p.r.alive = false
		p.look()
		p.want("the engine died", "Resume interrupted session?  : recover resume  : fresh begin a new one")
		p.press(":").typed(answer).press("enter")
		if len(p.r.did) != 1 || p.r.did[0] != want {
			t.Errorf("%s did %v", answer, p.r.did)
		}
	}
}

// A session that starts only what a person assigns goes on alone when it is told to, and back (B-092).
func TestAutopilotIsSwitchedOn(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	r.add(ralph.ModeSet{Mode: ralph.Semi})
	p := play(t, r, 100, 30)
	p.want("Semi ")
	p.press(":").typed("autopilot").press("enter")
	if s := r.State(); s.Session.Auto != ralph.Autopilot {
		t.Fatalf("the mode is %s after %#v", s.Session.Auto, newest(r))
	}
	p.look()
	p.want("Autopilot ", "✓ Going on alone", "u undo")
	p.press("u")
	if s := r.State(); s.Session.Auto != ralph.Semi {
		t.Fatalf("undone, the mode is %s", s.Session.Auto)
	}
}

// How long the session runs is shown: from its start on, and when it has ended the end of the journal
// minus its start (B-100).
func TestRuntimeIsShown(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	began := r.State().Session.StartedAt
	r.story.Pass(time.Hour + 83*time.Second)
	p := play(t, r, 100, 30)
	p.want(ralph.Elapsed(r.Now().Sub(began)) + " │")
	p.wantNot(" 3m 7s │")

	r.add(ralph.SessionEnded{Reason: ralph.ReasonComplete})
	end := r.State().At
	r.alive = false
	r.story.Pass(5 * time.Hour)
	p.look()
	p.want("ended: complete", "  "+ralph.Elapsed(end.Sub(began))+" │")
}

// What is done for a task between two turns is said in its own words.
func TestWhatIsDoneBetweenTurns(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	r.story.Turn("t-0002", 30*time.Second, storytest.Complete)
	p := play(t, r, 100, 30)
	p.want("between turns")
	r.story.Receipt("t-0002", ralph.Baseline{}, ralph.Why{Rule: "P-14", Text: "what is red without its work?"})
	p.look()
	p.want("looking what is red")
	p.wantNot("between turns")
}

// The first line says how the session stands, how far it is, and what can be done about it.
func TestControlBar(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 120, 40)
	line, _, _ := strings.Cut(p.text(), "\n")
	for _, w := range []string{"▶ Autopilot Running", "Step 3/5", "⏸ Pause p", "⏹ Stop s", "1 needs you"} {
		if !strings.Contains(line, w) {
			t.Errorf("the first line has no %q: %s", w, line)
		}
	}
}

// A pause is shown from its beginning on: how many still end their iteration, then that it is paused (B-059).
func TestPauseIsShown(t *testing.T) {
	t.Parallel()
	r := crowd(t, 2)
	p := play(t, r, 120, 30).press("p")
	p.look()
	p.want("⏸ Autopilot Pausing", "2 agents still work", "▶ Resume p")
	for i, want := range []string{"1 agent still works", "⏸ Autopilot Paused"} {
		task := r.story.S.Plan.Tasks[i]
		r.story.Add(storytest.TurnOf(task, ralph.KindBuild, time.Minute, nil))
		p.look()
		p.want(want)
	}
	p.wantNot("still work", "Autopilot Pausing")
}

// The newest decision and its reason stand there, and change with each (E-087).
func TestNewestDecisionIsShown(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	p := play(t, r, 120, 40)
	p.want("Decided: t-0004: build turn 1 of codex: the task begins  (B-011)")
	r.story.Receipt("t-0002", ralph.Check{}, ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"})
	p.look()
	p.want("Decided: t-0002: check: COMPLETE: run the checks  (B-010)")
	p.wantNot("the task begins")
}

// A failed task is tried again with r: it is pending, and its work is where it was (B-076).
func TestFailedTaskIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	before := *r.State().Task("t-0003")
	play(t, r, 120, 40).press("2", "j", "j", "r")
	after := r.State().Task("t-0003")
	if before.Status != ralph.TaskFailed || after.Status != ralph.TaskPending {
		t.Errorf("r made it %s of %s", after.Status, before.Status)
	}
	if dir := before.Run.Worktree.Branch; dir == "" || after.Run.Worktree.Branch != dir {
		t.Errorf("its work was on %q, and is on %q", dir, after.Run.Worktree.Branch)
	}
}

// unreadable is a repository whose journal cannot be read for a while.
type unreadable struct {
	*repository
	broken atomic.Bool
}

func (r *unreadable) Wait(ctx context.Context, seq int64) error {
	if r.broken.Load() {
		return errors.New("journal.jsonl:111 is corrupt")
	}
	return r.repository.Wait(ctx, seq)
}

// A journal that cannot be read any more is said where the work stands, as what is shown is stale since
// then; and no longer when it can be read again.
func TestUnreadableJournalIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &unreadable{repository: atWork(t)}
		p := play(t, r.repository, 100, 30)
		var now atomic.Pointer[panes.Look]
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); watch.Follow(ctx, r, func(l panes.Look) { now.Store(&l) }) }()
		seen := func() *player {
			time.Sleep(time.Minute)
			synctest.Wait()
			p.send(lookMsg(*now.Load()))
			return p
		}
		seen().wantNot("stale")
		r.broken.Store(true)
		r.add(ralph.Control{Want: ralph.WantPause}) // it ends the waiting
		seen().want("stale: journal.jsonl:111 is corrupt", "Autopilot")
		r.broken.Store(false)
		seen().wantNot("stale")
		cancel()
		<-over
	})
}
