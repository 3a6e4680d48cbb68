package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// Schedule says how the scheduler sees the plan, with the functions that decide.
type Schedule interface {
	// Ready are the ready tasks, in the order in which they start.
	Ready(s *ralph.State) []Scored
	// Why says how one task is seen; false for what is no task of the plan.
	// Why is of a task whose step no worker of a fleet can take, for what is missing; "" for none.
	Why(s *ralph.State, id ralph.TaskID, missing string) (Why, bool)
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
	MaxRecords  = 100
	MaxLine     = 160 // letters of one line
	MaxTurns    = 200 // rows of turns: the newest
	maxTagsOf   = 4
	maxChoices  = 200 // of a filter
	maxNameOnly = 200
)

// Board is the plan with what is derived for all tasks at once.
type Board struct {
	Look
	Tasks map[ralph.TaskID]*ralph.Task
	Order []*ralph.Task
	Phase string // that is open: phases are barriers
	ready map[ralph.TaskID]int
	score []Scored
	most  int // iterations
	Gated map[ralph.TaskID]*ralph.Approval
}

// NewBoard derives what all pages of the plan need.
func NewBoard(r Look) *Board {
	b := &Board{Look: r, Order: r.State.Plan.Tasks, ready: map[ralph.TaskID]int{}, Tasks: map[ralph.TaskID]*ralph.Task{}, Gated: map[ralph.TaskID]*ralph.Approval{}}
	for _, t := range b.Order {
		b.Tasks[t.ID] = t
	}
	b.Phase = b.openPhase()
	for _, g := range r.State.Approvals {
		for _, id := range []ralph.TaskID{g.Task, g.About} {
			if id != "" && b.Gated[id] == nil {
				b.Gated[id] = g
			}
		}
	}
	if plan := r.Schedule; plan != nil {
		b.score, b.most = plan.Ready(r.State), plan.Iterations(r.State)
		for n, x := range b.score {
			b.ready[x.ID] = n + 1
		}
	}
	return b
}

// openPhase is the first phase in order of appearance, which need not be that of the
// first open task.
func (b *Board) openPhase() string {
	var phases []string
	at, has := map[string]bool{}, map[string]bool{}
	for _, t := range b.Order {
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
func (b *Board) holds(id ralph.TaskID) bool {
	t := b.Tasks[id]
	return t != nil && !t.LeftOut() && (t.Status != ralph.TaskDone || unmerged(t))
}

// stand says where a task stands.
func (b *Board) stand(t *ralph.Task) Stand {
	switch {
	case t.Status == ralph.TaskPending:
		if t.Phase != b.Phase || slices.ContainsFunc(t.Deps, b.holds) {
			return StandWaiting
		}
		return StandReady
	case unmerged(t):
		return StandMerging
	}
	return Stand(t.Status)
}

// waits says in one line why a pending task is not ready.
func (b *Board) waits(t *ralph.Task) string {
	var deps []string
	for _, d := range t.Deps {
		if b.holds(d) {
			deps = append(deps, fmt.Sprintf("%s (%s)", d, b.stand(b.Tasks[d])))
		}
	}
	if n := len(deps); n > 3 {
		deps = append(deps[:3:3], fmt.Sprintf("%d more", n-3))
	}
	line := ""
	if len(deps) > 0 {
		line = "after " + strings.Join(deps, ", ")
	}
	if t.Phase != b.Phase {
		line = strings.TrimPrefix(line+"; when phase "+strconv.Quote(b.Phase)+" has ended", "; ")
	}
	return line
}

// Line is the one line that matters most of a task now.
func (b *Board) Line(t *ralph.Task, stand Stand) string {
	if g := b.Gated[t.ID]; g != nil && (stand == StandActive || stand == StandMerging) {
		return text.Clip(text.FirstLine(string(g.ID)+": "+g.Text), MaxLine)
	}
	switch stand {
	case StandWaiting:
		return text.Clip(text.FirstLine(b.waits(t)), MaxLine)
	case StandActive:
		return text.Clip(text.FirstLine(cmp.Or(b.Engine.Words[t.ID], t.Run.Note)), MaxLine)
	case StandMerging:
		return text.Clip(text.FirstLine(t.Run.Queue.GaveUp), MaxLine)
	case StandDone, StandReady:
		if t.NothingToChange() {
			return "nothing to change"
		}
		return ""
	}
	return text.Clip(text.FirstLine(t.Run.Reason), MaxLine)
}

// Card is a task as the board shows it, without its buttons.
func (b *Board) Card(t *ralph.Task) Card {
	stand := b.stand(t)
	c := Card{
		ID: t.ID, Name: text.Clip(text.FirstLine(t.Name), maxNameOnly), Stand: stand, Phase: text.Clip(text.FirstLine(t.Phase), 40), Priority: text.Clip(text.FirstLine(t.Priority), 20), Line: b.Line(t, stand),
		Iterations: t.Run.Iterations, Counted: t.Counted(), Most: status.MostIterations(t, b.most), Cost: t.Run.Usage.Cost, Spent: t.Run.Spent, Progress: t.Run.Progress,
		Stuck: t.Run.Warned && stand == StandActive, Agent: t.Run.Agent, Slot: t.Run.Worktree.Slot, TurnAt: t.Run.TurnAt,
		Needs: b.Gated[t.ID] != nil && !t.Status.Ended() || t.Run.Queue.GaveUp != "" && unmerged(t),
	}
	if stand == StandMerging {
		c.Merge = string(t.Run.Queue.State)
	}
	for _, tag := range t.Tags[:min(len(t.Tags), maxTagsOf)] {
		c.Tags = append(c.Tags, text.Clip(text.FirstLine(tag), 24))
	}
	if n := b.ready[t.ID]; n > 0 && stand == StandReady {
		c.Scored, c.Rank, c.Score = true, n, b.score[n-1].Score
	}
	return c
}

// Head is what stands over each view of the plan.
func (b *Board) Head(here string) PlanHead {
	p := b.State.Plan
	h := PlanHead{File: p.File, Total: len(b.Order), Cost: p.Usage.Cost, Phase: b.Phase, Offers: action.AllAvailable(b.State, b.World(), action.Plan, "")}
	if h.File == "" && h.Total > 0 {
		h.File = "plan.jsonl"
	}
	count := map[Stand]int{}
	for _, t := range b.Order {
		count[b.stand(t)]++
	}
	for _, s := range []Stand{
		StandDone, StandMerging, StandActive, StandFailed, StandBlocked, StandTimeout, StandSkipped, StandReady, StandWaiting,
	} {
		h.Shares = append(h.Shares, Share{Stand: s, Count: count[s]})
	}
	h.Tabs = []Tab{
		{Title: "Board", Address: "/plan", Here: here == ""},
		{Title: "Table", Address: "/plan?view=table", Here: here == "table"},
		{Title: "Graph", Address: "/plan/graph", Here: here == "graph"},
	}
	return h
}

// Filter narrows the plan by the query, and says what can be chosen.
func (b *Board) Filter(q url.Values) (PlanFilter, []*ralph.Task) {
	f := PlanFilter{Status: q.Get("status"), Phase: q.Get("phase"), Tag: q.Get("tag"), Query: text.Clip(text.FirstLine(q.Get("q")), 100), Total: len(b.Order)}
	if q.Get("view") == "table" {
		f.View = "table"
	}
	tags, phases := map[string]bool{}, map[string]bool{}
	var list []*ralph.Task
	words := strings.Fields(strings.ToLower(f.Query))
	for _, t := range b.Order {
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
		f.Clear = With("/plan", nil, "view", f.View)
	}
	return f, list
}

// With is an address with some of its query changed; "" takes a key out.
func With(path string, q url.Values, changes ...string) string {
	next := url.Values{}
	for _, key := range []string{"status", "phase", "tag", "q", "view", "sort", "page", "zoom", "focus", "thread", "action", "only"} {
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

// Columns are those of the board; what is rare has a column only when there is some.
func (b *Board) Columns(list []*ralph.Task, q url.Values) []Column {
	out := []Column{
		{Key: "waiting", Title: "Waiting"},
		{Key: "ready", Title: "Ready"},
		{Key: "active", Title: "Active"},
		{Key: "merging", Title: "Merging"},
		{Key: "failed", Title: "Ended badly"},
		{Key: "done", Title: "Done"},
		{Key: "skipped", Title: "Skipped"},
	}
	at := map[Stand]int{
		StandWaiting: 0, StandReady: 1, StandActive: 2, StandMerging: 3, StandFailed: 4,
		StandBlocked: 4, StandTimeout: 4, StandDone: 5, StandSkipped: 6,
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
	buttons, w := maxButtons, b.World()
	for n := range out {
		c := &out[n]
		c.Total = len(tasks[n])
		for _, t := range tasks[n][:min(c.Total, maxCards)] {
			card := b.Card(t)
			if buttons > 0 && (c.Key == "failed" || c.Key == "active" || c.Key == "merging") {
				buttons--
				card.Offers = slices.DeleteFunc(action.AllAvailable(b.State, w, action.Task, string(t.ID)), func(o action.Available) bool { return o.Key == "" && !o.Primary })
			}
			c.Cards = append(c.Cards, card)
		}
		if c.Total > len(c.Cards) {
			c.More = With("/plan", q, "view", "table", "status", c.Key)
		}
	}
	return slices.DeleteFunc(out, func(c Column) bool {
		return c.Total == 0 && c.Key != "ready" && c.Key != "active" && c.Key != "done"
	})
}

func (b *Board) rank(t *ralph.Task) int { return cmp.Or(b.ready[t.ID], len(b.Order)+1) }

// Table is a page of the table.
func (b *Board) Table(list []*ralph.Task, q url.Values) PlanTable {
	t := PlanTable{Total: len(list), Sorted: q.Get("sort"), Sorts: map[string]string{}}
	for _, by := range []string{"", "name", "status", "score", "iterations", "cost"} {
		t.Sorts[by] = With("/plan", q, "view", "table", "sort", by, "page", "")
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
		t.Rows = append(t.Rows, b.Card(x))
	}
	if from > 0 {
		t.Before = With("/plan", q, "page", strconv.Itoa(page-1))
	}
	if to < len(list) {
		t.Next = With("/plan", q, "page", strconv.Itoa(page+1))
	}
	return t
}

// Records are the issues and the rejects.
func (b *Board) Records() (issues, rejects []Record) {
	p := b.State.Plan
	for _, x := range p.Issues[:min(len(p.Issues), MaxRecords)] {
		issues = append(issues, Record{ID: string(x.ID), Text: text.Clip(text.FirstLine(x.Desc), 400)})
	}
	for _, x := range p.Rejects[:min(len(p.Rejects), MaxRecords)] {
		rejects = append(rejects, Record{ID: string(x.ID), Text: text.Clip(text.FirstLine(x.Reason), 400), Task: b.Tasks[x.ID] != nil})
	}
	return issues, rejects
}
