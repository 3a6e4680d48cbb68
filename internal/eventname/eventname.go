// Package eventname owns the names that events go by: the kind of their fact; short
// names, `autopilot:...`, also without that prefix; their pattern names, `engine:`,
// `iteration:`, `task:` and `agent:`; and names in capitals. All of them are taken by log
// filters, hooks and notifications. docs/events.md has them. It does not own the kinds of
// facts (the root), nor who is told of an event (internal/hook, internal/notify).
package eventname

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// ownPrefix is what the names begin with that have a short form without it.
const ownPrefix = "autopilot:"

// Name is one name and the events that go by it.
type Name struct {
	Name string
	Kind string // of the fact; "" for any
	When string // which of them, for people; "" for all

	is func(ralph.Event, *ralph.State) bool // nil: all of the kind
}

// Short is the name without `autopilot:`, "" where it has no short form.
func (n Name) Short() string {
	short, own := strings.CutPrefix(n.Name, ownPrefix)
	if !own {
		return ""
	}
	return short
}

// pausedNames are the names of the moment at which a pause is reached: nothing is
// under way any more. No fact is written for that, so the last one before
// it goes by them.
func pausedNames() []Name {
	const when = "after it nothing is under way any more, and a pause is wanted"
	return []Name{{Name: "autopilot:paused", When: when}, {Name: "engine:paused", When: when}}
}

// All is the table of all names but the kinds themselves, in the order in
// which an event's names are told.
func All() []Name {
	return slices.Concat(pausedNames(), engineNames(), taskNames(), agentNames(), personNames())
}

// engineNames are about the session and the engine.
func engineNames() []Name {
	const started, ended = "session.started", "session.ended"
	own := func(e ralph.Event, _ *ralph.State) bool { // it came to its own end
		f, ok := e.Fact.(ralph.SessionEnded)
		return ok && (f.Reason == ralph.ReasonComplete || f.Reason == ralph.ReasonEmpty || f.Reason == ralph.ReasonFailed || f.Reason == ralph.ReasonPerson)
	}
	semi := func(is bool) func(ralph.Event, *ralph.State) bool {
		return func(e ralph.Event, _ *ralph.State) bool {
			f, ok := e.Fact.(ralph.SessionStarted)
			return ok && (f.Autonomy() == ralph.Semi) == is
		}
	}
	return []Name{
		{Name: "autopilot:started", Kind: started},
		{Name: "engine:started", Kind: started},
		{Name: "START", Kind: started},
		{Name: "START_AUTOPILOT", Kind: started, When: "in any mode but semi", is: semi(false)},
		{Name: "START_SEMI_AUTO", Kind: started, When: "in mode semi", is: semi(true)},
		{Name: "autopilot:resumed", Kind: "control", When: "`want` is run", is: wants(ralph.WantRun)},
		{Name: "autopilot:complete", Kind: ended, When: "all is done that can be done: `reason` is complete, inbox empty, failed, or a person is needed", is: own},
		{Name: "autopilot:aborted", Kind: ended, When: "`reason` is aborted", is: func(e ralph.Event, _ *ralph.State) bool {
			f, ok := e.Fact.(ralph.SessionEnded)
			return ok && f.Reason == ralph.ReasonAborted
		}},
		{Name: "engine:stopped", Kind: ended},
		{Name: "NO_MORE_IDEAS", Kind: ended, When: "as autopilot:complete", is: own},
	}
}

// taskNames are about tasks of the plan; the stages of a job are not told so.
func taskNames() []Name {
	const started, ended = "task.started", "task.ended"
	build := func(e ralph.Event, s *ralph.State) bool {
		f, ok := e.Fact.(ralph.TaskStarted)
		return ok && s.Planned(f.ID)
	}
	return []Name{
		{Name: "autopilot:step-start", Kind: started, When: "a task of the plan", is: build},
		{Name: "task:selected", Kind: started, When: "a task of the plan", is: build},
		{Name: "autopilot:step-complete", Kind: ended, When: "a task of the plan, done", is: endedAs(ralph.TaskDone)},
		{Name: "task:completed", Kind: ended, When: "a task of the plan, done", is: endedAs(ralph.TaskDone)},
		{Name: "AGENT_COMPLETED", Kind: ended, When: "a task of the plan, done", is: endedAs(ralph.TaskDone)},
		{Name: "autopilot:step-skipped", Kind: ended, When: "a task of the plan, skipped", is: endedAs(ralph.TaskSkipped)},
		{Name: "autopilot:step-failed", Kind: ended, When: "a task of the plan, failed", is: endedAs(ralph.TaskFailed)},
		{Name: "autopilot:step-timeout", Kind: ended, When: "a task of the plan, out of time", is: endedAs(ralph.TaskTimeout)},
		{Name: "autopilot:step-blocked", Kind: ended, When: "a task of the plan, blocked", is: endedAs(ralph.TaskBlocked)},
		{Name: "AGENT_BLOCKED", Kind: ended, When: "a task of the plan, blocked", is: endedAs(ralph.TaskBlocked)},
	}
}

// agentNames are about agents and their turns.
func agentNames() []Name {
	turn := func(failed bool) func(ralph.Event, *ralph.State) bool {
		return func(e ralph.Event, _ *ralph.State) bool {
			f, ok := e.Fact.(ralph.TurnEnded)
			return ok && f.Failed() == failed
		}
	}
	return []Name{
		{Name: "iteration:started", Kind: "step.started", When: "the step is a turn", is: func(e ralph.Event, _ *ralph.State) bool {
			f, ok := e.Fact.(ralph.StepStarted)
			if ok {
				_, ok = f.Step.(ralph.Turn)
			}
			return ok
		}},
		{Name: "iteration:completed", Kind: "turn.ended", When: "without an error", is: turn(false)},
		{Name: "iteration:failed", Kind: "turn.ended", When: "with an error, a limit, or cut", is: turn(true)},
		{Name: "autopilot:retrying", Kind: "retrying"},
		{Name: "autopilot:rate-limited", Kind: "agent.limited"},
		{Name: "autopilot:agent-switched", Kind: "agent.switched"},
		{Name: "agent:switched", Kind: "agent.switched"},
		{Name: "autopilot:all-limited", Kind: "agents.limited"},
	}
}

// personNames are the names in capitals, of what people want.
func personNames() []Name {
	return []Name{
		{Name: "PAUSE", Kind: "control", When: "`want` is pause", is: wants(ralph.WantPause)},
		{Name: "RESUME", Kind: "control", When: "`want` is run", is: wants(ralph.WantRun)},
		{Name: "STOP", Kind: "control", When: "`want` is stop", is: wants(ralph.WantStop)},
		{Name: "TOGGLE_AUTOPILOT", Kind: "mode.set"},
		{Name: "ASSIGN_IDEA", Kind: "task.assigned"},
	}
}

func wants(want ralph.Want) func(ralph.Event, *ralph.State) bool {
	return func(e ralph.Event, _ *ralph.State) bool {
		f, ok := e.Fact.(ralph.Control)
		return ok && f.Want == want
	}
}

func endedAs(status ralph.TaskStatus) func(ralph.Event, *ralph.State) bool {
	return func(e ralph.Event, s *ralph.State) bool {
		f, ok := e.Fact.(ralph.TaskEnded)
		return ok && f.Status == status && s.Planned(f.ID)
	}
}

// Known are all names that an event can go by, sorted: kinds, the names of
// the table, and their short forms.
func Known() []string {
	names := ralph.Kinds()
	for _, n := range All() {
		names = append(names, n.Name)
		if short := n.Short(); short != "" && !slices.Contains(names, short) { // "retrying" is a kind too
			names = append(names, short)
		}
	}
	slices.Sort(names)
	return names
}

// Check returns a refusal for what is no event's name, with the nearest one.
func Check(name string) error {
	known := Known()
	switch {
	case slices.Contains(known, name):
		return nil
	case name == "autopilot:output" || name == "output": // the only name of something that is not kept
		return &ralph.Refusal{Why: "autopilot:output is live output and no event", Hint: "`[[log --type iteration:completed --json]]` names the folder of each turn's output (`dir`)", Kind: ralph.ErrUsage}
	}
	hint := "docs/events.md lists them; `[[log --json]]` shows which names each event has"
	if near := ralph.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return &ralph.Refusal{Why: fmt.Sprintf("no event is called %q", name), Hint: hint, Kind: ralph.ErrUsage}
}

// Namer names the events of one journal, one after the other.
type Namer struct {
	byKind map[string][]Name
	rest   func(*ralph.State, time.Time) bool
	paused bool // the pause that is wanted was told to be reached
}

// New returns a Namer. rest reports whether nothing more is done by an engine
// that is paused: it is asked while no step is in flight (policy.Quiescent).
func New(rest func(s *ralph.State, now time.Time) bool) *Namer {
	n := &Namer{byKind: map[string][]Name{}, rest: rest}
	for _, name := range All() {
		if name.Kind != "" {
			n.byKind[name.Kind] = append(n.byKind[name.Kind], name)
		}
	}
	return n
}

// Begin is for who goes on in the middle of a journal: a pause that is reached in the state
// before the first event is not told again.
func (n *Namer) Begin(s *ralph.State) {
	n.paused = s.Session.Live() && s.Session.Want == ralph.WantPause && !s.InFlight() && n.rest(s, s.At)
}

// Names returns every name that an event goes by: its kind last, and each name
// with ownPrefix followed by its short form. s is the state after the
// event; events must come in order.
func (n *Namer) Names(e ralph.Event, s *ralph.State) []string {
	var names []string
	add := func(name Name) {
		for _, one := range []string{name.Name, name.Short()} {
			if one != "" && !slices.Contains(names, one) {
				names = append(names, one)
			}
		}
	}
	if n.reached(e, s) {
		for _, name := range pausedNames() {
			add(name)
		}
	}
	kind := e.Fact.Kind()
	for _, name := range n.byKind[kind] {
		if name.is == nil || name.is(e, s) {
			add(name)
		}
	}
	if !slices.Contains(names, kind) {
		names = append(names, kind)
	}
	return names
}

// reached reports whether the event ends what was under way when a pause was
// wanted. It is told once a pause.
func (n *Namer) reached(e ralph.Event, s *ralph.State) bool {
	if !s.Session.Live() || s.Session.Want != ralph.WantPause {
		n.paused = false
		return false
	}
	if n.paused || s.InFlight() || !n.rest(s, e.At) {
		return false
	}
	n.paused = true
	return true
}
