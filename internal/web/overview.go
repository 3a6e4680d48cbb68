package web

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	maxNeeds  = 20 // that are listed on the overview: /gates has all
	maxSpecs  = 8
	maxIssues = 8
	maxQueue  = 12
	maxCut    = 12
	maxNext   = 3
	maxNight  = 4 // standstills, and what landed, in the short form of the morning report
)

// overview is the first page: what needs a person, then what goes on.
func overview(_ context.Context, r *request) (view.Page, error) {
	o := overviewOf{request: r, world: r.world()}
	stage, now := status.QueryStage(r.state), status.Of(r.state, r.engine, r.now)
	feed, err := r.server.feed.at(r.server.opt.Source, r.state, r.server.index.Before)
	if err != nil {
		return view.Page{}, err
	}
	return view.Page{Title: "Overview", Quiet: true, Sections: []view.Section{
		{ID: "needs", Body: view.Needs(o.needs())},
		{ID: "morning", Body: view.Morning(o.morning())},
		{ID: "slots", Body: view.Slots(o.slots(stage, now))},
		{ID: "progress", Class: "half", Body: view.PlanProgress(o.plan())},
		{ID: "merges", Class: "half", Body: view.Merges(o.merges(stage))},
		{ID: "feed", Class: "rail", Body: view.Feed(feed)},
		{ID: "inbox", Class: "half", Body: view.Inbox(o.inbox())},
		{ID: "statistics", Class: "half", Body: view.Statistics(o.statistics())},
		{ID: "issues", Class: "half", Body: view.Issues(o.issues())},
	}}, nil
}

// overviewOf makes the models of the overview's parts.
type overviewOf struct {
	*request
	world action.Context
}

func (o overviewOf) offers(about action.Subject, id string) []action.Available {
	return action.AllAvailable(o.state, o.world, about, id)
}

func (o overviewOf) ref(id ralph.TaskID) view.TaskLink {
	if t := o.state.Task(id); t != nil {
		return view.TaskLink{ID: id, Name: t.Name, Status: t.Status, Reason: t.Run.Reason}
	}
	return view.TaskLink{ID: id}
}

// needs is what waits for a person, most pressing first.
func (o overviewOf) needs() view.NeedsModel {
	var m view.NeedsModel
	for _, x := range status.Needs(o.state, o.engine, o.now) {
		n := view.Need{Kind: x.Kind, Text: x.What, Hint: x.Command, Gate: x.Gate}
		for _, id := range x.Tasks {
			n.Tasks = append(n.Tasks, o.ref(id))
		}
		switch {
		case x.Gate != nil:
			n.Text, n.Hint = x.Gate.Text, ""
			n.Offers = o.offers(action.Gate, string(x.Gate.ID))
		case x.Kind == "failures":
			for i := range n.Tasks {
				n.Tasks[i].Offers = o.offers(action.Task, string(n.Tasks[i].ID))
			}
			n.Offers = o.offers(action.Engine, "")
		case x.Kind == "limits":
			n.Offers = o.offers(action.Engine, "")
		}
		m.List = append(m.List, n)
	}
	if n := len(m.List) - maxNeeds; n > 0 {
		m.List, m.More = m.List[:maxNeeds], n
	}
	return m
}

// morning is what happened since the newest session began, nil where that is not worth a
// word: the same as `ralph status` says.
func (o overviewOf) morning() *view.MorningModel {
	if o.state.Session.ID == "" {
		return nil
	}
	m := status.Brief(o.state, o.engine, o.now)
	if !m.Told(o.state, o.engine) {
		return nil
	}
	newest := slices.Clone(m.Landed)
	slices.Reverse(newest)
	shown := min(len(newest), maxNight)
	return &view.MorningModel{Morning: m, Still: m.Longest(maxNight), Landed: newest[:shown], More: len(newest) - shown}
}

// slots are the agents at work, and what else is under way.
func (o overviewOf) slots(stage status.Stage, now status.StatusRecord) view.SlotsModel {
	m := view.SlotsModel{Alive: o.engine.Alive && o.state.Session.Live(), Busy: len(stage.Slots)}
	if stage.Mode == "autopilot" || o.state.Plan.Integration != nil { // in the checkout there are no slots
		m.Parallel = stage.Parallel
	}
	m.Fresh = o.state.Session.ID == "" && len(o.state.Plan.Tasks) == 0 && len(o.state.Inbox) == 0
	m.Queued, m.Planned = o.state.CountInbox(ralph.SpecPending), o.state.Plan.Unfinished()
	if !m.Alive {
		m.Offers, m.Resume = o.offers(action.Engine, ""), now.CanResume
		for _, id := range now.Cut[:min(len(now.Cut), maxCut)] {
			m.Cut = append(m.Cut, o.ref(id))
		}
		return m
	}
	waits := map[ralph.TaskID]status.WaitRecord{}
	for _, w := range now.Waiting {
		waits[w.Task] = w
	}
	for _, r := range stage.Slots {
		c := view.SlotCard{
			Slot: r.Slot, Task: r.Task, Name: r.Name, Kind: r.Kind, Agent: r.Agent, Iteration: r.Iteration, Of: r.MaxIterations,
			Progress: r.Progress, Note: r.Note, Since: r.StartedAt, Stuck: r.Stuck, Unchanged: r.Unchanged, Context: r.ContextPercent, Filling: r.Filling(),
		}
		o.fill(&c, r.At(), waits)
		m.Cards = append(m.Cards, c)
	}
	for t := range o.state.Work() {
		if t.Status != ralph.TaskActive || t.Run.Place.Slot != 0 || t.TakesSlot() && t.Kind != "" && t.Kind != ralph.KindBuild {
			continue
		}
		build := t.Kind == "" || t.Kind == ralph.KindBuild
		if !build && t.Run.TurnAt.IsZero() {
			continue
		}
		c := view.SlotCard{
			Task: t.ID, Name: t.Name, Kind: string(cmp.Or(t.Kind, ralph.KindBuild)), Agent: t.Run.Agent, Iteration: status.IterationOf(t),
			Of: o.most(t), Progress: t.Run.Progress, Note: t.Run.Note, Since: t.Run.StartedAt, Stuck: t.Run.Warned, Unchanged: t.Run.Unchanged,
			Context: int(100 * t.Run.Context.Part()),
		}
		if !build {
			c.Name, c.Task = "", ""
		}
		o.fill(&c, t.ID, waits)
		m.Cards = append(m.Cards, c)
	}
	return m
}

// most is how many iterations a task has; 0 where nobody can say.
func (o overviewOf) most(t *ralph.Task) int {
	if plan := o.server.opt.Schedule; plan != nil {
		return cmp.Or(t.MaxIterations, plan.Iterations(o.state))
	}
	return t.MaxIterations
}

// fill adds what the state and the engine know of the work in a slot; id is what holds it.
func (o overviewOf) fill(c *view.SlotCard, id ralph.TaskID, waits map[ralph.TaskID]status.WaitRecord) {
	if words := o.engine.Words[id]; !strings.HasPrefix(words, "<ralph") { // what is meant for ralph is no word for people
		c.Words = words
	}
	if t := o.state.Task(id); t != nil {
		if doing := status.DoingWords(o.state, t); doing != "" {
			c.Doing, c.Words = doing, doing // what its agent said is over
		}
		c.Tokens, c.Cost, c.Turn = view.Amount(t.Run.Usage.Input+t.Run.Usage.Output), t.Run.Usage.Cost, t.Run.TurnAt
	}
	if i := slices.IndexFunc(o.state.Gates, func(g *ralph.Gate) bool { return g.Task == id && g.Answerable(true, o.now) }); i >= 0 {
		c.Gate = o.state.Gates[i].ID // also one in the middle of a turn
	}
	if w, ok := waits[id]; ok {
		c.Wait = &w
	}
	if c.Task != "" {
		c.Offers = o.offers(action.Task, string(c.Task))
	}
}

func (o overviewOf) plan() view.ProgressModel {
	p := o.state.Plan
	m := view.ProgressModel{File: p.File, Total: len(p.Tasks)}
	m.Next, m.Ready = o.nextUp(maxNext)
	counts, phases := map[ralph.TaskStatus]int{}, map[string]int{}
	for _, t := range p.Tasks {
		counts[t.Status]++
		if t.Phase == "" {
			continue
		}
		i, ok := phases[t.Phase]
		if !ok {
			i = len(m.Phases)
			phases[t.Phase] = i
			m.Phases = append(m.Phases, view.PhaseBar{Name: t.Phase})
		}
		m.Phases[i].Total++
		if t.Status.Ended() {
			m.Phases[i].Done++
		}
	}
	for _, status := range []ralph.TaskStatus{ralph.TaskDone, ralph.TaskActive, ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked, ralph.TaskSkipped, ralph.TaskPending} {
		if n := counts[status]; n > 0 {
			m.Counts = append(m.Counts, view.StatusCount{Status: string(status), Count: n})
		}
	}
	return m
}

func (o overviewOf) merges(stage status.Stage) view.MergesModel {
	c := o.state.Session.Count
	m := view.MergesModel{Queue: stage.Queue, Landing: stage.Landing, Clean: c.MergesClean, Resolved: c.MergesResolved}
	if n := len(m.Queue) - maxQueue; n > 0 {
		m.Queue, m.More = m.Queue[:maxQueue], n
	}
	return m
}

func (o overviewOf) inbox() view.InboxModel {
	m := view.InboxModel{Total: len(o.state.Inbox)}
	rank := map[ralph.SpecStatus]int{ralph.SpecActive: 0, ralph.SpecPending: 1, ralph.SpecFailed: 2, ralph.SpecDone: 3}
	list := slices.Clone(o.state.Inbox)
	slices.SortStableFunc(list, func(a, b *ralph.Spec) int { return cmp.Compare(rank[a.Status], rank[b.Status]) })
	for _, status := range []ralph.SpecStatus{ralph.SpecActive, ralph.SpecPending, ralph.SpecFailed, ralph.SpecDone} {
		if n := o.state.CountInbox(status); n > 0 {
			m.Counts = append(m.Counts, view.StatusCount{Status: string(status), Count: n})
		}
	}
	m.List = list[:min(len(list), maxSpecs)]
	return m
}

func (o overviewOf) statistics() view.StatisticsModel {
	m := view.StatisticsModel{Stats: status.QueryStats(o.state, o.now)}
	m.Runtime = o.state.Running(o.now)
	m.Since = clockOf(o.state, o.engine)
	return m
}

func (o overviewOf) issues() view.IssuesModel {
	list := o.state.Plan.Issues
	return view.IssuesModel{List: list[:min(len(list), maxIssues)], Total: len(list)}
}
