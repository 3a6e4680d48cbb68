package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// fleet is one random run of `ralph autopilot`: a plan, agents that work, fail,
// hang, ask and conflict by chance, a person who answers, retries and stops, and
// engines that die.
type fleet struct {
	Config policy.Config
	Tasks  []ralph.Task
	Temper []uint32
	Odds   uint32 // of 16 merges, so many conflict, and as many are red
	Stop   int    // the turn in which a person stops the run, 0: never
	Die    int64  // the fact after which the engine dies, 0: never
	Lazy   bool   // the checkout is dirty at first, and the base branch moves once
}

func drawFleet(rt *rapid.T) fleet {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit, c.MaxConsecutive = "autopilot", true, false, rapid.SampledFrom([]int{0, 3}).Draw(rt, "consecutive")
	c.NoProgressTurns, c.ConflictRetries, c.Resolver = 0, 3, rapid.SampledFrom([]string{"agent", "agent", "human"}).Draw(rt, "resolver")
	c.Parallel = rapid.IntRange(1, 5).Draw(rt, "parallel")
	c.Batch = rapid.IntRange(1, 4).Draw(rt, "batch")
	c.MaxIterations = rapid.IntRange(1, 6).Draw(rt, "max_iterations")
	c.MaxRetries = rapid.IntRange(0, 2).Draw(rt, "retries")
	c.Checks = rapid.Bool().Draw(rt, "checks")
	c.AskToMerge = rapid.IntRange(0, 5).Draw(rt, "ask") == 0
	x := fleet{Config: c, Odds: rapid.Uint32Range(0, 6).Draw(rt, "odds"), Lazy: rapid.Bool().Draw(rt, "lazy")}
	for i := range rapid.IntRange(0, 9).Draw(rt, "tasks") {
		t := enginetest.Task("x.md", fmt.Sprint(i))
		t.Phase = rapid.SampledFrom([]string{"", "", "p1", "p2"}).Draw(rt, "phase")
		t.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"critical", "quick-win"}), 0, 2).Draw(rt, "tags")
		for d := range i {
			if rapid.IntRange(0, 4).Draw(rt, "dep") == 0 {
				t.Deps = append(t.Deps, x.Tasks[d].ID)
			}
		}
		x.Tasks = append(x.Tasks, t)
	}
	x.Temper = rapid.SliceOfN(rapid.Uint32Range(0, 15), 8, 8).Draw(rt, "temper")
	x.Stop = rapid.SampledFrom([]int{0, 0, 1, 3, 6}).Draw(rt, "stop")
	x.Die = rapid.SampledFrom([]int64{0, 20, 45, 80}).Draw(rt, "die")
	return x
}

func dice(parts ...any) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, parts...)
	return h.Sum32()
}

func (x fleet) agent(c enginetest.Call) []ralph.Fact {
	scene := scene{Temper: x.Temper}
	mood := x.Temper[scene.pick(c, "mood")%uint32(len(x.Temper))]
	if c.Stage == ralph.KindResolve && mood < 11 && mood != 4 {
		mood = 14 // a resolve is a build like any other; its own troubles are rarer
	}
	c.Stage = ralph.KindBuild
	facts := scene.mood(c, mood)
	f := facts[0].(ralph.TurnEnded)
	f.Took = time.Duration(1+scene.pick(c, "took")%90) * time.Second
	facts[0] = f
	return facts
}

func (x fleet) forest() *enginetest.FakeGit {
	w := enginetest.NewForest()
	w.Took = time.Second
	w.Conflicts = func(id ralph.TaskID, try int) string {
		switch n := dice(id, try, "conflict") % 16; {
		case try > 6 || n >= x.Odds:
			return ""
		case n == 0:
			return "binary"
		}
		return "content"
	}
	w.Red = func(held []ralph.TaskID) bool { return dice(held, "red")%16 < x.Odds/2 }
	if x.Lazy {
		w.Dirty = func(try int) bool { return try < 3 }
		w.Move = func(try int) bool { return try == 4 }
	}
	return w
}

// play runs engines until one ends by itself. Every engine but the last dies or is stopped.
func (x fleet) play(t *testing.T) (*enginetest.Mem, *enginetest.Script, *enginetest.FakeGit, error) {
	w := newWorld(t, x.Config)
	forest := x.forest()
	var turns atomic.Int64
	w.script.Agent, w.script.Git = x.agent, forest
	w.script.Checks = func(t *ralph.Task) bool { return dice(t.ID, t.Run.Iterations)%4 > 0 }
	w.script.During = func(_ context.Context, step ralph.Step) {
		if _, ok := step.(ralph.Turn); ok && turns.Add(1) == int64(x.Stop) {
			_ = want(w, ralph.WantStop)
		}
	}
	plan := []ralph.Fact{ralph.PlanStarted{File: "x.md"}}
	for _, task := range x.Tasks {
		plan = append(plan, ralph.TaskAdded{Task: task})
	}
	w.record(plan...)
	w.start()
	if x.Die > 0 {
		w.mem.CutAfter(x.Die, errDied)
	}
	for session := 0; ; session++ {
		err := x.run(w)
		if session > 20 {
			return w.mem, w.script, forest, errors.New("session after session, and no end")
		}
		switch {
		case errors.Is(err, errDied):
			ends := w.mem.Ends() // a write is all or nothing, as in the file
			after, err := enginetest.Load(w.mem.Lines()[:ends[len(ends)-1]], nil)
			if err != nil {
				return w.mem, w.script, forest, err
			}
			w.mem = after
			time.Sleep(time.Hour)
		case err != nil || w.mem.State().Session.Ended != ralph.ReasonInterrupted && landedAll(w.mem.State()):
			return w.mem, w.script, forest, err
		}
		w.mem.CutAfter(0, nil)
		if err := x.begin(w); err != nil {
			return w.mem, w.script, forest, err
		}
	}
}

// begin starts a session again after a death or a stop.
func (x fleet) begin(w *world) error {
	raw, err := x.Config.Encode()
	if err != nil {
		return err
	}
	f := ralph.SessionStarted{ID: w.mem.State().Session.ID, Resumed: true, Mode: "autopilot", Config: raw}
	return w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		return append(s.Lost(ralph.LostCrash, ""), f), nil
	})
}

// landedAll: nothing that is merged waits for a clean checkout; the next start lands it.
func landedAll(s *ralph.State) bool {
	i := s.Plan.Integration
	return i == nil || i.Landed == i.Tip || i.Denied != ""
}

var errDied = errors.New("killed")

// run runs one engine with a person beside it, who answers gates and goes on after pauses.
func (x fleet) run(w *world) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Hour, errors.New("the run does not end"))
	defer cancel()
	ctx, die := context.WithCancelCause(ctx)
	defer die(nil)
	ended := make(chan error, 1)
	go func() {
		_, err := w.engineIn(ctx)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Minute):
			if w.mem.State().Seq == x.Die {
				die(errDied) // it dies while it waits
			}
			if errors.Is(x.person(w), errDied) {
				die(errDied) // with what a person says, which is more than one fact, and none is kept
			}
		}
	}
}

// want steers the engine, if it is still there.
func want(w *world, state ralph.Want) error {
	return w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(state, "a person") })
}

// person answers gates, ends pauses and retries what ended badly. Its error is that a word of a person
// was not recorded; most were just too late.
func (x fleet) person(w *world) error {
	s, said := w.mem.State(), []error(nil)
	for _, g := range s.Approvals {
		said = append(said, w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
			switch {
			case g.Kind != ralph.ApprovalMerge:
				return s.Answer(g.ID, "this")
			case dice(g.ID)>>8%3 == 0:
				return s.Deny(g.ID, "no")
			}
			return s.Approve(g.ID)
		}))
	}
	if s.Session.Want == ralph.WantPause {
		said = append(said, want(w, ralph.WantRun))
	}
	for _, t := range s.Plan.Tasks {
		tries := 0 // of any kind: to unblock a task is no retry of it
		for _, e := range w.mem.Events() {
			if f, ok := e.Fact.(ralph.TaskRetried); ok && f.ID == t.ID {
				tries++
			}
		}
		if (t.Status == ralph.TaskFailed || t.Status == ralph.TaskBlocked) && tries < 2 {
			said = append(said, w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.RetryTask(t.ID) }))
		}
	}
	return errors.Join(said...)
}

// Over random plans, tempers, conflicts, people and deaths of the engine: every run
// ends (B-001, B-099), never more than N agents at work and never two for one task
// or in one worktree (B-004, B-039, B-049), no task starts before what it depends on
// is merged (B-002, X-72), nothing is merged without its checks (B-010, B-022) or
// twice, what is done is on the base branch in the end and what is not done is not,
// and each decision replays.
func TestEveryFleet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawFleet(rt)
		var err error
		var mem *enginetest.Mem
		var script *enginetest.Script
		var forest *enginetest.FakeGit
		synctest.Test(t, func(t *testing.T) { mem, script, forest, err = x.play(t) })
		if err != nil {
			rt.Fatalf("%v: turns %d\n%s", err, len(script.Calls()), lastLines(mem, 25))
		}
		if err := honest(mem); err != nil {
			rt.Error(err)
		}
		for _, problem := range slices.Concat(forest.Bad, fleetLaws(mem.Events(), x.Config), settled(mem.State(), forest)) {
			rt.Error(problem)
		}
	})
}

// lastLines are the newest facts, to see why a run does not end.
func lastLines(mem *enginetest.Mem, n int) string {
	lines := mem.Lines()
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// fleetLaws folds the events and says what must never be.
func fleetLaws(events []ralph.Event, c policy.Config) []string {
	var s ralph.State
	var bad []string
	say := func(e ralph.Event, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("fact %d (%s): ", e.Seq, e.Fact.Kind())+fmt.Sprintf(format, args...))
	}
	for i, e := range events {
		switch f := e.Fact.(type) {
		case ralph.TaskStarted:
			t := s.Task(f.ID)
			if t.Status != ralph.TaskPending {
				say(e, "%s starts although it is %s", f.ID, t.Status)
			}
			for _, dep := range t.Deps {
				if d := s.Task(dep); d != nil && d.Status == ralph.TaskDone && d.Run.Queue.State != "" && d.Run.Queue.State != ralph.MergeMerged {
					say(e, "%s starts before %s is merged", f.ID, dep)
				}
			}
		case ralph.StepStarted:
			if t := s.Task(f.Task); t.Run.InFlight != 0 {
				say(e, "%s has a step under way", f.Task)
			}
			if f.Why.Rule == "" {
				say(e, "a decision without a rule")
			}
		case ralph.TaskEnded:
			t := s.Task(f.ID)
			if t.IsBuild() && f.Status == ralph.TaskDone && f.BasedOnSeq > 0 {
				if c.Checks && (t.Run.Checks == nil || !t.Run.Checks.Pass) {
					say(e, "%s is done without green checks", f.ID)
				}
				next := events[min(i+1, len(events)-1)]
				if _, ok := next.Fact.(ralph.MergeQueued); !ok {
					say(e, "%s is done and not queued to be merged (B-006)", f.ID)
				}
			}
		case ralph.Advanced:
			if t := s.Task(f.Task); f.Moved == "" && len(t.Members) > 0 && (t.Run.Checks == nil || !t.Run.Checks.Pass) {
				say(e, "the tip moves to what is not green")
			}
		}
		s.Apply(e)
		slots := map[int]bool{}
		agents := 0
		for _, list := range [][]*ralph.Task{s.Plan.Tasks, s.Stages} {
			for _, t := range list {
				if slot := t.Run.Worktree.Slot; slot > 0 {
					agents++
					if slots[slot] || slot > c.Parallel {
						say(e, "slot %d is held twice, or there is none", slot)
					}
					slots[slot] = true
				}
			}
		}
		if agents > c.Parallel {
			say(e, "%d agents, parallel is %d", agents, c.Parallel)
		}
	}
	return bad
}

// settled: at the end everything is where it belongs.
func settled(s *ralph.State, forest *enginetest.FakeGit) []string {
	var bad []string
	landed := forest.Landed()
	for _, t := range s.Plan.Tasks {
		on := slices.Contains(landed, t.ID)
		switch {
		case t.Status == ralph.TaskDone && !on && s.Plan.Integration.Denied == "":
			bad = append(bad, fmt.Sprintf("%s is done and not on the base branch (%+v)", t.ID, t.Run.Queue))
		case t.Status != ralph.TaskDone && on:
			bad = append(bad, fmt.Sprintf("%s is %s and on the base branch", t.ID, t.Status))
		case t.Status == ralph.TaskActive:
			bad = append(bad, fmt.Sprintf("%s is still active", t.ID))
		}
	}
	if s.Session.Ended == "" {
		bad = append(bad, "the session has not ended")
	}
	return bad
}
