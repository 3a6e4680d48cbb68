package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	maxHeirs = 40       // tasks that depend on one, and that it depends on
	maxWords = 32 << 10 // bytes of a description
)

// taskPage is one task, or a stage of the job.
func taskPage(_ context.Context, r *request) (view.Page, error) {
	id := ralph.TaskID(r.PathValue("id"))
	t := r.state.Task(id)
	if t == nil {
		return view.Page{}, noTask(r.state, id)
	}
	b := newBoard(r)
	first, last, ok := r.server.index.Task(id)
	if !ok || last < r.state.Seq-maxPast/10 && t.Status == ralph.TaskActive { // the index is not so far yet
		first, last = max(1, r.state.Seq-maxPast), r.state.Seq
	}
	past, err := r.server.tasksPast.of(r.server.opt.Source, r.state, r.server.index.Before, id, first, last)
	if err != nil {
		return view.Page{}, err
	}
	running := ""
	if !t.Run.TurnAt.IsZero() && !r.past { // a folder has all of its turn, also what came later
		running = r.newestRecord(id)
	}
	records, err := r.records(id)
	if err != nil {
		return view.Page{}, err
	}
	if r.past {
		records = slices.DeleteFunc(records, func(x TurnRecord) bool {
			return !slices.ContainsFunc(past.turns, func(row view.TurnRow) bool { return row.Record == x.Name })
		})
	}
	turns := turnRows(past.turns, records, running)
	picked, diff := b.file(t, records), b.diff(t, running)
	if picked.Name == fileDiff { // the same places have the same names in both
		diff = view.DiffModel{}
	}
	live, feed := b.liveOutput(t, running), b.feedOf(t, running, turns)
	feed.Beside = live.Records && feed.Feed != nil && len(feed.Feed.Items) > 0
	whole := r.server.whole(t)
	return view.Page{Title: text.Clip(text.FirstLine(cmp.Or(t.Name, string(id))), 120), Sections: []view.Section{
		{ID: "task-head", Body: view.TaskHead(b.taskHead(t, past.end))},
		{ID: "task-live", Class: "two-thirds", Body: view.TaskLive(live, feed)},
		{ID: "task-feed", Class: "third", Body: view.TaskFeed(feed)},
		{ID: "task-text", Class: "half", Body: view.TaskText(b.text(t))},
		{ID: "task-links", Class: "half", Body: view.TaskLinks(b.links(t))},
		{ID: "task-turns", Body: view.TaskTurns(id, turns, picked)},
		{ID: "task-file", Body: view.TaskFile(picked)},
		{ID: "task-diff", Body: view.TaskDiff(diff)},
		{ID: "task-checks", Body: view.TaskChecks(checksOf(whole))},
		{ID: "task-merge", Body: view.TaskMerge(mergeOf(whole))},
		{ID: "task-past", Body: view.TaskPast(id, past.lines, past.from, past.cut)},
	}}, nil
}

// whole is a task with the outputs whole that its facts have in brief.
func (x *Server) whole(t *ralph.Task) *ralph.Task {
	if x.opt.Whole == nil {
		return t
	}
	return x.opt.Whole(t)
}

// noTask says that there is no such task, and which one was probably meant.
func noTask(s *ralph.State, id ralph.TaskID) error {
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

func (r *request) records(id ralph.TaskID) ([]TurnRecord, error) {
	if r.server.opt.Turns == nil {
		return nil, nil
	}
	return r.server.opt.Turns.List(id)
}

// newestRecord is the folder of the turn under way.
func (r *request) newestRecord(id ralph.TaskID) string {
	list, err := r.records(id)
	t := r.state.Task(id)
	if err != nil || t == nil {
		return ""
	}
	name := ""
	for _, x := range list {
		if x.Iteration == t.Run.Iterations+1 { // the tries of an iteration stand in their order
			name = x.Name
		}
	}
	return name
}

// turnRows are the turns that the journal tells of, and those that only have a folder.
func turnRows(told []view.TurnRow, records []TurnRecord, running string) []view.TurnRow {
	has := map[string]bool{}
	for _, x := range told {
		has[x.Record] = true
	}
	var out []view.TurnRow
	for _, x := range records {
		if !has[x.Name] && x.Name != running {
			out = append(out, view.TurnRow{Record: x.Name, Iteration: x.Iteration, Exit: "unknown"})
		}
	}
	out = append(out, told...)
	if running != "" {
		n, _, _ := strings.Cut(running, ".")
		iteration, _ := strconv.Atoi(n)
		out = append(out, view.TurnRow{Record: running, Iteration: iteration, Exit: "running"})
	}
	slices.Reverse(out)
	return out[:min(len(out), maxTurns)]
}

// taskHead is what the task is and what may be done with it.
func (b *board) taskHead(t *ralph.Task, end view.TaskEnd) view.TaskModel {
	w := b.world()
	m := view.TaskModel{
		Card: b.card(t), Kind: string(t.Kind), Accepted: t.Run.Accepted, Unneeded: t.NothingToChange(), Skip: t.Run.Skip, Assigned: t.Run.Assigned, Usage: t.Run.Usage, Context: t.Run.Context,
		Branch: t.Run.Place.Branch, Worktree: t.Run.Place.Dir, Commit: t.Run.Commit, Stash: t.Run.Stash, Retries: t.RetryCount, End: end, StartedAt: t.Run.StartedAt,
		EndedAt: t.Run.EndedAt, RetryAt: t.Run.RetryAt, StepError: text.Clip(text.FirstLine(t.Run.StepError), 400), Unchanged: t.Run.Unchanged, Spec: t.Spec,
		Offers: action.AllAvailable(b.state, w, action.Task, string(t.ID)),
	}
	if !t.IsBuild() {
		m.Card.Stand = view.Stand(t.Status)
	}
	if t.Status == ralph.TaskActive { // the panel to step in: with the engine's buttons (B-021)
		for _, o := range action.AllAvailable(b.state, w, action.Engine, "") {
			if slices.Contains([]string{"pause", "resume", "stop"}, strings.TrimPrefix(o.Action, "engine.")) {
				o.Key, o.Title = "", o.Title+" all"
				m.Engine = append(m.Engine, o)
			}
		}
	}
	m.Gate = b.gated[t.ID]
	if plan := b.server.opt.Schedule; plan != nil && t.IsBuild() {
		m.Why, m.HasWhy = plan.Why(b.state, t.ID)
	}
	if m.Card.Stand == view.StandWaiting || m.Card.Stand == view.StandActive {
		m.Card.Line = b.line(t, m.Card.Stand)
	}
	if t.Run.Place.Conflicts != nil {
		m.Conflicts = t.Run.Place.Conflicts
	}
	return m
}

// text is what people wrote of the task.
func (b *board) text(t *ralph.Task) view.TaskWords {
	w := view.TaskWords{}
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

// links are the tasks before and behind it.
func (b *board) links(t *ralph.Task) view.TaskNeighbours {
	var n view.TaskNeighbours
	for _, d := range t.Deps {
		if x := b.tasks[d]; x != nil && len(n.Deps) < maxHeirs {
			n.Deps = append(n.Deps, b.card(x))
		} else {
			n.MoreDeps++
		}
	}
	for _, x := range b.order {
		if slices.Contains(x.Deps, t.ID) {
			if len(n.Heirs) < maxHeirs {
				n.Heirs = append(n.Heirs, b.card(x))
			} else {
				n.MoreHeirs++
			}
		}
	}
	if b.tasks[t.ID] != nil && len(t.Deps)+len(n.Heirs) > 0 {
		n.Graph = with("/plan/graph", nil, "focus", string(t.ID))
	}
	return n
}

// liveOutput is the end of what the agent at work has printed.
func (b *board) liveOutput(t *ralph.Task, running string) view.LiveOutput {
	o := view.LiveOutput{Running: running != "", Record: running, ID: t.ID, Since: t.Run.TurnAt}
	if running == "" {
		return o
	}
	text, before, err := b.server.tail(t.ID, running, fileOutput, maxLive)
	if err != nil {
		return o
	}
	o.Records = records(text)
	o.Before, o.HTML = before, markup.OutputWithin(text, markup.Limits{Lines: liveLines, LineBytes: 2000})
	return o
}

// records reports whether an output is for programs: its last whole lines are JSON objects.
func records(text []byte) bool {
	n := 0
	for end := bytes.LastIndexByte(text, '\n'); end > 0 && n < recordLines; n++ {
		start := bytes.LastIndexByte(text[:end], '\n') + 1
		line := bytes.TrimSpace(text[start:end])
		if start == 0 && n > 0 && !bytes.HasPrefix(line, []byte("{")) {
			break // the rest of a line that is cut
		}
		if len(line) > 0 && (line[0] != '{' || !json.Valid(line)) {
			return false
		}
		end = start - 1
	}
	return n > 0
}

// recordLines are looked at to see whether an output is for programs.
const recordLines = 3

// feedOf is what the agent does, or did in its last turn.
func (b *board) feedOf(t *ralph.Task, running string, turns []view.TurnRow) view.FeedModel {
	m := view.FeedModel{Running: running != ""}
	record := running
	if record == "" && len(turns) > 0 {
		record = turns[0].Record
	}
	if _, ok := recordOf(record); ok {
		m.Feed = b.server.turnFeed(t.ID, record)
	}
	if m.Feed == nil && t.Run.Last != nil && len(t.Run.Last.Summary.Plan) > 0 {
		m.Feed = &view.TurnFeed{Plan: t.Run.Last.Summary.Plan}
	}
	return m
}

// diff is what the task has changed: as the agent at work tells it, else all of it.
func (b *board) diff(t *ralph.Task, running string) view.DiffModel {
	if running != "" {
		if f := b.server.turnFeed(t.ID, running); f != nil && f.Diff != "" {
			return view.DiffModel{Title: "Changes of this turn, as the agent tells them", Patch: markup.ParsePatch([]byte(f.Diff), markup.Limits{}), Shown: true, Cut: int64(f.Cut)}
		}
	}
	text, after, err := b.server.start(t.ID, "", fileDiff, maxShown)
	if err != nil || len(text) == 0 {
		return view.DiffModel{}
	}
	return view.DiffModel{
		Title: "Changes of the whole task", Patch: markup.ParsePatch(text, markup.Limits{}), Shown: true, Cut: after,
		Raw: view.TurnFileAddress(t.ID, wholeTask, fileDiff),
	}
}

// file is the file of a turn that the address asks for (?iteration=, ?file=).
func (b *board) file(t *ralph.Task, records []TurnRecord) view.FileModel {
	q := b.URL.Query()
	record, name := q.Get("iteration"), cmp.Or(q.Get("file"), fileOutput)
	if record == "" {
		return view.FileModel{}
	}
	m := view.FileModel{ID: t.ID, Record: record, Name: name, Shown: true, Names: TurnFileNames()[:4]}
	known := slices.ContainsFunc(records, func(x TurnRecord) bool { return x.Name == record })
	if _, ok := recordOf(record); !ok || !known || !slices.Contains(m.Names, name) {
		m.Record, m.Missing = "", true
		return m
	}
	text, cut, err := b.server.start(t.ID, record, name, maxShown)
	if name == fileOutput { // its end matters
		text, cut, err = b.server.tail(t.ID, record, name, maxShown)
		m.FromEnd = true
	}
	if err != nil {
		m.Missing = true
		return m
	}
	m.Cut, m.Raw = cut, view.TurnFileAddress(t.ID, record, name)
	switch name {
	case fileDiff:
		m.Patch = markup.ParsePatch(text, markup.Limits{})
	case filePrompt:
		m.HTML, m.Block = markup.Markdown(text), true
	case fileChecks:
		var ran ralph.ChecksRan
		if json.Unmarshal(text, &ran) == nil {
			m.Checks = checksRan(&ran, nil)
			return m
		}
		m.HTML, m.Block = markup.Code(name, text), true
	default:
		m.HTML = markup.OutputWithin(text, markup.Limits{})
	}
	return m
}

// checksOf are the checks of the newest turn.
func checksOf(t *ralph.Task) view.ChecksModel {
	return checksRan(cmp.Or(t.Run.Checks, t.Run.Red), t.Run.Queue.Weakened)
}

const (
	maxChecks   = 50
	maxCheck    = 32 << 10 // bytes of the output of one
	maxFindings = 100
)

func checksRan(ran *ralph.ChecksRan, weakened []ralph.Finding) view.ChecksModel {
	m := view.ChecksModel{Findings: weakened[:min(len(weakened), maxFindings)]}
	if ran == nil {
		return m
	}
	m.Ran, m.Pass, m.Took, m.PassedOver = true, ran.Pass, ran.Took, ralph.PassedOverWords(ran.PassedOver())
	for _, x := range ran.Results[:min(len(ran.Results), maxChecks)] {
		row := view.CheckRow{Result: x, Known: slices.Contains(ran.Known, x.Name), Waived: slices.Contains(ran.Waived, x.Name)}
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

// mergeOf is where the task's work is on its way.
func mergeOf(t *ralph.Task) view.MergeModel {
	q := t.Run.Queue
	m := view.MergeModel{State: string(q.State), Commit: q.Commit, GaveUp: q.GaveUp, Resolves: q.Resolves}
	if q.Merged != nil && q.Merged.Conflict != nil {
		for _, f := range q.Merged.Conflict.Files[:min(len(q.Merged.Conflict.Files), 20)] {
			f.Marked = text.Cut(f.Marked, 8<<10)
			m.Files = append(m.Files, f)
		}
		m.MoreFiles = len(q.Merged.Conflict.Files) - len(m.Files)
	}
	return m
}
