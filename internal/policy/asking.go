package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// Unanswered says what becomes of what an agent asked in the middle of its turn and
// nobody has answered yet: the facts to record with the agent's reply, or no facts
// when it goes on waiting. An expired gate never approves; when the session is
// to end, the wait is a boundary as any other.
func Unanswered(s *ralph.State, g *ralph.Gate, c Config, now time.Time) ([]ralph.Fact, ralph.Reply) {
	taken := func(why string) ([]ralph.Fact, ralph.Reply) {
		return []ralph.Fact{ralph.Answered{ID: g.ID, Verdict: ralph.Withdrawn, Text: why}}, ralph.Reply{Text: why, Stop: true}
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
	if g.Deadline.IsZero() || now.Before(g.Deadline) {
		return nil, ralph.Reply{}
	}
	why := fmt.Sprintf("nobody answered within %s", g.Deadline.Sub(g.AskedAt))
	if g.Kind == ralph.GateApproval {
		why += ": it is not allowed"
	}
	facts := []ralph.Fact{ralph.Answered{ID: g.ID, Verdict: ralph.Expired, Text: why}}
	if c.OnTimeout != "stop" {
		return facts, ralph.Reply{Text: why + "; go on without it"}
	}
	cause := fmt.Sprintf("nobody answered %s in time: %s", g.ID, g.Text)
	return append(facts, ralph.Control{Want: ralph.WantStop, Cause: cause, Ends: ralph.ReasonUnanswered}), ralph.Reply{Text: why, Stop: true}
}

// AskDeadline is until when a request waits for a person, zero for no limit.
func AskDeadline(kind ralph.RequestKind, c Config, now time.Time) time.Time {
	limit := c.GateTimeout
	if kind == ralph.RequestQuestion {
		limit = c.InputTimeout
	}
	if limit <= 0 {
		return time.Time{}
	}
	return now.Add(limit)
}

// holds is the open gate for which the whole session waits, nil for none: with
// gate.scope session no turn starts while an agent waits for an answer.
func holds(s *ralph.State, c Config) *ralph.Gate {
	if c.GateScope != "session" {
		return nil
	}
	i := slices.IndexFunc(s.Gates, func(g *ralph.Gate) bool { return g.InTurn || g.Kind == ralph.GateQuestion })
	if i < 0 {
		return nil
	}
	return s.Gates[i]
}
