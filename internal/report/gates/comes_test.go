package gates_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/gates"
)

// What a yes and a no come to is said at the gate, as it is: a yes resolves no conflict, and has the
// merge tried again; of what is only to be looked at it is the merge. A conflict has the commands with
// which a person resolves it.
func TestGateSaysWhatComesOfIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		gate     ralph.Approval
		conflict bool
		want     []string
		wantNot  string
	}{
		{name: "a conflict", gate: ralph.Approval{Kind: ralph.ApprovalMerge, About: "t-0001"}, conflict: true, want: []string{
			"Yes:     The merge is tried again, with ralph/t-0001 as it is then.", "No:      The task fails; its branch is kept.", "  git worktree add -f ../t-0001 ralph/t-0001\n  git -C ../t-0001 merge ralph/feature-x ",
		}},
		{name: "to be looked at", gate: ralph.Approval{Kind: ralph.ApprovalMerge, About: "t-0001"}, want: []string{
			"The work is merged as it is.", "The work goes back to its agent with your reason.",
		}, wantNot: "git worktree"},
		{name: "the base branch", gate: ralph.Approval{Kind: ralph.ApprovalMerge}, want: []string{"The base branch's commits are taken as they are.", "does not land"}, wantNot: "git worktree"},
		{name: "a command", gate: ralph.Approval{Kind: ralph.ApprovalOperation, Task: "t-0001"}, want: []string{"It is done at once."}, wantNot: "git worktree"},
		{name: "a question", gate: ralph.Approval{Kind: ralph.ApprovalQuestion, Task: "t-0001"}, wantNot: "Yes:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := storytest.New()
			x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
			x.Start("t-0001", 1)
			x.Turn("t-0001", time.Minute, storytest.Complete)
			x.Done("t-0001")
			if tt.conflict {
				x.Conflict("t-0001", "a.go")
			}
			have := gates.DetailOf(x.S, &tt.gate).Words(x.Now)
			for _, w := range tt.want {
				if !strings.Contains(have, w) {
					t.Errorf("it does not say %q:\n%s", w, have)
				}
			}
			if tt.wantNot != "" && strings.Contains(have, tt.wantNot) {
				t.Errorf("it says %q:\n%s", tt.wantNot, have)
			}
		})
	}
}
