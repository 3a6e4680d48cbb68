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

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// troubled is a run with something of everything: a bad spec that is put away,
// an error with its retry, a limit, a question, red checks, two rounds, an issue,
// a commit that fails once.
func troubled(w *world) {
	w.script.Agent = func(c enginetest.Call) []ralph.Fact {
		build := c.Stage == ralph.KindBuild
		switch {
		case build && c.File == "bad.md":
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassRequest)}
		case build && c.Iteration == 1:
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
		case build && c.Iteration == 2:
			return limited(time.Time{})
		case build && c.Iteration == 3 && len(c.Task.Run.Answers) == 0:
			return says(ralph.SignalHuman, "which?")
		case c.Stage == ralph.KindVerify && c.State.Job.Round == 1:
			return []ralph.Fact{enginetest.Answers("issue"), ralph.IssueAdded{Issue: ralph.Issue{ID: "i-1", Desc: "slow"}}}
		case c.Stage == ralph.KindInvestigate:
			return []ralph.Fact{enginetest.Answers("looked")}
		}
		return willing(c)
	}
	w.script.Checks = func(t *ralph.Task) bool { return t.Run.Iterations > 4 }
	w.script.CommitError = func(_ *ralph.Task, try int) error {
		if try == 1 {
			return errors.New("hook says no")
		}
		return nil
	}
}

// answering runs the engine and answers every question an hour after it came, and has threads that a
// person paused go on.
func (w *world) answering() (ralph.Reason, error) {
	type end struct {
		reason ralph.Reason
		err    error
	}
	ended := make(chan end, 1)
	ctx, die := context.WithCancelCause(context.Background())
	defer die(nil)
	go func() {
		reason, err := w.engineIn(ctx)
		ended <- end{reason, err}
	}()
	for hour := 0; ; hour++ {
		if hour > 1000 {
			die(errors.New("the test is over"))
			<-ended
			return "", fmt.Errorf("the run does not end: %s", w.turns())
		}
		select {
		case e := <-ended:
			return e.reason, e.err
		case <-time.After(time.Hour):
			for _, g := range w.mem.State().Approvals {
				err := w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(g.ID, "this") })
				if err != nil {
					die(err) // the journal is cut here: the engine dies while it waits
				}
			}
			for _, t := range w.mem.State().OpenThreads() {
				if t.Run.Thread.Want != ralph.ThreadPause {
					continue
				}
				err := w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread(t.ID, ralph.ThreadRun) })
				if err != nil {
					die(err)
				}
			}
		}
	}
}

// result is what must be the same however often the engine died on the way.
type result struct {
	Reason  ralph.Reason
	Inbox   string
	Tasks   []string
	Commits int
	Shelved int
}

func (w *world) result(reason ralph.Reason) result {
	r := result{Reason: reason, Inbox: w.inbox(), Commits: len(w.repo.Commits), Shelved: len(w.repo.Shelved)}
	for _, t := range w.mem.State().Plan.Tasks {
		r.Tasks = append(r.Tasks, fmt.Sprintf("%s %s", t.ID, t.Status))
	}
	return r
}

func cutWorld(t *testing.T) *world {
	w := newWorld(t, enginetest.Settings(), "bad.md", "a.md", "b.md")
	troubled(w)
	w.start()
	return w
}

// X-28, D-064, D-065, D-114: the engine dies after every single fact, with the
// effect of its last step made but not recorded; the next one goes on to the same
// end. No spec is lost, none committed twice, no task built that was done.
func TestCutAnywhere(t *testing.T) {
	var want result
	var ends []int64
	var last, first int64
	synctest.Test(t, func(t *testing.T) {
		w := cutWorld(t)
		first = w.mem.State().Seq
		reason, err := w.answering()
		if err != nil {
			t.Fatal(err)
		}
		want, ends, last = w.result(reason), w.mem.Ends(), w.mem.State().Seq
	})
	if want.Inbox != "failed done done" || want.Commits != 2 || want.Shelved != 1 {
		t.Fatalf("the uncut run: %+v", want)
	}
	for _, seq := range ralphtest.Cases(4, between(first, last)) {
		t.Run(fmt.Sprintf("after fact %d", seq), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { cutAt(t, seq, slices.Contains(ends, seq), want) })
		})
	}
}

// between are the numbers from first on that come before last.
func between(first, last int64) (all []int64) {
	for n := first; n < last; n++ {
		all = append(all, n)
	}
	return all
}

func cutAt(t *testing.T, seq int64, whole bool, want result) {
	died := errors.New("killed")
	w := cutWorld(t)
	w.mem.CutAfter(seq, died)
	if _, err := w.answering(); !errors.Is(err, died) {
		t.Fatalf("the engine should have died: %v", err)
	}
	before := done(w.mem.State())
	after, err := enginetest.Load(w.mem.Lines(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.mem = after
	time.Sleep(time.Hour)
	w.start()
	calls := len(w.script.Calls())
	reason, err := w.answering()
	if err != nil {
		t.Fatal(err)
	}
	w.honest()
	if f, ok := after.Events()[seq-1].Fact.(ralph.TurnEnded); ok && !whole && f.Answer != "" {
		w.wantNothingFalse()
		return
	}
	if diff := cmp.Diff(want, w.result(reason)); diff != "" {
		t.Errorf("whole update %v, last fact %s: (-uncut +cut)\n%s", whole, after.Events()[seq-1].Fact.Kind(), diff)
	}
	for _, c := range w.script.Calls()[calls:] {
		if slices.Contains(before, c.Task.ID) {
			t.Errorf("%s was done before the cut and got another turn", c.Task.ID)
		}
	}
}

// wantNothingFalse is what holds even where a write was torn between a turn and
// the tasks of its answer, which only the journal could put together again (all
// or none is its promise): the run ends, and no spec is done without work.
func (w *world) wantNothingFalse() {
	w.t.Helper()
	built, commits := 0, 0
	for _, e := range w.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.JobStarted:
			built = 0
		case ralph.TaskEnded:
			if strings.HasPrefix(string(f.ID), "t-") && f.Status == ralph.TaskDone {
				built++
			}
		case ralph.JobEnded:
			if f.Status == ralph.SpecDone {
				commits++
				if built == 0 {
					w.t.Errorf("a spec is done without a task that was built")
				}
			}
		}
	}
	if commits != len(w.repo.Commits) {
		w.t.Errorf("%d specs done, %d commits", commits, len(w.repo.Commits))
	}
	if s := w.inbox(); strings.Contains(s, "active") || strings.Contains(s, "pending") {
		w.t.Errorf("the run ended with %s", s)
	}
}

func done(s *ralph.State) []ralph.TaskID {
	var ids []ralph.TaskID
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskDone && strings.HasPrefix(string(t.ID), "t-") {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
