package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// guides is a model that makes the parts of guidance on a route, and costs a dollar each time.
func guides(route string, change func(*ralph.Guided)) func(*ralph.Task, ralph.GuidancePart) ralph.Guided {
	return func(_ *ralph.Task, part ralph.GuidancePart) ralph.Guided {
		f := ralph.Guided{Part: part, By: "ollama:llama3.2", Outcome: ralph.GuidedAnswered, Reason: "it says so", Confidence: 0.9, Usage: ralph.Usage{Cost: 1, Known: true}}
		switch part {
		case ralph.GuideResearch:
			f.Summary, f.Usage = "12 files", ralph.Usage{}
		case ralph.GuideRoute:
			if f.Route = route; route == "respond" {
				f.Response = "There are 12 files."
			}
		case ralph.GuideUnderstand:
			f.Understood, f.Requirements, f.Assumptions = "make `go test` green", []string{"no test is changed"}, []string{"the tests are right"}
		case ralph.GuidePlan:
			f.Steps = []ralph.GuidedStep{{Text: "find what is red", Check: "it is named"}, {Text: "mend it"}}
		case ralph.GuideDirective:
			f.Action, f.Directive = ralph.ThenContinue, "Run the tests and say which one is red."
		}
		if change != nil {
			change(&f)
		}
		return f
	}
}

// guidedWorld is a session of one thread with guidance on.
func guidedWorld(t *testing.T, slots int, n ralph.NewThread) *world {
	w := threadWorld(t, slots, n)
	w.c.Guidance, w.script.Config.Guidance = true, true
	w.script.Agent = finishes(2)
	return w
}

// parts are the parts of guidance that were made, in their order.
func (w *world) parts() string {
	var list []string
	for _, e := range w.mem.Events() {
		if f, ok := e.Fact.(ralph.Guided); ok {
			list = append(list, string(f.Part))
		}
	}
	return strings.Join(list, " ")
}

// E-055, E-060, E-061, E-062, E-063, E-064: the first message goes through a route before the first turn; what came of
// it stands in the first message, and a message that says no goal leads to a directive. A message that needs no
// work is answered without a turn. Without guidance there is none of it.
func TestGuidance(t *testing.T) {
	for _, c := range []struct {
		name, prompt, route string
		parts               string
		first               []string // in what the first turn is told beside the goal
		turns               int
	}{
		{"respond", "how many files are there?", "respond", "research route", nil, 0},
		{"understand", "make it better", "understand", "research route understand", []string{"make `go test` green", "- no test is changed", "- the tests are right"}, 3},
		{"plan", "make the tests pass", "plan", "research route plan", []string{"A plan:", "- find what is red (done when: it is named)", "- mend it"}, 3},
		{"super mode", "go", "", "research understand plan directive", []string{"Run the tests and say which one is red."}, 3},
		{"super mode, otherwise", "Just do it!", "", "research understand plan directive", []string{"Run the tests and say which one is red."}, 3},
		{"off", "go", "", "", nil, 3},
	} {
		for _, slots := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d slots", c.name, slots), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := guidedWorld(t, slots, ralph.NewThread{Prompt: c.prompt})
					w.c.Guidance = c.name != "off"
					w.script.Guide = guides(c.route, nil)
					if reason := w.run(); reason != ralph.ReasonComplete {
						t.Errorf("it ended with %s: %s", reason, w.mem.State().Session.Detail)
					}
					calls := w.script.Calls()
					if got := w.parts(); got != c.parts || len(calls) != c.turns {
						t.Fatalf("it made %q, and had %d turns", got, len(calls))
					}
					task := w.thread("t-1")
					if task.Status != ralph.TaskDone || c.turns == 0 && (!strings.Contains(task.Run.Reason, "There are 12 files.") || len(w.repo.Commits) > 0) {
						t.Errorf("it is %s: %s", task.Status, task.Run.Reason)
					}
					for _, want := range c.first {
						if told := calls[0].Turn.Feedback; !strings.Contains(told, want) || told == c.prompt {
							t.Errorf("the first turn is told %q, without %q", told, want)
						}
					}
					if len(c.first) == 0 && len(calls) > 0 && calls[0].Turn.Feedback != "" {
						t.Errorf("the first turn is told %q", calls[0].Turn.Feedback)
					}
				})
			})
		}
	}
}

// E-053, E-066, E-070, X-84: guidance is held by what holds every decision: an answer that is none or not sure enough waits for
// a person, whose word goes on; a budget and a person's stop end it before the first turn. What models cost counts.
// Where no model can be asked a goal is worked on as it was said, and "go" waits for a person.
func TestGuidanceIsHeld(t *testing.T) {
	low := func(f *ralph.Guided) { f.Confidence = 0.59 }
	none := func(f *ralph.Guided) { f.Outcome, f.Reason = "invalid", "it wrote a poem" }
	down := func(f *ralph.Guided) { f.Outcome, f.Reason = ralph.GuidedNobody, "connection refused" }
	later := func(f *ralph.Guided) { f.Action = ralph.ThenPause }
	only := func(part ralph.GuidancePart, change func(*ralph.Guided)) func(*ralph.Guided) {
		return func(f *ralph.Guided) {
			if f.Part == part {
				change(f)
			}
		}
	}
	for _, c := range []struct {
		name, prompt string
		limits       ralph.ThreadLimits
		change       func(*ralph.Guided)
		parts        string
		asked        string // what the person is asked, "" for nothing
		status       ralph.TaskStatus
		turns        int
	}{
		{"not sure", "make it better", ralph.ThreadLimits{}, only(ralph.GuideRoute, low), "research route", "the confidence of the route is 0.59, below 0.6", ralph.TaskDone, 3},
		{"no answer", "make it better", ralph.ThreadLimits{}, only(ralph.GuidePlan, none), "research route plan", "the plan has no answer that counts: it wrote a poem", ralph.TaskDone, 3},
		{"a directive to wait", "go", ralph.ThreadLimits{}, only(ralph.GuideDirective, later), "research understand plan directive", "the directive is to pause", ralph.TaskDone, 3},
		{"no model, a goal", "make it better", ralph.ThreadLimits{}, only(ralph.GuideRoute, down), "research route", "", ralph.TaskDone, 3},
		{"no model, no goal", "go", ralph.ThreadLimits{}, only(ralph.GuideUnderstand, down), "research understand", `no model could be asked what "go" means here`, ralph.TaskDone, 3},
		{"too dear", "make it better", ralph.ThreadLimits{Cost: 0.5}, nil, "research route", "", ralph.TaskTimeout, 0},
	} {
		for _, slots := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d slots", c.name, slots), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := guidedWorld(t, slots, ralph.NewThread{Prompt: c.prompt, Limits: c.limits})
					w.script.Guide = guides("plan", c.change)
					w.start()
					if _, err := w.answering(); err != nil {
						t.Fatal(err)
					}
					w.honest()
					asked := ""
					for _, e := range w.mem.Events() {
						switch f := e.Fact.(type) {
						case ralph.Asked:
							asked += f.Approval.Kind + ": " + f.Approval.Text
						case ralph.SessionEnded:
							if c.status == ralph.TaskTimeout && f.Reason != ralph.ReasonBudget {
								t.Errorf("the session ended as %s", f.Reason)
							}
						}
					}
					if c.asked == "" && asked != "" || !strings.Contains(asked, c.asked) || c.asked != "" && !strings.HasPrefix(asked, "question: paused: ") {
						t.Errorf("a person was asked %q", asked)
					}
					task := w.thread("t-1")
					if got := w.parts(); got != c.parts || task.Status != c.status || len(w.script.Calls()) != c.turns {
						t.Errorf("it made %q, had %d turns and is %s: %s", got, len(w.script.Calls()), task.Status, task.Run.Reason)
					}
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := guidedWorld(t, 0, ralph.NewThread{Prompt: "make it better"})
		w.script.Guide = guides("plan", func(f *ralph.Guided) {
			if f.Part == ralph.GuideRoute {
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread("t-1", ralph.ThreadStop) })
			}
		})
		w.run()
		if task := w.thread("t-1"); task.Status != ralph.TaskSkipped || len(w.script.Calls()) > 0 || w.parts() != "research route" {
			t.Errorf("stopped by a person it is %s after %s", task.Status, w.parts())
		}
	})
}

// an engine that dies after any fact of guidance goes on there: no part is made twice.
func TestGuidanceCutAnywhere(t *testing.T) {
	begin := func(t *testing.T) *world {
		w := guidedWorld(t, 0, ralph.NewThread{Prompt: "go"})
		w.script.Guide = guides("", nil)
		w.start()
		return w
	}
	w, first, last := (*world)(nil), int64(0), int64(0)
	var ends []int64
	synctest.Test(t, func(t *testing.T) {
		w = begin(t)
		first = w.mem.State().Seq
		if _, err := w.answering(); err != nil {
			t.Fatal(err)
		}
		last, ends = w.mem.State().Seq, w.mem.Ends()
	})
	want := w.parts() + "; " + w.story("t-1")
	for _, seq := range ends {
		if seq < first || seq >= last {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := begin(t)
			w.mem.CutAfter(seq, errors.New("killed"))
			if _, err := w.answering(); err == nil {
				t.Fatalf("after fact %d the engine should have died", seq)
			}
			after, err := enginetest.Load(w.mem.Lines(), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.mem = after
			w.start()
			if _, err := w.answering(); err != nil {
				t.Fatal(err)
			}
			w.honest()
			if got := w.parts() + "; " + w.story("t-1"); got != want {
				t.Errorf("cut after fact %d: %s, not %s", seq, got, want)
			}
		})
	}
}
