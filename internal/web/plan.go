package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Schedule says how the scheduler sees the plan, with the functions that decide.
type Schedule interface {
	// Ready are the ready tasks, in the order in which they start.
	Ready(s *ralph.State) []Scored
	// Why says how one task is seen; false for what is no task of the plan.
	Why(s *ralph.State, id ralph.TaskID) (view.Why, bool)
	// Iterations is how many each task may take, 0 without a limit.
	Iterations(s *ralph.State) int
}

// Scored is a ready task with its score.
type Scored struct {
	ID    ralph.TaskID
	Score int
}

const (
	maxCards    = 60 // in a column of the board
	maxRows     = 200
	maxButtons  = 12 // cards with buttons, those with keys; all are on the task's page
	maxRecords  = 100
	maxLine     = 160 // letters of one line
	maxTagsOf   = 4
	maxChoices  = 200 // of a filter
	maxNameOnly = 200
)

// board is the plan with what is derived for all tasks at once.
type board struct {
	*request
	tasks map[ralph.TaskID]*ralph.Task
	order []*ralph.Task
	phase string // that is open: phases are barriers
	ready map[ralph.TaskID]int
	score []Scored
	most  int // iterations
	gated map[ralph.TaskID]*ralph.Gate
}

func newBoard(r *request) *board {
	b := &board{request: r, order: r.state.Plan.Tasks, ready: map[ralph.TaskID]int{}, tasks: map[ralph.TaskID]*ralph.Task{}, gated: map[ralph.TaskID]*ralph.Gate{}}
	for _, t := range b.order {
		b.tasks[t.ID] = t
	}
	b.phase = b.openPhase()
	for _, g := range r.state.Gates {
		for _, id := range []ralph.TaskID{g.Task, g.About} {
			if id != "" && b.gated[id] == nil {
				b.gated[id] = g
			}
		}
	}
	if plan := r.server.opt.Schedule; plan != nil {
		b.score, b.most = plan.Ready(r.state), plan.Iterations(r.state)
		for n, x := range b.score {
			b.ready[x.ID] = n + 1
		}
	}
	return b
}

// openPhase is the first phase in order of appearance, which need not be that of the
// first open task.
func (b *board) openPhase() string {
	var phases []string
	at, has := map[string]bool{}, map[string]bool{}
	for _, t := range b.order {
		if !at[t.Phase] {
			at[t.Phase] = true
			phases = append(phases, t.Phase)
		}
		has[t.Phase] = has[t.Phase] || open(t)
	}
	for _, p := range phases {
		if has[p] {
			return p
		}
	}
	return ""
}

// open reports whether a task keeps its phase open.
func open(t *ralph.Task) bool { return !t.Status.Ended() || unmerged(t) }

// unmerged reports whether the work of a done task is on its way.
func unmerged(t *ralph.Task) bool {
	q := t.Run.Queue.State
	return t.Status == ralph.TaskDone && q != "" && q != ralph.MergeMerged
}

// holds reports whether a dep holds back what depends on it.
func (b *board) holds(id ralph.TaskID) bool {
	t := b.tasks[id]
	return t != nil && !t.LeftOut() && (t.Status != ralph.TaskDone || unmerged(t))
}

// stand says where a task stands.
func (b *board) stand(t *ralph.Task) view.Stand {
	switch {
	case t.Status == ralph.TaskPending:
		if t.Phase != b.phase || slices.ContainsFunc(t.Deps, b.holds) {
			return view.StandWaiting
		}
		return view.StandReady
	case unmerged(t):
		return view.StandMerging
	}
	return view.Stand(t.Status)
}

// waits says in one line why a pending task is not ready.
func (b *board) waits(t *ralph.Task) string {
	var deps []string
	for _, d := range t.Deps {
		if b.holds(d) {
			deps = append(deps, fmt.Sprintf("%s (%s)", d, b.stand(b.tasks[d])))
		}
	}
	if n := len(deps); n > 3 {
		deps = append(deps[:3:3], fmt.Sprintf("%d more", n-3))
	}
	line := ""
	if len(deps) > 0 {
		line = "after " + strings.Join(deps, ", ")
	}
	if t.Phase != b.phase {
		line = strings.TrimPrefix(line+"; when phase "+strconv.Quote(b.phase)+" has ended", "; ")
	}
	return line
}

// line is the one line that matters most of a task now.
func (b *board) line(t *ralph.Task, stand view.Stand) string {
	if g := b.gated[t.ID]; g != nil && (stand == view.StandActive || stand == view.StandMerging) {
		return text.Clip(text.FirstLine(string(g.ID)+": "+g.Text), maxLine)
	}
	switch stand {
	case view.StandWaiting:
		return text.Clip(text.FirstLine(b.waits(t)), maxLine)
	case view.StandActive:
		return text.Clip(text.FirstLine(cmp.Or(b.engine.Words[t.ID], t.Run.Note)), maxLine)
	case view.StandMerging:
		return text.Clip(text.FirstLine(t.Run.Queue.GaveUp), maxLine)
	case view.StandDone, view.StandReady:
		if t.NothingToChange() {
			return "nothing to change"
		}
		return ""
	}
	return text.Clip(text.FirstLine(t.Run.Reason), maxLine)
}

// card is a task as the board shows it, without its buttons.
func (b *board) card(t *ralph.Task) view.Card {
	stand := b.stand(t)
	c := view.Card{
		ID: t.ID, Name: text.Clip(text.FirstLine(t.Name), maxNameOnly), Stand: stand, Phase: text.Clip(text.FirstLine(t.Phase), 40), Priority: text.Clip(text.FirstLine(t.Priority), 20), Line: b.line(t, stand),
		Iterations: t.Run.Iterations, Most: cmp.Or(t.MaxIterations, b.most), Cost: t.Run.Usage.Cost, Spent: t.Run.Spent, Progress: t.Run.Progress,
		Stuck: t.Run.Warned && stand == view.StandActive, Agent: t.Run.Agent, Slot: t.Run.Place.Slot, TurnAt: t.Run.TurnAt,
		Needs: b.gated[t.ID] != nil && !t.Status.Ended() || t.Run.Queue.GaveUp != "" && unmerged(t),
	}
	if stand == view.StandMerging {
		c.Merge = string(t.Run.Queue.State)
	}
	for _, tag := range t.Tags[:min(len(t.Tags), maxTagsOf)] {
		c.Tags = append(c.Tags, text.Clip(text.FirstLine(tag), 24))
	}
	if n := b.ready[t.ID]; n > 0 && stand == view.StandReady {
		c.Scored, c.Rank, c.Score = true, n, b.score[n-1].Score
	}
	return c
}

// planPage is the board, or the table (?view=table).
func planPage(_ context.Context, r *request) (view.Page, error) {
	b, q := newBoard(r), r.URL.Query()
	f, list := b.filter(q)
	var body templ.Component
	if f.View == "table" {
		body = view.PlanRows(b.table(list, q))
	} else {
		body = view.PlanBoard(b.columns(list, q))
	}
	issues, rejects := b.records()
	return view.Page{Title: "Plan", Sections: []view.Section{
		{ID: "plan-top", Body: view.PlanTop(b.head(f.View))},
		{ID: "plan-filter", Body: view.PlanFilters(f)},
		{ID: "plan-body", Body: body},
		{ID: "plan-issues", Body: view.PlanRecords("Issues", issues, max(0, len(r.state.Plan.Issues)-maxRecords))},
		{ID: "plan-rejects", Body: view.PlanRecords("Rejected work", rejects, max(0, len(r.state.Plan.Rejects)-maxRecords))},
	}}, nil
}

// head is what stands over each view of the plan.
func (b *board) head(here string) view.PlanHead {
	p := b.state.Plan
	h := view.PlanHead{File: p.File, Total: len(b.order), Cost: p.Usage.Cost, Phase: b.phase, Offers: action.AllAvailable(b.state, b.world(), action.Plan, "")}
	if h.File == "" && h.Total > 0 {
		h.File = "plan.jsonl"
	}
	count := map[view.Stand]int{}
	for _, t := range b.order {
		count[b.stand(t)]++
	}
	for _, s := range []view.Stand{
		view.StandDone, view.StandMerging, view.StandActive, view.StandFailed, view.StandBlocked, view.StandTimeout, view.StandSkipped, view.StandReady, view.StandWaiting,
	} {
		h.Shares = append(h.Shares, view.Share{Stand: s, Count: count[s]})
	}
	h.Tabs = []view.Tab{
		{Title: "Board", Address: "/plan", Here: here == ""},
		{Title: "Table", Address: "/plan?view=table", Here: here == "table"},
		{Title: "Graph", Address: "/plan/graph", Here: here == "graph"},
	}
	return h
}

// filter narrows the plan by the query, and says what can be chosen.
func (b *board) filter(q url.Values) (view.PlanFilter, []*ralph.Task) {
	f := view.PlanFilter{Status: q.Get("status"), Phase: q.Get("phase"), Tag: q.Get("tag"), Query: text.Clip(text.FirstLine(q.Get("q")), 100), Total: len(b.order)}
	if q.Get("view") == "table" {
		f.View = "table"
	}
	tags, phases := map[string]bool{}, map[string]bool{}
	var list []*ralph.Task
	words := strings.Fields(strings.ToLower(f.Query))
	for _, t := range b.order {
		if t.Phase != "" && !phases[t.Phase] && len(f.Phases) < maxChoices {
			phases[t.Phase] = true
			f.Phases = append(f.Phases, t.Phase)
		}
		for _, tag := range t.Tags {
			if !tags[tag] && len(f.Tags) < maxChoices {
				tags[tag] = true
				f.Tags = append(f.Tags, tag)
			}
		}
		s := ""
		if len(words) > 0 {
			s = strings.ToLower(string(t.ID) + " " + t.Name + " " + t.Notes)
		}
		missing := func(word string) bool { return !strings.Contains(s, word) }
		if f.Phase != "" && t.Phase != f.Phase || f.Tag != "" && !slices.Contains(t.Tags, f.Tag) || f.Status != "" && string(b.stand(t)) != f.Status && string(t.Status) != f.Status || slices.ContainsFunc(words, missing) {
			continue
		}
		list = append(list, t)
	}
	slices.Sort(f.Tags)
	f.Shown = len(list)
	if f.Status+f.Phase+f.Tag+f.Query != "" {
		f.Clear = with("/plan", nil, "view", f.View)
	}
	return f, list
}

// with is an address with some of its query changed; "" takes a key out.
func with(path string, q url.Values, changes ...string) string {
	next := url.Values{}
	for _, key := range []string{"status", "phase", "tag", "q", "view", "sort", "page", "zoom", "focus"} {
		if v := q.Get(key); v != "" {
			next.Set(key, v)
		}
	}
	for i := 0; i+1 < len(changes); i += 2 {
		next.Del(changes[i])
		if changes[i+1] != "" {
			next.Set(changes[i], changes[i+1])
		}
	}
	if len(next) == 0 {
		return path
	}
	return path + "?" + next.Encode()
}

// columns are those of the board; what is rare has a column only when there is some.
func (b *board) columns(list []*ralph.Task, q url.Values) []view.Column {
	out := []view.Column{
		{Key: "waiting", Title: "Waiting"},
		{Key: "ready", Title: "Ready"},
		{Key: "active", Title: "Active"},
		{Key: "merging", Title: "Merging"},
		{Key: "failed", Title: "Ended badly"},
		{Key: "done", Title: "Done"},
		{Key: "skipped", Title: "Skipped"},
	}
	at := map[view.Stand]int{
		view.StandWaiting: 0, view.StandReady: 1, view.StandActive: 2, view.StandMerging: 3, view.StandFailed: 4,
		view.StandBlocked: 4, view.StandTimeout: 4, view.StandDone: 5, view.StandSkipped: 6,
	}
	tasks := make([][]*ralph.Task, len(out))
	for _, t := range list {
		n := at[b.stand(t)]
		tasks[n] = append(tasks[n], t)
	}
	slices.SortStableFunc(tasks[1], func(x, y *ralph.Task) int { return b.rank(x) - b.rank(y) })
	for _, n := range []int{4, 5, 6} { // the newest first
		slices.SortStableFunc(tasks[n], func(x, y *ralph.Task) int { return y.Run.EndedAt.Compare(x.Run.EndedAt) })
	}
	buttons, w := maxButtons, b.world()
	for n := range out {
		c := &out[n]
		c.Total = len(tasks[n])
		for _, t := range tasks[n][:min(c.Total, maxCards)] {
			card := b.card(t)
			if buttons > 0 && (c.Key == "failed" || c.Key == "active" || c.Key == "merging") {
				buttons--
				card.Offers = slices.DeleteFunc(action.AllAvailable(b.state, w, action.Task, string(t.ID)), func(o action.Available) bool { return o.Key == "" && !o.Primary })
			}
			c.Cards = append(c.Cards, card)
		}
		if c.Total > len(c.Cards) {
			c.More = with("/plan", q, "view", "table", "status", c.Key)
		}
	}
	return slices.DeleteFunc(out, func(c view.Column) bool {
		return c.Total == 0 && c.Key != "ready" && c.Key != "active" && c.Key != "done"
	})
}

func (b *board) rank(t *ralph.Task) int { return cmp.Or(b.ready[t.ID], len(b.order)+1) }

// table is a page of the table.
func (b *board) table(list []*ralph.Task, q url.Values) view.PlanTable {
	t := view.PlanTable{Total: len(list), Sorted: q.Get("sort"), Sorts: map[string]string{}}
	for _, by := range []string{"", "name", "status", "score", "iterations", "cost"} {
		t.Sorts[by] = with("/plan", q, "view", "table", "sort", by, "page", "")
	}
	list = slices.Clone(list)
	switch t.Sorted {
	case "name":
		slices.SortStableFunc(list, func(x, y *ralph.Task) int { return cmp.Compare(x.Name, y.Name) })
	case "status":
		slices.SortStableFunc(list, func(x, y *ralph.Task) int { return cmp.Compare(b.stand(x), b.stand(y)) })
	case "score":
		slices.SortStableFunc(list, func(x, y *ralph.Task) int { return b.rank(x) - b.rank(y) })
	case "iterations":
		slices.SortStableFunc(list, func(x, y *ralph.Task) int { return y.Run.Iterations - x.Run.Iterations })
	case "cost":
		slices.SortStableFunc(list, func(x, y *ralph.Task) int { return cmp.Compare(y.Run.Usage.Cost, x.Run.Usage.Cost) })
	}
	page, _ := strconv.Atoi(q.Get("page"))
	page = min(max(1, page), (len(list)+maxRows-1)/maxRows)
	from := max(0, page-1) * maxRows
	to := min(len(list), from+maxRows)
	t.From = from + 1
	for _, x := range list[from:to] {
		t.Rows = append(t.Rows, b.card(x))
	}
	if from > 0 {
		t.Before = with("/plan", q, "page", strconv.Itoa(page-1))
	}
	if to < len(list) {
		t.Next = with("/plan", q, "page", strconv.Itoa(page+1))
	}
	return t
}

// records are the issues and the rejects.
func (b *board) records() (issues, rejects []view.Record) {
	p := b.state.Plan
	for _, x := range p.Issues[:min(len(p.Issues), maxRecords)] {
		issues = append(issues, view.Record{ID: string(x.ID), Text: text.Clip(text.FirstLine(x.Desc), 400)})
	}
	for _, x := range p.Rejects[:min(len(p.Rejects), maxRecords)] {
		rejects = append(rejects, view.Record{ID: string(x.ID), Text: text.Clip(text.FirstLine(x.Reason), 400), Task: b.tasks[x.ID] != nil})
	}
	return issues, rejects
}
