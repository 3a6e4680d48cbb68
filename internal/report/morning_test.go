package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// morning is what a story adds up to.
func (x *story) morning(from time.Time) *report.Morning {
	return report.MorningOf(x.events, report.Engine{Alive: x.s.Session.Live()}, from, x.now)
}

// rowsOf writes the standstills of a morning, one a line.
func rowsOf(m *report.Morning) string {
	var b strings.Builder
	for _, r := range m.Still {
		to := r.To.Format("15:04:05")
		if r.Lasts {
			to = "lasts"
		}
		fmt.Fprintf(&b, "%s %s-%s x%d %s\n", r.Kind, r.From.Format("15:04:05"), to, r.Tries, r.Ended)
	}
	return b.String()
}

// limited is a turn that its agent could not do, with the facts that the executor and the
// policy write then: each minute of an outage has these, with a pause and its end.
func (x *story) limited(id ralph.TaskID, class ralph.ErrorClass, until time.Duration) {
	x.add(ralph.TaskStarted{ID: id})
	x.receipt(id, ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, ralph.Why{Rule: "B-026"})
	x.pass(300 * time.Millisecond)
	away := ralph.AgentLimited{Agent: "claude", Task: id, Since: x.now, Until: x.now.Add(until), Hard: true, Message: "connection refused"}
	if class == ralph.ErrClassAuth || class == ralph.ErrClassNetwork {
		away.Class = class
	}
	x.add(turnOf(x.s.Task(id), ralph.KindBuild, 300*time.Millisecond, func(f *ralph.TurnEnded) {
		f.Exit, f.Err, f.Changed = ralph.ExitFailed, &ralph.AgentError{Class: class, Message: "connection refused"}, false
		f.Usage = ralph.Usage{Known: true}
	}), away)
	x.add(ralph.TaskEnded{ID: id, Status: ralph.TaskPending, Why: ralph.Why{Rule: "X-38"}})
	x.add(ralph.AllLimited{Task: id, Agents: []string{"claude"}, Until: away.Until}, ralph.Control{Want: ralph.WantPause, From: ralph.PauseLimits, Cause: "no agent can be used now"})
	x.pass(until)
	x.add(ralph.Control{Want: ralph.WantRun, From: ralph.PauseLimits, Cause: "an agent may be used again"})
}

// good is a turn that is done, and its task.
func (x *story) good(id ralph.TaskID, d time.Duration) {
	x.start(id, 1)
	x.turn(id, d, nil)
	x.add(ralph.ChecksRan{Task: id, Pass: true, Results: []ralph.GateResult{{Name: "go test ./...", Pass: true}}, Took: time.Second})
	x.add(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Why: ralph.Why{Rule: "B-020"}, Slot: 1})
}

// Issue 14: an outage of an hour, with a try each minute, is one row from its first sign to
// the turn that worked again, and its time counts once.
func TestMorningMergesAnOutage(t *testing.T) {
	t.Parallel()
	x := newStory()
	x.begin(ralph.Task{ID: "t-1", Name: "one"})
	from := x.now
	for range 60 {
		x.limited("t-1", ralph.ErrClassNetwork, time.Minute)
	}
	x.good("t-1", 20*time.Minute)
	m := x.morning(from)
	if len(m.Still) != 1 || m.Still[0].Kind != ralph.StillNetwork || m.Still[0].Tries != 60 || !strings.Contains(m.Still[0].Ended, "answers again") {
		t.Fatalf("rows:\n%s", rowsOf(m))
	}
	if got := m.Figures.StillSeconds; got < 3590 || got > 3625 {
		t.Errorf("stood still for %.0f s, want an hour", got)
	}
	if len(m.Landed) != 1 || m.Landed[0].Task != "t-1" || m.Landed[0].Checks != "green" {
		t.Errorf("landed: %+v", m.Landed)
	}
	if !strings.Contains(m.Line, "1 task landed, 1 stood still for 1h 0m") {
		t.Errorf("line: %s", m.Line)
	}
}

// Issue 14: each kind of standstill has a row that says from when to when, and what ended it.
func TestMorningTellsEachStandstill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    func(x *story)
		kind  ralph.StillKind
		lasts time.Duration
		ended string
	}{
		"login, till a person resumes": {func(x *story) {
			x.limited("t-1", ralph.ErrClassAuth, 2*time.Hour)
			x.good("t-1", time.Minute)
		}, ralph.StillLogin, 2 * time.Hour, "answers again"},
		"limit": {func(x *story) {
			x.limited("t-1", ralph.ErrClassLimit, time.Hour)
			x.good("t-1", time.Minute)
		}, ralph.StillLimit, time.Hour, "answers again"},
		"overloaded": {func(x *story) {
			x.limited("t-1", ralph.ErrClassBusy, time.Hour)
			x.good("t-1", time.Minute)
		}, ralph.StillBusy, time.Hour, "answers again"},
		"a pause": {func(x *story) {
			x.add(ralph.Control{Want: ralph.WantPause, Cause: "by a person"})
			x.pass(time.Hour)
			x.add(ralph.Control{Want: ralph.WantRun})
		}, ralph.StillPause, time.Hour, "ralph resume"},
		"failures in a row": {func(x *story) {
			x.add(ralph.Control{Want: ralph.WantPause, From: ralph.PauseFailures, Cause: "3 tasks failed in a row"})
			x.pass(time.Hour)
			x.add(ralph.Control{Want: ralph.WantRun})
		}, ralph.StillFailures, time.Hour, "ralph resume"},
		"a question": {func(x *story) {
			x.add(ralph.Asked{Gate: ralph.Gate{ID: "g-1", Kind: "question", Task: "t-1", Text: "which port?"}})
			x.pass(time.Hour)
			x.add(ralph.Answered{ID: "g-1", Text: "7777"})
		}, ralph.StillPerson, time.Hour, "answered"},
		"a crash": {func(x *story) {
			x.start("t-1", 1)
			x.pass(time.Hour)
			x.add(ralph.SessionStarted{ID: x.s.Session.ID, Mode: "autopilot", Resumed: true})
		}, ralph.StillCrash, time.Hour, "started again"},
		"a full disk": {func(x *story) {
			x.add(ralph.SessionEnded{Reason: ralph.ReasonError, Detail: "write the journal: no space left on device"})
			x.pass(time.Hour)
			x.add(ralph.SessionStarted{ID: x.s.Session.ID, Mode: "autopilot", Resumed: true})
		}, ralph.StillDisk, time.Hour, "started again"},
		"the watchdog": {func(x *story) {
			since := x.now
			x.pass(2 * time.Minute)
			x.add(ralph.Stalled{Since: since, Ready: []ralph.TaskID{"t-1"}})
			x.pass(58 * time.Minute)
			x.good("t-1", time.Minute)
		}, ralph.StillStalled, time.Hour, "it went on"},
		"asleep in the middle of a turn": {func(x *story) {
			x.start("t-1", 1)
			x.turn("t-1", time.Hour+10*time.Minute, func(f *ralph.TurnEnded) { f.Took = 10 * time.Minute })
		}, ralph.StillAsleep, time.Hour, "woke up"},
		"a checkout with changes": {func(x *story) {
			x.good("t-1", time.Minute)
			x.add(ralph.Landed{Task: "land:a-1", Dirty: []string{"README.md"}})
			x.pass(time.Hour)
			x.add(ralph.Landed{Task: "land:a-1", From: "a", To: "b", How: "fast-forward"})
		}, ralph.StillLanding, time.Hour, "it landed"},
		"the wait after an error": {func(x *story) {
			x.add(ralph.Retrying{Task: "t-1", Agent: "claude", Attempt: 1, Of: 3, Until: x.now.Add(5 * time.Minute), Error: "server error"})
			x.pass(5 * time.Minute)
			x.good("t-1", time.Minute)
		}, ralph.StillErrors, 5 * time.Minute, "tried again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newStory()
			x.begin(ralph.Task{ID: "t-1", Name: "one"})
			tt.do(x)
			m := x.morning(time.Time{})
			i := slices.IndexFunc(m.Still, func(r report.StillRow) bool { return r.Kind == tt.kind })
			if i < 0 || len(m.Still) != 1 {
				t.Fatalf("rows:\n%s", rowsOf(m))
			}
			r := m.Still[i]
			if d := r.To.Sub(r.From); d < tt.lasts-2*time.Second || d > tt.lasts+2*time.Second || !strings.Contains(r.Ended, tt.ended) || r.What == "" {
				t.Errorf("%+v", r)
			}
			if got := m.Figures.StillSeconds; got < tt.lasts.Seconds()-2 || got > tt.lasts.Seconds()+2 {
				t.Errorf("in all %.0f s", got)
			}
		})
	}
}
