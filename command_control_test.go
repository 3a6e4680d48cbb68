package ralph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// engineIn is the state of an engine by the facts that lead there.
func engineIn(name string) *ralph.State {
	s := fold(ralph.SessionStarted{ID: "s", Mode: "autopilot"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskAdded{Task: task("t-2")})
	started := []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "claude"}}}
	pause := func(from ralph.PauseKind) ralph.Fact {
		return ralph.Control{Want: ralph.WantPause, From: from, Cause: "x"}
	}
	gate := func(kind string, id ralph.TaskID) ralph.Fact {
		return ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: kind, Task: id, Text: "?"}}
	}
	switch name {
	case "idle":
		return fold()
	case "running":
		apply(s, started...)
	case "running (manual)":
		apply(s, append(started, ralph.ModeSet{Mode: ralph.Manual})...)
	case "pausing":
		apply(s, append(started, pause(""))...)
	case "paused":
		apply(s, pause(""))
	case "paused (failures)":
		apply(s, pause(ralph.PauseFailures))
	case "paused (limits)":
		apply(s, ralph.AgentLimited{Agent: "claude", Until: s.At.Add(time.Hour), Hard: true}, pause(ralph.PauseLimits))
	case "waiting_user (start)":
		apply(s, gate(ralph.ApprovalStart, ""))
	case "waiting_user (step)":
		apply(s, ralph.ModeSet{Mode: ralph.Stepwise}, gate(ralph.ApprovalStep, "t-1"))
	case "waiting_user (semi)":
		apply(s, ralph.ModeSet{Mode: ralph.Semi})
	case "stopping":
		apply(s, append(started, ralph.Control{Want: ralph.WantStop})...)
	case "completed":
		apply(s, ralph.SessionEnded{Reason: ralph.ReasonComplete})
	}
	return s
}

func engineStates() []string {
	return []string{
		"idle", "running", "running (manual)", "pausing", "paused", "paused (failures)", "paused (limits)",
		"waiting_user (start)", "waiting_user (step)", "waiting_user (semi)", "stopping", "completed",
	}
}

// Every (state, command) pair: the state that it leads to, "" where it is refused
// with both states named (A-013, A-046, A-093; ).
// Two moves are ours beyond document A's: a stop is heard in every live state but
// stopping, where only `stop --now` still is, and a pause that is not reached
// yet can be taken back. A pause of the engine's own for limits can become a person's,
// which does not end by itself.
func TestEveryCommandInEveryState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(*ralph.State) ([]ralph.Fact, error)
		to   string // what a refusal has to name
		// in the order of engineStates: where it leads to
		want [12]string
	}{
		{
			"pause", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantPause, "me") }, "paused",
			[12]string{"", "pausing", "", "", "", "", "paused", "paused", "paused", "paused", "", ""},
		},
		{
			"resume", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantRun, "") }, "running",
			[12]string{"", "", "", "running", "running", "running", "running", "", "", "", "", ""},
		},
		{
			"stop", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantStop, "me") }, "stopping",
			[12]string{"", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "", ""},
		},
		{
			"stop --now", func(s *ralph.State) ([]ralph.Fact, error) { return s.StopNow("me") }, "stopping",
			[12]string{"", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", "stopping", ""},
		},
	} {
		for n, name := range engineStates() {
			s := engineIn(name)
			mode, _, _ := strings.Cut(name, " ")
			if s.Mode() != mode {
				t.Fatalf("%s is %s", name, s.Mode())
			}
			facts, err := tt.do(s)
			if want := tt.want[n]; want != "" {
				apply(s, facts...)
				if err != nil || s.Mode() != want {
					t.Errorf("%s while %s: %s, %v; want %s", tt.name, name, s.Mode(), err, want)
				}
				continue
			}
			var refusal *ralph.Refusal
			if !errors.As(err, &refusal) || !errors.Is(err, ralph.ErrUsage) || refusal.Hint == "" && mode == "idle" ||
				!strings.Contains(err.Error(), mode) || !strings.Contains(err.Error(), tt.to) {
				t.Errorf("%s while %s: %v, %v; want a refusal that names %s and %s", tt.name, name, facts, err, mode, tt.to)
			}
		}
	}
}

// A person's pause over one for limits stays when the limits end; a resume of the
// pause for limits tries all agents again, one of another pause keeps the limits
//
func TestPausesAndLimits(t *testing.T) {
	t.Parallel()
	s := engineIn("paused (limits)")
	do := func(facts []ralph.Fact, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		apply(s, facts...)
	}
	do(s.Steer(ralph.WantPause, "me"))
	if s.Session.Pause != ralph.PausePerson || s.Session.Cause != "me" {
		t.Errorf("paused by %s: %s", s.Session.Pause, s.Session.Cause)
	}
	do(s.Steer(ralph.WantRun, ""))
	if len(s.Limits) != 1 {
		t.Errorf("the resume of a person's pause took away %v", s.Limits)
	}
	s = engineIn("paused (limits)")
	apply(s, ralph.TurnEnded{Task: "t-1", Agent: "claude", Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassLimit}})
	ended := s.Clone()
	apply(ended, ralph.Control{Want: ralph.WantRun, From: ralph.PauseLimits})
	if len(ended.Limits) != 1 || ended.Task("t-1").Run.Hits("claude") != 1 {
		t.Errorf("a pause that ends by itself forgot %v", s.Limits)
	}
	do(s.Steer(ralph.WantRun, ""))
	if l := s.Limit("claude"); l == nil || !l.Over(s.At) || !l.Over(s.At.Add(-time.Hour)) || s.Task("t-1").Run.Hits("claude") != 0 {
		t.Errorf("after resume: %v, hits %d", s.Limits, s.Task("t-1").Run.Hits("claude"))
	}
	if l := ended.Limit("claude"); l.Over(ended.At) {
		t.Errorf("a clone was changed: %v", l)
	}
}

// Every mode in every state (A-092, B-092): only a session that runs has one, and one
// that is stopping no longer takes it.
func TestSetModeInEveryState(t *testing.T) {
	t.Parallel()
	for _, name := range engineStates() {
		for _, mode := range ralph.Autonomies() {
			s := engineIn(name)
			refused := name == "idle" || name == "completed" || name == "stopping" || s.Session.Auto == mode
			facts, err := s.SetMode(mode)
			switch {
			case refused && !errors.Is(err, ralph.ErrUsage):
				t.Errorf("mode %s while %s: %v, %v", mode, name, facts, err)
			case !refused && err != nil:
				t.Errorf("mode %s while %s: %v", mode, name, err)
			case !refused:
				apply(s, facts...)
				if s.Session.Auto != mode || (s.ApprovalOfKind(ralph.ApprovalStep) != nil) != (mode == ralph.Stepwise && name == "waiting_user (step)") {
					t.Errorf("mode %s while %s: %s with gates %v", mode, name, s.Session.Auto, s.Approvals)
				}
			}
		}
	}
	if _, err := engineIn("running").SetMode("fast"); err == nil || !strings.Contains(err.Error(), "manual, step, semi or autopilot") {
		t.Errorf("mode fast: %v", err)
	}
}

// Approve and deny of every kind of gate; the first answer wins, and a question is
// answered in words.
func TestApproveAndDeny(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind, approve, deny string
		look                func(*ralph.State) bool // after the approval
	}{
		{ralph.ApprovalStart, "answered", "answered control", func(s *ralph.State) bool { return s.Session.Approved }},
		{ralph.ApprovalStep, "answered", "answered task.ended", func(s *ralph.State) bool { return s.Task("t-1").Run.Approved && !s.Task("t-2").Run.Approved }},
		{ralph.ApprovalMerge, "answered", "answered task.ended", nil},
		{ralph.ApprovalQuestion, "", "", nil},
	} {
		for verdict, want := range map[string]string{"approve": tt.approve, "deny": tt.deny} {
			s := engineIn("running")
			apply(s, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: tt.kind, Task: "t-1"}})
			facts, err := s.Approve("g-1")
			if verdict == "deny" {
				facts, err = s.Deny("g-1", "")
			}
			var kinds []string
			for _, f := range facts {
				kinds = append(kinds, f.Kind())
			}
			if got := strings.Join(kinds, " "); got != want || (err != nil) != (want == "") {
				t.Errorf("%s a gate of kind %s: %s, %v; want %s", verdict, tt.kind, got, err, want)
			}
			if want == "" {
				continue
			}
			apply(s, facts...)
			if verdict == "approve" && tt.look != nil && !tt.look(s) {
				t.Errorf("approved a gate of kind %s: %+v", tt.kind, s.Session)
			}
			if _, err := s.Approve("g-1"); !errors.Is(err, ralph.ErrNotFound) {
				t.Errorf("the second answer: %v", err)
			}
			if _, err := s.Answer("g-1", "yes"); !errors.Is(err, ralph.ErrNotFound) {
				t.Errorf("an answer in words after it: %v", err)
			}
		}
	}
}

// What a denial means: the session ends as denied with the words of the person; the
// task of a step is skipped, which is no error.
func TestDenied(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"not on a Friday": "not on a Friday", " ": "a person"} {
		s := engineIn("waiting_user (start)")
		facts, err := s.Deny("g-1", reason)
		apply(s, facts...)
		if x := s.Session; err != nil || x.Want != ralph.WantStop || x.Ends != ralph.ReasonDenied || !strings.Contains(x.Cause, want) || x.Approved {
			t.Errorf("denied %q: %+v, %v", reason, x, err)
		}
		s = engineIn("waiting_user (step)")
		facts, err = s.Deny("g-1", reason)
		apply(s, facts...)
		x := s.Task("t-1")
		if err != nil || x.Status != ralph.TaskSkipped || !strings.Contains(x.Run.Reason, strings.TrimSpace(reason)) || x.Run.Reason == "" || len(s.Session.Errors) > 0 {
			t.Errorf("denied %q: %+v, %v", reason, x, err)
		}
	}
}

// A gate of mode step goes with its question: when a person assigns the task and it
// starts, edits it into another one, leaves it out or removes it; and with the session
// that asked. Else the task would wait at work for an answer that nobody owes.
func TestStepGateGoes(t *testing.T) {
	t.Parallel()
	edited := task("t-1")
	edited.Name = "another"
	for name, facts := range map[string][]ralph.Fact{
		"assigned and started": {ralph.TaskAssigned{ID: "t-1"}, ralph.TaskStarted{ID: "t-1"}},
		"edited":               {ralph.TaskEdited{Task: edited}},
		"skipped":              {ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped}},
		"removed":              {ralph.TaskRemoved{ID: "t-1"}},
		"the session ends":     {ralph.SessionEnded{Reason: ralph.ReasonInterrupted}},
		"it is resumed":        {ralph.SessionStarted{ID: "s", Resumed: true}},
		"another mode":         {ralph.ModeSet{Mode: ralph.Autopilot}},
		"answered":             {ralph.Answered{ID: "g-1", Verdict: ralph.Approved}},
	} {
		s := engineIn("waiting_user (step)")
		apply(s, facts...)
		if len(s.Approvals) != 0 {
			t.Errorf("%s: %+v is left", name, *s.Approvals[0])
		}
	}
	s := engineIn("waiting_user (step)")
	apply(s, ralph.TaskStarted{ID: "t-2"}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone})
	if len(s.Approvals) != 1 {
		t.Errorf("another task took its gate")
	}
	s = engineIn("waiting_user (start)")
	apply(s, ralph.SessionEnded{Reason: ralph.ReasonInterrupted})
	if len(s.Approvals) != 0 {
		t.Errorf("the start still waits for approval after the end")
	}
}

// What was approved for one start is asked anew at the next.
func TestApprovalsAreForOneStart(t *testing.T) {
	t.Parallel()
	s := engineIn("waiting_user (start)")
	apply(s, ralph.Answered{ID: "g-1", Verdict: ralph.Approved}, ralph.Asked{Approval: ralph.Approval{ID: "g-2", Kind: ralph.ApprovalStep, Task: "t-1"}},
		ralph.Answered{ID: "g-2", Verdict: ralph.Approved}, ralph.SessionStarted{ID: "s", Resumed: true})
	if s.Session.Approved || s.Task("t-1").Run.Approved {
		t.Error("an approval outlived its start")
	}
}
