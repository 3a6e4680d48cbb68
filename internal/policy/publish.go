package policy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/text"
)

// nextPublish pushes the branch of a spec once. A remote that is away holds nothing up.
func nextPublish(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, out := t.Run, s.Plan.Integration.Out
	if gate := s.ApprovalOf(t.ID); gate != nil {
		return waitForHuman(s, gate, c, now)
	}
	if out.Tasks != "" {
		return publishTasks(s, t, c, now)
	}
	p := s.Pull(out.Branch)
	switch {
	case p == nil || r.Published && !p.Waits():
		return finish(ralph.TaskDone, "C-055", "the work is on "+out.Branch)
	case r.Published:
		return finish(ralph.TaskDone, "C-055", fmt.Sprintf("the work is on %s here, and not on %s yet: %s", out.Branch, out.Remote, p.Error))
	case r.Refused != "":
		return finish(ralph.TaskDone, "C-055", fmt.Sprintf("the work is on %s here, and not pushed: %s", out.Branch, r.Refused))
	}
	what := "push " + out.Branch + " to " + out.Remote
	if by := heldPush(s, t, out.Branch, c, now); by != "" && !r.Here {
		return ralph.Ask{Kind: ralph.ApprovalPush, Text: what + " (" + by + ")"}, ralph.Why{Rule: "X-75", Text: what + " (" + by + ")"}
	}
	return ralph.Publish{Branch: out.Branch, Remote: out.Remote, Commit: p.Commit}, ralph.Why{Rule: "C-055", Text: what}
}

// publishTasks pushes the branch of each task of the job that its remote does not have, once.
func publishTasks(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	due, waiting, away := s.ToPush(t.Run.StartedAt)
	if len(due) == 0 || t.Run.Refused != "" {
		return finish(ralph.TaskDone, "C-055", fmt.Sprintf("each task is on a branch of its own; not on %s yet: %d", s.Plan.Integration.Out.Remote, waiting))
	}
	by, names := "", make([]string, len(due))
	for i, p := range due {
		by, names[i] = cmp.Or(by, heldPush(s, t, p.Branch, c, now)), p.Branch
	}
	if by != "" && !t.Run.Here {
		held := fmt.Sprintf("push %s to %s (%s)", text.List(names, 5), due[0].Remote, by)
		return ralph.Ask{Kind: ralph.ApprovalPush, Text: held}, ralph.Why{Rule: "X-75", Text: held}
	}
	p := due[0]
	return ralph.Publish{Branch: p.Branch, Remote: p.Remote, Commit: p.Commit, Of: p.Task, Later: away}, ralph.Why{Rule: "C-055", Text: "push " + p.Branch + " to " + p.Remote}
}

// heldPush is the rule that holds ralph's own push, "" for none, as for an agent's.
func heldPush(s *ralph.State, t *ralph.Task, branch string, c Config, now time.Time) string {
	out, settings := s.Plan.Integration.Out, c.Approval()
	settings.Approvals = "never" // nothing else holds what the person's own settings ask for
	q := ralph.Request{Kind: ralph.RequestApproval, Command: fmt.Sprintf("git push %s %s", out.Remote, branch)}
	if word, _ := approval.Clear(q, settings, ralph.WorkDir{}, approval.ActiveRules(s, t.ID, now)); word.Gate != "" || word.Verdict == ralph.Denied {
		return word.Rule
	}
	return ""
}
