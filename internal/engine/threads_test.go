package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/signature"
)

// threadWorld is a session of threads, in the checkout or in worktrees.
func threadWorld(t *testing.T, slots int, threads ...ralph.NewThread) *world {
	c := enginetest.Settings()
	c.Session, c.Commit, c.RecoverPrimary = ralph.ModeAuto, false, true
	c.OnTimeout = "stop"
	if slots > 0 {
		c.Isolated, c.Parallel = true, slots
	}
	w := newWorld(t, c)
	if slots > 0 {
		w.script.Git = enginetest.NewForest()
	}
	w.record(ralph.PlanStarted{})
	for i, n := range threads {
		if n.ID == "" {
			n.ID = ralph.TaskID(fmt.Sprintf("t-%d", i+1))
		}
		w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.AddThread(n) })
	}
	return w
}

// reviews is the turn of a review that accepts or does not.
func reviews(c enginetest.Call, action ralph.ThreadAction, next string, sure float64) []ralph.Fact {
	return []ralph.Fact{
		enginetest.Answers(""),
		ralph.Reviewed{Task: c.Task.ID, Turn: c.Iteration, Action: action, NextInput: next, Reason: "reviewed", Confidence: sure},
	}
}

// turn n of an agent that is finished after so many turns.
func finishes(after int) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		switch {
		case c.Stage == ralph.KindReview:
			return reviews(c, ralph.ThenStop, "", 1)
		case c.Iteration >= after:
			return says(ralph.SignalComplete, "")
		}
		return says(ralph.SignalProgress, "more")
	}
}

// story is what was decided on a thread: after which turn what, by which stop condition.
func (w *world) story(id ralph.TaskID) string {
	var words []string
	for _, e := range w.mem.Events() {
		if f, ok := e.Fact.(ralph.Decided); ok && f.Task == id {
			d := f.Decision
			word := fmt.Sprintf("%d %s", d.Turn, d.Action)
			if d.Stop != "" {
				word += " " + d.Stop
			}
			if d.Overridden {
				word += " overridden"
			}
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

func (w *world) thread(id ralph.TaskID) *ralph.Task { return w.mem.State().Task(id) }

// E-001, E-002, E-029, E-033, E-034, E-038, E-039, E-041, E-042, E-103: a thread goes on turn after turn in one session of its
// agent, is reviewed, and stops by itself with one commit.
func TestThreadGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 0, ralph.NewThread{Prompt: "make the tests pass"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			facts := finishes(3)(c)
			f := facts[0].(ralph.TurnEnded)
			f.Session = "session-" + string(c.Stage)
			facts[0] = f
			return facts
		}
		if reason := w.run(); reason != ralph.ReasonComplete {
			t.Errorf("it ended with %s: %s", reason, w.mem.State().Session.Detail)
		}
		if got, want := w.story("t-1"), "1 continue, 2 continue, 3 review overridden, 4 stop finished"; got != want {
			t.Errorf("decided %s, not %s", got, want)
		}
		if x := w.thread("t-1"); x.Status != ralph.TaskDone || len(w.repo.Commits) != 1 || x.Run.Session != "session-thread" {
			t.Errorf("%s with %d commits, session %s", x.Status, len(w.repo.Commits), x.Run.Session)
		}
		for i, c := range w.script.Calls() {
			stage, resume := ralph.KindThread, "session-thread"
			if i == 3 { // the review has a session of its own
				stage, resume = ralph.KindReview, ""
			}
			if i == 0 {
				resume = ""
			}
			if c.Stage != stage || c.Turn.Resume != resume {
				t.Errorf("turn %d: stage %s, resume %q", i+1, c.Stage, c.Turn.Resume)
			}
			if next := i == 1 || i == 2; next != strings.Contains(c.Turn.Feedback, "make the tests pass") {
				t.Errorf("turn %d is told %q", i+1, c.Turn.Feedback)
			}
		}
	})
}

// threadEnd is a thread with its end.
type threadEnd struct {
	name   string
	limits ralph.ThreadLimits
	agent  func(enginetest.Call) []ralph.Fact
	status ralph.TaskStatus
	stop   string
	reason ralph.Reason
	story  string
}

func turnOf(change func(*ralph.TurnEnded)) func(enginetest.Call) []ralph.Fact {
	return func(enginetest.Call) []ralph.Fact {
		f := enginetest.Says(ralph.SignalProgress, "more")
		change(&f)
		return []ralph.Fact{f}
	}
}

// threadEnds are the stop conditions, each met by a thread.
func threadEnds() []threadEnd {
	cost := turnOf(func(f *ralph.TurnEnded) { f.Usage = ralph.Usage{Input: 400, Output: 100, Cost: 1, Known: true} })
	return []threadEnd{
		{"E-070 cost", ralph.ThreadLimits{Cost: 1.5}, cost, ralph.TaskTimeout, ralph.StopCost, ralph.ReasonBudget, "1 continue, 2 stop budget.cost overridden"},
		{"E-070 tokens", ralph.ThreadLimits{Tokens: 900}, cost, ralph.TaskTimeout, ralph.StopTokens, ralph.ReasonBudget, "1 continue, 2 stop budget.tokens overridden"},
		{"E-070 time", ralph.ThreadLimits{Time: 90 * time.Second}, cost, ralph.TaskTimeout, ralph.StopTime, ralph.ReasonBudget, "1 continue, 2 stop budget.time overridden"},
		{"turns", ralph.ThreadLimits{Turns: 3}, cost, ralph.TaskTimeout, ralph.StopTurns, ralph.ReasonBudget, "1 continue, 2 continue, 3 stop budget.iterations overridden"},
		{
			"E-072 no progress",
			ralph.ThreadLimits{},
			turnOf(func(f *ralph.TurnEnded) { f.Changed = false }), ralph.TaskFailed, ralph.StopNoProgress, ralph.ReasonFailed,
			"1 continue, 2 continue, 3 continue, 4 continue, 5 stop no_progress overridden",
		},
		{
			"E-069 not signed in",
			ralph.ThreadLimits{},
			func(enginetest.Call) []ralph.Fact { return []ralph.Fact{enginetest.Fails(ralph.ErrClassAuth)} },
			ralph.TaskFailed, ralph.StopFailed, ralph.ReasonFailed, "1 stop failed overridden",
		},
		{
			"E-073 the same error",
			ralph.ThreadLimits{},
			func(enginetest.Call) []ralph.Fact { return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)} },
			ralph.TaskFailed, ralph.StopRepeated, ralph.ReasonFailed, "3 continue, 6 continue, 7 stop repeated_error overridden",
		},
		{
			"E-074 compactions",
			ralph.ThreadLimits{},
			turnOf(func(f *ralph.TurnEnded) { f.Compacts = 1 }), ralph.TaskFailed, ralph.StopCompaction, ralph.ReasonFailed,
			"1 continue, 2 continue, 3 stop compaction overridden",
		},
		{
			"E-072 a changed plan is progress",
			ralph.ThreadLimits{Turns: 8},
			func(c enginetest.Call) []ralph.Fact {
				f := enginetest.Says(ralph.SignalProgress, "more")
				f.Changed, f.Summary.Plan = false, []ralph.PlanStep{{Text: fmt.Sprint(c.Iteration / 2), Status: "pending"}}
				return []ralph.Fact{f}
			}, ralph.TaskTimeout, ralph.StopTurns, ralph.ReasonBudget,
			"1 continue, 2 continue, 3 continue, 4 continue, 5 continue, 6 continue, 7 continue, 8 stop budget.iterations overridden",
		},
	}
}

// Each stop condition ends a thread by its name: E-069 to E-075, X-56, X-57, X-60, X-64; the work stays
// uncommitted, and E-088: a person's word takes it past each of them.
func TestThreadStops(t *testing.T) {
	for _, x := range threadEnds() {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := threadWorld(t, 0, ralph.NewThread{Prompt: "goal", Limits: x.limits})
				w.script.Agent = x.agent
				reason := w.run()
				task := w.thread("t-1")
				if reason != x.reason || task.Status != x.status || task.StoppedBy() != x.stop || len(w.repo.Commits) != 0 {
					t.Fatalf("%s: %s by %q, %d commits (%s)", reason, task.Status, task.StoppedBy(), len(w.repo.Commits), w.story("t-1"))
				}
				if got := w.story("t-1"); got != x.story {
					t.Errorf("decided %s, not %s", got, x.story)
				}
				more := 0.0
				if strings.HasPrefix(x.stop, "budget.") {
					more = 1000
				}
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.ContinueThread("t-1", x.stop, more) })
				w.script.Agent = finishes(0)
				if reason := w.run(); reason != ralph.ReasonComplete || len(w.repo.Commits) != 1 {
					t.Errorf("continued, it ended with %s: %s", reason, w.story("t-1"))
				}
			})
		})
	}
}

// E-040, E-053, E-054, X-82: a model's advice is followed when it is sure enough; else the thread waits for a
// person, whose word has it go on. What a model says never beats a budget.
func TestThreadAdvised(t *testing.T) {
	for _, x := range []struct {
		name   string
		action ralph.ThreadAction
		sure   float64
		limits ralph.ThreadLimits
		story  string
		gates  int
	}{
		{"E-053: 0.59 is not sure", ralph.ThenContinue, 0.59, ralph.ThreadLimits{}, "1 pause overridden, 2 review overridden, 3 stop finished", 1},
		{"0.6 is", ralph.ThenContinue, 0.6, ralph.ThreadLimits{}, "1 continue, 2 review overridden, 3 stop finished", 0},
		{"E-048: no action", "approve", 1, ralph.ThreadLimits{}, "1 pause overridden, 2 review overridden, 3 stop finished", 1},
		{"E-054: a budget", ralph.ThenContinue, 1, ralph.ThreadLimits{Turns: 1}, "1 stop budget.iterations overridden", 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := threadWorld(t, 0, ralph.NewThread{Prompt: "goal", Limits: x.limits})
				w.script.Agent = finishes(2)
				w.script.Advise = func(_ *ralph.State, f ralph.Advised) ralph.Advised {
					f.By, f.Action, f.Reason, f.Confidence = "model", x.action, "the model's", x.sure
					return f
				}
				w.start()
				if _, err := w.answering(); err != nil {
					t.Fatal(err)
				}
				w.honest()
				asked := 0
				for _, e := range w.mem.Events() {
					if f, ok := e.Fact.(ralph.Asked); ok && strings.HasPrefix(f.Approval.Text, "paused: ") {
						asked++
					}
				}
				if got := w.story("t-1"); got != x.story || asked != x.gates {
					t.Errorf("decided %s with %d questions, not %s", got, asked, x.story)
				}
			})
		})
	}
}

// E-082, E-083, E-084, X-65: three threads on one slot take turns in order, ten each, also when the turns of one
// take a hundred times as long; no thread ever has two.
func TestThreadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 1, ralph.NewThread{Prompt: "a"}, ralph.NewThread{Prompt: "b"}, ralph.NewThread{Prompt: "c"})
		w.c.TaskDelay, w.script.Config.TaskDelay = 0, 0 // what is looked at is the order
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			facts := finishes(10)(c)
			f := facts[0].(ralph.TurnEnded)
			if f.Took = time.Second; c.Task.ID == "t-2" {
				f.Took = 100 * time.Second
			}
			facts[0] = f
			return facts
		}
		w.run()
		var order []ralph.TaskID
		for _, c := range w.script.Calls() {
			if c.Stage == ralph.KindThread { // a review comes at once: it ends its thread
				order = append(order, c.Task.ID)
			}
		}
		for i, id := range order[:30] {
			if want := ralph.TaskID(fmt.Sprintf("t-%d", i%3+1)); id != want {
				t.Fatalf("turn %d was of %s, not of %s: %v", i+1, id, want, order)
			}
		}
	})
}

// E-085: the gaps between turns that change nothing grow, up to a minute.
func TestThreadRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 0, ralph.NewThread{Prompt: "a"})
		w.c.NoProgressTurns, w.c.StuckThreshold = 10, 10 // to see the longest rest
		w.script.Config = w.c
		w.script.Took = 0
		w.script.Agent = turnOf(func(f *ralph.TurnEnded) { f.Changed = false })
		w.run()
		var gaps []time.Duration
		calls := w.script.Calls()
		for i := range calls[1:] {
			gaps = append(gaps, calls[i+1].Now.Sub(calls[i].Now))
		}
		s := time.Second
		if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, 60 * s}; !slices.Equal(gaps, want) {
			t.Errorf("the rests are %v, not %v", gaps, want)
		}
	})
}

// E-068: a person's stop and pause hold at the end of the turn, of one thread alone.
func TestThreadWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 2, ralph.NewThread{Prompt: "a"}, ralph.NewThread{Prompt: "b"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Task.ID == "t-1" && c.Iteration == 2 {
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread("t-1", ralph.ThreadStop) })
			}
			return finishes(4)(c)
		}
		w.run()
		if a, b := w.thread("t-1"), w.thread("t-2"); a.Status != ralph.TaskSkipped || a.StoppedBy() != ralph.StopUser || a.Run.Iterations != 2 || b.Status != ralph.TaskDone {
			t.Errorf("%s by %q after %d turns; %s", a.Status, a.StoppedBy(), a.Run.Iterations, b.Status)
		}
	})
}

// E-030, E-037, E-043, E-044, E-045, E-046, E-047, E-059, E-092: the receipt of a decision has what was known of the thread: its last
// turn, the agent's plan, the diff, tokens, the last ten decisions, compactions. E-049, E-102: without words of
// its own the next turn is told a fixed sentence, and always the goal.
func TestWhatADecisionKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 0, ralph.NewThread{Prompt: "make the tests pass"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			facts := finishes(15)(c)
			f := facts[0].(ralph.TurnEnded)
			f.Tail, f.Usage = "did more", ralph.Usage{Input: 10, Output: 5, Cost: 0.5, Known: true}
			f.Summary.Plan = []ralph.PlanStep{{Text: "look", Status: "completed"}, {Text: fmt.Sprint("step ", c.Iteration), Status: "pending"}}
			f.Summary.Diff = &ralph.DiffSummary{Files: 2, Added: 30, Deleted: 4, By: "git"}
			if c.Iteration == 12 {
				f.Compacts = 1
			}
			facts[0] = f
			return facts
		}
		w.script.Advise = func(_ *ralph.State, f ralph.Advised) ralph.Advised {
			f.By, f.NextInput = "model", ""
			return f
		}
		w.run()
		var last signature.DecisionIn
		turns := 0
		for _, e := range w.mem.Events() {
			f, ok := e.Fact.(ralph.Advised)
			if !ok {
				continue
			}
			if turns++; f.Turn != turns || !strings.HasPrefix(f.Signature, "decision 1 ") || f.DecidedAt.IsZero() {
				t.Errorf("advice %d: turn %d, signature %q, %v", turns, f.Turn, f.Signature, f.DecidedAt)
			}
			if f.Turn == 15 {
				if err := json.Unmarshal(f.Input, &last); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := signature.DecisionIn{
			ThreadID: "t-1", TurnID: "t-1/15", Goal: "make the tests pass", LastTurnStatus: "completed", LastMessage: "did more",
			TurnPlan:    []signature.PlanStep{{Text: "look", Status: "completed"}, {Text: "step 15", Status: "pending"}},
			DiffSummary: signature.Diff{Files: 2, Added: 30, Deleted: 4}, TokenUsage: signature.Tokens{Input: 150, Output: 75, Cost: 7.5}, CompactionEvents: []int{12},
		}
		for turn := 5; turn <= 14; turn++ {
			want.RecentActions = append(want.RecentActions, signature.Past{Turn: turn, Action: ralph.ThenContinue, Reason: "no stop condition holds"})
		}
		if diff := cmp.Diff(want, last); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, c := range w.script.Calls()[1:15] {
			if !strings.Contains(c.Turn.Feedback, "make the tests pass") || !strings.Contains(c.Turn.Feedback, "Go on with what is left") {
				t.Errorf("turn %d is told %q", c.Iteration, c.Turn.Feedback)
			}
		}
	})
}

// E-007, X-86: a thread that was given to an agent stays with it, whatever its limits; it waits.
func TestThreadStaysWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 0, ralph.NewThread{Prompt: "goal", Agent: "codex"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Iteration == 2 {
				return limited(c.Now.Add(2 * time.Hour))
			}
			return finishes(3)(c)
		}
		w.run()
		for _, c := range w.script.Calls() {
			if c.Turn.Agent != "codex" {
				t.Errorf("turn %d went to %s", c.Iteration, c.Turn.Agent)
			}
		}
		if task := w.thread("t-1"); task.Status != ralph.TaskDone {
			t.Errorf("%s: %s", task.Status, task.Run.Reason)
		}
		if n := len(w.mem.Events()); n > 60 {
			t.Errorf("%d facts: it was started again and again", n)
		}
		var pauses [][]string
		for _, e := range w.mem.Events() {
			switch f := e.Fact.(type) {
			case ralph.AgentSwitched:
				t.Errorf("nobody switched: %+v", f)
			case ralph.AllLimited:
				pauses = append(pauses, f.Agents)
			case ralph.Control:
				if f.Want == ralph.WantPause && !strings.HasPrefix(f.Cause, "each agent that may do what is left is at its limit: codex ") {
					t.Errorf("paused: %s", f.Cause)
				}
			case ralph.TaskEnded:
				if f.Status == ralph.TaskPending && f.Why.Text != "codex is at its limit, and the thread stays with it" {
					t.Errorf("given back: %s", f.Why.Text)
				}
			}
		}
		if diff := cmp.Diff([][]string{{"codex"}}, pauses); diff != "" {
			t.Errorf("paused for (-want +got)\n%s", diff)
		}
	})
}

// with limits.wait: off a session ends when all that is left waits for an agent at its limit, also where the
// chain has another one; a thread that a person paused is not waited for.
func TestThreadsEndWithTheirOwnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 0, ralph.NewThread{Prompt: "first", Agent: "codex"}, ralph.NewThread{Prompt: "second"})
		w.c.LimitWait = "off"
		w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread("t-2", ralph.ThreadPause) })
		w.script.Agent = func(c enginetest.Call) []ralph.Fact { return limited(c.Now.Add(2 * time.Hour)) }
		if reason := w.run(); reason != ralph.ReasonLimited || !strings.Contains(w.mem.State().Session.Detail, "codex until") {
			t.Errorf("it ended with %s: %s", reason, w.mem.State().Session.Detail)
		}
	})
}

// while the agent of one thread is at its limit, another agent's goes on in the same slot; the first
// waits without a start, and goes on when the limit is over, also beside the other's turn.
func TestThreadWaitsForItsOwnAgent(t *testing.T) {
	for slots := range 3 {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := threadWorld(t, slots, ralph.NewThread{Prompt: "first", Agent: "codex"}, ralph.NewThread{Prompt: "second"})
				began := w.mem.Events()[0].At
				var again time.Duration
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					switch {
					case c.Task.ID == "t-1" && c.Iteration == 1:
						return limited(c.Now.Add(2 * time.Hour))
					case c.Task.ID == "t-1" && again == 0:
						again = c.Now.Sub(began)
					case c.Task.ID == "t-2" && c.Iteration == 3: // the first's turn may end in the moment in which the second begins
						first := policy.Explain(c.State, "t-1", w.c, c.Now)
						if !strings.Contains(first.Words, "each that may do it is at its limit, until 02:0") {
							t.Errorf("why: %s", first.Words)
						}
					case c.Task.ID == "t-2" && c.Turn.Agent != "claude":
						t.Errorf("the second goes to %s", c.Turn.Agent)
					}
					return finishes(3)(c)
				}
				if reason := w.run(); reason != ralph.ReasonComplete {
					t.Errorf("it ended with %s: %s", reason, w.mem.State().Session.Detail)
				}
				if again < 2*time.Hour || again > 2*time.Hour+5*time.Minute {
					t.Errorf("the first goes on after %s", again)
				}
				ended := map[ralph.TaskID]time.Duration{}
				for _, e := range w.mem.Events() {
					if f, ok := e.Fact.(ralph.TaskEnded); ok && f.Status == ralph.TaskDone {
						ended[f.ID] = e.At.Sub(began)
					}
				}
				if ended["t-2"] == 0 || ended["t-2"] > time.Hour {
					t.Errorf("the second ended after %s", ended["t-2"])
				}
				if n := len(w.mem.Events()); n > 120 {
					t.Errorf("%d facts: it was started again and again", n)
				}
			})
		})
	}
}

// so it does in sessions on a plan or a spec, which work on threads beside tasks: they wait for the
// thread's agent when nothing else is left, and are not over.
func TestThreadOfItsOwnAgentBesideTasks(t *testing.T) {
	for _, session := range []string{"autopilot", "agent"} {
		t.Run(session, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				c.Session, c.Commit, c.OnTimeout = session, false, "stop"
				w := newWorld(t, c)
				thread := func() {
					w.command(func(s *ralph.State) ([]ralph.Fact, error) {
						return s.AddThread(ralph.NewThread{ID: "t-1", Prompt: "goal", Agent: "codex"})
					})
				}
				if session == "agent" {
					w.add("q-1", "a.md")
				} else {
					w.record(ralph.PlanStarted{})
					thread()
				}
				begun := session != "agent"
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					if c.Stage == ralph.KindBuild && !begun {
						begun = true
						thread()
					}
					switch {
					case c.Stage != ralph.KindThread && c.Stage != ralph.KindReview:
						return willing(c)
					case c.Stage == ralph.KindThread && c.Iteration == 1:
						return limited(c.Now.Add(2 * time.Hour))
					}
					return finishes(2)(c)
				}
				w.run()
				s := w.mem.State()
				if task := s.Task("t-1"); task == nil || task.Status != ralph.TaskDone {
					t.Errorf("%s: %s; the thread is %+v", s.Session.Ended, s.Session.Detail, task)
				}
			})
		})
	}
}

// B-054, B-058: a thread that a person has paused holds no slot: with one slot another one comes to its end meanwhile, and
// the paused one goes on when they say so.
func TestPausedThreadHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threadWorld(t, 1, ralph.NewThread{Prompt: "first"}, ralph.NewThread{Prompt: "second"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			switch {
			case c.Task.ID == "t-1" && c.Iteration == 1:
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread("t-1", ralph.ThreadPause) })
			case c.Task.ID == "t-2" && c.Stage != ralph.KindReview && c.Iteration >= 2 && c.State.Task("t-1").Run.Thread.Want == ralph.ThreadPause:
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread("t-1", ralph.ThreadRun) })
			}
			return finishes(2)(c)
		}
		if reason := w.run(); reason != ralph.ReasonComplete {
			t.Errorf("it ended with %s: %s", reason, w.mem.State().Session.Detail)
		}
		order := ""
		for _, c := range w.script.Calls() {
			order += string(c.Task.ID) + " "
		}
		if first, second := w.thread("t-1"), w.thread("t-2"); first.Status != ralph.TaskDone || second.Status != ralph.TaskDone || !strings.HasPrefix(order, "t-1 t-2 t-2 ") {
			t.Errorf("%s and %s, by the turns %s", first.Status, second.Status, order)
		}
		if n := w.script.Most(); n != 1 {
			t.Errorf("%d steps at once in one slot", n)
		}
	})
}
