package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

const (
	maxHeirs = 40       // tasks that depend on one, and that it depends on
	maxWords = 32 << 10 // bytes of a description
)

// TaskHead is what the task is and what may be done with it.
func (b *Board) TaskHead(t *ralph.Task, end TaskEnd) TaskModel {
	w := b.World()
	m := TaskModel{
		Card: b.Card(t), Thread: t.Run.Thread != nil, Kind: string(t.Kind), Accepted: t.Run.Accepted, Unneeded: t.NothingToChange(), Skip: t.Run.Skip, Assigned: t.Run.Assigned, Usage: t.Run.Usage, Context: t.Run.Context,
		Branch: t.Run.Worktree.Branch, Worktree: t.Run.Worktree.Dir, Commit: t.Run.Commit, Stash: t.Run.Stash, Retries: t.RetryCount, End: end, StartedAt: t.Run.StartedAt,
		EndedAt: t.Run.EndedAt, RetryAt: t.Run.RetryAt, StepError: text.Clip(text.FirstLine(t.Run.StepError), 400), Unchanged: t.Run.Unchanged, Spec: t.Spec,
		Offers: screen.TaskOffers(b.State, w, t.ID),
	}
	if !t.IsBuild() {
		m.Card.Stand = Stand(t.Status)
	}
	if t.Status == ralph.TaskActive { // the panel to step in: with the engine's buttons (B-021)
		for _, o := range action.AllAvailable(b.State, w, action.Engine, "") {
			if slices.Contains([]string{"pause", "resume", "stop"}, strings.TrimPrefix(o.Action, "engine.")) {
				o.Key, o.Title = "", o.Title+" all"
				m.Engine = append(m.Engine, o)
			}
		}
	}
	m.Gate = b.Gated[t.ID]
	if plan := b.Schedule; plan != nil && t.IsBuild() {
		m.Why, m.HasWhy = plan.Why(b.State, t.ID, b.Engine.Fleet.Missing(t.ID))
	}
	if m.Card.Stand == StandWaiting || m.Card.Stand == StandActive {
		m.Card.Line = b.Line(t, m.Card.Stand)
	}
	if t.Run.Worktree.Conflicts != nil {
		m.Conflicts = t.Run.Worktree.Conflicts
	}
	return m
}

// TaskWords is what people wrote of the task.
func (b *Board) TaskWords(t *ralph.Task) TaskWords {
	w := TaskWords{}
	if t.Notes != "" {
		w.Notes = markup.Markdown([]byte(text.Cut(t.Notes, maxWords)))
	}
	if t.Accept != "" {
		w.Accept = markup.Markdown([]byte(text.Cut(t.Accept, maxWords)))
	}
	for _, x := range t.Run.Rejects[max(0, len(t.Run.Rejects)-10):] {
		w.Rejects = append(w.Rejects, text.Cut(x, 1000))
	}
	for _, x := range t.Run.Answers[max(0, len(t.Run.Answers)-10):] {
		w.Answers = append(w.Answers, ralph.QA{Question: text.Cut(x.Question, 1000), Answer: text.Cut(x.Answer, 1000)})
	}
	return w
}

// TaskLinks are the tasks before and behind it.
func (b *Board) TaskLinks(t *ralph.Task) TaskNeighbours {
	var n TaskNeighbours
	for _, d := range t.Deps {
		if x := b.Tasks[d]; x != nil && len(n.Deps) < maxHeirs {
			n.Deps = append(n.Deps, b.Card(x))
		} else {
			n.MoreDeps++
		}
	}
	for _, x := range b.Order {
		if slices.Contains(x.Deps, t.ID) {
			if len(n.Heirs) < maxHeirs {
				n.Heirs = append(n.Heirs, b.Card(x))
			} else {
				n.MoreHeirs++
			}
		}
	}
	if b.Tasks[t.ID] != nil && len(t.Deps)+len(n.Heirs) > 0 {
		n.Graph = With("/plan/graph", nil, "focus", string(t.ID))
	}
	return n
}

// ChecksOf are the checks of the newest turn.
func ChecksOf(t *ralph.Task) ChecksModel {
	return ChecksIn(cmp.Or(t.Run.Checks, t.Run.Red), t.Run.Queue.Weakened)
}

const (
	maxChecks   = 50
	maxCheck    = 32 << 10 // bytes of the output of one
	maxFindings = 100
)

// ChecksIn are the checks of a run of them; weakened are tests that were.
func ChecksIn(ran *ralph.ChecksRan, weakened []ralph.Finding) ChecksModel {
	m := ChecksModel{Findings: weakened[:min(len(weakened), maxFindings)]}
	if ran == nil {
		return m
	}
	m.Ran, m.Pass, m.Took, m.PassedOver = true, ran.Pass, ran.Took, ralph.PassedOverWords(ran.PassedOver())
	for _, x := range ran.Results[:min(len(ran.Results), maxChecks)] {
		row := CheckRow{Result: x, Known: slices.Contains(ran.Known, x.Name), Waived: slices.Contains(ran.Waived, x.Name)}
		if x.Output != "" {
			row.HTML = markup.OutputWithin([]byte(x.Output), markup.Limits{Bytes: maxCheck, Lines: 400})
		}
		row.Result.Output = ""
		row.Result.Findings = x.Findings[:min(len(x.Findings), maxFindings)]
		m.Rows = append(m.Rows, row)
	}
	m.More = len(ran.Results) - len(m.Rows)
	return m
}

// MergeOf is where the task's work is on its way.
func MergeOf(t *ralph.Task) MergeModel {
	q := t.Run.Queue
	m := MergeModel{State: string(q.State), Commit: q.Commit, GaveUp: q.GaveUp, Resolves: q.Resolves}
	if q.Merged != nil && q.Merged.Conflict != nil {
		for _, f := range q.Merged.Conflict.Files[:min(len(q.Merged.Conflict.Files), 20)] {
			f.Marked = text.Cut(f.Marked, 8<<10)
			m.Files = append(m.Files, f)
		}
		m.MoreFiles = len(q.Merged.Conflict.Files) - len(m.Files)
	}
	return m
}

// NoTask says that there is no such task, and which one was probably meant.
func NoTask(s *ralph.State, id ralph.TaskID) error {
	var known []string
	for t := range s.Work() {
		known = append(known, string(t.ID))
	}
	why := fmt.Sprintf("there is no task %s in the plan", text.Clip(text.FirstLine(strconv.Quote(string(id))), 80))
	hint := "/plan shows all of them; those of an earlier spec are in /history"
	if near := ralph.Nearest(string(id), known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrNotFound}
}
