package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// lossy is a host that loses the loop of a task: the state says that somebody works on it,
// and nobody does.
type lossy struct {
	*engine.Local
	lose int // the start that is lost, from 1
	seen int
	tell func() // before the first stall is written: somebody else writes, too
}

func (h *lossy) Record(seq int64, facts ...ralph.Fact) error {
	if _, ok := facts[0].(ralph.Stalled); ok && h.tell != nil {
		h.tell()
		h.tell = nil
	}
	return h.Local.Record(seq, facts...)
}

func (h *lossy) Go(work func(engine.Host) error) {
	if h.seen++; h.seen != h.lose {
		h.Local.Go(work)
	}
}

// R-H8, issue 14.3: an engine that has work and does nothing says so after two minutes,
// once, names the task, and goes on to listen: a stop at once and a new start mend it.
func TestLostLoopIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md", "b.md")
		w.start()
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Hour)
		defer cancel()
		host := &lossy{Local: engine.NewLocal(ctx, w.mem, w.script, nil), lose: 3} // prepare, plan, the task
		host.tell = func() { w.add("q-same", "same.md") }
		for n := range 20 { // a person who types meanwhile changes nothing
			time.AfterFunc(time.Duration(n)*time.Minute, func() {
				w.add(fmt.Sprintf("q-x%d", n), fmt.Sprintf("x%d.md", n))
			})
		}
		if _, err := engine.Run(host, w.c); err == nil {
			t.Error("it ended by itself")
		}
		_ = host.Close()
		var told []ralph.Event
		for _, e := range w.mem.Events() {
			if _, ok := e.Fact.(ralph.Stalled); ok {
				told = append(told, e)
			}
		}
		if len(told) != 1 {
			t.Fatalf("told %d times, want once", len(told))
		}
		f := told[0].Fact.(ralph.Stalled)
		s := w.mem.State()
		active := s.Plan.Tasks[0]
		if !slices.Equal(f.Active, []ralph.TaskID{active.ID}) || active.Status != ralph.TaskActive || f.Report != ralph.StallReport(told[0].Seq) {
			t.Errorf("told %+v, the task is %s", f, active.Status)
		}
		if silent := told[0].At.Sub(f.Since); silent != policy.StallAfter || told[0].At.Sub(began) > 10*time.Minute {
			t.Errorf("told after %s of silence, %s after the start", silent, told[0].At.Sub(began))
		}
		if s.Stalled == nil {
			t.Error("the state does not know")
		}

		w.start()
		if s := w.mem.State(); s.Stalled != nil {
			t.Error("a new start is stalled still")
		}
		if reason, err := w.engine(); err != nil || reason != ralph.ReasonEmpty || strings.Contains(w.inbox(), "pending") {
			t.Errorf("the next start: %s, %v, inbox %s", reason, err, w.inbox())
		}
	})
}

// counting is a host that ends an engine which starts work over and over.
type counting struct {
	*engine.Local
	starts int
}

func (h *counting) Go(work func(engine.Host) error) {
	h.starts++
	h.Local.Go(work)
}

func (h *counting) Look(decide func(*ralph.State, time.Time)) {
	h.Local.Look(func(s *ralph.State, now time.Time) {
		if h.starts > maxStarts {
			s.Session.Ended = ralph.ReasonError // of this look alone: the loop ends
		}
		decide(s, now)
	})
}

const maxStarts = 2000

// edits is a random run with somebody who edits plan.jsonl and inbox.jsonl beside it, and
// gives commands.
type edits struct {
	Config policy.Config
	Mode   ralph.Autonomy
	Acts   []edit
	Moods  []int
}

type edit struct {
	After time.Duration
	What  string
	N, M  int
}

func drawEdits(rt *rapid.T) edits {
	c := enginetest.Settings()
	if rapid.Bool().Draw(rt, "autopilot") {
		c.Session, c.Isolated, c.Commit = "autopilot", true, false
	}
	c.Parallel = rapid.IntRange(1, 3).Draw(rt, "parallel")
	c.Strategy = rapid.SampledFrom([]string{"retry", "skip", "abort"}).Draw(rt, "strategy")
	x := edits{Config: c, Moods: rapid.SliceOfN(rapid.IntRange(0, 9), 6, 6).Draw(rt, "moods")}
	x.Mode = rapid.SampledFrom([]ralph.Autonomy{ralph.Autopilot, ralph.Autopilot, ralph.Stepwise, ralph.Semi}).Draw(rt, "mode")
	whats := []string{
		"status", "status", "deps", "rename", "remove", "add", "order", "spec-status", "spec-remove", "spec-add",
		"pause", "run", "skip", "retry", "assign", "reject", "answer", "answer", "wait",
	}
	for range rapid.IntRange(1, 25).Draw(rt, "acts") {
		x.Acts = append(x.Acts, edit{
			After: time.Duration(rapid.IntRange(1, 400).Draw(rt, "after")) * time.Second,
			What:  rapid.SampledFrom(whats).Draw(rt, "what"), N: rapid.IntRange(0, 20).Draw(rt, "n"), M: rapid.IntRange(0, 20).Draw(rt, "m"),
		})
	}
	return x
}

// file is what reading back the files makes of an edit, by the rules of view.go.
func (a edit) file(s *ralph.State) []ralph.Fact {
	statuses := []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskSkipped, ralph.TaskTimeout}
	if n := len(s.Plan.Tasks); n > 0 {
		t, other := s.Plan.Tasks[a.N%n], s.Plan.Tasks[a.M%n]
		edited := *t
		switch a.What {
		case "status":
			edited.Status = statuses[a.M%len(statuses)]
		case "deps":
			edited.Deps = []ralph.TaskID{other.ID}
		case "rename":
			edited.Name = fmt.Sprint(t.Name, a.M)
		}
		switch a.What {
		case "status", "deps", "rename":
			edited, _ = t.EditedByFile(edited)
			return []ralph.Fact{ralph.TaskEdited{Task: edited}}
		case "remove":
			if t.KeepsTask() == nil {
				return []ralph.Fact{ralph.TaskRemoved{ID: t.ID}}
			}
			return nil
		case "order":
			if other.ID == t.ID { // an id stands once in a file that can be read
				return nil
			}
			return []ralph.Fact{ralph.PlanOrdered{IDs: []ralph.TaskID{other.ID, t.ID}}}
		}
	}
	if n := len(s.Inbox); n > 0 {
		x := s.Inbox[a.N%n]
		switch a.What {
		case "spec-status":
			edited := *x
			edited.Status = []ralph.SpecStatus{ralph.SpecPending, ralph.SpecActive, ralph.SpecDone, ralph.SpecFailed}[a.M%4]
			edited, _ = x.EditedByFile(edited)
			return []ralph.Fact{ralph.SpecEdited{Spec: edited}}
		case "spec-remove":
			if x.KeepsSpec() == nil {
				return []ralph.Fact{ralph.SpecRemoved{ID: x.ID}}
			}
			return nil
		}
	}
	if a.What == "add" && s.Plan.File != "" {
		t := enginetest.Task(s.Plan.File, fmt.Sprintf("new-%d", s.Seq))
		t.Status = statuses[a.M%len(statuses)]
		t, _ = s.AddedByFile(t)
		return []ralph.Fact{ralph.TaskAdded{Task: t}}
	}
	return nil
}

// do carries the act out: a refusal is an answer, too.
func (a edit) do(w *world) {
	if facts := a.file(w.mem.State()); facts != nil {
		_ = w.mem.Update(context.Background(), "file", func(s *ralph.State) ([]ralph.Fact, error) { return a.file(s), nil })
		return
	}
	_ = w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		switch a.What {
		case "pause":
			return s.Steer(ralph.WantPause, "me")
		case "run":
			return s.Steer(ralph.WantRun, "me")
		case "spec-add":
			return s.AddSpec(ralph.SpecID(fmt.Sprintf("q-n%d", s.Seq)), fmt.Sprintf("n%d.md", s.Seq), s.At), nil
		case "answer":
			if n := len(s.Approvals); n > 0 {
				return s.Answer(s.Approvals[a.N%n].ID, "this")
			}
		}
		if len(s.Plan.Tasks) == 0 {
			return nil, nil
		}
		id := s.Plan.Tasks[a.N%len(s.Plan.Tasks)].ID
		switch a.What {
		case "skip":
			return s.SkipTask(id, "not now")
		case "retry":
			return s.RetryTask(id)
		case "assign":
			return s.AssignTask(id)
		case "reject":
			return s.RejectTask(id, "no")
		}
		return nil, nil
	})
}

// play runs it all; the person goes home after the last act, and the engine has ended, or
// holds for a reason that has a name.
func (x edits) play(t *testing.T) (problem string) {
	var w *world
	if x.Config.Session == "autopilot" {
		w = pilotWorld(t, 5, func(c *policy.Config) { *c = x.Config })
	} else {
		w = newWorld(t, x.Config, "0.md", "1.md")
	}
	w.mode = x.Mode
	w.script.Agent = func(c enginetest.Call) []ralph.Fact {
		if c.Stage == ralph.KindPlan {
			return enginetest.Plans(c.File, "one", "two", "three")
		}
		if c.Stage == ralph.KindBuild {
			switch x.Moods[(c.Iteration+len(c.Task.ID)+int(c.Task.ID[len(c.Task.ID)-1]))%len(x.Moods)] {
			case 0:
				return says(ralph.SignalHuman, "which?")
			case 1:
				return says(ralph.SignalBlocked, "no key")
			case 2:
				return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
			}
		}
		return willing(c)
	}
	w.start()
	w.mem.CutAfter(5000, errors.New("facts without end: the engine goes in circles"))
	ctx, cancel := context.WithTimeout(context.Background(), 48*time.Hour)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		host := &counting{Local: engine.NewLocal(ctx, w.mem, w.script, nil)}
		_, err := engine.Run(host, w.c)
		if closed := host.Close(); err == nil {
			err = closed
		}
		if host.starts > maxStarts {
			var at []string
			for t := range w.mem.State().Work() {
				at = append(at, fmt.Sprintf("%s %s %s", t.ID, t.Kind, t.Status))
			}
			err = fmt.Errorf("starts without end, the engine goes in circles: %q", at)
		}
		ended <- err
	}()
	for _, a := range x.Acts {
		select {
		case err := <-ended:
			return w.judge(err, true)
		case <-time.After(a.After):
			a.do(w)
		}
	}
	select {
	case err := <-ended:
		return w.judge(err, true)
	case <-time.After(24 * time.Hour):
	}
	problem = w.judge(nil, false)
	cancel()
	<-ended
	return problem
}

// judge says what is wrong with how a run stands.
func (w *world) judge(err error, ended bool) string {
	if err != nil {
		lines := w.mem.Lines()
		return fmt.Sprintf("%v: %s", err, lines[max(0, len(lines)-4):])
	}
	if err := honest(w.mem); err != nil {
		return err.Error()
	}
	if ended {
		return ""
	}
	s, now := w.mem.State(), time.Now().UTC()
	var mine []ralph.TaskID
	for t := range s.Work() {
		if t.Status == ralph.TaskActive {
			mine = append(mine, t.ID)
		}
	}
	hold, holds := policy.Schedule(s, mine, w.c, now).(policy.Hold)
	if !holds || policy.SilentFor(s, hold, w.c, now) == "" {
		return fmt.Sprintf("after a day it neither ended nor waits for anything: %s, %+v, gates %d", s.Mode(), hold, len(s.Approvals))
	}
	return ""
}

// R-C3, R-C4, issue 14.3: whatever people write into plan.jsonl and inbox.jsonl meanwhile,
// and whatever they command, the engine ends or waits for something that has a name.
func TestEditsNeverStall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawEdits(rt)
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = x.play(t) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}
