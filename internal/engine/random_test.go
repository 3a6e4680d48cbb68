package engine_test

import (
	"context"
	"encoding/json"
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

// scene is one random run: plans, an agent's temper, settings, and a person.
type scene struct {
	Config   policy.Config
	Specs    int
	Tasks    []ralph.Task // the shape of each plan; deps by position
	Temper   []uint32     // what the agent does, chosen by a hash of the turn
	Red      uint32       // of 8 checks, so many are red
	StopTurn int          // the turn during which a person stops the run, 0: never
	Answer   time.Duration
}

func drawScene(rt *rapid.T) scene {
	c := enginetest.Settings()
	c.Parallel = rapid.IntRange(1, 4).Draw(rt, "parallel")
	c.MaxIterations = rapid.IntRange(1, 6).Draw(rt, "max_iterations")
	c.MaxRounds = rapid.IntRange(1, 3).Draw(rt, "rounds")
	c.NoProgressTurns = rapid.IntRange(0, 3).Draw(rt, "no_progress")
	c.Strategy = rapid.SampledFrom([]string{"retry", "skip", "abort"}).Draw(rt, "strategy")
	c.MaxRetries = rapid.IntRange(0, 3).Draw(rt, "retries")
	c.Checks = rapid.Bool().Draw(rt, "checks")
	c.AutoCommit = rapid.Bool().Draw(rt, "auto_commit")
	c.RecoverPrimary = rapid.Bool().Draw(rt, "recover")
	c.Continue = rapid.Bool().Draw(rt, "continue")
	c.TaskDelay = time.Duration(rapid.IntRange(0, 2).Draw(rt, "delay")) * time.Second
	c.Budget.Iterations = rapid.SampledFrom([]int{0, 0, 7}).Draw(rt, "budget")
	x := scene{Config: c, Specs: rapid.IntRange(1, 3).Draw(rt, "specs"), Red: rapid.Uint32Range(0, 8).Draw(rt, "red")}
	n := rapid.IntRange(1, 5).Draw(rt, "tasks")
	for i := range n {
		t := enginetest.Task("x.md", fmt.Sprint(i))
		t.Phase = rapid.SampledFrom([]string{"", "p1", "p2"}).Draw(rt, "phase")
		t.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"critical", "quick-win"}), 0, 2).Draw(rt, "tags")
		for d := range i {
			if rapid.IntRange(0, 3).Draw(rt, "dep") == 0 {
				t.Deps = append(t.Deps, ralph.TaskID(fmt.Sprint(d)))
			}
		}
		x.Tasks = append(x.Tasks, t)
	}
	x.Temper = rapid.SliceOfN(rapid.Uint32Range(0, 13), 8, 8).Draw(rt, "temper")
	x.StopTurn = rapid.IntRange(0, 10).Draw(rt, "stop")
	x.Answer = time.Duration(rapid.IntRange(1, 90).Draw(rt, "answer")) * time.Second
	return x
}

// pick chooses by what the turn is, so that the order of turns does not matter.
func (x scene) pick(c enginetest.Call, salt string) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, c.Task.ID, c.Iteration, c.Task.RetryCount, c.State.Job.Round, salt)
	return h.Sum32()
}

func (x scene) agent(c enginetest.Call) []ralph.Fact {
	mood := x.Temper[x.pick(c, "mood")%uint32(len(x.Temper))]
	facts := x.mood(c, mood)
	f := facts[0].(ralph.TurnEnded)
	f.Took = time.Duration(1+x.pick(c, "took")%90) * time.Second
	facts[0] = f
	return facts
}

func (x scene) mood(c enginetest.Call, mood uint32) []ralph.Fact {
	switch mood {
	case 0:
		return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
	case 1:
		if c.Iteration > 3 {
			break // no service is at its limit for ever
		}
		return limited(time.Time{})
	case 2:
		return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitCrashed}}
	case 3:
		if c.Stage != ralph.KindBuild {
			break
		}
		return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitUser}}
	case 4:
		return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitTimeout}}
	case 5:
		return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitFailed, Code: 3}}
	}
	if c.Stage != ralph.KindBuild {
		return x.stage(c, mood)
	}
	switch mood {
	case 6:
		return says(ralph.SignalHuman, "which?")
	case 7:
		return says(ralph.SignalBlocked, "no key")
	case 8:
		return []ralph.Fact{ralph.TurnEnded{}}
	case 9:
		return says(ralph.SignalProgress, "half")
	case 10:
		return []ralph.Fact{enginetest.Fails(ralph.ErrClassContext)}
	}
	return says(ralph.SignalComplete, "")
}

func (x scene) stage(c enginetest.Call, mood uint32) []ralph.Fact {
	if mood == 6 {
		return []ralph.Fact{ralph.TurnEnded{Mismatch: "not an object"}}
	}
	id := func(i string) ralph.TaskID { return ralph.TaskID("t-" + c.File + "-" + i) }
	facts := []ralph.Fact{enginetest.Answers("fine")}
	switch {
	case c.Stage == ralph.KindPlan:
		for i, t := range x.Tasks {
			t.ID, t.Spec, t.Deps = id(fmt.Sprint(i)), c.File, slices.Clone(t.Deps)
			for d := range t.Deps {
				t.Deps[d] = id(string(t.Deps[d]))
			}
			facts = append(facts, ralph.TaskAdded{Task: t})
		}
	case c.Stage == ralph.KindVerify && mood == 7:
		facts = append(facts, ralph.TaskRejected{ID: id("0"), Reason: "not good"})
	case c.Stage == ralph.KindVerify && mood == 8:
		facts = append(facts, ralph.IssueAdded{Issue: ralph.Issue{ID: ralph.IssueID(fmt.Sprint("i-", c.State.Seq)), Desc: "slow"}})
	case c.Stage == ralph.KindDecompose:
		part := enginetest.Task(c.File, "part-of-"+string(c.Task.Parent))
		part.Parent = c.Task.Parent
		facts = append(facts, ralph.TaskAdded{Task: part}, ralph.TaskEnded{ID: c.Task.Parent, Status: ralph.TaskSkipped, Why: ralph.Why{Rule: "D-044"}})
	}
	return facts
}

// play runs the scene and returns its journal, or why it does not end.
func (x scene) play(t *testing.T) (*enginetest.Mem, *enginetest.Script, error) {
	w := newWorld(t, x.Config)
	for i := range x.Specs {
		w.add(fmt.Sprintf("q-%d", i), fmt.Sprintf("%d.md", i))
	}
	var turns atomic.Int64
	w.script.Agent = x.agent
	w.script.Checks = func(t *ralph.Task) bool { return uint32(t.Run.Iterations*3)%8 >= x.Red }
	w.script.During = func(_ context.Context, step ralph.Step) {
		if _, ok := step.(ralph.Turn); ok {
			if turns.Add(1) == int64(x.StopTurn) {
				w.steer(ralph.WantStop)
			}
		}
	}
	w.start()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 1000*time.Hour, errors.New("the run does not end"))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := w.engineIn(ctx)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return w.mem, w.script, err
		case <-time.After(x.Answer):
			for _, g := range w.mem.State().Approvals {
				_ = w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(g.ID, "this") })
			}
		}
	}
}

// Whatever the plan, the agent and the settings are: every run ends (X-32, X-44,
// B-028), never more than Parallel work at once (B-039), no turn starts after a
// stop (D-051), no task is done without green checks (B-022, B-026), no spec ends
// twice, counters are right (D-109), each decision names its rule and replays.
func TestEveryRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawScene(rt)
		var err error
		var mem *enginetest.Mem
		var script *enginetest.Script
		synctest.Test(t, func(t *testing.T) { mem, script, err = x.play(t) })
		if err != nil {
			rt.Fatalf("%v: turns %d, state %+v", err, len(script.Calls()), mem.State().Session)
		}
		if n := script.Most(); n > x.Config.Parallel {
			rt.Errorf("%d steps at once, parallel is %d", n, x.Config.Parallel)
		}
		if err := honest(mem); err != nil {
			rt.Error(err)
		}
		for _, problem := range laws(mem.Events(), x.Config) {
			rt.Error(problem)
		}
	})
}

// laws folds the events and says what must never be.
func laws(events []ralph.Event, c policy.Config) []string {
	var s ralph.State
	var bad []string
	say := func(e ralph.Event, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("fact %d (%s): ", e.Seq, e.Fact.Kind())+fmt.Sprintf(format, args...))
	}
	var clones []*ralph.State
	var texts []string
	row, ends, stopped := 0, map[ralph.SpecID]int{}, false
	for _, e := range events {
		switch f := e.Fact.(type) {
		case ralph.Control:
			stopped = f.Want == ralph.WantStop
		case ralph.StepStarted:
			if _, turn := f.Step.(ralph.Turn); turn && stopped {
				say(e, "a turn starts after the stop")
			}
			if t := s.Task(f.Task); t.Run.InFlight != 0 {
				say(e, "%s has a step under way", f.Task)
			}
		case ralph.TaskEnded:
			t := s.Task(f.ID)
			green := t.Run.Checks != nil && t.Run.Checks.Pass
			if t.IsBuild() && f.Status == ralph.TaskDone && c.Checks && !green {
				say(e, "%s is done without green checks", f.ID)
			}
		case ralph.JobEnded:
			switch f.Status {
			case ralph.SpecDone:
				row = 0
				ends[s.Job.Spec]++
			case ralph.SpecFailed:
				row++
				ends[s.Job.Spec]++
			}
			if ends[s.Job.Spec] > 1 {
				say(e, "%s ends a second time", s.Job.Spec)
			}
			if s.Session.Want == ralph.WantRun && f.Status == ralph.SpecFailed && f.Error == "" {
				say(e, "failed without an error")
			}
		}
		s.Apply(e)
		if s.Session.Consecutive != row {
			say(e, "consecutive failures %d, want %d", s.Session.Consecutive, row)
		}
		if c.MaxFailures > 0 && row > c.MaxFailures {
			say(e, "%d failures in a row", row)
		}
		clones, texts = append(clones, s.Clone()), append(texts, text(&s))
	}
	for i, clone := range clones {
		if text(clone) != texts[i] {
			say(events[i], "the clone taken here was changed by a later Apply")
		}
	}
	return bad
}

func text(s *ralph.State) string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
