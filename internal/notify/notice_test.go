package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
)

// noon is when the events of these tests happen.
func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// plan is a state with a session at work on two tasks.
func plan(edit ...func(*ralph.State)) *ralph.State {
	s := &ralph.State{
		Session: ralph.Session{ID: "s-1", Mode: "autopilot"},
		Plan: ralph.Plan{File: "shop.md", Tasks: []*ralph.Task{
			{ID: "t-1", Name: "Make the basket", Status: ralph.TaskActive},
			{ID: "t-2", Name: "Pay", Status: ralph.TaskPending},
		}},
		Stages: []*ralph.Task{{ID: "plan:j-1", Kind: ralph.KindPlan, Status: ralph.TaskActive}},
	}
	for _, e := range edit {
		e(s)
	}
	return s
}

// Document A's table of sounds with its resolutions, one row for each cause: which
// event it is, what is heard, how urgent it is, the command that answers it; "ear"
// for what is no message.
func TestTable(t *testing.T) {
	t.Parallel()
	gate := ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "Which colour?"}
	kind := func(k string) ralph.Approval { x := gate; x.ID, x.Kind, x.Text = "g-2", k, "why"; return x }
	done := func(s *ralph.State) { s.Session.Completed, s.Session.Count.TasksDone = 1, 2 }
	ended := func(reason ralph.Reason) ralph.Fact { return ralph.SessionEnded{Reason: reason} }
	end := func(status ralph.TaskStatus) ralph.Fact { return ralph.TaskEnded{ID: "t-1", Status: status} }
	pause := func(from ralph.PauseKind) ralph.Fact { return ralph.Control{Want: ralph.WantPause, From: from} }
	held := func(tries int) *ralph.State {
		return plan(func(s *ralph.State) {
			s.Plan.Integration = &ralph.Integration{Branch: "ralph/merged-1", Held: []string{"a.go"}, HeldTries: tries}
		})
	}
	failedTask := plan(func(s *ralph.State) { s.Plan.Tasks[0].Status = ralph.TaskFailed })
	waiting := plan(func(s *ralph.State) { s.Approvals = []*ralph.Approval{&gate} })
	inPlace := plan(func(s *ralph.State) { s.Session.Mode = "agent" })
	for _, tt := range []struct {
		name string // with the requirement
		fact ralph.Fact
		s    *ralph.State // nil: plan()
		by   string
		want string // "" for no notice at all
	}{
		{"A-106 A-050 a task is done", end(ralph.TaskDone), nil, "", "step-complete aiComplete ear"},
		{"A-107 X-42 a task failed in the end", end(ralph.TaskFailed), nil, "", "step-failed aiError trouble: ralph task retry t-1"},
		{"F-12 B-066 out of wall-clock time", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout, RanOut: ralph.OutOfTime}, nil, "", "step-failed aiError trouble: ralph task extend t-1 --time 30m && ralph task retry t-1"},
		{"A-107 blocked, in place", end(ralph.TaskBlocked), inPlace, "", "step-failed aiError trouble: ralph why t-1"},
		{"X-42 an attempt failed", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true}, nil, "", ""},
		{"X-42 a retry follows", ralph.Retrying{Task: "t-1", Attempt: 1}, nil, "", "retrying  ear"},
		{"A-051 a task is skipped", end(ralph.TaskSkipped), nil, "", "step-skipped  ear"},
		{"A-106 a stage is no task of the plan", ralph.TaskEnded{ID: "plan:j-1", Status: ralph.TaskDone}, nil, "", ""},
		{"A-107 a stage that failed is told by its spec", ralph.TaskEnded{ID: "plan:j-1", Status: ralph.TaskFailed}, nil, "", ""},
		{"a stage that is forgotten", ralph.TaskEnded{ID: "merge:j-1:1", Status: ralph.TaskDone}, nil, "", ""},
		{"A-108 A-055 all done", ended(ralph.ReasonComplete), plan(done), "", "complete workflowDone info: ralph report"},
		{"A-108 the inbox is empty", ended(ralph.ReasonEmpty), plan(done), "", "complete workflowDone info: ralph report"},
		{"A-108 there was nothing to do", ended(ralph.ReasonEmpty), nil, "", ""},
		{"X-39 a person stopped it", ended(ralph.ReasonInterrupted), plan(done), "", "stopped  ear"},
		{"X-39 a person denied the start", ended(ralph.ReasonDenied), nil, "", "stopped  ear"},
		{"X-39 A-052 aborted at a task", ralph.SessionEnded{Reason: ralph.ReasonAborted, Task: "t-1"}, failedTask, "", "aborted  trouble: ralph autopilot"},
		{"X-39 aborted at something else", ended(ralph.ReasonAborted), nil, "", "aborted aiError trouble: ralph autopilot"},
		{"X-39 the machinery failed", ended(ralph.ReasonError), inPlace, "", "aborted aiError trouble: ralph agent"},
		{"X-39 a budget is used up", ended(ralph.ReasonBudget), plan(done), "", "stopped  trouble: ralph autopilot"},
		{"X-39 a hook stopped it", ended(ralph.ReasonHook), plan(done), "", "stopped  trouble: ralph autopilot"},
		{"A-109 A-072 X-41 all limited", ralph.AllLimited{Agents: []string{"claude"}, Until: noon()}, nil, "", "all-limited sectorViolation trouble: ralph resume"},
		{"A-109 X-41 its pause", pause(ralph.PauseLimits), nil, "engine", ""},
		{"A-110 A-044 a person pauses", pause(ralph.PausePerson), nil, "cli", "paused notification ear"},
		{"A-110 a pause as it was written before", pause(""), nil, "cli", "paused notification ear"},
		{"B-063 too many failures", pause(ralph.PauseFailures), nil, "engine", "paused notification needs-you: ralph resume"},
		{"A-111 X-41 a person resumes", ralph.Control{Want: ralph.WantRun}, nil, "cli", "resumed notification ear"},
		{"A-111 it resumes by itself", ralph.Control{Want: ralph.WantRun}, nil, "engine", "resumed notification info: "},
		{"X-39 a stop is wanted", ralph.Control{Want: ralph.WantStop}, nil, "cli", ""},
		{"A-027 an agent asks", ralph.Asked{Approval: gate}, nil, "", "gate notification needs-you: ralph answer g-1 \"...\""},
		{"a merge needs a person", ralph.Asked{Approval: kind(ralph.ApprovalMerge)}, nil, "", "gate notification needs-you: ralph approve g-2"},
		{"A-105 a start waits", ralph.Asked{Approval: kind(ralph.ApprovalStart)}, nil, "", "gate notification needs-you: ralph approve g-2"},
		{"A-023 a step waits", ralph.Asked{Approval: kind(ralph.ApprovalStep)}, nil, "", "gate notification needs-you: ralph approve g-2"},
		{"X-75 an operation waits", ralph.Asked{Approval: kind(ralph.ApprovalOperation)}, nil, "", "gate notification needs-you: ralph approve g-2"},
		{"a gate that a start finds open was told", ralph.SessionStarted{ID: "s-1"}, waiting, "", "started  ear"},
		{"A-068 one agent is limited", ralph.AgentLimited{Agent: "claude"}, nil, "", "rate-limited  ear"},
		{"A-070 another agent", ralph.AgentSwitched{From: "claude", To: "codex"}, nil, "", "agent-switched  ear"},
		{"A-049 a task starts", ralph.TaskStarted{ID: "t-1"}, nil, "", "step-start  ear"},
		{"a stage starts", ralph.TaskStarted{ID: "plan:j-1"}, nil, "", ""},
		{"A-040 a start", ralph.SessionStarted{ID: "s-1"}, nil, "", "started  ear"},
		{"a spec is done in agent mode", ralph.JobEnded{Status: ralph.SpecDone}, inPlace, "", "spec-complete  info: "},
		{"a spec is done elsewhere", ralph.JobEnded{Status: ralph.SpecDone}, nil, "", "spec-complete  ear"},
		{"a spec failed", ralph.JobEnded{Status: ralph.SpecFailed, Error: "no plan"}, inPlace, "", "spec-failed aiError trouble: ralph status"},
		{"X-42 a spec failed by a task that was heard", ralph.JobEnded{Status: ralph.SpecFailed}, failedTask, "", "spec-failed  trouble: ralph status"},
		{"a spec is released", ralph.JobEnded{Status: ralph.SpecPending}, nil, "", ""},
		{"a landing is held", ralph.Landed{Dirty: []string{"a.go"}}, held(1), "", "landing-held notification needs-you: git status"},
		{"and held again", ralph.Landed{Dirty: []string{"a.go"}}, held(2), "", ""},
		{"a landing", ralph.Landed{How: "fast-forward"}, nil, "", ""},
		{"a budget warns", ralph.BudgetWarned{Scope: "session", Text: "80 %"}, nil, "", "budget-warned  trouble: ralph status"},
		{"a notice that failed makes none", ralph.NoticeFailed{Sink: "slack"}, nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.s
			if s == nil {
				s = plan()
			}
			var got string
			for _, n := range Notices(ralph.Event{Seq: 7, At: noon(), By: tt.by, Fact: tt.fact}, s) {
				got = n.Event + " " + string(n.Sound) + " "
				if n.Heard {
					got += "ear"
				} else {
					got += string(n.Urgency) + ": " + n.Command
				}
				if _, known := notice.Named(n.Event); !known || n.Title == "" || n.Key == "" || n.Session != "s-1" || n.At != noon() {
					t.Errorf("not whole: %+v", n)
				}
				if !n.Heard && (n.Body == "" || !strings.ContainsAny(n.Body[:1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
					t.Errorf("the body does not begin with words of ours: %q", n.Body)
				}
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// What people read: names, reasons, the tasks of a streak (B-063), and nothing that
// an agent could steer a terminal with.
func TestWords(t *testing.T) {
	t.Parallel()
	streak := plan(func(s *ralph.State) { s.Session.Streak = []ralph.TaskID{"t-1", "t-2", "t-9"} })
	for _, tt := range []struct {
		fact        ralph.Fact
		s           *ralph.State
		title, body string
	}{
		{
			ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "Which\n\x1b[31mcolour?\u202e"}},
			plan(),
			"An agent asks: Make the basket", "Task t-1 asks: Which [31mcolour?\\u202e",
		},
		{
			ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalOperation, Task: "t-1", Text: "run make deploy", Rule: "gate.patterns: deploy"}},
			plan(),
			"An agent waits for your approval: Make the basket",
			"The agent of t-1 wants to run make deploy [gate.patterns: deploy] (`ralph gates g-1` shows it, `ralph deny g-1` refuses it)",
		},
		{
			ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalOperation, By: "hook", Text: "run make deploy", Rule: "gate.patterns: deploy"}},
			plan(),
			"An agent of yours waits for your approval",
			"An agent of yours wants to run make deploy [gate.patterns: deploy] (`ralph gates g-1` shows it, `ralph deny g-1` refuses it)",
		},
		{
			ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalTest, Task: "t-1", Text: "go test is red after 4 runs"}},
			plan(),
			"Finished work needs your eye: Make the basket",
			"The work of t-1 does not pass: go test is red after 4 runs (`ralph gates g-1` shows it, `ralph deny g-1` refuses it)",
		},
		{
			ralph.Control{Want: ralph.WantPause, From: ralph.PauseFailures},
			streak,
			"Paused: too many failures in a row", "The work is paused: 3 tasks failed in a row: t-1 Make the basket, t-2 Pay, t-9",
		},
		{
			ralph.AllLimited{Agents: []string{"claude", "codex"}, Until: noon()},
			plan(),
			"Every agent is at its limit", "The work pauses: claude, codex cannot be used before 12:00 UTC. `ralph resume` tries them at once.",
		},
		{
			ralph.TaskEnded{ID: "t-2", Status: ralph.TaskFailed, Why: ralph.Why{Text: strings.Repeat("x", 700)}},
			plan(),
			"Task failed: Pay", "Task t-2 failed: " + strings.Repeat("x", 582) + "…",
		},
		{
			ralph.SessionEnded{Reason: ralph.ReasonEmpty},
			plan(func(s *ralph.State) {
				s.Session.Mode, s.Session.Completed, s.Session.Failed, s.Session.Count.TasksDone = "agent", 2, 1, 7
			}),
			"All done", "Done: 2 specs done, 1 spec failed, 7 tasks done, $0.00, 0s",
		},
	} {
		list := Notices(ralph.Event{Fact: tt.fact}, tt.s)
		if len(list) != 1 {
			t.Fatalf("%T: %d notices", tt.fact, len(list))
		}
		if diff := cmp.Diff([]string{tt.title, tt.body}, []string{list[0].Title, list[0].Body}); diff != "" {
			t.Errorf("%T (-want +got):\n%s", tt.fact, diff)
		}
	}
}

// Several notices make one message: what needs a person comes first, each with its
// command.
func TestTogether(t *testing.T) {
	t.Parallel()
	news := Notice{Event: "spec-complete", Title: "Spec done", Body: "Spec a is done", Urgency: Info, At: noon().Add(time.Second)}
	gate := Notice{Event: "gate", Title: "An agent asks", Body: "Task t-1 asks", Command: "ralph answer g-1", Urgency: Needs, At: noon()}
	pause := Notice{Event: "paused", Title: "Paused", Body: "The work is paused", Command: "ralph resume", Urgency: Needs, At: noon()}
	var many []Notice
	for range 12 {
		many = append(many, gate)
	}
	for _, tt := range []struct {
		list                         []Notice
		title, event, command, lines string
	}{
		{[]Notice{gate}, "An agent asks", "gate", "ralph answer g-1", "Task t-1 asks\nralph answer g-1"},
		{[]Notice{news, news}, "2 things happened", "spec-complete", "ralph status", "• Spec a is done\n• Spec a is done"},
		{[]Notice{news, gate}, "1 thing needs you, and 1 more happened", "gate", "ralph gates", "• Task t-1 asks\n  ralph answer g-1\n• Spec a is done"},
		{[]Notice{gate, pause, gate}, "3 things need you", "gate", "ralph status", "• Task t-1 asks\n  ralph answer g-1\n• The work is paused\n  ralph resume\n• Task t-1 asks\n  ralph answer g-1"},
		{many, "12 things need you", "gate", "ralph gates", strings.Repeat("• Task t-1 asks\n  ralph answer g-1\n", 10) + "... and 2 more"},
	} {
		m := together(tt.list, "shop")
		got := []string{m.Head(), m.Event, m.Command, m.Text()}
		if diff := cmp.Diff([]string{"ralph in shop: " + tt.title, tt.event, tt.command, tt.lines}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if len(tt.list) > 1 && len(m.Notices) != len(tt.list) {
			t.Errorf("%d notices in the message, want %d", len(m.Notices), len(tt.list))
		}
	}
	if m := together([]Notice{gate, news}, "shop"); m.At != news.At {
		t.Errorf("at %s, want the newest", m.At)
	}
}
