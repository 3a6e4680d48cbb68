package ralph_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
)

// looked is what a look at every task says of a plan.
type looked struct {
	Progress     ralph.Progress
	Mode         string
	Marked       map[tally.Mark][]ralph.TaskID
	Open, Merged string
	Ranked       map[tally.Rank[ralph.Weight]][]int
	Arrived      []ralph.TaskID
}

// walk looks at every task.
func walk(s *ralph.State) looked {
	w := looked{Mode: plain(s).Mode(), Marked: map[tally.Mark][]ralph.TaskID{}, Ranked: map[tally.Rank[ralph.Weight]][]int{}}
	phases := ralph.Phases(s.Plan.Tasks)
	place := func(t *ralph.Task) int { return slices.Index(phases, t.Phase) }
	for merged, name := range map[bool]*string{false: &w.Open, true: &w.Merged} {
		at := len(phases)
		for _, t := range s.Plan.Tasks {
			if !t.Status.Ended() || merged && t.Status == ralph.TaskDone && t.Unmerged() {
				at = min(at, place(t))
			}
		}
		if at < len(phases) {
			*name = phases[at]
		}
	}
	for m := range tally.Thread + 1 {
		for t := range plain(s).Marked(m) {
			w.Marked[m] = append(w.Marked[m], t.ID)
		}
	}
	for i, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskPending {
			r := rankOf(s, t, place(t))
			w.Ranked[r] = append(w.Ranked[r], i)
		}
	}
	for t := range plain(s).Arrivals() {
		w.Arrived = append(w.Arrived, t.ID)
	}
	w.Progress = progressOf(s, place)
	return w
}

// plain is the state without anything that was counted of it.
func plain(s *ralph.State) *ralph.State {
	return &ralph.State{Seq: s.Seq, At: s.At, Plan: s.Plan, Stages: s.Stages, Session: s.Session, ApprovalState: s.ApprovalState}
}

func rankOf(s *ralph.State, t *ralph.Task, phase int) tally.Rank[ralph.Weight] {
	r := tally.Rank[ralph.Weight]{Weight: t.Weight(), Phase: phase}
	children, done := 0, 0
	for _, x := range s.Plan.Tasks {
		if !x.Status.Ended() && slices.Contains(x.Deps, t.ID) {
			r.Dependents++
		}
		if t.Parent != "" && x.Parent == t.Parent {
			children++
			if x.Status == ralph.TaskDone {
				done++
			}
		}
		if slices.Contains(t.Deps, x.ID) {
			switch {
			case x.Holds(false):
				r.Held = tally.ByOthers
			case x.Holds(true):
				r.Held = max(r.Held, tally.ByMerge)
			}
		}
	}
	r.Near = 2*done > children
	return r
}

func progressOf(s *ralph.State, place func(*ralph.Task) int) ralph.Progress {
	p := ralph.Progress{PhaseAt: -1, StepAt: -1, Total: len(s.Plan.Tasks), Skipped: []ralph.TaskID{}}
	at := slices.IndexFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return t.Status == ralph.TaskActive && t.Run.InFlight != 0 })
	if at < 0 {
		at = slices.IndexFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return t.Status == ralph.TaskActive })
	}
	if at >= 0 {
		p.Current = s.Plan.Tasks[at].ID
	} else {
		at = slices.IndexFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return !t.Status.Ended() })
	}
	for i, t := range s.Plan.Tasks {
		switch t.Status {
		case ralph.TaskDone:
			p.Completed++
		case ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout:
			p.Failed++
		case ralph.TaskSkipped:
			p.Skipped = append(p.Skipped, t.ID)
		}
		if at >= 0 && i <= at && t.Phase == s.Plan.Tasks[at].Phase {
			p.Phase, p.PhaseAt = t.Phase, place(t)
			p.StepAt++
		}
	}
	return p
}

// ask is the same as it is counted.
func ask(s *ralph.State) looked {
	w := looked{Progress: s.Progress(), Mode: s.Mode(), Marked: map[tally.Mark][]ralph.TaskID{}, Ranked: map[tally.Rank[ralph.Weight]][]int{}}
	_, w.Open = s.OpenPhase(false)
	_, w.Merged = s.OpenPhase(true)
	for m := range tally.Thread + 1 {
		for t := range s.Marked(m) {
			w.Marked[m] = append(w.Marked[m], t.ID)
		}
	}
	for r, places := range s.Ranked() {
		w.Ranked[r] = slices.AppendSeq(w.Ranked[r], places.All())
	}
	for t := range s.Arrivals() {
		w.Arrived = append(w.Arrived, t.ID)
	}
	return w
}

// Issues 16.1 and 17.4: what is counted of the plan while facts are folded is what a look at every task
// says, for who folds, who is lent the state, and a clone; and a clone has none of what comes after it,
// though both begin with the same list.
func TestCountedAsLookedAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &ralph.State{}
		var before, apart *ralph.State
		var then looked
		for i := range rapid.IntRange(5, 40).Draw(rt, "facts") {
			e := ralph.Event{Seq: int64(i + 1), Hash: "h", At: start.Add(time.Duration(i) * time.Second), Fact: drawFact(rt)}
			if added, ok := e.Fact.(ralph.TaskAdded); ok {
				if s.Task(added.Task.ID) != nil {
					continue // no command adds the same twice
				}
				added.Task = related(rt, added.Task)
				e.Fact = added
			}
			if edited, ok := e.Fact.(ralph.TaskEdited); ok {
				edited.Task = related(rt, edited.Task)
				e.Fact = edited
			}
			_, err := s.Lend(func(lent *ralph.State) ([]ralph.Fact, error) {
				if diff := cmp.Diff(walk(lent), ask(lent)); diff != "" {
					rt.Fatalf("lent before %s: %s", e.Fact.Kind(), diff)
				}
				return nil, nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			if yes(rt) {
				before, then = s.Clone(), walk(s)
			}
			s.Apply(e)
			want := walk(s)
			if diff := cmp.Diff(want, ask(s)); diff != "" {
				rt.Fatalf("after %s: %s", e.Fact.Kind(), diff)
			}
			clone := s.Clone()
			if diff := cmp.Diff(want, ask(clone)); diff != "" {
				rt.Fatalf("a clone after %s: %s", e.Fact.Kind(), diff)
			}
			for _, x := range clone.Plan.Tasks {
				if s.Task(x.ID) != clone.Task(x.ID) {
					rt.Fatalf("after %s: another task is called %s", e.Fact.Kind(), x.ID)
				}
			}
			if before != nil {
				for _, x := range before.Plan.Tasks {
					if before.Task(x.ID) != x {
						rt.Fatalf("after %s: another task of a clone is called %s", e.Fact.Kind(), x.ID)
					}
				}
				if diff := cmp.Diff(then, ask(before)); diff != "" {
					rt.Fatalf("a clone moved with %s: %s", e.Fact.Kind(), diff)
				}
				if apart == nil || yes(rt) {
					apart = before.Clone()
				}
				apart.Apply(e)
				if diff := cmp.Diff(walk(apart), ask(apart)); diff != "" {
					rt.Fatalf("a clone that is changed by %s: %s", e.Fact.Kind(), diff)
				}
				if diff := cmp.Diff(then, ask(before)); diff != "" {
					rt.Fatalf("a clone moved with a clone of it, by %s: %s", e.Fact.Kind(), diff)
				}
			}
		}
	})
}

// related gives a task what others have to do with.
func related(rt *rapid.T, t ralph.Task) ralph.Task {
	t.Phase = pick(rt, "phase", "", "a", "b")
	t.Parent = pick(rt, "parent", ralph.TaskID(""), "t-0", "t-1")
	t.Deps = pick(rt, "related", nil, []ralph.TaskID{"t-1"}, []ralph.TaskID{"t-2", "t-1", "t-2"}, []ralph.TaskID{"t-none"})
	t.Priority = pick(rt, "priority", "", "high", "low")
	t.Tags = pick(rt, "tags", nil, []string{"critical"}, []string{"quick-win", "x"})
	return t
}

// A clone is asked for its tasks while others are added (-race), and has none of them.
func TestCloneIsAskedWhileTasksAreAdded(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	add := func(n int) {
		id := ralph.TaskID(fmt.Sprintf("t-%d", n))
		s.Apply(ralph.Event{Seq: int64(n), Hash: "h", At: start, Fact: ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "x"}}})
	}
	var asked sync.WaitGroup
	for n := 1; n <= 50; n++ {
		add(n)
		c := s.Clone()
		asked.Go(func() {
			for i := 1; i <= 50; i++ {
				if found := c.Task(ralph.TaskID(fmt.Sprintf("t-%d", i))) != nil; found != (i <= n) {
					t.Errorf("task %d in a clone of %d: %t", i, n, found)
				}
			}
		})
	}
	asked.Wait()
}
