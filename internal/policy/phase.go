package policy

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// takeOver begins a phase with what the agent knows of the one before: its session,
// made shorter, when it is too full to go on in. In worktrees each task has files
// of its own, so there it is only told what was done.
func takeOver(s *ralph.State, t *ralph.Task, c Config, agent string) (ralph.Step, ralph.Why, bool) {
	if r := t.Run; !c.Continue || c.ContextCompact <= 0 || !t.IsBuild() || r.Iterations > 0 || r.Session != "" || r.Handover != "" {
		return nil, ralph.Why{}, false
	}
	var from *ralph.Task // the last one of another phase to end
	for _, x := range s.Plan.Tasks {
		switch {
		case x.Phase == t.Phase && x.Run.Iterations > 0:
			return nil, ralph.Why{}, false // the phase has begun
		case x.Phase != t.Phase && x.Status == ralph.TaskDone && (from == nil || x.Run.EndedAt.After(from.Run.EndedAt)):
			from = x
		}
	}
	if from == nil || from.Run.Agent != agent || from.Run.Context.Part() < c.ContextCompact {
		return nil, ralph.Why{}, false
	}
	step := ralph.Compact{Agent: agent, Use: from.Run.Context, From: from.ID, MaxCost: maxCost(s, t, c)}
	if !c.Isolated {
		step.Session = from.Run.Session
	}
	text := fmt.Sprintf("a phase begins, and the one before used %.0f %% of the agent's context window", 100*from.Run.Context.Part())
	return step, ralph.Why{Rule: "A-112", Text: text}, true
}
