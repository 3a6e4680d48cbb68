package thread_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/thread"
)

// E-030, E-043, E-045: what is known of a thread has its latest turn, items, plan, usage, errors, what waits for an answer, and what was
// decided; what a model is shown of it lists each open approval and each open question, of this thread alone.
func TestWhatIsKnownOfAThread(t *testing.T) {
	t.Parallel()
	fail := &ralph.AgentError{Class: ralph.ErrClassServer, Message: "503"}
	plan := []ralph.PlanStep{{Text: "look", Status: "completed"}}
	task := &ralph.Task{ID: "t-1", Name: "goal", Status: ralph.TaskActive}
	run := &task.Run
	run.Iterations, run.Usage = 3, ralph.Usage{Input: 7, Output: 2, Known: true}
	run.Last = &ralph.TurnEnded{Task: "t-1", Iteration: 3, Exit: ralph.ExitFailed, Err: fail, Tail: "oh", Summary: ralph.TurnSummary{
		Items: []ralph.ItemCount{{Kind: ralph.ItemCommand, N: 2}}, Errors: []string{"503, again"}, Diff: &ralph.DiffSummary{Files: 1, Added: 2},
	}}
	run.Thread = &ralph.Thread{Plan: plan, Past: []ralph.PastDecision{{Turn: 2, Action: ralph.ThenContinue, Reason: "more is left"}}}
	asked := func(id ralph.ApprovalID, of ralph.TaskID, kind, text string) *ralph.Approval {
		return &ralph.Approval{ID: id, Task: of, Kind: kind, Text: text, AskedAt: noon(), InTurn: true}
	}
	s := &ralph.State{Plan: ralph.Plan{Tasks: []*ralph.Task{task}}}
	s.Approvals = []*ralph.Approval{
		asked("g-1", "t-1", ralph.ApprovalOperation, "run npm install"), asked("g-2", "t-1", ralph.ApprovalQuestion, "Which colour?"), asked("g-3", "t-2", ralph.ApprovalOperation, "of another"),
		{ID: "g-4", Task: "t-1", Kind: ralph.ApprovalQuestion, Text: "paused: go on?"}, // ralph asks that, not the agent
	}
	got := thread.Of(s, task)
	want := thread.State{
		ID: "t-1", Goal: "goal", Turn: 3, TurnID: "t-1/3", Status: ralph.TurnFailed, Err: fail, Items: []ralph.ItemCount{{Kind: ralph.ItemCommand, N: 2}},
		Plan: plan, Diff: ralph.DiffSummary{Files: 1, Added: 2}, Errors: []string{"503, again"}, Message: "oh", Usage: ralph.Usage{Input: 7, Output: 2, Known: true},
		Pending:   []thread.Pending{{ID: "g-1", Text: "run npm install", Since: noon()}, {ID: "g-2", Question: true, Text: "Which colour?", Since: noon()}},
		Decisions: []ralph.PastDecision{{Turn: 2, Action: ralph.ThenContinue, Reason: "more is left"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	shown := got.Input()
	if diff := cmp.Diff([]string{"run npm install"}, shown.PendingApprovals); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Which colour?"}, shown.PendingToolInputs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]signature.Past{{Turn: 2, Action: ralph.ThenContinue, Reason: "more is left"}}, shown.RecentActions); diff != "" || shown.TurnError != "server: 503" || shown.LastTurnStatus != "failed" {
		t.Errorf("%+v %s", shown, diff)
	}
	if stops := thread.Stops(&got, thread.Usual(), noon().Add(time.Hour)); len(stops) != 1 || stops[0].Name != thread.StopUnanswered {
		t.Errorf("what waited for an hour stops it by %+v", stops)
	}
}
