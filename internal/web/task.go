package web

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/past"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// taskFiles is a task with what only files know of it.
type taskFiles struct {
	*request
	*page.Board
}

// taskPage is one task, or a stage of the job.
func taskPage(_ context.Context, r *request) (view.Page, error) {
	id := ralph.TaskID(r.PathValue("id"))
	t := r.State.Task(id)
	if t == nil {
		return view.Page{}, page.NoTask(r.State, id)
	}
	b := taskFiles{r, r.board()}
	first, last, ok := r.server.index.Task(id)
	if !ok || last < r.State.Seq-past.MaxPast/10 && t.Status == ralph.TaskActive { // the index is not so far yet
		first, last = max(1, r.State.Seq-past.MaxPast), r.State.Seq
	}
	told, err := r.server.tasksPast.Of(r.server.opt.Source, r.State, r.server.index.Before, id, first, last)
	if err != nil {
		return view.Page{}, err
	}
	running := ""
	if !t.Run.TurnAt.IsZero() && !r.Past { // a folder has all of its turn, also what came later
		running = r.newestRecord(id)
	}
	records, err := r.records(id)
	if err != nil {
		return view.Page{}, err
	}
	if r.Past {
		records = slices.DeleteFunc(records, func(x TurnRecord) bool {
			return !slices.ContainsFunc(told.Turns, func(row view.TurnRow) bool { return row.Record == x.Name })
		})
	}
	turns := page.TurnRows(told.Turns, records, running)
	picked, diff := b.file(t, records), b.diff(t, running)
	if picked.Name == fileDiff { // the same places have the same names in both
		diff = view.DiffModel{}
	}
	live, feed := b.liveOutput(t, running), b.feedOf(t, running, turns)
	feed.Beside = live.Records && feed.Feed != nil && len(feed.Feed.Items) > 0
	whole, thread := r.server.whole(t), r.thread(id, &told)
	return view.Page{Title: text.Clip(text.FirstLine(cmp.Or(t.Name, string(id))), 120), Sections: []view.Section{
		{ID: "task-head", Body: view.TaskHead(b.TaskHead(t, told.End))},
		{ID: "task-thread", Class: "half", Body: view.TaskThread(thread)},
		{ID: "task-run", Class: "half", Body: view.TaskRun(thread)},
		{ID: "task-live", Class: "two-thirds", Body: view.TaskLive(live, feed)},
		{ID: "task-feed", Class: "third", Body: view.TaskFeed(feed)},
		{ID: "task-text", Class: "half", Body: view.TaskText(b.TaskWords(t))},
		{ID: "task-links", Class: "half", Body: view.TaskLinks(b.TaskLinks(t))},
		{ID: "task-turns", Body: view.TaskTurns(id, thread != nil, turns, picked)},
		{ID: "task-file", Body: view.TaskFile(picked)},
		{ID: "task-diff", Body: view.TaskDiff(diff)},
		{ID: "task-checks", Body: view.TaskChecks(page.ChecksOf(whole))},
		{ID: "task-merge", Body: view.TaskMerge(page.MergeOf(whole))},
		{ID: "task-past", Body: view.TaskPast(id, told.Lines, told.From, told.Cut)},
	}}, nil
}

// thread is a task as a thread, nil for one that is none.
func (r *request) thread(id ralph.TaskID, told *past.Task) *view.ThreadModel {
	x, is := screen.ThreadOf(r.State, id, r.Engine, r.Now)
	if !is {
		return nil
	}
	r.livePlan(&x)
	m := &view.ThreadModel{ThreadCard: screen.ThreadCard{Thread: x}}
	m.Steps, m.Cut = told.Run.Steps(&x)
	return m
}

// whole is a task with the outputs whole that its facts have in brief.
func (x *Server) whole(t *ralph.Task) *ralph.Task {
	if x.opt.Whole == nil {
		return t
	}
	return x.opt.Whole(t)
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
	t := r.State.Task(id)
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

// liveOutput is the end of what the agent at work has printed.
func (b taskFiles) liveOutput(t *ralph.Task, running string) view.LiveOutput {
	o := view.LiveOutput{Running: running != "", Record: running, ID: t.ID, Since: t.Run.TurnAt}
	if running == "" {
		return o
	}
	text, before, err := b.server.tail(t.ID, running, fileOutput, maxLive)
	if err != nil {
		return o
	}
	o.Records = page.IsRecords(text)
	o.Before, o.HTML = before, markup.OutputWithin(text, markup.Limits{Lines: liveLines, LineBytes: 2000})
	return o
}

// feedOf is what the agent does, or did in its last turn.
func (b taskFiles) feedOf(t *ralph.Task, running string, turns []view.TurnRow) view.FeedModel {
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
func (b taskFiles) diff(t *ralph.Task, running string) view.DiffModel {
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
func (b taskFiles) file(t *ralph.Task, records []TurnRecord) view.FileModel {
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
			m.Checks = page.ChecksIn(&ran, nil)
			return m
		}
		m.HTML, m.Block = markup.Code(name, text), true
	default:
		m.HTML = markup.OutputWithin(text, markup.Limits{})
	}
	return m
}
