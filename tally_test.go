package ralph_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// Issue 16.1: what is counted of the plan while facts are folded is what a look at every task
// says, which is all that a clone has; and a clone has none of what comes after it, though both
// begin with the same list.
func TestCountedAsLookedAt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &ralph.State{}
		var before *ralph.State
		var then ralph.Progress
		for i := range rapid.IntRange(5, 40).Draw(rt, "facts") {
			e := ralph.Event{Seq: int64(i + 1), Hash: "h", At: start.Add(time.Duration(i) * time.Second), Fact: drawFact(rt)}
			if added, ok := e.Fact.(ralph.TaskAdded); ok && s.Task(added.Task.ID) != nil {
				continue // no command adds the same twice
			}
			_, err := s.Lend(func(lent *ralph.State) ([]ralph.Fact, error) {
				looked := s.Clone()
				if diff := cmp.Diff(looked.Progress(), lent.Progress()); diff != "" || lent.Mode() != looked.Mode() {
					rt.Fatalf("lent before %s: %s, looked at %s%s", e.Fact.Kind(), lent.Mode(), looked.Mode(), diff)
				}
				return nil, nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			if yes(rt) {
				before, then = s.Clone(), s.Progress()
			}
			s.Apply(e)
			looked := s.Clone()
			if diff := cmp.Diff(looked.Progress(), s.Progress()); diff != "" {
				rt.Fatalf("after %s: %s", e.Fact.Kind(), diff)
			}
			if s.Mode() != looked.Mode() {
				rt.Fatalf("after %s: %s, looked at %s", e.Fact.Kind(), s.Mode(), looked.Mode())
			}
			for _, x := range looked.Plan.Tasks {
				if s.Task(x.ID) != looked.Task(x.ID) {
					rt.Fatalf("after %s: another task is called %s", e.Fact.Kind(), x.ID)
				}
			}
			if before != nil {
				for _, x := range before.Plan.Tasks {
					if before.Task(x.ID) != x {
						rt.Fatalf("after %s: another task of a clone is called %s", e.Fact.Kind(), x.ID)
					}
				}
				if diff := cmp.Diff(then, before.Progress()); diff != "" {
					rt.Fatalf("a clone moved with %s: %s", e.Fact.Kind(), diff)
				}
			}
		}
	})
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
