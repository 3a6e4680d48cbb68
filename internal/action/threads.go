package action

import (
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

// threadVerbs are what people do with threads, agents that go on by themselves. A thread is a
// task of the plan: messages, roll back and the like are those of tasks.
func threadVerbs() []definition {
	want := func(w ralph.ThreadWant) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
		return alone(func(s *ralph.State, id ralph.TaskID) ([]ralph.Fact, error) { return s.WantThread(id, w) })
	}
	return []definition{
		{
			name: "thread-add", about: Plan, title: "New thread", said: "It begins when a session of threads has a slot",
			command: "thread add <prompt>", short: "Add a thread: a prompt that an agent works on turn by turn",
			doc: "Adds a thread to the plan: a prompt that an agent works on turn by turn, by itself.",
			facts: func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
				n := ralph.NewThread{ID: ralph.TaskID(w.ID("t")), Prompt: in.Text}
				if in.Name != nil {
					n.Name = *in.Name
				}
				return s.AddThread(n)
			},
			try: func(*ralph.State, Context, string) error { return nil },
			fields: func(*ralph.State, Context, string) []Field {
				return []Field{
					{Name: "text", Label: "What the agent is to reach", Kind: "area", Required: true},
					{Name: "name", Label: "Name (empty: the first line)", Kind: "text"},
				}
			},
			after: func(_ *ralph.State, _ Input, facts []ralph.Fact) Result {
				for _, f := range facts {
					if f, ok := f.(ralph.ThreadStarted); ok {
						return Result{ID: string(f.Task)}
					}
				}
				return Result{}
			},
		},
		{
			name: "thread-continue", about: Task, title: "Continue anyway", key: "c", primary: true, said: "The thread goes on",
			command: "continue <id>", short: "Have a thread go on that paused or stopped",
			doc:    "Has a thread go on that waits after a decision, or that a stop condition ended, past that condition; past a budget by an amount.",
			facts:  continueThread,
			fields: pastFields,
			after:  unlimited,
			try: func(s *ralph.State, w Context, id string) error {
				in := Input{ID: id}
				if t := s.Task(ralph.TaskID(id)); t != nil && strings.HasPrefix(t.StoppedBy(), "budget.") {
					in.Past = t.StoppedBy() + "=1"
				}
				_, err := continueThread(s, w, in)
				return err
			},
		},
		{
			name: "thread-pause", about: Task, title: "Pause thread", said: "Paused at the end of its turn",
			command: "thread pause <id>", short: "Pause a thread at the end of its turn",
			doc: "Pauses one thread at the end of its turn; others go on.", facts: want(ralph.ThreadPause), after: thenCall("thread-resume"),
		},
		{
			name: "thread-resume", about: Task, title: "Resume thread", primary: true, said: "It goes on",
			command: "thread resume <id>", short: "Have a paused thread go on",
			doc: "Has a thread go on that a person paused.", facts: want(ralph.ThreadRun), after: thenCall("thread-pause"),
		},
		{
			name: "thread-stop", about: Task, title: "Stop thread", danger: true, said: "It stops at the end of its turn",
			command: "thread stop <id>", short: "Stop a thread at the end of its turn; its work stays",
			doc: "Stops one thread at the end of its turn. Its work stays where it is.", facts: want(ralph.ThreadStop),
			confirm: func(_ *ralph.State, id string) string {
				return "Stop " + id + " at the end of its turn? Its work stays, and it can go on later."
			},
		},
	}
}

// isThread reports whether a task is a thread.
func isThread(s *ralph.State, _ Context, id string) bool {
	t := s.Task(ralph.TaskID(id))
	return t != nil && t.Run.Thread != nil
}

// unlimited says of a thread that goes on past a budget which nobody can measure that nothing limits it.
func unlimited(s *ralph.State, _ Input, facts []ralph.Fact) (done Result) {
	for _, f := range facts {
		if f, is := f.(ralph.ThreadContinued); is && f.Past == ralph.StopCost && !s.Task(f.Task).Run.Usage.Known {
			done.Said = "The thread goes on; its agent reports no cost, so no limit of cost holds from here (budget.iterations and budget.tokens do, where they are set)"
		}
	}
	return done
}

// continueThread reads `budget.cost=5` of an input.
func continueThread(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
	past, amount, _ := strings.Cut(strings.TrimSpace(in.Past), "=")
	more := 0.0
	if amount != "" {
		var err error
		if more, err = strconv.ParseFloat(strings.TrimPrefix(amount, "$"), 64); err != nil {
			return nil, &ralph.Refusal{Why: "--past " + in.Past + ": the amount is no number", Hint: "--past " + past + "=5", Kind: ralph.ErrUsage}
		}
	}
	return s.ContinueThread(ralph.TaskID(in.ID), past, more)
}

func pastFields(s *ralph.State, _ Context, id string) []Field {
	f := Field{Name: "past", Label: "Past which stop condition (empty: the one that stopped it)", Kind: "text"}
	t := s.Task(ralph.TaskID(id))
	if t == nil {
		return []Field{f}
	}
	f.Value = t.StoppedBy()
	if what := budgetUnit(f.Value); what != "" { // as much again as it had
		f.Label, f.Required = "Past its budget: how many "+what+" more", true
		f.Value += "=" + budgetOf(f.Value, t.Run.Thread.Limits)
	}
	return []Field{f}
}

// budgetUnit is what a budget is counted in, "" for a stop condition that is none.
func budgetUnit(stop string) string {
	switch stop {
	case ralph.StopCost:
		return "dollars"
	case ralph.StopTokens:
		return "tokens"
	case ralph.StopTime:
		return "seconds"
	case ralph.StopTurns:
		return "turns"
	}
	return ""
}

// budgetOf is a limit of a thread as ContinueThread reads it.
func budgetOf(stop string, l ralph.ThreadLimits) string {
	n := 0.0
	switch stop {
	case ralph.StopCost:
		n = l.Cost
	case ralph.StopTokens:
		n = float64(l.Tokens)
	case ralph.StopTime:
		n = l.Time.Seconds()
	case ralph.StopTurns:
		n = float64(l.Turns)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
