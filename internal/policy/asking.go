package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/tally"
)

// Unanswered says what becomes of what an agent asked in the middle of its turn and
// nobody has answered yet: the facts to record with the agent's reply, or no facts
// when it goes on waiting. An expired gate never approves; when the session is
// to end, the wait is a boundary as any other.
func Unanswered(s *ralph.State, g *ralph.Approval, c Config, now time.Time) ([]ralph.Fact, ralph.Reply) {
	taken := func(why string) ([]ralph.Fact, ralph.Reply) {
		return []ralph.Fact{ralph.Answered{ID: g.ID, Verdict: ralph.Withdrawn, Text: why, DecidedAt: now}}, ralph.Reply{Text: why, Stop: true}
	}
	t := s.Task(g.Task)
	switch {
	case t == nil || t.Status != ralph.TaskActive:
		return taken("nobody works on the task any more")
	case t.Run.Skip != "":
		return taken("the task is skipped: " + t.Run.Skip)
	}
	if _, why, ok := givenBack(s, c.under(s.Session.Auto), now); ok {
		return taken(why.Text)
	}
	if word := approval.AnswerGate(g, approval.ActiveRules(s, g.Task, now)); word.Answered() {
		f := ralph.Answered{ID: g.ID, Verdict: word.Verdict, Text: word.Text, Rule: word.By, DecidedAt: now}
		return []ralph.Fact{f}, word.Reply()
	}
	if g.Deadline.IsZero() || now.Before(g.Deadline) {
		return nil, ralph.Reply{}
	}
	why := fmt.Sprintf("nobody answered within %s", g.Deadline.Sub(g.AskedAt))
	if c.Unattended {
		why = nobodyThere
	}
	if g.Decidable() {
		why += ": it is not allowed"
	}
	facts := []ralph.Fact{ralph.Answered{ID: g.ID, Verdict: ralph.Expired, Text: why, DecidedAt: now}}
	if c.OnTimeout != "stop" {
		return facts, ralph.Reply{Text: why + "; go on without it"}
	}
	cause := fmt.Sprintf("nobody answered %s in time: %s", g.ID, g.Text)
	return append(facts, ralph.Control{Want: ralph.WantStop, Cause: cause, Ends: ralph.ReasonUnanswered}), ralph.Reply{Text: why, Stop: true}
}

// AskDeadline is until when a request waits for a person, zero for no limit.
func AskDeadline(kind ralph.RequestKind, c Config, now time.Time) time.Time {
	if kind == ralph.RequestQuestion {
		return GateDeadline(ralph.ApprovalQuestion, c, now)
	}
	return GateDeadline(ralph.ApprovalRequest, c, now)
}

// GateDeadline is until when a gate of a kind waits for a person, zero for no limit: starts, steps and merges
// are done work or none yet, and wait as long as it takes.
func GateDeadline(kind string, c Config, now time.Time) time.Time {
	limit := time.Duration(0)
	if c.Unattended && expires(kind) {
		return now // nobody will come
	}
	switch kind {
	case ralph.ApprovalQuestion:
		limit = c.InputTimeout
	case ralph.ApprovalRequest, ralph.ApprovalOperation, ralph.ApprovalTest:
		limit = c.GateTimeout
	}
	if limit <= 0 {
		return time.Time{}
	}
	return now.Add(limit)
}

// nobodyThere is why nothing waits in a session that was started so.
const nobodyThere = "nobody is there to answer (--unattended)"

// expires reports whether gates of a kind are over some time, also without an answer.
func expires(kind string) bool {
	return slices.Contains([]string{ralph.ApprovalQuestion, ralph.ApprovalRequest, ralph.ApprovalOperation, ralph.ApprovalTest}, kind)
}

// deserted reports whether an open gate is all that is left: it waits as long as it takes,
// nobody will come, and nothing else can go on meanwhile.
func deserted(s *ralph.State, gate *ralph.Approval, c Config) bool {
	if !c.Unattended || expires(gate.Kind) {
		return false
	}
	for t := range s.Marked(tally.Active) {
		if s.ApprovalOf(t.ID) == nil {
			return false
		}
	}
	return !queued(s) && best(s, c, 0, time.Time{}) == nil
}

// leave ends a session in which nobody is there to answer.
func leave(gate *ralph.Approval) (ralph.Step, ralph.Why) {
	return ralph.Emit{Fact: ralph.Control{Want: ralph.WantStop, Cause: nobodyThere + ": " + gate.Text, Ends: ralph.ReasonUnanswered}}, ralph.Why{Rule: "X-76", Text: nobodyThere}
}

// expired is what becomes of a gate between two turns that nobody answered in time: its task is blocked, or with
// gate.on_timeout stop the session ends, and the task asks anew when it is started again. It never passes.
func expired(gate *ralph.Approval, c Config) (ralph.Step, ralph.Why) {
	why := ralph.Why{Rule: "X-76", Text: "nobody answered in time: " + gate.Text}
	if c.Unattended {
		why.Text = nobodyThere + ": " + gate.Text
	}
	if c.OnTimeout == "stop" {
		cause := fmt.Sprintf("nobody answered %s in time: %s", gate.ID, gate.Text)
		return ralph.Emit{Fact: ralph.Control{Want: ralph.WantStop, Cause: cause, Ends: ralph.ReasonUnanswered}}, why
	}
	return finish(ralph.TaskBlocked, why.Rule, why.Text)
}

// holds is the open gate for which the whole session waits, nil for none: with
// gate.scope session no turn starts while an agent waits for an answer.
func holds(s *ralph.State, c Config) *ralph.Approval {
	if c.GateScope != "session" {
		return nil
	}
	i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool {
		return g.By == "" && (g.InTurn || g.Kind == ralph.ApprovalQuestion || g.Kind == ralph.ApprovalTest)
	})
	if i < 0 {
		return nil
	}
	return s.Approvals[i]
}
