package ui

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
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
	p.want("Autopilot ", "✓ Going on alone", "u: undo")
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
