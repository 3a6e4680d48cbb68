package screen_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
)

// told writes facts as an engine would, and has those who follow them hear of each.
type told struct {
	s         *ralph.State
	now       time.Time
	decisions screen.Decisions
	plan      screen.RunPlan
}

func begin(t *testing.T) *told {
	t.Helper()
	x := &told{s: &ralph.State{}, now: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC), plan: screen.RunPlan{Thread: "t-1a2b"}}
	x.add(ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto, Config: []byte(`{"session":"auto","max_iterations":50,"cooldown":1000000000}`)})
	return x
}

// add is one write: what is an outcome in it names the receipt of the step in flight.
func (x *told) add(facts ...ralph.Fact) {
	receipt := int64(0)
	if t := x.s.Task(facts[0].About()); t != nil {
		receipt = t.Run.InFlight
	}
	for i, f := range facts {
		x.s.Seq++
		e := ralph.Event{Seq: x.s.Seq, At: x.now, By: "engine", Hash: fmt.Sprintf("%064x", x.s.Seq), Fact: f, More: i < len(facts)-1}
		switch f.(type) {
		case ralph.TurnEnded, ralph.Advised, ralph.Decided, ralph.ChecksRan:
			e.Answers = receipt
		}
		x.s.Apply(e)
		x.decisions.Add(e, x.s)
		x.plan.Add(e)
	}
}

func (x *told) thread(t *testing.T, n ralph.NewThread) {
	t.Helper()
	facts, err := x.s.AddThread(n)
	if err != nil {
		t.Fatal(err)
	}
	x.add(facts...)
}

// turn is one turn with what was decided after it.
func (x *told) turn(id ralph.TaskID, n int, end ralph.TurnEnded, d ralph.ThreadDecision) {
	x.add(ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindThread, Iteration: n, Agent: "claude"}, DecidedAt: x.now})
	x.now = x.now.Add(time.Minute)
	end.Task, end.Iteration, end.Agent, end.Took, end.Ended = id, n, "claude", time.Minute, x.now
	end.Stage, end.Exit = cmp.Or(end.Stage, ralph.KindThread), cmp.Or(end.Exit, ralph.ExitOK)
	x.add(end)
	x.add(ralph.StepStarted{Task: id, Step: ralph.Decide{}, DecidedAt: x.now})
	d.Turn = n
	x.add(ralph.Advised{Task: id, Turn: n, By: d.By, Action: d.Advised, Reason: d.Reason, Confidence: d.Confidence, DecidedAt: x.now}, ralph.Decided{Task: id, Decision: d})
}

func goOn() ralph.ThreadDecision {
	return ralph.ThreadDecision{Action: ralph.ThenContinue, Advised: ralph.ThenContinue, By: "rules", Confidence: 1, Rule: "E-038", Reason: "no stop condition holds"}
}

func overCost() ralph.ThreadDecision {
	return ralph.ThreadDecision{
		Action: ralph.ThenStop, Advised: ralph.ThenContinue, By: "claude-x", Confidence: 0.9, Rule: "E-070", Stop: ralph.StopCost, Overridden: true,
		Reason: "$2.50 spent, the limit is $2.00",
	}
}

// E-086, E-087, E-088: the word of the switch, the latest decision with its reason, and the stop condition
// with what it takes to go on past it.
func TestThreadFromItsFirstTurnToItsStop(t *testing.T) {
	t.Parallel()
	x := begin(t)
	x.thread(t, ralph.NewThread{ID: "t-1a2b", Prompt: "make the tests pass", Limits: ralph.ThreadLimits{Cost: 2, Turns: 20}})
	alive := status.Engine{Alive: true, Words: map[ralph.TaskID]string{"t-1a2b": "I look at the parser"}}
	look := func() screen.Thread {
		th, ok := screen.ThreadOf(x.s, "t-1a2b", alive, x.now)
		if !ok {
			t.Fatal("there is no thread t-1a2b")
		}
		return th
	}
	if th := look(); th.Auto != screen.AutoRunning || th.State != status.ThreadReady || th.Doing != "turn 1 begins when a slot is free" {
		t.Errorf("before its first turn: %s, %s, %q", th.Auto, th.State, th.Doing)
	}
	x.add(ralph.TaskStarted{ID: "t-1a2b"}, ralph.StepStarted{Task: "t-1a2b", Step: ralph.Turn{Stage: ralph.KindThread, Iteration: 1, Agent: "claude"}, DecidedAt: x.now})
	if th := look(); th.Auto != screen.AutoRunning || th.Doing != "turn 1" || th.Words != "I look at the parser" || th.Turn.IsZero() {
		t.Errorf("in its turn: %s, %q, %q, %v", th.Auto, th.Doing, th.Words, th.Turn)
	}
	usage := ralph.Usage{Input: 900, Output: 100, Cost: 1.25, Known: true}
	x.turn("t-1a2b", 1, ralph.TurnEnded{Changed: true, Usage: usage, Summary: ralph.TurnSummary{
		Items: []ralph.ItemCount{{Kind: ralph.ItemCommand, N: 3}, {Kind: ralph.ItemReasoning, N: 1}}, Files: []string{"a.go"},
		Plan: []ralph.PlanStep{{Text: "read", Status: "completed"}, {Text: "mend", Status: "in_progress"}},
		Diff: &ralph.DiffSummary{Files: 1, Added: 5, Deleted: 2},
	}}, goOn())
	th := look()
	if th.Decision == nil || th.Decision.Reason != "no stop condition holds" || th.Decision.Confidence != 1 {
		t.Errorf("the latest decision is %+v", th.Decision)
	}
	if th.Last == nil || screen.ItemWords(th.Last.Items) != "3 commands, 1 thought" || screen.DiffWords(th.Last.Diff) != "1 file, +5 -2" || len(th.Plan) != 2 {
		t.Errorf("the last turn is %+v, plan %v", th.Last, th.Plan)
	}
	var uses []string
	for _, u := range th.Uses {
		uses = append(uses, u.What+" "+u.Words)
	}
	if diff := gocmp.Diff([]string{"turns 1 of 20", "cost $1.25 of $2.00", "time 1m 0s", "tokens 1000"}, uses); diff != "" {
		t.Error(diff)
	}
	x.turn("t-1a2b", 2, ralph.TurnEnded{Changed: true, Usage: usage}, overCost())
	x.add(ralph.TaskEnded{ID: "t-1a2b", Status: ralph.TaskTimeout, Why: ralph.Why{Rule: "E-070", Text: "$2.50 spent, the limit is $2.00"}})
	th = look()
	if th.Auto != screen.AutoStopped || th.Stop != ralph.StopCost || th.Stops != "its money is used up" || th.Past != "budget.cost=" {
		t.Errorf("stopped: %s by %q (%q), past %q", th.Auto, th.Stop, th.Stops, th.Past)
	}
	if got := th.Thread.Words(); !strings.Contains(got, "[[thread-continue t-1a2b --past budget.cost=<more>]]") || strings.Contains(got, "retry") {
		t.Errorf("what helps is %q", got)
	}
}

// A thread has its own limit of turns or none: that of tasks does not hold for it.
func TestIterationsOfAThread(t *testing.T) {
	t.Parallel()
	x := begin(t)
	x.thread(t, ralph.NewThread{ID: "t-1a2b", Prompt: "one without limits"})
	x.thread(t, ralph.NewThread{ID: "t-2b3c", Prompt: "one with a limit", Limits: ralph.ThreadLimits{Turns: 7}})
	for id, want := range map[ralph.TaskID]int{"t-1a2b": 0, "t-2b3c": 7} {
		x.add(ralph.TaskStarted{ID: id, Slot: 1}, ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindThread, Iteration: 1, Agent: "claude"}, DecidedAt: x.now})
		list := screen.Stand(x.s, status.Engine{Alive: true}, x.now).Work
		i := slices.IndexFunc(list, func(w screen.Work) bool { return w.At == id })
		if i < 0 || list[i].Of != want {
			t.Errorf("%s: of %+v, want %d", id, list, want)
		}
	}
}

// Threads that wait for a person come first, those that are over last.
func TestThreadListInTheOrderOfWhatNeedsYou(t *testing.T) {
	t.Parallel()
	x := begin(t)
	for _, id := range []ralph.TaskID{"t-over", "t-work", "t-wait", "t-next"} {
		x.thread(t, ralph.NewThread{ID: id, Prompt: "goal of " + string(id)})
	}
	x.add(ralph.TaskStarted{ID: "t-over"}, ralph.TaskEnded{ID: "t-over", Status: ralph.TaskDone})
	x.add(ralph.TaskStarted{ID: "t-work"}, ralph.TaskStarted{ID: "t-wait"}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-wait", Text: "go on?"}})
	var got []string
	for _, th := range screen.ThreadList(x.s, status.Engine{Alive: true}, x.now) {
		got = append(got, fmt.Sprintf("%s %s", th.ID, th.Auto))
	}
	if diff := gocmp.Diff([]string{"t-wait paused", "t-work running", "t-next running", "t-over stopped"}, got); diff != "" {
		t.Error(diff)
	}
}

// E-098: ralph's own plan of a thread's run, with its start, turns, decisions and end.
func TestRunPlanOfAThread(t *testing.T) {
	t.Parallel()
	x := begin(t)
	x.thread(t, ralph.NewThread{ID: "t-1a2b", Prompt: "make the tests pass"})
	x.thread(t, ralph.NewThread{ID: "t-2b3c", Prompt: "another one"})
	x.add(ralph.TaskStarted{ID: "t-1a2b"})
	x.turn("t-1a2b", 1, ralph.TurnEnded{Changed: true}, goOn())
	x.turn("t-2b3c", 1, ralph.TurnEnded{}, goOn()) // of no concern here
	steps := func() []string {
		th, _ := screen.ThreadOf(x.s, "t-1a2b", status.Engine{Alive: true}, x.now)
		list, cut := x.plan.Steps(&th)
		out := []string{fmt.Sprintf("%d left out", cut)}
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s %s %d %s", s.State, s.Kind, s.Turn, s.Text))
		}
		return out
	}
	want := []string{
		"0 left out", "done start 0 it was asked for", "done turn 1 claude", "done decision 1 continue: no stop condition holds",
		"next turn 2 between turns", "next decision 2 what comes after turn 2", "next end 0 when its goal is reached, or a stop condition holds",
	}
	if diff := gocmp.Diff(want, steps()); diff != "" {
		t.Error(diff)
	}
	x.turn("t-1a2b", 2, ralph.TurnEnded{Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassServer, Message: "overloaded"}}, overCost())
	x.add(ralph.TaskEnded{ID: "t-1a2b", Status: ralph.TaskTimeout, Why: ralph.Why{Rule: "E-070"}})
	x.plan.Most = 3
	want = []string{
		"3 left out", "bad turn 2 claude: overloaded", "done decision 2 stop (budget.cost): $2.50 spent, the limit is $2.00", "bad end 0 timeout",
	}
	if diff := gocmp.Diff(want, steps()); diff != "" {
		t.Error(diff)
	}
}

// The decisions of all threads, newest first, by thread, action, and what the rules overrode.
func TestDecisionsAreChosen(t *testing.T) {
	t.Parallel()
	x := begin(t)
	x.thread(t, ralph.NewThread{ID: "t-1a2b", Prompt: "make the tests pass"})
	x.thread(t, ralph.NewThread{ID: "t-2b3c", Prompt: "another one"})
	x.turn("t-1a2b", 1, ralph.TurnEnded{}, goOn())
	x.turn("t-2b3c", 1, ralph.TurnEnded{}, goOn())
	x.turn("t-1a2b", 2, ralph.TurnEnded{}, overCost())
	for _, tt := range []struct {
		name   string
		filter screen.DecisionFilter
		want   []string
	}{
		{"all", screen.DecisionFilter{}, []string{"t-1a2b 2 overridden", "t-2b3c 1 executed", "t-1a2b 1 executed"}},
		{"one thread", screen.DecisionFilter{Thread: "t-2b3c"}, []string{"t-2b3c 1 executed"}},
		{"stop", screen.DecisionFilter{Action: ralph.ThenStop}, []string{"t-1a2b 2 overridden"}},
		{"overridden", screen.DecisionFilter{Overridden: true}, []string{"t-1a2b 2 overridden"}},
		{"stop conditions", screen.DecisionFilter{Stops: true}, []string{"t-1a2b 2 overridden"}},
		{"none", screen.DecisionFilter{Thread: "t-2b3c", Stops: true}, nil},
	} {
		var got []string
		for _, d := range x.decisions.List(tt.filter) {
			got = append(got, fmt.Sprintf("%s %d %s", d.Thread, d.Turn, d.Executed()))
			if d.Number == 0 || d.Name == "" {
				t.Errorf("decision %d has receipt %d and name %q", d.Seq, d.Number, d.Name)
			}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// A thread runs while an engine works here: one whose engine died was interrupted, and one that has not
// begun does not run, wherever it is shown.
func TestThreadsOfADeadEngine(t *testing.T) {
	t.Parallel()
	x := begin(t)
	x.thread(t, ralph.NewThread{ID: "t-work", Prompt: "at work"})
	x.thread(t, ralph.NewThread{ID: "t-next", Prompt: "not begun"})
	x.add(ralph.TaskStarted{ID: "t-work", Slot: 1}, ralph.StepStarted{Task: "t-work", Step: ralph.Turn{Stage: ralph.KindThread, Iteration: 1, Agent: "claude"}, DecidedAt: x.now})
	for alive, want := range map[bool][]string{
		true:  {"t-work running running true", "t-next running ready false"},
		false: {"t-work interrupted interrupted false", "t-next not running ready false"},
	} {
		engine := status.Engine{Alive: alive}
		var got []string
		for _, th := range screen.ThreadList(x.s, engine, x.now) {
			got = append(got, fmt.Sprintf("%s %s %s %v", th.ID, th.Auto, th.State, !th.Turn.IsZero()))
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("alive %v: %s", alive, diff)
		}
		if words := status.Text(x.s, engine, x.now); strings.Contains(words, "t-work running") != alive || strings.Contains(words, "t-work interrupted") == alive {
			t.Errorf("alive %v: status says\n%s", alive, words)
		}
		page := screen.ThreadsOf(x.s, engine, x.now, action.Context{Engine: alive})
		if len(page.Counts) != 2 || (page.Counts[0].State == status.ThreadRunning) != alive || len(page.Cards) != 2 {
			t.Errorf("alive %v: the page counts %+v", alive, page.Counts)
		}
	}
}
