package ralph

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names that events go by: the kind of their fact; short
// names, `autopilot:...`, also without that prefix; their pattern names, `engine:`,
// `iteration:`, `task:` and `agent:`; and names in capitals. All of
// them are taken by log filters, hooks and notifications. docs/events.md has them.

// ownPrefix is what the names begin with that have a short form without it.
const ownPrefix = "autopilot:"

// EventName is one name and the events that go by it.
type EventName struct {
	Name string
	Kind string // of the fact; "" for any
	When string // which of them, for people; "" for all

	is func(Event, *State) bool // nil: all of the kind
}

// Short is the name without `autopilot:`, "" where it has no short form.
func (n EventName) Short() string {
	short, own := strings.CutPrefix(n.Name, ownPrefix)
	if !own {
		return ""
	}
	return short
}

// pausedNames are the names of the moment at which a pause is reached: nothing is
// under way any more. No fact is written for that, so the last one before
// it goes by them.
func pausedNames() []EventName {
	const when = "after it nothing is under way any more, and a pause is wanted"
	return []EventName{{Name: "autopilot:paused", When: when}, {Name: "engine:paused", When: when}}
}

// EventNames is the table of all names but the kinds themselves, in the order in
// which an event's names are told.
func EventNames() []EventName {
	return slices.Concat(pausedNames(), engineNames(), taskNames(), agentNames(), personNames())
}

// engineNames are about the session and the engine.
func engineNames() []EventName {
	const started, ended = "session.started", "session.ended"
	own := func(e Event, _ *State) bool { // it came to its own end
		f, ok := e.Fact.(SessionEnded)
		return ok && (f.Reason == ReasonComplete || f.Reason == ReasonEmpty || f.Reason == ReasonFailed || f.Reason == ReasonPerson)
	}
	semi := func(is bool) func(Event, *State) bool {
		return func(e Event, _ *State) bool {
			f, ok := e.Fact.(SessionStarted)
			return ok && (f.Autonomy() == Semi) == is
		}
	}
	return []EventName{
		{Name: "autopilot:started", Kind: started},
		{Name: "engine:started", Kind: started},
		{Name: "START", Kind: started},
		{Name: "START_AUTOPILOT", Kind: started, When: "in any mode but semi", is: semi(false)},
		{Name: "START_SEMI_AUTO", Kind: started, When: "in mode semi", is: semi(true)},
		{Name: "autopilot:resumed", Kind: "control", When: "`want` is run", is: wants(WantRun)},
		{Name: "autopilot:complete", Kind: ended, When: "all is done that can be done: `reason` is complete, inbox empty, failed, or a person is needed", is: own},
		{Name: "autopilot:aborted", Kind: ended, When: "`reason` is aborted", is: func(e Event, _ *State) bool {
			f, ok := e.Fact.(SessionEnded)
			return ok && f.Reason == ReasonAborted
		}},
		{Name: "engine:stopped", Kind: ended},
		{Name: "NO_MORE_IDEAS", Kind: ended, When: "as autopilot:complete", is: own},
	}
}

// taskNames are about tasks of the plan; the stages of a job are not told so.
func taskNames() []EventName {
	const started, ended = "task.started", "task.ended"
	build := func(e Event, s *State) bool {
		f, ok := e.Fact.(TaskStarted)
		return ok && s.planned(f.ID)
	}
	return []EventName{
		{Name: "autopilot:step-start", Kind: started, When: "a task of the plan", is: build},
		{Name: "task:selected", Kind: started, When: "a task of the plan", is: build},
		{Name: "autopilot:step-complete", Kind: ended, When: "a task of the plan, done", is: endedAs(TaskDone)},
		{Name: "task:completed", Kind: ended, When: "a task of the plan, done", is: endedAs(TaskDone)},
		{Name: "AGENT_COMPLETED", Kind: ended, When: "a task of the plan, done", is: endedAs(TaskDone)},
		{Name: "autopilot:step-skipped", Kind: ended, When: "a task of the plan, skipped", is: endedAs(TaskSkipped)},
		{Name: "autopilot:step-failed", Kind: ended, When: "a task of the plan, failed", is: endedAs(TaskFailed)},
		{Name: "autopilot:step-timeout", Kind: ended, When: "a task of the plan, out of time", is: endedAs(TaskTimeout)},
		{Name: "autopilot:step-blocked", Kind: ended, When: "a task of the plan, blocked", is: endedAs(TaskBlocked)},
		{Name: "AGENT_BLOCKED", Kind: ended, When: "a task of the plan, blocked", is: endedAs(TaskBlocked)},
	}
}

// agentNames are about agents and their turns.
func agentNames() []EventName {
	turn := func(failed bool) func(Event, *State) bool {
		return func(e Event, _ *State) bool {
			f, ok := e.Fact.(TurnEnded)
			return ok && f.Failed() == failed
		}
	}
	return []EventName{
		{Name: "iteration:started", Kind: "step.started", When: "the step is a turn", is: func(e Event, _ *State) bool {
			f, ok := e.Fact.(StepStarted)
			if ok {
				_, ok = f.Step.(Turn)
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
func personNames() []EventName {
	return []EventName{
		{Name: "PAUSE", Kind: "control", When: "`want` is pause", is: wants(WantPause)},
		{Name: "RESUME", Kind: "control", When: "`want` is run", is: wants(WantRun)},
		{Name: "STOP", Kind: "control", When: "`want` is stop", is: wants(WantStop)},
		{Name: "TOGGLE_AUTOPILOT", Kind: "mode.set"},
		{Name: "ASSIGN_IDEA", Kind: "task.assigned"},
	}
}

func wants(want Want) func(Event, *State) bool {
	return func(e Event, _ *State) bool {
		f, ok := e.Fact.(Control)
		return ok && f.Want == want
	}
}

func endedAs(status TaskStatus) func(Event, *State) bool {
	return func(e Event, s *State) bool {
		f, ok := e.Fact.(TaskEnded)
		return ok && f.Status == status && s.planned(f.ID)
	}
}

// planned reports whether the id is a task of the plan, not a stage.
func (s *State) planned(id TaskID) bool {
	return s.planIndex(id) >= 0
}

// KnownNames are all names that an event can go by, sorted: kinds, the names of
// the table, and their short forms.
func KnownNames() []string {
	names := Kinds()
	for _, n := range EventNames() {
		names = append(names, n.Name)
		if short := n.Short(); short != "" && !slices.Contains(names, short) { // "retrying" is a kind too
			names = append(names, short)
		}
	}
	slices.Sort(names)
	return names
}

// CheckName returns a refusal for what is no event's name, with the nearest one.
func CheckName(name string) error {
	known := KnownNames()
	switch {
	case slices.Contains(known, name):
		return nil
	case name == "autopilot:output" || name == "output": // the only name of something that is not kept
		return &Refusal{Why: "autopilot:output is live output and no event", Hint: "`[[log --type iteration:completed --json]]` names the folder of each turn's output (`dir`)", Kind: ErrUsage}
	}
	hint := "docs/events.md lists them; `[[log --json]]` shows which names each event has"
	if near := Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	return &Refusal{Why: fmt.Sprintf("no event is called %q", name), Hint: hint, Kind: ErrUsage}
}

// EventNamer names the events of one journal, one after the other.
type EventNamer struct {
	byKind map[string][]EventName
	rest   func(*State, time.Time) bool
	paused bool // the pause that is wanted was told to be reached
}

// NewNamer returns a EventNamer. rest reports whether nothing more is done by an engine
// that is paused: it is asked while no step is in flight (policy.Quiescent).
func NewNamer(rest func(s *State, now time.Time) bool) *EventNamer {
	n := &EventNamer{byKind: map[string][]EventName{}, rest: rest}
	for _, name := range EventNames() {
		if name.Kind != "" {
			n.byKind[name.Kind] = append(n.byKind[name.Kind], name)
		}
	}
	return n
}

// Begin is for who goes on in the middle of a journal: a pause that is reached in the state
// before the first event is not told again.
func (n *EventNamer) Begin(s *State) {
	n.paused = s.Session.Live() && s.Session.Want == WantPause && !s.inFlight() && n.rest(s, s.At)
}

// Names returns every name that an event goes by: its kind last, and each name
// with ownPrefix followed by its short form. s is the state after the
// event; events must come in order.
func (n *EventNamer) Names(e Event, s *State) []string {
	var names []string
	add := func(name EventName) {
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
func (n *EventNamer) reached(e Event, s *State) bool {
	if !s.Session.Live() || s.Session.Want != WantPause {
		n.paused = false
		return false
	}
	if n.paused || s.inFlight() || !n.rest(s, e.At) {
		return false
	}
	n.paused = true
	return true
}
