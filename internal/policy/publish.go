package policy

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
)

// nextPublish pushes the branch of a spec once. A remote that is away holds nothing up.
func nextPublish(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, out := t.Run, s.Plan.Integration.Out
	p := s.Pull(out.Branch)
	switch gate := s.ApprovalOf(t.ID); {
	case gate != nil:
		return waitForHuman(s, gate, c, now)
	case p == nil || r.Published && !p.Waits():
		return finish(ralph.TaskDone, "C-055", "the work is on "+out.Branch)
	case r.Published:
		return finish(ralph.TaskDone, "C-055", fmt.Sprintf("the work is on %s here, and not on %s yet: %s", out.Branch, out.Remote, p.Error))
	case r.Refused != "":
		return finish(ralph.TaskDone, "C-055", fmt.Sprintf("the work is on %s here, and not pushed: %s", out.Branch, r.Refused))
	}
	text := "push " + out.Branch + " to " + out.Remote
	if by := heldPush(s, t, c, now); by != "" && !r.Here {
		return ralph.Ask{Kind: ralph.ApprovalPush, Text: text + " (" + by + ")"}, ralph.Why{Rule: "X-75", Text: text + " (" + by + ")"}
	}
	return ralph.Publish{Branch: out.Branch, Remote: out.Remote, Commit: p.Commit}, ralph.Why{Rule: "C-055", Text: text}
}

// heldPush is the rule that holds ralph's own push, "" for none, as for an agent's.
func heldPush(s *ralph.State, t *ralph.Task, c Config, now time.Time) string {
	out, settings := s.Plan.Integration.Out, c.Approval()
	settings.Approvals = "never" // nothing else holds what the person's own settings ask for
	q := ralph.Request{Kind: ralph.RequestApproval, Command: fmt.Sprintf("git push %s %s", out.Remote, out.Branch)}
	if word, _ := approval.Clear(q, settings, ralph.WorkDir{}, approval.ActiveRules(s, t.ID, now)); word.Gate != "" || word.Verdict == ralph.Denied {
		return word.Rule
	}
	return ""
}
