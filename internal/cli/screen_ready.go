package cli

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web/api"
)

// readyList are the ready tasks with their scores, best first.
func readyList(s *ralph.State, c policy.Config) []api.Ready {
	var list []api.Ready
	ready := policy.Ready(s, c)
	for i, p := range policy.Scores(s, ready, c.Scoring) {
		list = append(list, api.Ready{Task: report.QueryTask(ready[i]), Score: p.Sum(), Parts: p})
	}
	return list
}

// scorePart is one of the five parts of a score, in document B's order (B-047).
type scorePart struct {
	points int
	reason string
}

func scoreParts(p policy.Points, w policy.Scoring) []scorePart {
	waiting := "no task waits for it"
	if w.Unblocks != 0 && p.Unblocks != 0 {
		waiting = fmt.Sprintf("%d waiting for it, %+d each", p.Unblocks/w.Unblocks, w.Unblocks)
	}
	retries := "no retry so far"
	if w.Retry != 0 && p.Retry != 0 {
		retries = fmt.Sprintf("%s so far, %+d each", ralph.Count(p.Retry/w.Retry, "retry"), w.Retry)
	}
	is := func(points int, yes, no string) string {
		if points != 0 {
			return yes
		}
		return no
	}
	return []scorePart{
		{p.Unblocks, waiting},
		{p.Critical, is(p.Critical, "tagged critical", "not tagged critical")},
		{p.QuickWin, is(p.QuickWin, "tagged quick-win", "not tagged quick-win")},
		{p.NearComplete, is(p.NearComplete, "more than half of its parent's tasks are done", "not more than half of a parent's tasks are done")},
		{p.Retry, retries},
	}
}
