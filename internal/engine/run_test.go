package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// world is one repository with its journal, in a bubble.
type world struct {
	t      *testing.T
	c      policy.Config
	mem    *enginetest.Mem
	script *enginetest.Script
	repo   *enginetest.Repo
	now    func() time.Time // of the host; nil: the bubble's
	mu     sync.Mutex       // for tests whose steps run side by side
	mode   ralph.Autonomy   // "" is autopilot
}

// newWorld queues specs. Its agent plans one task per spec and builds it.
func newWorld(t *testing.T, c policy.Config, specs ...string) *world {
	w := &world{t: t, c: c, mem: enginetest.NewMem(nil), repo: &enginetest.Repo{}}
	w.script = &enginetest.Script{Config: c, Agent: willing, Repo: w.repo, Took: time.Minute}
	for i, file := range specs {
		w.add(fmt.Sprintf("q-%d", i+1), file)
	}
	return w
}

// willing does everything at the first try.
func willing(c enginetest.Call) []ralph.Fact {
	switch c.Stage {
	case ralph.KindPlan:
		return enginetest.Plans(c.File, "only")
	case ralph.KindBuild:
		return []ralph.Fact{enginetest.Says(ralph.SignalComplete, "")}
	}
	return []ralph.Fact{enginetest.Answers("nothing to add")}
}

func says(kind ralph.SignalKind, text string) []ralph.Fact {
	return []ralph.Fact{enginetest.Says(kind, text)}
}

func (w *world) record(facts ...ralph.Fact) {
	w.t.Helper()
	err := w.mem.Update(context.Background(), "cli", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
	if err != nil {
		w.t.Fatal(err)
	}
}

// command runs a command of the root package as cli does.
func (w *world) command(f func(*ralph.State) ([]ralph.Fact, error)) {
	w.t.Helper()
	if err := w.mem.Update(context.Background(), "cli", f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(id, file string) {
	w.t.Helper()
	w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.AddSpec(ralph.SpecID(id), file, time.Now()), nil })
}

// start opens a session: a new one, or the one that is in the journal and was cut or interrupted.
func (w *world) start() {
	w.t.Helper()
	raw, err := w.c.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	f := ralph.SessionStarted{ID: "s-1", Mode: w.c.Session, Config: raw, DryRun: w.c.PlanOnly, Auto: w.mode}
	if s := w.mem.State(); s.Session.Live() || s.Session.Ended == ralph.ReasonInterrupted {
		f.ID, f.Resumed = s.Session.ID, true
	} else if s.Session.ID != "" {
		f.ID = s.Session.ID + "x"
	}
	w.record(append(w.mem.State().Lost(ralph.LostCrash, ""), f)...)
}

// engine works until it stops by itself; the error is that of broken machinery.
func (w *world) engine() (ralph.Reason, error) { return w.engineIn(context.Background()) }

func (w *world) engineIn(ctx context.Context) (ralph.Reason, error) {
	host := engine.NewLocal(ctx, w.mem, w.script, w.now)
	reason, err := engine.Run(host, w.c)
	if closed := host.Close(); err == nil {
		err = closed
	}
	return reason, err
}

// run is one whole `ralph agent`.
func (w *world) run() ralph.Reason {
	w.t.Helper()
	w.start()
	reason, err := w.engine()
	if err != nil {
		w.t.Fatalf("engine: %v", err)
	}
	w.honest()
	return reason
}

// honest is what must hold after every run of this file: every decision names a
// rule, all of them come out the same again from the journal's lines, and the engine never
// does nothing for no reason.
func (w *world) honest() {
	w.t.Helper()
	if err := honest(w.mem); err != nil {
		w.t.Fatal(err)
	}
}

func honest(mem *enginetest.Mem) error {
	bare := map[ralph.TaskID]int{} // starts in a row, each given back before its first step
	for _, e := range mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.TaskStarted:
			if bare[f.ID]++; bare[f.ID] > 5 {
				return fmt.Errorf("fact %d: %s is started again and again, and has no step", e.Seq, f.ID)
			}
		case ralph.Stalled:
			return fmt.Errorf("fact %d: it has work and does nothing: %+v", e.Seq, f)
		case ralph.StepStarted:
			if f.Why.Rule == "" {
				return fmt.Errorf("fact %d: step %s of %s names no rule", e.Seq, f.Step.StepName(), f.Task)
			}
			delete(bare, f.Task)
		case ralph.TaskEnded:
			if f.Why.Rule == "" && e.By == "engine" {
				return fmt.Errorf("fact %d: the end of %s names no rule", e.Seq, f.ID)
			}
		case ralph.JobEnded:
			if f.Rule == "" {
				return fmt.Errorf("fact %d: the end of the job names no rule", e.Seq)
			}
		}
	}
	if err := answered(mem.Events()); err != nil {
		return err
	}
	read, err := enginetest.Load(mem.Lines(), nil)
	if err != nil {
		return err
	}
	again, err := replay.Replay(slices.Values(read.Events()), replay.ReplayOptions{})
	if err != nil {
		return err
	}
	if again.Differ > 0 {
		return fmt.Errorf("replay: %d of %d decisions differ: %+v", again.Differ, again.Receipts, again.Differences)
	}
	return nil
}

// inbox is the statuses of the records, in order.
func (w *world) inbox() string {
	var out []string
	for _, x := range w.mem.State().Inbox {
		out = append(out, string(x.Status))
	}
	return strings.Join(out, " ")
}

func (w *world) want(reason, wantReason ralph.Reason, inbox string, commits int) {
	w.t.Helper()
	if reason != wantReason {
		w.t.Errorf("ended with %q (%s), want %q", reason, w.mem.State().Session.Detail, wantReason)
	}
	if got := w.inbox(); got != inbox {
		w.t.Errorf("inbox: %s, want %s", got, inbox)
	}
	if got := len(w.repo.Commits); got != commits {
		w.t.Errorf("%d commits, want %d", got, commits)
	}
}

// turns is what the agent was called for: "plan:a.md build:a.md/1 ...".
func (w *world) turns() []string {
	var out []string
	for _, c := range w.script.Calls() {
		what := string(c.Stage) + ":" + c.File
		if c.Stage == ralph.KindBuild {
			what = fmt.Sprintf("%s/%d", what, c.Iteration)
		}
		out = append(out, what)
	}
	return out
}

func (w *world) wantTurns(want ...string) {
	w.t.Helper()
	if got := w.turns(); !slices.Equal(got, want) {
		w.t.Errorf("turns:\n got %v\nwant %v", got, want)
	}
}

// bad makes the build of the given specs fail for good, at once.
func bad(files ...string) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		if c.Stage == ralph.KindBuild && slices.Contains(files, c.File) {
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassRequest)}
		}
		return willing(c)
	}
}

// C-014: the loop reaches the journal, the executor and the host through interfaces: in
// these tests it runs on a second implementation of each.
// D-036, D-042 to D-049, D-100 to D-102, D-105, D-118: FETCH, PLAN, CONSTRUCT, COMMIT, FETCH.
func TestTwoSpecsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md", "b.md")
		w.want(w.run(), ralph.ReasonEmpty, "done done", 2)
		w.wantTurns("plan:a.md", "build:a.md/1", "verify:a.md", "plan:b.md", "build:b.md/1", "verify:b.md")
		for _, x := range w.mem.State().Inbox {
			if x.EndedAt.IsZero() || x.EndedAt.Before(x.StartedAt) || x.Error != "" {
				t.Errorf("%s: started %s, ended %s, error %q", x.ID, x.StartedAt, x.EndedAt, x.Error)
			}
		}
	})
}

// D-048: the record is done after its commit, never before.
func TestDoneOnlyAfterCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.run()
		committed := false
		for _, e := range w.mem.Events() {
			switch f := e.Fact.(type) {
			case ralph.Committed:
				committed = f.Error == ""
			case ralph.JobEnded:
				if !committed || f.Commit == "" {
					t.Errorf("job ended as %s with commit %q before its commit", f.Status, f.Commit)
				}
			}
		}
	})
}

// The ends of a run, and what they leave in the inbox.
func TestEnds(t *testing.T) {
	five := []string{"a.md", "b.md", "c.md", "d.md", "e.md"}
	tests := []struct {
		name    string
		specs   []string
		edit    func(*policy.Config)
		agent   func(enginetest.Call) []ralph.Fact
		reason  ralph.Reason
		inbox   string
		commits int
	}{
		{"D-105 nothing queued", nil, nil, nil, ralph.ReasonEmpty, "", 0},
		{"D-104 bad, then good", five[:2], nil, bad("a.md"), ralph.ReasonEmpty, "failed done", 1},
		{"D-034 four bad, the default", five[:4], nil, bad(five...), ralph.ReasonMaxFailures, "failed failed failed pending", 0},
		{"D-108 four bad, max 2", five[:4], func(c *policy.Config) { c.MaxFailures = 2 }, bad(five...), ralph.ReasonMaxFailures, "failed failed pending pending", 0},
		{"D-109 F F ok F F", five, nil, bad("a.md", "b.md", "d.md", "e.md"), ralph.ReasonEmpty, "failed failed done failed failed", 1},
		{"D-106 max-specs 1 of 3", five[:3], func(c *policy.Config) { c.MaxSpecs = 1 }, nil, ralph.ReasonMaxSpecs, "done pending pending", 1},
		{"D-032 max-specs 2 of 5", five, func(c *policy.Config) { c.MaxSpecs = 2 }, nil, ralph.ReasonMaxSpecs, "done done pending pending pending", 2},
		{"X-61 only done ones count", five[:4], func(c *policy.Config) { c.MaxSpecs = 2 }, bad("a.md"), ralph.ReasonMaxSpecs, "failed done done pending", 2},
		{"X-39 abort ends the run", five[:2], func(c *policy.Config) { c.Strategy = "abort" }, bad("a.md"), ralph.ReasonAborted, "failed pending", 0},
		{"D-035 dry run", five[:2], func(c *policy.Config) { c.PlanOnly = true }, nil, ralph.ReasonEmpty, "pending pending", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				if tt.edit != nil {
					tt.edit(&c)
				}
				w := newWorld(t, c, tt.specs...)
				if tt.agent != nil {
					w.script.Agent = tt.agent
				}
				w.want(w.run(), tt.reason, tt.inbox, tt.commits)
				if c.PlanOnly {
					w.wantTurns("plan:a.md", "plan:b.md")
				}
				failed := strings.Count(tt.inbox, "failed")
				if got := len(w.repo.Shelved); got != failed {
					t.Errorf("%d failed specs, %d stashes (D-120)", failed, got)
				}
				for _, x := range w.mem.State().Inbox {
					if x.Status == ralph.SpecFailed && x.Error == "" {
						t.Errorf("%s failed without an error (D-103)", x.ID)
					}
				}
			})
		})
	}
}

func costing(dollars float64, known bool) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		facts := willing(c)
		f := facts[0].(ralph.TurnEnded)
		f.Usage = ralph.Usage{Cost: dollars, Known: known}
		facts[0] = f
		return facts
	}
}

// D-107, X-60: the budget is looked at after every turn, strictly greater.
func TestMaxCost(t *testing.T) {
	tests := []struct {
		name  string
		agent func(enginetest.Call) []ralph.Fact
		limit float64
		turns int
		inbox string
	}{
		{"$0.60 a turn, limit 1.00", costing(0.60, true), 1.00, 2, "pending"},
		{"exactly the limit is not over", costing(0.50, true), 1.50, 3, "done"},
		{"unknown cost is over", costing(0, false), 100, 1, "pending"},
		{"no limit, unknown cost", costing(0, false), 0, 3, "done"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				c.MaxCost = tt.limit
				w := newWorld(t, c, "a.md")
				w.script.Agent = tt.agent
				reason := ralph.ReasonMaxCost
				commits := 0
				if tt.inbox == "done" {
					reason, commits = ralph.ReasonEmpty, 1
				}
				w.want(w.run(), reason, tt.inbox, commits)
				if n := len(w.script.Calls()); n != tt.turns {
					t.Errorf("%d turns, want %d: %v", n, tt.turns, w.turns())
				}
			})
		})
	}
}

// a limit in the middle keeps the plan, and the next start skips PLAN.
func TestLimitMidSpecKeepsPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.Settings()
		c.MaxCost = 1
		w := newWorld(t, c, "a.md")
		w.script.Agent = costing(0.60, true)
		w.want(w.run(), ralph.ReasonMaxCost, "pending", 0)
		w.c.MaxCost = 100
		w.script.Config = w.c
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		w.wantTurns("plan:a.md", "build:a.md/1", "verify:a.md")
	})
}

// D-037, D-038: a spec added during the run is found; done ones are passed over.
func TestSpecAddedDuringRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Stage == ralph.KindVerify && c.File == "a.md" {
				w.add("q-late", "late.md")
			}
			return willing(c)
		}
		w.want(w.run(), ralph.ReasonEmpty, "done done", 2)
	})
}

// D-043, D-076 to D-079: what fails a spec, and the next one runs.
func TestFailedStages(t *testing.T) {
	mismatch := func(c enginetest.Call, stage ralph.TaskKind, n *int, times int) []ralph.Fact {
		if c.Stage == stage && c.File == "a.md" && *n < times {
			*n++
			return []ralph.Fact{ralph.TurnEnded{Mismatch: fmt.Sprintf("tasks: expected array (%d)", *n), Usage: ralph.Usage{Known: true}}}
		}
		return willing(c)
	}
	tests := []struct {
		name, inbox string
		setup       func(*world)
		error       string
		commits     int
	}{
		{"D-076 spec file missing", "failed done", func(w *world) { w.script.Missing = "a.md" }, "spec file ralph/specs/a.md not found", 1},
		{"D-077 answer does not fit twice", "failed done", func(w *world) {
			n := 0
			w.script.Agent = func(c enginetest.Call) []ralph.Fact { return mismatch(c, ralph.KindPlan, &n, 2) }
		}, "expected array (2)", 1},
		{"D-077 the second answer fits", "done done", func(w *world) {
			n := 0
			w.script.Agent = func(c enginetest.Call) []ralph.Fact { return mismatch(c, ralph.KindPlan, &n, 1) }
		}, "", 2},
		{"D-078 no progress", "failed done", func(w *world) {
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if c.Stage == ralph.KindBuild && c.File == "a.md" {
					return []ralph.Fact{ralph.TurnEnded{Usage: ralph.Usage{Known: true}}}
				}
				return willing(c)
			}
		}, "no progress in 5 turns", 1},
		{"D-078 rounds", "failed done", func(w *world) {
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if c.Stage == ralph.KindVerify && c.File == "a.md" {
					return []ralph.Fact{enginetest.Answers("rejected"), ralph.TaskRejected{ID: "t-a.md-only", Reason: "not good"}}
				}
				return willing(c)
			}
		}, "10 rounds used (construct.max_rounds)", 1},
		{"D-079 commit fails once", "done done", func(w *world) {
			w.script.CommitError = func(_ *ralph.Task, try int) error {
				if try == 1 {
					return errors.New("hook says no")
				}
				return nil
			}
		}, "", 2},
		{"D-079 commit fails twice", "failed done", func(w *world) {
			w.script.CommitError = func(t *ralph.Task, _ int) error {
				if strings.HasSuffix(string(t.ID), "q-1") {
					return errors.New("hook says no")
				}
				return nil
			}
		}, "git commit failed twice: hook says no", 1},
		{"B-012 blocked", "failed done", func(w *world) {
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if c.Stage == ralph.KindBuild && c.File == "a.md" {
					return says(ralph.SignalBlocked, "no key")
				}
				return willing(c)
			}
		}, "is blocked: no key", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, enginetest.Settings(), "a.md", "b.md")
				tt.setup(w)
				w.want(w.run(), ralph.ReasonEmpty, tt.inbox, tt.commits)
				if got := w.mem.State().Inbox[0].Error; !strings.Contains(got, tt.error) || tt.error == "" && got != "" {
					t.Errorf("error %q, want it to say %q", got, tt.error)
				}
			})
		})
	}
}
