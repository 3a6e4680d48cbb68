package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
)

// E-092, E-094: pages of decisions, put together, are what a reading of the whole journal
// gives: of everything, of a task of an old plan, of a session in the middle.
func TestDecisionsAreAsAWholeReading(t *testing.T) {
	t.Parallel()
	j := newTape()
	at := start
	for n := range 12 {
		id := ralph.TaskID(fmt.Sprintf("t-long%d", n))
		at = j.record(fmt.Sprintf("s-%d", n), at, "claude", 90).Add(time.Hour)
		j.add(at, "engine", ralph.SessionStarted{ID: ralph.SessionID(fmt.Sprintf("s-%da", n))},
			ralph.TaskAdded{Task: ralph.Task{ID: id, Name: fmt.Sprintf("long %d", n), Status: ralph.TaskPending}})
		for i := range 40 {
			j.add(at, "engine", ralph.StepStarted{Task: id, Step: ralph.Turn{Agent: "claude", Iteration: i + 1}, Why: ralph.Why{Rule: "B-026"}, BasedOnSeq: 1})
			if i%5 == 0 { // decided again after a crash
				j.add(at, "engine", ralph.StepStarted{Task: id, Step: ralph.Turn{Agent: "claude", Iteration: i + 1}, BasedOnSeq: 1})
			}
			for range i % 7 {
				j.add(at, "engine", ralph.TaskMessaged{ID: "t-s-00", Text: "meanwhile"})
			}
			j.add(at, "engine", turn(id, "claude", 0.1, time.Second))
		}
	}
	x := read(t, j)
	newest := int64(len(j.facts))
	for _, ask := range []receipts.Receipts{{}, {Task: "t-long3"}, {Session: "s-5a"}, {Session: "s-11a"}, {Task: "t-long3", Session: "s-4"}, {Task: "t-none"}} {
		whole, s := ask, &ralph.State{}
		for _, e := range j.facts {
			whole.Add(e, s)
			s.Apply(e)
		}
		want := whole.List()
		slices.Reverse(want)
		for _, match := range []func(*receipts.Receipt) bool{nil, func(r *receipts.Receipt) bool { return r.Rule == "B-026" }} {
			var got []receipts.Receipt
			before := newest + 1
			for pages := 0; before > 0; pages++ {
				list, next, err := x.Decisions(t.Context(), ask, before, 60, match)
				if err != nil || len(list) > 60 || next >= before || pages > 1000 {
					t.Fatalf("%+v before %d: %d of them, next %d, %v", ask, before, len(list), next, err)
				}
				got, before = append(got, list...), next
			}
			want := slices.DeleteFunc(slices.Clone(want), func(r receipts.Receipt) bool { return match != nil && !match(&r) })
			if diff := cmp.Diff(len(want), len(got)); diff != "" {
				t.Errorf("%v %v: %s", ask.Task, ask.Session, diff)
			} else if len(want) > 0 {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v %v: %s", ask.Task, ask.Session, diff)
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := x.Decisions(ctx, receipts.Receipts{}, newest+1, 60, nil); err == nil {
		t.Error("who does not wait any more is answered")
	}
}
