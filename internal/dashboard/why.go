package dashboard

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/web/view"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// schedule is the scheduler as the dashboard sees it (web.Schedule): what `ralph why`
// says, made of the same functions. Settings that cannot be read leave it empty.
type schedule struct{ *Backend }

func (d schedule) Ready(s *ralph.State) []web.Scored {
	c, err := workspace.ScheduleConfig(d.Env, s)
	if err != nil {
		return nil
	}
	list := policy.Ready(s, c)
	out := make([]web.Scored, len(list))
	for i, p := range policy.Scores(s, list, c.Scoring) {
		out[i] = web.Scored{ID: list[i].ID, Score: p.Sum()}
	}
	return out
}

// next is what `ralph query next` prints.
func (d schedule) next(s *ralph.State) ([]screen.Ready, error) {
	c, err := workspace.ScheduleConfig(d.Env, s)
	if err != nil {
		return nil, err
	}
	return screen.ReadyList(s, c), nil
}

func (d schedule) Iterations(s *ralph.State) int {
	c, err := workspace.ScheduleConfig(d.Env, s)
	if err != nil {
		return 0
	}
	return c.MaxIterations
}

func (d schedule) Why(s *ralph.State, id ralph.TaskID, missing string) (view.Why, bool) {
	c, err := workspace.ScheduleConfig(d.Env, s)
	if err != nil {
		return view.Why{}, false
	}
	x := policy.Explain(s, id, c, d.Now())
	if x == nil {
		return view.Why{}, false
	}
	x.Lacks(s.Task(id), missing)
	out := view.Why{Words: x.Words, Waits: x.Waits, Ready: x.Ready, Rank: x.Rank, Score: x.Score}
	for _, p := range screen.ScoreParts(x.Parts, c.Scoring) {
		out.Parts = append(out.Parts, view.ScorePart{Points: p.Points, Reason: p.Reason})
	}
	return out, true
}
