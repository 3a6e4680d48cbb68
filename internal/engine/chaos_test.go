package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/step"
)

// chaos is one random run in which services are at their limits, budgets run out and
// a person steers by chance: pauses, goes on, stops, changes the mode, answers gates.
// Engines die in it.
type chaos struct {
	Config policy.Config
	Mode   ralph.Autonomy
	Tasks  int
	Spells []spell  // when a service is at its limit
	Acts   []string // what the person does, one every few minutes
	Every  time.Duration
	Salt   uint32
	Die    int64 // the fact after which the engine dies, 0: never
}

// spell is a time in which an agent is at its limit.
type spell struct {
	Agent    string
	From, To time.Duration // since the start
	Tells    bool          // the service says when it ends
}

func drawStorm(rt *rapid.T) chaos {
	c := enginetest.Settings()
	c.Session = rapid.SampledFrom([]string{"autopilot", "autopilot", "agent", "construct"}).Draw(rt, "session")
	c.Isolated, c.Commit, c.NoProgressTurns = c.Session == "autopilot", c.Session == "agent", 0
	if c.Session == "construct" {
		c.Only = "0.md"
	}
	c.Parallel = rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(rt, "parallel")
	c.Agents = rapid.SampledFrom([][]string{{"claude"}, {"claude", "codex"}, {"codex", "claude"}, {"claude", "codex", "gemini"}}).Draw(rt, "agents")
	c.RecoverPrimary = rapid.Bool().Draw(rt, "recover")
	c.Strategy = rapid.SampledFrom([]string{"retry", "retry", "skip", "abort"}).Draw(rt, "strategy")
	c.MaxLimitRetries = rapid.IntRange(0, 3).Draw(rt, "limit_retries")
	c.LimitWait = rapid.SampledFrom([]string{"", "auto", "ask", "off"}).Draw(rt, "wait")
	c.ApproveStart = rapid.IntRange(0, 4).Draw(rt, "approve") == 0
	c.MaxConsecutive = rapid.SampledFrom([]int{0, 3}).Draw(rt, "consecutive")
	c.TaskDelay = rapid.SampledFrom([]time.Duration{0, 500 * time.Millisecond}).Draw(rt, "delay")
	c.Approvals = "ask"
	c.GateTimeout = rapid.SampledFrom([]time.Duration{0, 30 * time.Minute}).Draw(rt, "gate_timeout")
	c.OnTimeout = rapid.SampledFrom([]string{"skip", "skip", "stop"}).Draw(rt, "on_timeout")
	c.GateScope = rapid.SampledFrom([]string{"agent", "agent", "session"}).Draw(rt, "scope")
	c.Budget = drawBudget(rt, "session", 30)
	c.SpecBudget = drawBudget(rt, "spec", 15)
	c.TaskBudget = drawBudget(rt, "task", 4)
	if c.Continue = rapid.Bool().Draw(rt, "continue"); c.Continue {
		c.ContextCompact = 0.85
	}
	x := chaos{Config: c, Tasks: rapid.IntRange(1, 8).Draw(rt, "tasks"), Salt: rapid.Uint32().Draw(rt, "salt")}
	x.Mode = rapid.SampledFrom([]ralph.Autonomy{ralph.Autopilot, ralph.Autopilot, ralph.Manual, ralph.Stepwise, ralph.Semi}).Draw(rt, "mode")
	minutes := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Minute
	}
	for range rapid.IntRange(0, 6).Draw(rt, "spells") {
		from := minutes("from", 60)
		x.Spells = append(x.Spells, spell{
			rapid.SampledFrom(c.Agents).Draw(rt, "agent"), from, from + time.Second + minutes("for", 180), rapid.Bool().Draw(rt, "tells"),
		})
	}
	x.Every = time.Duration(rapid.IntRange(30, 400).Draw(rt, "every")) * time.Second
	x.Acts = rapid.SliceOfN(rapid.SampledFrom([]string{
		"pause", "pause", "resume", "resume", "stop", "now", "mode manual", "mode step", "mode semi", "mode autopilot", "mode autopilot",
		"approve", "approve", "deny", "assign", "answer", "retry", "skip", "edit", "nothing", "nothing",
	}), 0, 25).Draw(rt, "acts")
	x.Die = rapid.SampledFrom([]int64{0, 0, 15, 30, 60}).Draw(rt, "die")
	return x
}

func drawBudget(rt *rapid.T, scope string, most int) policy.Budget {
	n := rapid.IntRange(1, most).Draw(rt, scope)
	switch rapid.IntRange(0, 11).Draw(rt, scope+" budget") {
	case 0:
		return policy.Budget{Cost: 0.1 * float64(n)}
	case 1:
		return policy.Budget{Tokens: int64(1000 * n)}
	case 2:
		return policy.Budget{Iterations: n}
	case 3:
		return policy.Budget{Time: time.Duration(n) * 10 * time.Minute}
	}
	return policy.Budget{}
}

// agent plays a turn: at its limit within a spell, else mostly willing.
func (x chaos) agent(begin time.Time) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		facts := x.turn(c, begin)
		f := facts[0].(ralph.TurnEnded)
		if f.Took == 0 {
			f.Took = time.Duration(1+x.dice(c, "took")%900) * time.Second
		}
		f.Session, f.Context = "own", ralph.ContextUse{Used: int64(x.dice(c, "window") % 100), Window: 100}
		if !f.Failed() || x.dice(c, "billed")%2 == 0 {
			f.Usage = ralph.Usage{Input: 600, Output: 400, Cost: 0.01 * float64(x.dice(c, "cost")%20), Known: true}
		}
		facts[0] = f
		return facts
	}
}

// asks lets some agents ask in the middle of their turns, by the executor's own means.
func (x chaos) asks(w *world) func(context.Context, enginetest.Call) (bool, error) {
	var n atomic.Int64
	return func(ctx context.Context, c enginetest.Call) (bool, error) {
		q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: "make"}
		switch x.dice(c, "ask") % 8 {
		case 0:
		case 1:
			q = ralph.Request{Kind: ralph.RequestQuestion, Text: "which?"}
		default:
			return false, nil
		}
		ex := &step.Executor{
			Root: "/", Config: x.Config, Journal: w.mem, Now: time.Now,
			NewID: func(p string) string { return fmt.Sprintf("%s-turn-%d", p, n.Add(1)) },
		}
		if x.dice(c, "patience")%4 == 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(10*time.Minute, cancel).Stop()
		}
		reply, err := ex.Asks(c.Task, c.Turn)(ctx, q)
		if errors.Is(err, context.Canceled) {
			return false, nil // it does without
		}
		return reply.Stop, err
	}
}

func (x chaos) dice(c enginetest.Call, salt string) uint32 {
	return dice(x.Salt, c.Task.ID, c.Iteration, c.Task.RetryCount, salt) >> 7
}

func (x chaos) turn(c enginetest.Call, begin time.Time) []ralph.Fact {
	at := c.Now.Sub(begin)
	for _, s := range x.Spells {
		if s.Agent != c.Turn.Agent || at < s.From || at >= s.To {
			continue
		}
		facts := limited(time.Time{})
		if s.Tells {
			facts = limited(begin.Add(s.To).UTC())
		}
		f := facts[0].(ralph.TurnEnded)
		f.Took = time.Second
		return []ralph.Fact{f}
	}
	build := c.Stage == ralph.KindBuild
	switch n := x.dice(c, "mood") % 24; {
	case n == 0:
		f := limited(time.Time{})[0].(ralph.TurnEnded) // after long work
		f.Took = 20 * time.Minute
		return []ralph.Fact{f}
	case n < 3:
		return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
	case n == 3:
		return []ralph.Fact{enginetest.Fails(ralph.ErrClassRequest)}
	case n == 4 && build:
		return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitTimeout}}
	case n == 5 && build:
		return []ralph.Fact{enginetest.Fails(ralph.ErrClassContext)}
	case n == 6 && build:
		return says(ralph.SignalHuman, "which?")
	case n < 10 && build:
		return says(ralph.SignalProgress, "half")
	}
	switch c.Stage {
	case ralph.KindPlan:
		var names []string
		for i := range x.Tasks {
			names = append(names, fmt.Sprint(i))
		}
		return enginetest.Plans(c.File, names...)
	case ralph.KindDecompose:
		part := enginetest.Task(c.File, "part-of-"+string(c.Task.Parent))
		part.Parent = c.Task.Parent
		return append([]ralph.Fact{enginetest.Answers("split"), ralph.TaskAdded{Task: part}}, c.State.ReplaceTask(c.Task.Parent, []ralph.TaskID{part.ID}, ralph.Why{Rule: "D-044", Text: "split"})...)
	case ralph.KindBuild, ralph.KindResolve:
		return says(ralph.SignalComplete, "")
	}
	return []ralph.Fact{enginetest.Answers("fine")}
}

var errFlood = errors.New("facts without end: the engine goes in circles")

// maxFacts is far above what any of these runs needs.
const maxFacts = 6000

// play runs engines until one comes to its own end.
func (x chaos) play(t *testing.T) (*world, error) {
	w := newWorld(t, x.Config)
	w.mode = x.Mode
	begin := time.Now()
	w.script.Agent, w.script.Ask = x.agent(begin), x.asks(w)
	if x.Config.Isolated {
		w.script.Git = enginetest.NewForest()
	}
	plan := []ralph.Fact{ralph.PlanStarted{File: "0.md"}}
	for i := range x.Tasks {
		t := enginetest.Task("0.md", fmt.Sprint(i))
		t.Phase = fmt.Sprint(i / 4)
		plan = append(plan, ralph.TaskAdded{Task: t})
	}
	switch x.Config.Session {
	case "autopilot":
		w.record(plan...)
	case "agent":
		w.add("q-0", "0.md")
		w.add("q-1", "1.md")
	}
	acts := x.Acts
	for session := 0; session < 20; session++ {
		w.mem.CutAfter(maxFacts, errFlood)
		w.start()
		if x.Die > 0 && session == 0 {
			w.mem.CutAfter(x.Die, errDied)
		}
		err := x.run(w, &acts)
		switch {
		case errors.Is(err, errDied):
			ends := w.mem.Ends() // a write is all or nothing, as in the file
			after, err := enginetest.Load(w.mem.Lines()[:ends[len(ends)-1]], nil)
			if err != nil {
				return w, err
			}
			w.mem = after
			time.Sleep(time.Hour)
		case err != nil || w.mem.State().Session.Ended != ralph.ReasonInterrupted:
			return w, err
		}
	}
	return w, errors.New("session after session, and no end")
}

// run runs one engine with a person beside it. When they have done all they wanted
// to, they look after the run until it ends: they go on after each pause, say yes to
// gates and assign what waits.
func (x chaos) run(w *world, acts *[]string) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 300*time.Hour, errors.New("the run does not end"))
	defer cancel()
	ctx, die := context.WithCancelCause(ctx)
	defer die(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := w.engineIn(ctx)
		ended <- err
	}()
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			return err
		case <-time.After(x.Every):
		}
		if s := w.mem.State(); x.Die > 0 && s.Seq >= x.Die && len(w.mem.Ends()) > 0 && w.mem.Ends()[len(w.mem.Ends())-1] == x.Die {
			die(errDied) // it dies while it waits
			continue
		}
		todo := []string{"approve", "answer", "assign", "go on", "leave"}
		if len(*acts) > 0 {
			todo, *acts = (*acts)[:1], (*acts)[1:]
		}
		for _, act := range todo {
			err := w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return x.act(s, act, n) })
			var refusal *ralph.Refusal
			switch {
			case errors.Is(err, errDied):
				die(errDied)
			case err != nil && !errors.As(err, &refusal):
				return fmt.Errorf("%s: %w", act, err)
			}
		}
	}
}

// act is one thing that a person does; what does not fit is refused.
func (x chaos) act(s *ralph.State, act string, n int) ([]ralph.Fact, error) {
	gate := func(kinds ...string) ralph.ApprovalID {
		for _, g := range s.Approvals {
			if slices.Contains(kinds, g.Kind) {
				return g.ID
			}
		}
		return ""
	}
	var some ralph.TaskID
	if tasks := s.Plan.Tasks; len(tasks) > 0 {
		some = tasks[n%len(tasks)].ID
	}
	switch act {
	case "pause":
		return s.Steer(ralph.WantPause, "a person")
	case "go on":
		if s.Session.Pause == ralph.PauseLimits && (x.Config.LimitWait != "ask" || n%100 > 0) {
			return nil, nil // that ends by itself, or the person is patient
		}
		return s.Steer(ralph.WantRun, "")
	case "resume":
		return s.Steer(ralph.WantRun, "")
	case "stop":
		return s.Steer(ralph.WantStop, "a person")
	case "now":
		return s.StopNow("a person")
	case "approve":
		return s.Approve(gate(ralph.ApprovalStart, ralph.ApprovalStep, ralph.ApprovalMerge, ralph.ApprovalRequest))
	case "deny":
		return s.Deny(gate(ralph.ApprovalRequest, ralph.ApprovalStart, ralph.ApprovalStep), "no")
	case "answer":
		return s.Answer(gate(ralph.ApprovalQuestion), "this")
	case "assign":
		return s.AssignTask(pendingTask(s))
	case "leave": // in semi mode what ended badly waits for a person, who has had enough of it
		if s.Session.Auto == ralph.Semi && s.Mode() == "waiting_user" && pendingTask(s) == "" {
			return s.SetMode(ralph.Autopilot)
		}
	case "retry":
		return s.RetryTask(some)
	case "skip":
		return s.SkipTask(some, "no")
	case "edit":
		if t := s.Task(some); t != nil {
			edited := *t
			edited.Notes += "more."
			return s.EditTask(edited)
		}
	case "mode manual", "mode step", "mode semi", "mode autopilot":
		return s.SetMode(ralph.Autonomy(act[5:]))
	}
	return nil, nil
}

func pendingTask(s *ralph.State) ralph.TaskID {
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskPending && !t.Run.Assigned && len(s.WaitsFor(t)) == 0 {
			return t.ID
		}
	}
	return ""
}

// Over random limits, budgets, modes, people and deaths of the engine: every run
// ends, no task is lost, no turn begins on an agent at its limit, one alone tries
// after a limit, a limit uses up no retry, a retry is told once, nothing starts while
// paused, stopped or unapproved, no more begins than a budget holds, each warning
// comes once, no gate is left that nobody waits at, and every decision replays (A-018, A-023, A-060, A-072, A-089, A-105,
//
func TestEveryStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawStorm(rt)
		var err error
		var w *world
		synctest.Test(t, func(t *testing.T) { w, err = x.play(t) })
		if err != nil {
			rt.Fatalf("%v: turns %d, acts %v\n%s", err, len(w.script.Calls()), x.Acts, lastLines(w.mem, 25))
		}
		if err := honest(w.mem); err != nil {
			rt.Error(err)
		}
		verified, err := replay.Verify(slices.Values(w.mem.Events()))
		if err != nil || len(verified.Broken) > 0 {
			rt.Errorf("verify: %v, %v", err, verified.Broken)
		}
		for _, problem := range stormLaws(w.mem.Events(), x.Config) {
			rt.Errorf("%s\n%s", problem, lastLines(w.mem, 40))
		}
		for _, problem := range x.lost(w.mem.State()) {
			rt.Error(problem)
		}
	})
}
