package policy_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// B-046: the task that is next is the first of those that are ready, in each mode and with anything that a
// person has said.
func TestBestIsTheFirstThatIsReady(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := enginetest.Settings()
		c.Isolated = rapid.Bool().Draw(rt, "isolated")
		c.Session = rapid.SampledFrom([]string{"autopilot", ralph.ModeAuto}).Draw(rt, "session")
		b := newBoard(t, c)
		b.add(ralph.PlanStarted{File: "a.md"})
		n := rapid.IntRange(1, 8).Draw(rt, "tasks")
		for i := range n {
			b.add(ralph.TaskAdded{Task: drawTask(rt, i)})
		}
		for range rapid.IntRange(0, 12).Draw(rt, "facts") {
			id := ralph.TaskID(fmt.Sprintf("t-%d", rapid.IntRange(0, n-1).Draw(rt, "of")))
			switch rapid.IntRange(0, 5).Draw(rt, "fact") {
			case 0:
				b.add(ralph.TaskStarted{ID: id})
			case 1:
				b.add(ralph.TaskEnded{ID: id, Status: rapid.SampledFrom([]ralph.TaskStatus{ralph.TaskDone, ralph.TaskFailed, ralph.TaskSkipped, ralph.TaskPending}).Draw(rt, "ended")})
			case 2:
				b.add(ralph.TaskAssigned{ID: id})
			case 3:
				b.add(ralph.MergeQueued{Task: id, Branch: "b", Commit: "c"})
			case 4:
				b.add(ralph.ThreadStarted{Task: id})
			case 5:
				b.now = b.now.Add(time.Second)
				b.add(ralph.TurnEnded{Task: id, Stage: ralph.KindBuild, Agent: "a", Iteration: 1, Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: rapid.SampledFrom([]ralph.SignalKind{ralph.SignalHuman, ralph.SignalProgress}).Draw(rt, "said")}})
			}
			for claim := range int8(2) {
				ready := slices.DeleteFunc(policy.Ready(&b.s, c), func(t *ralph.Task) bool { return t.Weight().Claim < claim })
				var want *ralph.Task
				if len(ready) > 0 {
					want = ready[0]
				}
				if got := policy.Best(b.s.Clone(), c, claim); got != want {
					rt.Fatalf("claim %d: %v is next, want %v", claim, got, want)
				}
			}
		}
	})
}

// What is merged next are the first that have come, with what an agent has mended before all, as if all that
// wait were put in order.
func TestMergeQueueIsTheFirstThatCame(t *testing.T) {
	states := []ralph.MergeState{ralph.MergeWaiting, ralph.MergeConflict, ralph.MergeRed, ralph.MergeMerged}
	rapid.Check(t, func(rt *rapid.T) {
		c := enginetest.Settings()
		c.Batch = rapid.IntRange(0, 4).Draw(rt, "batch")
		var s ralph.State
		taken := map[ralph.TaskID]bool{}
		for i := range rapid.IntRange(0, 8).Draw(rt, "tasks") {
			x := &ralph.Task{ID: ralph.TaskID(fmt.Sprint("t-", i)), Status: ralph.TaskDone}
			x.Run.Queue.State = rapid.SampledFrom(states).Draw(rt, "state")
			x.Run.Queue.Since = rapid.Int64Range(1, 5).Draw(rt, "since")
			x.Run.Queue.ResolvedAt = rapid.SampledFrom([]string{"", "", "c0ffee"}).Draw(rt, "mended at")
			x.Run.Queue.GaveUp = rapid.SampledFrom([]string{"", "it is complex"}).Draw(rt, "given up")
			taken[x.ID] = rapid.IntRange(0, 5).Draw(rt, "taken") == 0
			s.Plan.Tasks = append(s.Plan.Tasks, x)
		}
		want := slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(x *ralph.Task) bool {
			return taken[x.ID] || policy.Resolvable(x, c) || x.Run.Queue.State == ralph.MergeMerged
		})
		mended := func(x *ralph.Task) bool {
			return x.Run.Queue.State == ralph.MergeWaiting && x.Run.Queue.ResolvedAt != ""
		}
		slices.SortStableFunc(want, func(a, b *ralph.Task) int { return cmp.Compare(a.Run.Queue.Since, b.Run.Queue.Since) })
		if i := slices.IndexFunc(want, mended); i > 0 {
			want = slices.Concat(want[i:i+1], want[:i], want[i+1:])
		}
		want = want[:min(len(want), max(1, c.Batch))]
		if got := policy.MergeQueue(&s, c, taken); !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", names(got), names(want))
		}
	})
}

func names(list []*ralph.Task) (ids []ralph.TaskID) {
	for _, t := range list {
		ids = append(ids, t.ID)
	}
	return ids
}

func drawTask(rt *rapid.T, i int) ralph.Task {
	return ralph.Task{
		ID: ralph.TaskID(fmt.Sprintf("t-%d", i)), Name: "x", Status: ralph.TaskPending,
		Phase:      rapid.SampledFrom([]string{"", "a"}).Draw(rt, "phase"),
		Parent:     rapid.SampledFrom([]ralph.TaskID{"", "t-0"}).Draw(rt, "parent"),
		Deps:       rapid.SampledFrom([][]ralph.TaskID{nil, {"t-1"}, {"t-2", "t-0"}}).Draw(rt, "deps"),
		Priority:   rapid.SampledFrom([]string{"", "high", "low"}).Draw(rt, "priority"),
		Tags:       rapid.SampledFrom([][]string{nil, {"critical"}, {"quick-win"}}).Draw(rt, "tags"),
		RetryCount: rapid.IntRange(0, 2).Draw(rt, "retries"),
	}
}

// Issue 17.4: a decision looks at what is at work or is next, and at nothing else: not at the
// thousands that are done, not at those that wait for the merge under way, and not at those behind the first.
func TestDecisionsLookAtFew(t *testing.T) {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Parallel, c.TaskDelay = "autopilot", true, 4, 0
	const done, waiting = 50, 50
	for name, at := range map[string]int{"a slot is free": 3, "all slots are taken": 4} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, c)
			b.add(ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "a-1", File: "a.md"})
			b.add(ralph.TaskAdded{Task: ralph.Task{ID: "prepare:a-1", Kind: ralph.KindPrepare, Status: ralph.TaskDone}},
				ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "a", Tip: "a", Tree: "t"})
			for i := range done + at + waiting {
				x := ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", i)), Name: "x", Status: ralph.TaskPending}
				if i >= done+at && i%2 == 0 {
					x.Deps = []ralph.TaskID{ralph.TaskID(fmt.Sprintf("t-%d", done))} // which is at work
				}
				b.add(ralph.TaskAdded{Task: x})
			}
			var mine []ralph.TaskID
			for i := range done + at {
				id := ralph.TaskID(fmt.Sprintf("t-%d", i))
				if i < done {
					b.add(ralph.TaskEnded{ID: id, Status: ralph.TaskDone})
					if i >= done/2 { // they wait for the merge that is under way
						b.add(ralph.MergeQueued{Task: id, Branch: "b", Commit: "c"})
					}
					continue
				}
				b.add(ralph.TaskStarted{ID: id, Slot: i - done + 1, Dir: fmt.Sprintf("ralph/.worktrees/%d", i)})
				mine = append(mine, id)
			}
			b.add(ralph.TaskAdded{Task: ralph.Task{ID: "merge:a-1:1", Kind: ralph.KindMerge, Status: ralph.TaskPending, Members: []ralph.TaskID{"t-25"}}}, ralph.TaskStarted{ID: "merge:a-1:1"})
			next := b.s.Plan.Tasks[done+at+(done+at+1)%2] // the first that depends on nothing
			for i, x := range b.s.Plan.Tasks {
				if (i < done || i >= done+at) && x != next {
					b.s.Plan.Tasks[i] = nil // who looks at it falls
				}
			}
			s := b.s.Clone()
			switch move := policy.Schedule(s, append(mine, "merge:a-1:1"), c, b.now).(type) {
			case policy.Record:
				if start, ok := move.Facts[len(move.Facts)-1].(ralph.TaskStarted); !ok || start.ID != next.ID {
					t.Errorf("%+v, want a start of %s", move, next.ID)
				}
			case policy.Hold:
				if at < c.Parallel {
					t.Errorf("%+v, want a start of %s", move, next.ID)
				}
			default:
				t.Errorf("%T", move)
			}
			for _, id := range mine {
				if step, why := policy.Next(s, id, c, b.now); step.StepName() == (ralph.Done{}).StepName() {
					t.Errorf("%s: %s (%s)", id, step.StepName(), why.Text)
				}
			}
		})
	}
}
