package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// stage is a repository in memory whose engine asks a hook before every step.
type stage struct {
	t      *testing.T
	c      policy.Config
	mem    *enginetest.Mem
	script *enginetest.Script
	says   func(hook string, call int) int // the exit code of a hook; calls count from 1
	calls  int
	stops  int
}

var errEndless = errors.New("the journal grows without end")

func newStage(t *testing.T, mode string, isolated bool) *stage {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit = mode, isolated, mode == "agent"
	if isolated {
		c.Parallel = 2
	}
	x := &stage{t: t, c: c, mem: enginetest.NewMem(nil)}
	x.script = &enginetest.Script{Config: c, Repo: &enginetest.Repo{}, Took: time.Second, Agent: func(call enginetest.Call) []ralph.Fact {
		switch call.Stage {
		case ralph.KindPlan:
			return enginetest.Plans(call.File, "one", "two")
		case ralph.KindBuild, ralph.KindResolve:
			return []ralph.Fact{enginetest.Says(ralph.SignalComplete, "")}
		}
		return []ralph.Fact{enginetest.Answers("nothing to add")}
	}}
	if isolated {
		x.script.Git = enginetest.NewForest()
	}
	if mode == "autopilot" {
		x.record(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: enginetest.Task("a.md", "one")}, ralph.TaskAdded{Task: enginetest.Task("a.md", "two")})
	} else {
		x.record(ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}})
	}
	x.mem.CutAfter(2000, errEndless)
	return x
}

func (x *stage) record(facts ...ralph.Fact) {
	x.t.Helper()
	if err := x.mem.Update(x.t.Context(), "cli", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		x.t.Fatal(err)
	}
}

// Do is the script's, with the landing of a spec's own commit, which no Git has.
func (x *stage) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	if t := s.Task(id); step.StepName() == "land" && t.Run.Commit != "" {
		return []ralph.Fact{ralph.Landed{Task: id, From: s.Plan.Integration.Landed, To: t.Run.Commit, How: "fast-forward"}}, nil
	}
	return x.script.Do(ctx, s, id, step)
}

// run is one session to its end.
func (x *stage) run() ralph.Reason {
	x.t.Helper()
	raw, err := x.c.Encode()
	if err != nil {
		x.t.Fatal(err)
	}
	x.record(ralph.SessionStarted{ID: ralph.SessionID(fmt.Sprintf("s-%d", x.mem.State().Seq)), Mode: x.c.Session, Config: raw})
	var set Set
	for _, name := range PreHooks() {
		set.Hooks = append(set.Hooks, Hook{Name: name})
	}
	slices.SortFunc(set.Hooks, func(a, b Hook) int { return strings.Compare(a.Name, b.Name) })
	pre := NewPre(&Runner{}, set, func(_ context.Context, f ralph.Fact) error {
		return x.mem.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
	}, nil)
	turn := make(chan struct{}, 1) // calls come from several slots
	pre.run = func(_ context.Context, c Call) (ralph.HookRan, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		x.calls++
		ran := ralph.HookRan{Hook: c.Hook.Name, Task: c.Task, Exit: x.says(c.Hook.Name, x.calls), Output: "first\nlast words"}
		if ran.Exit != 0 {
			ran.Error = fmt.Sprintf("exit code %d", ran.Exit)
		}
		if ran.Exit == ExitStop {
			x.stops++
		}
		return ran, nil
	}
	doer := &Doer{Next: x, Pre: pre, Call: func(_ *ralph.State, id ralph.TaskID, _ ralph.Step, _ string) (Call, error) {
		return Call{Task: id}, nil
	}}
	host := engine.NewLocal(x.t.Context(), x.mem, doer, nil)
	reason, err := engine.Run(host, x.c)
	if closed := host.Close(); err == nil {
		err = closed
	}
	if err != nil {
		lines := x.mem.Lines()
		x.t.Fatalf("engine: %v\n%s", err, bytes.Join(lines[max(0, len(lines)-25):], []byte("\n")))
	}
	x.sound()
	return reason
}

// sound is what holds after every session: nothing is left in the middle, and every
// decision comes out the same again.
func (x *stage) sound() {
	x.t.Helper()
	s := x.mem.State()
	for _, task := range slices.Concat(s.Plan.Tasks, s.Stages) {
		r := task.Run
		if task.Status == ralph.TaskActive || r.InFlight != 0 || r.Worktree.Slot != 0 || !r.TurnAt.IsZero() || r.Reserved != (ralph.Usage{}) {
			x.t.Errorf("%s is left in the middle: %+v", task.ID, task)
		}
	}
	replayed, err := replay.Replay(slices.Values(x.mem.Events()), replay.ReplayOptions{})
	if err != nil || replayed.Differ > 0 {
		x.t.Errorf("replay: %v %+v", err, replayed.Differences)
	}
}

func (x *stage) done() bool {
	s := x.mem.State()
	if x.c.Session == "autopilot" {
		return s.CountTasks(ralph.TaskDone) == 2 && len(x.script.Git.Landed()) == 2
	}
	return s.CountTasks(ralph.TaskDone) == 2 && s.CountInbox(ralph.SpecDone) == 1
}

func modes() map[string]func(*testing.T) *stage {
	return map[string]func(*testing.T) *stage{
		"agent in place":     func(t *testing.T) *stage { return newStage(t, "agent", false) },
		"agent in worktrees": func(t *testing.T) *stage { return newStage(t, "agent", true) },
		"autopilot":          func(t *testing.T) *stage { return newStage(t, "autopilot", true) },
	}
}

// Whichever step a hook stops at, the session ends for that reason with everything
// sound, and the next start does the step and all that is left.
func TestStopAtAnyStep(t *testing.T) {
	t.Parallel()
	for name, begin := range modes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := 0
			synctest.Test(t, func(t *testing.T) {
				x := begin(t)
				x.says = func(string, int) int { return 0 }
				if x.run(); !x.done() {
					t.Fatal("it does not come to its end without a stop")
				}
				steps = x.calls
			})
			if steps < 7 {
				t.Fatalf("only %d steps have a hook", steps)
			}
			for n := 1; n <= steps; n++ {
				synctest.Test(t, func(t *testing.T) {
					x := begin(t)
					x.says = func(_ string, call int) int {
						if call == n {
							return ExitStop
						}
						return 0
					}
					reason := x.run()
					if x.stops == 0 && n > 7 {
						return // two slots: a run may have a merge less than another
					}
					if reason != ralph.ReasonHook {
						t.Fatalf("stopped at step %d the session ends as %q", n, reason)
					}
					for starts := 0; !x.done(); starts++ {
						if starts == 2 {
							t.Fatalf("stopped at step %d it does not come to its end", n)
						}
						x.run()
					}
				})
			}
		})
	}
}

// A hook that always says stop ends every session; as soon as it is gone all is done.
func TestStopAlways(t *testing.T) {
	t.Parallel()
	for mode, begin := range modes() {
		for _, name := range PreHooks()[1:] {
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					x := begin(t)
					x.says = func(hook string, _ int) int {
						if hook == name {
							return ExitStop
						}
						return 1 // fails, and stops nothing
					}
					for range 3 {
						want := ralph.ReasonHook
						stops := x.stops
						if reason := x.run(); x.stops > stops && reason != want {
							t.Fatalf("the session ends as %q", reason)
						}
					}
					s := x.mem.State()
					if x.stops > 0 && (s.Session.Cause != "hook "+name+": last words" || x.done()) {
						t.Errorf("stopped %d times, cause %q, done %v", x.stops, s.Session.Cause, x.done())
					}
					x.says = func(string, int) int { return 0 }
					if x.run(); !x.done() {
						t.Error("without the hook it does not come to its end")
					}
				})
			})
		}
	}
}
