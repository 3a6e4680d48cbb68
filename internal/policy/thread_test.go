package policy

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// A thread that waits for an answer is stopped without one (E-068).
func TestStopOfAThreadThatWaits(t *testing.T) {
	t.Parallel()
	task := &ralph.Task{ID: "t-1", Kind: ralph.KindBuild, Status: ralph.TaskActive, Run: ralph.Run{Thread: &ralph.Thread{}}}
	s := &ralph.State{
		Session: ralph.Session{ID: "s", Mode: ralph.ModeAuto}, Plan: ralph.Plan{Tasks: []*ralph.Task{task}},
		ApprovalState: ralph.ApprovalState{Approvals: []*ralph.Approval{{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-1", Text: "which?"}}},
	}
	if step, _ := Next(s, "t-1", Config{Agents: []string{"me"}}, time.Now()); !ralph.SameStep(step, ralph.Wait{}) {
		t.Errorf("it waits for an answer: %#v", step)
	}
	task.Run.Thread.Want = ralph.ThreadStop
	if step, why := Next(s, "t-1", Config{Agents: []string{"me"}}, time.Now()); !ralph.SameStep(step, ralph.Finish{Status: ralph.TaskSkipped}) || why.Stop != ralph.StopUser {
		t.Errorf("it is stopped: %#v %+v", step, why)
	}
}
