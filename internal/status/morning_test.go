package status_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// rowsOf writes the standstills of a morning, one a line.
func rowsOf(m *status.Morning) string {
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

// Issue 14: an outage of an hour, with a try each minute, is one row from its first sign to
// the turn that worked again, and its time counts once.
func TestMorningMergesAnOutage(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	from := x.Now
	for range 60 {
		x.Limited("t-1", ralph.ErrClassNetwork, time.Minute)
	}
	x.Good("t-1", 20*time.Minute)
	m := x.Morning(from)
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
		do    func(x *storytest.Story)
		kind  ralph.StillKind
		lasts time.Duration
		ended string
	}{
		"login, till a person resumes": {func(x *storytest.Story) {
			x.Limited("t-1", ralph.ErrClassAuth, 2*time.Hour)
			x.Good("t-1", time.Minute)
		}, ralph.StillLogin, 2 * time.Hour, "answers again"},
		"limit": {func(x *storytest.Story) {
			x.Limited("t-1", ralph.ErrClassLimit, time.Hour)
			x.Good("t-1", time.Minute)
		}, ralph.StillLimit, time.Hour, "answers again"},
		"overloaded": {func(x *storytest.Story) {
			x.Limited("t-1", ralph.ErrClassBusy, time.Hour)
			x.Good("t-1", time.Minute)
		}, ralph.StillBusy, time.Hour, "answers again"},
		"a pause": {func(x *storytest.Story) {
			x.Add(ralph.Control{Want: ralph.WantPause, Cause: "by a person"})
			x.Pass(time.Hour)
			x.Add(ralph.Control{Want: ralph.WantRun})
		}, ralph.StillPause, time.Hour, "a person let it go on"},
		"failures in a row": {func(x *storytest.Story) {
			x.Add(ralph.Control{Want: ralph.WantPause, From: ralph.PauseFailures, Cause: "3 tasks failed in a row"})
			x.Pass(time.Hour)
			x.Add(ralph.Control{Want: ralph.WantRun})
		}, ralph.StillFailures, time.Hour, "a person let it go on"},
		"a question": {func(x *storytest.Story) {
			x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "which port?"}})
			x.Pass(time.Hour)
			x.Add(ralph.Answered{ID: "g-1", Text: "7777"})
		}, ralph.StillPerson, time.Hour, "answered"},
		"a crash": {func(x *storytest.Story) {
			x.Start("t-1", 1)
			x.Pass(time.Hour)
			x.Add(ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true})
		}, ralph.StillCrash, time.Hour, "started again"},
		"a crash, and a person who did something before the next start": {func(x *storytest.Story) {
			x.Start("t-1", 1)
			x.Pass(40 * time.Minute)
			x.By = "cli"
			x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}})
			x.By = "engine"
			x.Pass(20 * time.Minute)
			x.Add(ralph.StepLost{Task: "t-1", Cause: ralph.LostCrash}) // said by the next start
			x.Add(ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true})
		}, ralph.StillCrash, time.Hour, "started again"},
		"a full disk": {func(x *storytest.Story) {
			x.Add(ralph.SessionEnded{Reason: ralph.ReasonError, Detail: "write the journal: no space left on device"})
			x.Pass(time.Hour)
			x.Add(ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true})
		}, ralph.StillDisk, time.Hour, "started again"},
		"the watchdog": {func(x *storytest.Story) {
			since := x.Now
			x.Pass(2 * time.Minute)
			x.Add(ralph.Stalled{Since: since, Ready: []ralph.TaskID{"t-1"}})
			x.Pass(58 * time.Minute)
			x.Good("t-1", time.Minute)
		}, ralph.StillStalled, time.Hour, "it went on"},
		"asleep in the middle of a turn": {func(x *storytest.Story) {
			x.Start("t-1", 1)
			x.Turn("t-1", time.Hour+10*time.Minute, func(f *ralph.TurnEnded) { f.Took = 10 * time.Minute })
		}, ralph.StillAsleep, time.Hour, "woke up"},
		"a checkout with changes": {func(x *storytest.Story) {
			x.Good("t-1", time.Minute)
			x.Add(ralph.Landed{Task: "land:a-1", Dirty: []string{"README.md"}})
			x.Pass(time.Hour)
			x.Add(ralph.Landed{Task: "land:a-1", From: "a", To: "b", How: "fast-forward"})
		}, ralph.StillLanding, time.Hour, "it landed"},
		"the wait after an error": {func(x *storytest.Story) {
			x.Add(ralph.Retrying{Task: "t-1", Agent: "claude", Attempt: 1, Of: 3, Until: x.Now.Add(5 * time.Minute), Error: "server error"})
			x.Pass(5 * time.Minute)
			x.Good("t-1", time.Minute)
		}, ralph.StillErrors, 5 * time.Minute, "tried again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := storytest.New()
			x.Begin(ralph.Task{ID: "t-1", Name: "one"})
			tt.do(x)
			m := x.Morning(time.Time{})
			i := slices.IndexFunc(m.Still, func(r status.StillRow) bool { return r.Kind == tt.kind })
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

// Whoever ends an engine at once has not had it die: nothing stands still until the next start.
func TestMorningOfAnEndAtOnce(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	x.Limited("t-1", ralph.ErrClassBusy, 2*time.Hour)
	x.Pass(10 * time.Minute)
	x.By = "person"
	ended := x.Now
	x.Add(ralph.Control{Want: ralph.WantStop, Cause: "Ctrl+C twice", Immediate: true})
	x.By = "engine"
	x.Pass(5 * time.Hour)
	x.Add(ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true})
	m := x.Morning(time.Time{})
	if len(m.Still) != 1 || m.Still[0].Kind != ralph.StillBusy || m.Still[0].To.After(ended) {
		t.Errorf("rows:\n%s", rowsOf(m))
	}
}

// Issue 14: a spec that failed needs a person once, by its newest record: none that was queued
// again, and none by an older failure.
func TestMorningOfFailedSpecs(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := func(id ralph.SpecID, file string) *ralph.Spec {
		return &ralph.Spec{ID: id, File: file, Status: ralph.SpecFailed, Error: "red", EndedAt: now.Add(-time.Minute)}
	}
	s := &ralph.State{Inbox: []*ralph.Spec{
		failed("q-1", "again.md"), failed("q-2", "twice.md"), failed("q-3", "once.md"), failed("q-4", "twice.md"), {ID: "q-5", File: "again.md", Status: ralph.SpecPending},
	}}
	s.Session.StartedAt = now.Add(-time.Hour)
	var got []string
	for _, n := range status.Brief(s, status.Engine{}, now).Needs {
		got = append(got, string(n.Spec))
	}
	if want := []string{"q-3", "q-4"}; !slices.Equal(got, want) {
		t.Errorf("specs that need a person: %q, want %q", got, want)
	}
}

// The sentence says that something waits for somebody of as much as `ralph status`, the screens and
// `ralph gates` list below it; what failed or is blocked is told as that.
func TestMorningCountsWhatWaitsAsOthersDo(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"}, ralph.Task{ID: "t-2", Name: "two"}, ralph.Task{ID: "t-3", Name: "three"})
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		x.Start(id, 1)
		x.End(id, ralph.TaskBlocked, "B-065", "no account", false)
	}
	if m := x.Morning(x.Now.Add(-time.Hour)); !strings.Contains(m.Line, "nothing landed, 2 failed or blocked, ") || strings.Contains(m.Line, "for you") || m.Figures.Needs != 0 || m.Figures.Failed != 2 {
		t.Errorf("nothing waits: %s", m.Line)
	}
	x.Start("t-3", 1)
	x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-3", Text: "which?"}})
	if n := len(status.Needs(x.S, status.Engine{Alive: true}, x.Now)); n != 1 {
		t.Fatalf("%d wait", n)
	}
	if m := x.Morning(x.Now.Add(-time.Hour)); !strings.Contains(m.Line, "nothing landed, 1 waits for you, 2 failed or blocked, ") || m.Figures.Needs != 1 || m.Figures.Failed != 2 {
		t.Errorf("one waits: %s", m.Line)
	}
}

// Seconds are cut as every other length of time is: the sentence and the figures beside it are the same.
func TestMorningCutsSeconds(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	x.Good("t-1", 4700*time.Millisecond)
	m := x.Morning(x.Now.Add(-time.Hour))
	if want := ralph.Elapsed(time.Duration(m.Figures.WorkSeconds*float64(time.Second))) + " at work"; m.Figures.WorkSeconds-float64(int(m.Figures.WorkSeconds)) < 0.5 || !strings.Contains(m.Line, want) {
		t.Errorf("%v s: %q, want %s", m.Figures.WorkSeconds, m.Line, want)
	}
}
