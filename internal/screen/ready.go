// Package screen owns view models: what a surface shows, as pure functions of State and settings.
//
// It does NOT own how a surface draws them (cli, web), or where they are read from (observe).
package screen

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// Ready is a task that would start now, with each part of its score.
type Ready struct {
	Task  status.TaskRecord `json:"task"`
	Score int               `json:"score"`
	Parts policy.Points     `json:"parts"`
}

// ReadyList are the ready tasks with their scores, best first.
func ReadyList(s *ralph.State, c policy.Config) []Ready {
	var list []Ready
	ready := policy.Ready(s, c)
	for i, p := range policy.Scores(s, ready, c.Scoring) {
		list = append(list, Ready{Task: status.QueryTask(ready[i]), Score: p.Sum(), Parts: p})
	}
	return list
}

// ScorePart is one of the five parts of a score: what it adds, and why so much.
type ScorePart struct {
	Points int
	Reason string
}

// ScoreParts are the five parts, in the order in which they are told.
func ScoreParts(p policy.Points, w policy.Scoring) []ScorePart {
	waiting := "no task waits for it"
	if w.Unblocks != 0 && p.Unblocks != 0 {
		waiting = fmt.Sprintf("%d waiting for it, %+d each", p.Unblocks/w.Unblocks, w.Unblocks)
	}
	retries := "no retry so far"
	if w.Retry != 0 && p.Retry != 0 {
		retries = fmt.Sprintf("%s so far, %+d each", text.Count(p.Retry/w.Retry, "retry"), w.Retry)
	}
	is := func(points int, yes, no string) string {
		if points != 0 {
			return yes
		}
		return no
	}
	return []ScorePart{
		{p.Unblocks, waiting},
		{p.Critical, is(p.Critical, "tagged critical", "not tagged critical")},
		{p.QuickWin, is(p.QuickWin, "tagged quick-win", "not tagged quick-win")},
		{p.NearComplete, is(p.NearComplete, "more than half of its parent's tasks are done", "not more than half of a parent's tasks are done")},
		{p.Retry, retries},
	}
}
