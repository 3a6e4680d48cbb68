package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// What is done to a running engine.
func engineVerbs() []definition {
	return []definition{
		{
			name: "pause", about: Engine, title: "Pause", key: "p", said: "Pausing at the end of the current iterations",
			command: "pause", short: "Pause the running engine at the end of the current iterations",
			doc: "Agents at work finish their turn, then nothing new starts until resume.", facts: steer(ralph.WantPause), after: thenCall("resume"),
		},
		{
			name: "resume", about: Engine, title: "Resume", key: "p", primary: true, said: "Going on",
			command: "resume", short: "Go on after a pause",
			doc: "Ends a pause, whatever it comes from: a person, failures in a row, agents at their limits.", facts: steer(ralph.WantRun), after: thenCall("pause"),
		},
		{
			name: "stop", about: Engine, title: "Stop", key: "s", said: "Stopping at the end of the current iterations; the next start goes on where it was",
			command: "stop", short: "Stop the running engine at the end of the current iterations; the work is resumed at the next start",
			doc: "The engine ends when the current iterations do.",
			confirm: func(*ralph.State, string) string { // what was stopped is not taken back, but started again
				return "Stop when the current iterations are over? What is not done waits for the next start."
			},
			facts: steer(ralph.WantStop),
		},
		{
			name: "stop-now", about: Engine, title: "Stop now", key: "s", danger: true, said: "Stopping at once",
			command: "stop --now",
			doc:     "Ends agents in the middle of their turn.",
			confirm: func(*ralph.State, string) string {
				return "End the agents in the middle of their turn? What they changed in a worktree is stashed and given back at the next start."
			},
			facts: living(func(s *ralph.State, w Context, _ Input) ([]ralph.Fact, error) { return s.StopNow(w.Cause) }),
			hide: func(s *ralph.State, _ Context, _ string) bool {
				return s.Session.Want != ralph.WantStop || s.Session.Immediate
			},
		},
		{
			name: "autopilot", about: Engine, title: "Autopilot", said: "Going on alone",
			command: "mode autopilot",
			doc:     "Switches the running engine to mode autopilot: semi's toggle.",
			facts:   living(func(s *ralph.State, _ Context, _ Input) ([]ralph.Fact, error) { return s.SetMode(ralph.Autopilot) }), after: thenMode,
		},
		{
			name: "semi", about: Engine, title: "Semi", said: "Only what you assign starts from now on",
			command: "mode semi",
			doc:     "Switches the running engine to mode semi: autopilot's toggle.",
			facts:   living(func(s *ralph.State, _ Context, _ Input) ([]ralph.Fact, error) { return s.SetMode(ralph.Semi) }), after: thenMode,
			hide: func(s *ralph.State, _ Context, _ string) bool { return s.Session.Auto != ralph.Autopilot },
		},
		{
			name: "mode", about: Engine, title: "Mode", doc: "Switches the mode of the running engine; what is at work goes on.",
			command: "mode <mode>", short: "Switch the mode of the running engine; what is at work goes on",
			facts: living(func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
				return s.SetMode(ralph.Autonomy(in.Autonomy))
			}),
			try: func(s *ralph.State, w Context, _ string) error {
				other := ralph.Semi
				if s.Session.Auto == other {
					other = ralph.Autopilot
				}
				_, err := living(func(s *ralph.State, _ Context, _ Input) ([]ralph.Fact, error) { return s.SetMode(other) })(s, w, Input{})
				return err
			},
			fields: func(s *ralph.State, _ Context, _ string) []Field {
				return []Field{{Name: "autonomy", Label: "Mode", Kind: "choice", Choices: autonomies(), Value: string(s.Session.Auto)}}
			},
			after: func(s *ralph.State, in Input, facts []ralph.Fact) Result {
				d := thenMode(s, in, facts)
				d.Said = "Mode " + in.Autonomy
				return d
			},
		},
	}
}

func autonomies() []string {
	var out []string
	for _, a := range ralph.Autonomies() {
		out = append(out, string(a))
	}
	return out
}

func steer(want ralph.Want) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
	return living(func(s *ralph.State, w Context, _ Input) ([]ralph.Fact, error) { return s.Steer(want, w.Cause) })
}

// living refuses what only a running engine would hear.
func living(facts func(*ralph.State, Context, Input) ([]ralph.Fact, error)) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
	return func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
		if w.Engine {
			return facts(s, w, in)
		}
		why := "no engine is running here"
		_, err := facts(&ralph.State{}, w, in) // as without a session: it names both states
		if refusal, ok := errors.AsType[*ralph.Refusal](err); ok {
			_, states, _ := strings.Cut(refusal.Why, ": ")
			why = strings.TrimSuffix(why+": "+states, ": ")
		}
		return nil, &ralph.Refusal{Why: why, Hint: "`[[start agent]]` or `[[start autopilot]]` starts one", Kind: ralph.ErrNotFound}
	}
}

// thenCall has an action taken back by another one on the same thing.
func thenCall(name string) func(*ralph.State, Input, []ralph.Fact) Result {
	return func(_ *ralph.State, in Input, _ []ralph.Fact) Result {
		return Result{Undo: &Call{name, Input{ID: in.ID}}}
	}
}

// thenMode gives the engine its mode back.
func thenMode(s *ralph.State, _ Input, _ []ralph.Fact) Result {
	return Result{Undo: &Call{"mode", Input{Autonomy: string(s.Session.Auto)}}}
}

// Word is the state of the engine as the toggle of full autonomy shows it:
// running, paused or stopped.
func Word(s *ralph.State, w Context) string {
	switch {
	case !w.Engine || !s.Session.Live():
		return "stopped"
	case s.Session.Want == ralph.WantPause:
		return "paused"
	}
	return "running"
}

// How an engine begins.
func startVerbs() []definition {
	return []definition{
		{
			name: "recover", about: Engine, title: "Resume", primary: true, doc: "Starts the engine of the interrupted session: it goes on where it was.",
			ask: func(*ralph.State) string { return "Resume interrupted session?" }, try: interrupted,
			do: startAs(func(s *ralph.State, _ Input) Start { return Start{Mode: s.Session.Mode, Spec: specOf(s), Resume: true} }, interrupted),
		},
		{
			name: "fresh", about: Engine, title: "Begin a new one", doc: "Starts an engine like that of the interrupted session, with a session of its own.",
			ask: func(*ralph.State) string { return "Resume interrupted session?" }, try: interrupted,
			do: startAs(func(s *ralph.State, _ Input) Start { return Start{Mode: s.Session.Mode, Spec: specOf(s), Fresh: true} }, interrupted),
		},
		{
			name: "continue", about: Engine, title: "Continue anyway", primary: true, doc: "Starts the engine again that a limit or a budget has stopped, with a session of its own.",
			ask: StopCondition, try: limited,
			do: startAs(func(s *ralph.State, _ Input) Start { return Start{Mode: s.Session.Mode, Spec: specOf(s), Fresh: true} }, limited),
		},
		{
			name: "start", about: Engine, title: "Start", doc: "Starts an engine; it outlives the dashboard. An interrupted session of the same mode is resumed, unless fresh says otherwise.",
			try: idle, fields: startFields,
			do: startAs(func(_ *ralph.State, in Input) Start {
				return Start{
					Mode: in.Mode, Spec: in.File, Parallel: in.Parallel, Autonomy: in.Autonomy, Fresh: in.Fresh,
					Agent: in.Agent, Strategy: in.Strategy, Retries: in.Retries,
				}
			}, idle),
		},
	}
}

// startAs starts an engine if may allows it.
func startAs(how func(*ralph.State, Input) Start, may func(*ralph.State, Context, string) error) func(context.Context, definition, Backend, Input) (Result, error) {
	return func(ctx context.Context, _ definition, backend Backend, in Input) (Result, error) {
		var start Start
		err := backend.Update(ctx, func(s *ralph.State) ([]ralph.Fact, error) {
			start = how(s, in)
			w := backend.Context()
			if err := may(s, w, ""); err != nil {
				return nil, err
			}
			if err := start.check(); err != nil {
				return nil, err
			}
			return start.about(s, w)
		})
		if err != nil {
			return Result{}, err
		}
		said, err := backend.Start(ctx, start)
		if err != nil {
			return Result{}, err
		}
		done := Result{Said: said}
		if backend.Context().Engine { // it may have had nothing to do
			done.Undo = &Call{Action: "stop"}
		}
		return done, nil
	}
}

// check refuses what no command line would take.
func (x Start) check() error {
	refuse := func(format string, args ...any) error {
		return &ralph.Refusal{Why: fmt.Sprintf(format, args...), Kind: ralph.ErrUsage}
	}
	switch {
	case x.Mode == ralph.ModeAuto && (x.Resume || x.Fresh): // of threads that are there; a first message is for a command line
	case !slices.Contains(modes(), x.Mode):
		return refuse("there is no engine %q: use agent, autopilot or construct", x.Mode)
	case x.Autonomy != "" && !slices.Contains(autonomies(), x.Autonomy):
		return refuse("there is no mode %q: use manual, step, semi or autopilot", x.Autonomy)
	case x.Parallel < 0 || x.Parallel > ralph.MostParallel:
		return refuse("parallel %d: give a whole number from 1 to %d", x.Parallel, ralph.MostParallel)
	case x.Parallel > 0 && x.Mode != "autopilot":
		return refuse("only autopilot has agents at work at the same time")
	case x.Strategy != "" && !slices.Contains(strategies(), x.Strategy):
		return refuse("there is no strategy %q: use retry, skip or abort", x.Strategy)
	case x.Retries != nil && (*x.Retries < 0 || *x.Retries > 100):
		return refuse("retries %d: give a whole number from 0 to 100", *x.Retries)
	}
	return nil
}

// about sees to the spec that a start is about: construct works on it, agent
// takes it from the inbox, and autopilot has the plan of one spec, which must be this.
func (x Start) about(s *ralph.State, w Context) ([]ralph.Fact, error) {
	if x.Spec == "" || x.Mode == "construct" {
		return nil, nil
	}
	if !slices.Contains(w.Specs, x.Spec) {
		return nil, &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s does not exist", x.Spec), Hint: "write it first", Kind: ralph.ErrNotFound}
	}
	if x.Mode == "agent" {
		if len(s.Queued(x.Spec)) > 0 {
			return nil, nil
		}
		return s.AddSpec(ralph.SpecID(w.ID("q")), x.Spec, w.Now), nil
	}
	if x.Spec != s.Plan.File {
		has := "there is no plan"
		if s.Plan.File != "" {
			has = fmt.Sprintf("the plan is that of %s, not of %s", s.Plan.File, x.Spec)
		}
		return nil, &ralph.Refusal{Why: has, Hint: "plan it first: [[plan " + x.Spec + "]]", Kind: ralph.ErrUsage}
	}
	return nil, nil
}

func strategies() []string { return []string{"retry", "skip", "abort"} }

func modes() []string { return []string{"agent", "autopilot", "construct"} }

// specOf is the spec that construct was on, "" for other engines.
func specOf(s *ralph.State) string {
	if s.Session.Mode == "construct" {
		return s.SpecFile()
	}
	return ""
}

// idle refuses a start beside an engine.
func idle(_ *ralph.State, w Context, _ string) error {
	if w.Engine {
		return &ralph.Refusal{Why: "an engine is at work here", Hint: "stop it first", Kind: ralph.ErrActive}
	}
	return nil
}

// interrupted refuses to resume what was not cut off.
func interrupted(s *ralph.State, w Context, _ string) error {
	if err := idle(s, w, ""); err != nil {
		return err
	}
	if !s.CanResume(w.Carry) {
		return &ralph.Refusal{Why: "there is no interrupted session to resume", Hint: "start a new one", Kind: ralph.ErrUsage}
	}
	return nil
}

// limited refuses to go on with what no limit stopped.
func limited(s *ralph.State, w Context, _ string) error {
	if err := idle(s, w, ""); err != nil {
		return err
	}
	if StopCondition(s) == "" || !slices.Contains(modes(), s.Session.Mode) {
		return &ralph.Refusal{Why: "no limit has stopped the engine", Hint: "start it", Kind: ralph.ErrUsage}
	}
	return nil
}

// StopCondition is the limit that has ended the newest session, in words; "" for none.
func StopCondition(s *ralph.State) string {
	x := s.Session
	switch x.Ended {
	case ralph.ReasonMaxCost, ralph.ReasonMaxSpecs, ralph.ReasonMaxFailures, ralph.ReasonBudget, ralph.ReasonLimited, ralph.ReasonUnanswered, ralph.ReasonAborted:
	default:
		return ""
	}
	if x.Detail == "" || x.Detail == string(x.Ended) {
		return fmt.Sprintf("Stopped: %s.", x.Ended)
	}
	return fmt.Sprintf("Stopped: %s (%s).", x.Ended, x.Detail)
}

// likely is the engine that a person most likely wants: that of the last session, or
// the one for which there is work: a plan where nothing is queued.
func likely(s *ralph.State) string {
	waits := func(t *ralph.Task) bool { return !t.Status.Ended() }
	switch {
	case s.Session.Mode == "autopilot" || s.Session.Mode == "construct":
		return s.Session.Mode
	case slices.ContainsFunc(s.Plan.Tasks, waits) && s.CountInbox(ralph.SpecPending)+s.CountInbox(ralph.SpecActive) == 0:
		return "autopilot"
	}
	return "agent"
}

func startFields(s *ralph.State, w Context, _ string) []Field {
	fields := []Field{
		{Name: "mode", Label: "Engine", Kind: "choice", Choices: modes(), Value: likely(s)},
		{Name: "file", Label: "Spec (construct; agent: queued first; autopilot: whose plan is meant)", Kind: "choice", Choices: append([]string{""}, w.Specs...)},
		{Name: "parallel", Label: "Agents at once (autopilot; empty: as configured)", Kind: "number"},
		{Name: "autonomy", Label: "Mode (empty: as configured)", Kind: "choice", Choices: append([]string{""}, autonomies()...)},
		{Name: "agent", Label: "First agent (empty: as configured)", Kind: "text"},
		{Name: "strategy", Label: "When a turn fails (empty: as configured)", Kind: "choice", Choices: append([]string{""}, strategies()...)},
		{Name: "retries", Label: "Retries after the first try (empty: as configured)", Kind: "number"},
	}
	if cut := s.Session.Ended; s.Session.Live() || cut == ralph.ReasonInterrupted || cut == ralph.ReasonError {
		fields = append(fields, Field{Name: "fresh", Label: "Begin a new session, do not resume", Kind: "check"})
	}
	return fields
}
