package ralph_test

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// A thread that nobody has in a turn is stopped at once; one that is at work at the end of its turn (E-068).
func TestStopOfAThread(t *testing.T) {
	thread := ralph.Task{ID: "t-1", Kind: ralph.KindBuild, Status: ralph.TaskPending, Run: ralph.Run{Thread: &ralph.Thread{}}}
	s := &ralph.State{Plan: ralph.Plan{Tasks: []*ralph.Task{&thread}}}
	for status, want := range map[ralph.TaskStatus][]string{
		ralph.TaskPending: {"thread.wanted", "task.ended"},
		ralph.TaskActive:  {"thread.wanted"},
	} {
		thread.Status = status
		facts, err := s.WantThread("t-1", ralph.ThreadStop)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, f := range facts {
			kinds = append(kinds, f.Kind())
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: %q, want %q", status, kinds, want)
		}
	}
	thread.Status = ralph.TaskPending
	facts, _ := s.WantThread("t-1", ralph.ThreadStop)
	for _, f := range facts {
		s.Apply(ralph.Event{Seq: s.Seq + 1, By: "cli", Fact: f})
	}
	if x := s.Task("t-1"); x.Status != ralph.TaskSkipped || x.StoppedBy() != ralph.StopUser {
		t.Errorf("it is %s, stopped by %q", x.Status, x.StoppedBy())
	}
}
