package status_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// D-020, D-021: the sample of document D, byte for byte; rows stay in file order.
func TestInboxSample(t *testing.T) {
	now := storytest.Clock("2025-01-20T12:30:00Z")
	s := &ralph.State{Inbox: []*ralph.Spec{
		{ID: "q-a1b2", File: "feature-x.md", Status: ralph.SpecPending, AddedAt: storytest.Clock("2025-01-20T10:30:00Z")},
		{ID: "q-c3d4", File: "bugfix-y.md", Status: ralph.SpecPending, AddedAt: storytest.Clock("2025-01-20T11:30:00Z")},
		{ID: "q-e5f6", File: "refactor-z.md", Status: ralph.SpecActive, AddedAt: storytest.Clock("2025-01-20T09:00:00Z"), StartedAt: storytest.Clock("2025-01-20T12:20:00Z")},
	}}
	want := `Inbox (3 specs):
  q-a1b2  pending   feature-x.md      (added 2h ago)
  q-c3d4  pending   bugfix-y.md       (added 1h ago)
  q-e5f6  active    refactor-z.md     (started 10m ago)
`
	if diff := cmp.Diff(want, report.Inbox(s, now)); diff != "" {
		t.Error(diff)
	}
}

// D-022, D-093: one spec, none, done, failed; a long name keeps its gap.
func TestInboxOtherWords(t *testing.T) {
	now := storytest.Clock("2025-01-20T12:30:00Z")
	s := &ralph.State{}
	if got := report.Inbox(s, now); got != "Inbox (0 specs):\n" {
		t.Errorf("empty: %q", got)
	}
	s.Inbox = []*ralph.Spec{{ID: "q-a1b2", File: "a.md", Status: ralph.SpecDone, AddedAt: now, EndedAt: now.Add(-5 * time.Minute)}}
	if diff := cmp.Diff("Inbox (1 spec):\n  q-a1b2  done      a.md              (completed 5m ago)\n", report.Inbox(s, now)); diff != "" {
		t.Error(diff)
	}
	s.Inbox = []*ralph.Spec{{ID: "q-a1b2", File: "a-rather-long-name.md", Status: ralph.SpecFailed, AddedAt: now, EndedAt: now.Add(-5 * time.Minute)}}
	if diff := cmp.Diff("Inbox (1 spec):\n  q-a1b2  failed    a-rather-long-name.md  (failed 5m ago)\n", report.Inbox(s, now)); diff != "" {
		t.Error(diff)
	}
}

func TestAgo(t *testing.T) {
	now := storytest.Clock("2025-01-20T12:00:00Z")
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s ago", 0: "0s ago", 59 * time.Second: "59s ago", time.Minute: "1m ago", 119 * time.Minute: "1h ago",
		47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago",
	} {
		if got := report.Ago(now.Add(-d), now); got != want {
			t.Errorf("Ago(%s) = %q, want %q", d, got, want)
		}
	}
}

// agentState is the state of document D's status sample.
func agentState() (*ralph.State, time.Time) {
	start := storytest.Clock("2025-01-20T10:00:00Z")
	s := &ralph.State{
		At:      start.Add(time.Hour),
		Session: ralph.Session{ID: "s-1", Mode: "agent", StartedAt: start, Since: start, Completed: 3, Usage: ralph.Usage{Cost: 2.45, Known: true}, Want: ralph.WantRun},
		Job:     &ralph.Job{ID: "q-e5f6", Spec: "q-e5f6", File: "refactor-z.md", Since: start, Round: 1},
		Plan:    ralph.Plan{File: "refactor-z.md", Tasks: []*ralph.Task{{ID: "t-1", Name: "Move it", Status: ralph.TaskActive}, {ID: "t-2", Name: "Test it", Status: ralph.TaskPending}}},
	}
	for i, status := range []ralph.SpecStatus{"pending", "pending", "active", "done", "done", "done", "done", "done"} {
		s.Inbox = append(s.Inbox, &ralph.Spec{ID: ralph.SpecID("q-000" + string(rune('0'+i))), Status: status})
	}
	return s, start.Add(83 * time.Minute)
}

// D-054 to D-058, D-117: the four lines of the storytest.Sample, an empty line, and then
// what `ralph status` says without agent mode, but for the inbox, which is counted above.
func TestStatusInAgentMode(t *testing.T) {
	s, now := agentState()
	got := status.Text(s, status.Engine{Alive: true, Pid: 42}, now)
	want := "Mode: agent\nCurrent spec: refactor-z.md (q-e5f6)\nInbox: 2 pending, 1 active, 5 done, 0 failed\n" +
		"Session: 3 specs completed, $2.45 spent, 1h 23m elapsed\n\n"
	if !strings.HasPrefix(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	s.Session.Mode = "construct"
	usual := status.Text(s, status.Engine{Alive: true, Pid: 42}, now)
	if inbox := "Inbox:   2 pending, 1 active, 5 done\n"; !strings.Contains(usual, inbox) { // F-37
		t.Errorf("the usual status does not count the inbox:\n%s", usual)
	} else if diff := cmp.Diff(strings.TrimPrefix(got, want), strings.Replace(usual, inbox, "", 1)); diff != "" {
		t.Errorf("the usual status differs: %s", diff)
	}
}

// elapsed counts running time only: that of a dead engine stands still.
// D-116: without a session there are no lines of agent mode.
func TestStatusWithoutAnEngine(t *testing.T) {
	s, now := agentState()
	got := status.Text(s, status.Engine{Carry: true}, now.Add(100*time.Hour))
	if !strings.Contains(got, "1h 0m elapsed") || !strings.Contains(got, "`[[start agent]]` goes on where it was") {
		t.Errorf("a cut session:\n%s", got)
	}
	s.Session.Ended = ralph.ReasonEmpty
	if got := status.Text(s, status.Engine{}, now); strings.Contains(got, "Mode:") || !strings.Contains(got, "last session: inbox empty") {
		t.Errorf("an ended session:\n%s", got)
	}
	if got := status.Text(&ralph.State{}, status.Engine{}, now); !strings.HasPrefix(got, "Engine:  idle\nPlan:    none") {
		t.Errorf("nothing at all:\n%s", got)
	}
}

// What waits for a person is said with the command that answers it.
func TestStatusNamesWhatNeedsYou(t *testing.T) {
	s, now := agentState()
	s.Approvals = []*ralph.Approval{{ID: "g-1a2b", Task: "t-1", Kind: "question", Text: "Which\ncolour?"}}
	got := status.Text(s, status.Engine{Alive: true}, now)
	if !strings.Contains(got, "Now:     t-1 Move it, waiting for you\n") {
		t.Error(got)
	}
	if !strings.Contains(got, "Needs you:\n  g-1a2b  question  t-1  Which colour?\n      ralph answer g-1a2b \"...\"\n") {
		t.Error(got)
	}
}

// D-083 to D-090: the lines of the agent log, one for one.
func TestLogLines(t *testing.T) {
	s, _ := agentState()
	s.Session.Elapsed = 83 * time.Minute
	plan := &ralph.Task{ID: "plan:q-a1b2", Kind: ralph.KindPlan, Status: ralph.TaskDone}
	s.Stages = []*ralph.Task{plan}
	for range 6 {
		s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{})
	}
	turn := ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 2}}
	for _, tt := range []struct {
		name string
		fact ralph.Fact
		want []string
	}{
		{"D-083", ralph.SessionStarted{ID: "s-1", Mode: "agent"}, []string{"Agent started", "Session new: s-1"}},
		{"D-062", ralph.SessionStarted{ID: "s-1", Mode: "agent", Resumed: true}, []string{"Agent started", "Session resumed: 3 specs completed, 0 specs failed, $2.45 spent so far", "FETCH: q-e5f6 refactor-z.md", "PLAN: kept, 2 of 8 tasks left"}},
		{"D-084", ralph.JobStarted{ID: "q-a1b2", File: "feature-x.md"}, []string{"FETCH: q-a1b2 feature-x.md"}},
		{"D-085", ralph.TaskEnded{ID: "plan:q-a1b2", Status: ralph.TaskDone}, []string{"PLAN: 8 tasks generated"}},
		{"D-086", turn, []string{"CONSTRUCT: starting iteration 1", "BUILD: t-1 Move it, try 2 (claude)"}},
		{"D-087", ralph.TaskAdded{Task: ralph.Task{Kind: ralph.KindLand}}, []string{"CONSTRUCT: complete"}},
		{"D-088", ralph.Committed{Short: "abc1234", Subject: "ralph: complete feature-x"}, []string{`COMMIT: abc1234 "ralph: complete feature-x"`}},
		{"D-089, D-090", ralph.SessionEnded{Reason: ralph.ReasonEmpty}, []string{"Inbox empty. Agent stopping.", "Session summary: 3 specs, $2.45, 1h 23m"}},
		{"D-050", ralph.SessionEnded{Reason: ralph.ReasonMaxCost, Detail: "$1.20 spent, the limit is $1.00"}, []string{"Stopping: max-cost exceeded ($1.20 spent, the limit is $1.00)", "Session summary: 3 specs, $2.45, 1h 23m"}},
		{"D-073", ralph.JobEnded{Status: ralph.SpecFailed, Error: "a\nb"}, []string{"FAILED: a b"}},
		{"a red check says why", ralph.ChecksRan{Results: []ralph.CheckResult{{Name: "make", Exit: 2, Output: "--- stderr ---\nno rule\n--- stdout ---\nbuilding\n"}}}, []string{"CHECK: failed make (exit 2: no rule)"}},
		{"facts for the machine make none", ralph.TaskStarted{ID: "t-1"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, report.Lines(ralph.Event{Fact: tt.fact}, s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// No text of an agent can make a second line in the log (D-082).
func TestEveryLogLineIsOneLine(t *testing.T) {
	s, _ := agentState()
	evil := "one\ntwo\r\n\tthree"
	for _, fact := range []ralph.Fact{
		ralph.JobEnded{Status: ralph.SpecFailed, Error: evil},
		ralph.TaskRejected{ID: "t-1", Reason: evil},
		ralph.IssueAdded{Issue: ralph.Issue{Desc: evil}},
		ralph.Noted{Text: evil},
		ralph.Asked{Approval: ralph.Approval{Text: evil}},
		ralph.TurnEnded{Err: &ralph.AgentError{Message: evil}, Mismatch: evil, Signal: ralph.Signal{Kind: ralph.SignalBlocked, Text: evil}, Denied: []string{evil}},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed, Why: ralph.Why{Text: evil}},
		ralph.SessionEnded{Detail: evil, Reason: ralph.ReasonError},
		ralph.Committed{Error: evil},
		ralph.Shelved{Error: evil},
		ralph.Answered{Text: evil},
		ralph.ChecksRan{Results: []ralph.CheckResult{{Name: "x", Why: evil}}},
	} {
		lines := report.Lines(ralph.Event{Fact: fact}, s)
		if len(lines) == 0 {
			t.Errorf("%s makes no line", fact.Kind())
		}
		for _, l := range lines {
			if strings.ContainsAny(l, "\n\r\t") {
				t.Errorf("%s makes %q", fact.Kind(), l)
			}
		}
	}
}

// D-030: an array, never null, one object per record, optional fields only when set.
func TestQueryInbox(t *testing.T) {
	b, err := json.Marshal(status.QueryInbox(&ralph.State{}))
	if err != nil || string(b) != "[]" {
		t.Errorf("empty inbox: %s, %v", b, err)
	}
	s := &ralph.State{Inbox: []*ralph.Spec{{ID: "q-a1b2", File: "a.md", Status: ralph.SpecPending, AddedAt: storytest.Clock("2025-01-20T10:30:00Z")}}}
	b, err = json.Marshal(status.QueryInbox(s))
	if err != nil || string(b) != `[{"id":"q-a1b2","spec":"a.md","status":"pending","added_at":"2025-01-20T10:30:00Z"}]` {
		t.Errorf("%s, %v", b, err)
	}
	for name, list := range map[string]any{"tasks": status.QueryTasks(s), "issues": status.QueryIssues(s)} {
		if b, err := json.Marshal(list); err != nil || string(b) != "[]" {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

// The plan as people read it: what a task waits for, why it ended, issues last.
func TestTasks(t *testing.T) {
	if got := report.TaskList(&ralph.State{}); !strings.HasPrefix(got, "No tasks.") {
		t.Errorf("an empty plan: %q", got)
	}
	s := &ralph.State{Plan: ralph.Plan{
		File: "a.md",
		Tasks: []*ralph.Task{
			{ID: "t-1a2b", Name: "One", Status: ralph.TaskDone, Run: ralph.Run{Attempt: ralph.Attempt{Reason: "COMPLETE"}}},
			{ID: "t-2b3c", Name: "Two", Status: ralph.TaskBlocked, Run: ralph.Run{Attempt: ralph.Attempt{Reason: "no key"}}},
			{ID: "t-3c4d", Name: "Three", Status: ralph.TaskPending, Deps: []ralph.TaskID{"t-1a2b", "t-2b3c"}},
		},
		Issues: []*ralph.Issue{{ID: "i-9z9z", Desc: "it is slow"}},
	}}
	want := `3 tasks of a.md:
  t-1a2b  done     One
  t-2b3c  blocked  Two  (no key)
  t-3c4d  pending  Three  (after t-1a2b, t-2b3c)
  i-9z9z  issue    it is slow
`
	if diff := cmp.Diff(want, report.TaskList(s)); diff != "" {
		t.Error(diff)
	}
}
