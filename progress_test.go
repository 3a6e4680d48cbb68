package ralph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// counters, skipped ids, and where in phases and steps
// the plan is, at work and between tasks.
func TestProgress(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	if diff := cmp.Diff(ralph.Progress{PhaseAt: -1, StepAt: -1, Skipped: []ralph.TaskID{}}, s.Progress()); diff != "" {
		t.Error(diff)
	}
	task := func(id ralph.TaskID, phase string, status ralph.TaskStatus) *ralph.Task {
		return &ralph.Task{ID: id, Phase: phase, Status: status}
	}
	s.Plan.Tasks = []*ralph.Task{
		task("t-1", "one", ralph.TaskDone), task("t-2", "one", ralph.TaskSkipped), task("t-3", "two", ralph.TaskTimeout),
		task("t-4", "one", ralph.TaskFailed), task("t-5", "two", ralph.TaskActive), task("t-6", "two", ralph.TaskActive), task("t-7", "two", ralph.TaskPending),
	}
	s.Plan.Tasks[5].Run.InFlight = 12
	want := ralph.Progress{Current: "t-6", Phase: "two", PhaseAt: 1, StepAt: 2, Total: 7, Completed: 1, Failed: 2, Skipped: []ralph.TaskID{"t-2"}}
	if diff := cmp.Diff(want, s.Progress()); diff != "" {
		t.Error(diff)
	}
	s.Plan.Tasks[5] = task("t-6", "two", ralph.TaskBlocked)
	if p := s.Progress(); p.Current != "t-5" || p.StepAt != 1 || p.Failed != 3 {
		t.Errorf("%+v", p)
	}
	s.Plan.Tasks[4] = task("t-5", "two", ralph.TaskDone)
	if p := s.Progress(); p.Current != "" || p.PhaseAt != 1 || p.StepAt != 3 {
		t.Errorf("the next one is t-7: %+v", p)
	}
	s.Plan.Tasks[6] = task("t-7", "two", ralph.TaskDone)
	if p := s.Progress(); p.PhaseAt != -1 || p.StepAt != -1 || p.Completed != 3 {
		t.Errorf("all have ended: %+v", p)
	}
}

// only what was cut, interrupted or broken can be resumed.
func TestResumable(t *testing.T) {
	t.Parallel()
	for reason, want := range map[ralph.Reason]bool{
		"": true, ralph.ReasonInterrupted: true, ralph.ReasonError: true,
		ralph.ReasonComplete: false, ralph.ReasonEmpty: false, ralph.ReasonAborted: false, ralph.ReasonBudget: false,
	} {
		if x := (ralph.Session{ID: "s-1", Ended: reason}); x.Resumable() != want {
			t.Errorf("%q: %v", reason, !want)
		}
	}
	if new(ralph.Session).Resumable() {
		t.Error("no session at all")
	}
}

// F-14, A-080, A-093, X-07, X-100: what the next start does is the same rule as what
// every surface offers, in each mode and however the session ended.
func TestCanResume(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode  string
		auto  ralph.Autonomy
		ended ralph.Reason
		file  bool
		want  bool
		next  string
	}{
		{"autopilot", ralph.Autopilot, "", false, true, "`[[start autopilot]]` goes on where it was"},
		{"autopilot", ralph.Semi, ralph.ReasonInterrupted, false, true, "`[[start autopilot]]` goes on where it was"},
		{"autopilot", ralph.Manual, "", false, false, "mode manual keeps no session: `[[start autopilot]]` begins a new one on what is left"},
		{"autopilot", ralph.Stepwise, ralph.ReasonInterrupted, false, false, "mode step keeps no session: `[[start autopilot]]` begins a new one on what is left"},
		{"autopilot", ralph.Autopilot, ralph.ReasonComplete, false, false, "`[[start autopilot]]` begins a new session on what is left"},
		{"agent", ralph.Autopilot, "", true, true, "`[[start agent]]` goes on where it was"},
		{"agent", ralph.Autopilot, "", false, false, "`[[start agent]]` begins a new session on what is left"},
		{"agent", ralph.Manual, "", true, false, "mode manual keeps no session: `[[start agent]]` begins a new one on what is left"},
		{"construct", ralph.Autopilot, "", false, true, "`[[start construct]]` goes on where it was"},
		{"plan", ralph.Autopilot, "", false, false, "`[[start plan]]` goes on where it was"},
		{"", "", "", false, false, "`[[start agent]]` starts one"},
	} {
		s := &ralph.State{Job: &ralph.Job{File: "a.md"}, Plan: ralph.Plan{File: "a.md"}, Session: ralph.Session{ID: "s-1", Mode: tt.mode, Auto: tt.auto, Ended: tt.ended}}
		if got, next := s.CanResume(tt.file), s.NextStart(tt.file); got != tt.want || next != tt.next {
			t.Errorf("%+v: %v, %s", tt, got, next)
		}
		if mode := s.Session.Mode; mode != "" && mode != "plan" && s.CanResume(tt.file) != s.Resumable(mode, map[string]string{"construct": "a.md"}[mode], tt.file) {
			t.Errorf("%+v: the start decides otherwise", tt)
		}
	}
}

// who works is known from the start on.
func TestActiveAgent(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]ralph.Session{
		"":       {},
		"claude": {Config: []byte(`{"agents":["claude","codex"]}`)},
		"codex":  {Config: []byte(`{"agents":["claude","codex"]}`), Agent: "codex"},
		"me":     {Config: []byte(`not JSON`), Agent: "me"},
	} {
		if got := x.ActiveAgent(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
