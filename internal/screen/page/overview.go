package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxNeeds   = 20 // that are listed on the overview: /gates has all
	maxSpecs   = 8
	maxIssues  = 8
	maxQueue   = 12
	maxCut     = 12
	maxNext    = 3
	maxThreads = 8
	maxNight   = 4 // standstills, and what landed, in the short form of the morning report
)

// Overview makes the models of the overview's parts.
type Overview struct {
	Look
	world action.Context
}

// OverviewOf looks once at what may be done.
func OverviewOf(l Look) Overview { return Overview{l, l.World()} }

func (o Overview) offers(about action.Subject, id string) []action.Available {
	if about == action.Task {
		return screen.TaskOffers(o.State, o.world, ralph.TaskID(id))
	}
	return action.AllAvailable(o.State, o.world, about, id)
}

func (o Overview) ref(id ralph.TaskID) TaskLink {
	if t := o.State.Task(id); t != nil {
		return TaskLink{ID: id, Name: t.Name, Status: t.Status, Reason: t.Run.Reason}
	}
	return TaskLink{ID: id}
}

// Needs is what waits for a person, most pressing first.
func (o Overview) Needs() NeedsModel {
	var m NeedsModel
	for _, x := range status.Needs(o.State, o.Engine, o.Now) {
		n := Need{Kind: x.Kind, Text: x.What, Hint: x.Command, Gate: x.Gate}
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

// Morning is what happened since the newest session began, nil where that is not worth a
// word: the same as `ralph status` says.
func (o Overview) Morning() *MorningModel {
	if o.State.Session.ID == "" {
		return nil
	}
	m := status.Brief(o.State, o.Engine, o.Now)
	if !m.Told(o.State, o.Engine) {
		return nil
	}
	newest := slices.Clone(m.Landed)
	slices.Reverse(newest)
	shown := min(len(newest), maxNight)
	return &MorningModel{Morning: m, Still: m.Longest(maxNight), Landed: newest[:shown], More: len(newest) - shown}
}

// Threads are the first of them, those that need a person before others.
func (o Overview) Threads() ThreadsBriefModel {
	list := screen.ThreadList(o.State, o.Engine, o.Now)
	return ThreadsBriefModel{List: list[:min(len(list), maxThreads)], Total: len(list)}
}

// Slots are the agents at work, and what else is under way.
func (o Overview) Slots(stage status.Stage, now status.StatusRecord) SlotsModel {
	m := SlotsModel{Alive: o.Engine.Alive && o.State.Session.Live(), Busy: len(stage.Slots)}
	if stage.Mode == "autopilot" || o.State.Plan.Integration != nil { // in the checkout there are no slots
		m.Parallel = stage.Parallel
	}
	m.Fresh = o.State.Session.ID == "" && len(o.State.Plan.Tasks) == 0 && len(o.State.Inbox) == 0
	m.Queued, m.Planned = o.State.CountInbox(ralph.SpecPending), o.State.Plan.Unfinished()
	if !m.Alive {
		m.Offers, m.Resume, m.How = o.offers(action.Engine, ""), now.CanResume, o.howItEnded()
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
		c := SlotCard{
			Slot: r.Slot, Task: r.Task, Name: r.Name, Kind: r.Kind, Agent: r.Agent, Iteration: r.Iteration, Of: r.MaxIterations,
			Progress: r.Progress, Note: r.Note, Since: r.StartedAt, Stuck: r.Stuck, Unchanged: r.Unchanged, Context: r.ContextPercent, Filling: r.Filling(),
		}
		o.fill(&c, r.At(), waits)
		m.Cards = append(m.Cards, c)
	}
	for t := range o.State.Work() {
		if t.Status != ralph.TaskActive || t.Run.Worktree.Slot != 0 || t.TakesSlot() && t.Kind != "" && t.Kind != ralph.KindBuild {
			continue
		}
		build := t.Kind == "" || t.Kind == ralph.KindBuild
		if !build && t.Run.TurnAt.IsZero() {
			continue
		}
		c := SlotCard{
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

// howItEnded says how the newest session came to its end, as `ralph status` does.
func (o Overview) howItEnded() string {
	if o.State.Session.Live() {
		return "No engine runs: " + report.LastEngine(o.State) + "."
	}
	return "The session has ended: " + strings.TrimRight(report.OneLine(endedWords(o.Look)), ".") + "."
}

// most is how many iterations a task has; 0 where nobody can say.
func (o Overview) most(t *ralph.Task) int {
	if plan := o.Schedule; plan != nil {
		return status.MostIterations(t, plan.Iterations(o.State))
	}
	return status.MostIterations(t, 0)
}

// fill adds what the state and the engine know of the work in a slot; id is what holds it.
func (o Overview) fill(c *SlotCard, id ralph.TaskID, waits map[ralph.TaskID]status.WaitRecord) {
	if words := o.Engine.Words[id]; !strings.HasPrefix(words, "<ralph") { // what is meant for ralph is no word for people
		c.Words = words
	}
	if t := o.State.Task(id); t != nil {
		c.Thread = t.Run.Thread != nil
		if doing := status.DoingWords(o.State, t); doing != "" {
			c.Doing, c.Words = doing, doing // what its agent said is over
		}
		c.Tokens, c.Cost, c.Turn = Amount(t.Run.Usage.Input+t.Run.Usage.Output), t.Run.Usage.Cost, t.Run.TurnAt
	}
	c.Worker = text.SafeLine(o.Engine.Fleet.Where(id))
	if i := slices.IndexFunc(o.State.Approvals, func(g *ralph.Approval) bool { return g.Task == id && g.Answerable(true, o.Now) }); i >= 0 {
		c.Gate = o.State.Approvals[i].ID // also one in the middle of a turn
	}
	if w, ok := waits[id]; ok {
		c.Wait = &w
	}
	if c.Task != "" {
		c.Offers = o.offers(action.Task, string(c.Task))
	}
}

// Workers are those of the fleet, where the engine at work has one.
func (o Overview) Workers() WorkersModel {
	var out WorkersModel
	m := o.Engine.Fleet
	if m == nil || !o.Engine.Alive {
		return out
	}
	out.Fleet = true
	out.Busy, out.Slots = m.Slots()
	for _, w := range m.Workers {
		row := WorkerRow{Worker: w, Offers: o.offers(action.Worker, w.Name)}
		for _, s := range m.Steps {
			if s.Worker == w.Name {
				row.Tasks = append(row.Tasks, o.ref(s.Task))
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for _, s := range m.Steps {
		if s.Worker == "" || s.Trouble != "" {
			out.Waiting = append(out.Waiting, WaitingStep{Task: o.ref(s.Task), Step: s})
		}
	}
	return out
}

// Progress counts the plan's tasks, in all and by phase.
func (o Overview) Progress() ProgressModel {
	p := o.State.Plan
	m := ProgressModel{File: p.File, Total: len(p.Tasks)}
	m.Next, m.Ready = o.NextUp(maxNext)
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
			m.Phases = append(m.Phases, PhaseBar{Name: t.Phase})
		}
		m.Phases[i].Total++
		if t.Status.Ended() {
			m.Phases[i].Done++
		}
	}
	for _, status := range []ralph.TaskStatus{ralph.TaskDone, ralph.TaskActive, ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked, ralph.TaskSkipped, ralph.TaskPending} {
		if n := counts[status]; n > 0 {
			m.Counts = append(m.Counts, StatusCount{Status: string(status), Count: n})
		}
	}
	return m
}

// Merges is the merge queue, cut to what a page shows, and the session's counts.
func (o Overview) Merges(stage status.Stage) MergesModel {
	c := o.State.Session.Count
	m := MergesModel{Queue: stage.Queue, Landing: stage.Landing, Clean: c.MergesClean, Resolved: c.MergesResolved}
	if n := len(m.Queue) - maxQueue; n > 0 {
		m.Queue, m.More = m.Queue[:maxQueue], n
	}
	return m
}

// Inbox is the list of specs: those at work first, then those that wait, failed and done.
func (o Overview) Inbox() InboxModel {
	m := InboxModel{Total: len(o.State.Inbox)}
	rank := map[ralph.SpecStatus]int{ralph.SpecActive: 0, ralph.SpecPending: 1, ralph.SpecFailed: 2, ralph.SpecDone: 3}
	list := slices.Clone(o.State.Inbox)
	slices.SortStableFunc(list, func(a, b *ralph.Spec) int { return cmp.Compare(rank[a.Status], rank[b.Status]) })
	for _, status := range []ralph.SpecStatus{ralph.SpecActive, ralph.SpecPending, ralph.SpecFailed, ralph.SpecDone} {
		if n := o.State.CountInbox(status); n > 0 {
			m.Counts = append(m.Counts, StatusCount{Status: string(status), Count: n})
		}
	}
	m.List = list[:min(len(list), maxSpecs)]
	return m
}

// Statistics are the session's sums; the running time goes on while an engine lives.
func (o Overview) Statistics() StatisticsModel {
	m := StatisticsModel{Stats: status.QueryStats(o.State, o.Engine, o.Now)}
	m.Runtime = o.State.Running(status.At(o.Engine, o.State, o.Now))
	m.Since = ClockOf(o.State, o.Engine)
	return m
}

// Issues are those that turns reported and nobody has mended, cut to what a page shows.
func (o Overview) Issues() IssuesModel {
	list := o.State.Plan.Issues
	return IssuesModel{List: list[:min(len(list), maxIssues)], Total: len(list)}
}

// NextUp are the tasks that would start now, the best first, as places to go to.
func (r Look) NextUp(most int) (list []NextTask, total int) {
	plan := r.Schedule
	if plan == nil {
		return nil, 0
	}
	ready := plan.Ready(r.State)
	for _, x := range ready[:min(len(ready), most)] {
		name := ""
		if t := r.State.Task(x.ID); t != nil {
			name = t.Name
		}
		list = append(list, NextTask{ID: x.ID, Name: name, Score: x.Score})
	}
	return list, len(ready)
}

// ClockOf is what the clock of a session counts from: when it would have begun had it
// never been interrupted. Zero while the clock stands.
func ClockOf(s *ralph.State, engine status.Engine) time.Time {
	x := s.Session
	if !engine.Alive || !x.Live() || !x.RestAt.IsZero() {
		return time.Time{}
	}
	return x.Since.Add(-x.Elapsed)
}
