package tally

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSetKeepsItsOrderAndItsCopies(t *testing.T) {
	var s Set
	for _, i := range []int{700, 3, 64, 63, 3} {
		s.put(i, true)
	}
	s.shared = true
	was := s
	s.put(64, false)
	s.put(1, true)
	if got := slices.Collect(s.All()); !slices.Equal(got, []int{1, 3, 63, 700}) || s.Len() != 4 || s.First() != 1 || s.Has(64) {
		t.Errorf("%v, %d of them", got, s.Len())
	}
	if got := slices.Collect(was.All()); !slices.Equal(got, []int{3, 63, 64, 700}) || was.Len() != 4 || !was.Has(64) || was.Has(9999) {
		t.Errorf("the copy moved: %v, %d of them", got, was.Len())
	}
	if none := (&Set{}); none.First() != -1 || none.Has(0) {
		t.Error("an empty set has something")
	}
}

// A plan of thousands goes through many ranks: those that nobody has any more are used again.
func TestRanksAreUsedAgain(t *testing.T) {
	y := New[string, int](0)
	waits := func(w int) Item[string, int] {
		return Item[string, int]{ID: "a", Weight: w, Marks: Marks(0).With(Pending, true).With(Open, true)}
	}
	y.Add(waits(0))
	for w := range 100 {
		y.Change(0, waits(w), waits(w+1))
	}
	if len(y.ranks) > 2 {
		t.Errorf("%d ranks for one task", len(y.ranks))
	}
	for rank, places := range y.Ranked() {
		if rank.Weight != 100 || places.First() != 0 || places.Len() != 1 {
			t.Errorf("%+v has %d", rank, places.Len())
		}
	}
}

// What a task takes to be counted is the same with 100 tasks and with 10,000, also when a copy was made before.
func TestAChangeCostsTheSame(t *testing.T) {
	marks := Marks(0).With(Pending, true).With(Open, true)
	of := func(n int) float64 {
		y := New[int, int](n)
		for i := range n {
			y.Add(Item[int, int]{ID: i, Marks: marks, Deps: []int{i - 1}})
		}
		i := 0
		return testing.AllocsPerRun(20, func() {
			y.Share()
			is := Item[int, int]{ID: i, Deps: []int{i - 1}, Marks: Marks(0).With(Active, true).With(Open, true)}
			y.Change(i, Item[int, int]{ID: i, Deps: []int{i - 1}, Marks: marks}, is)
			i++
		})
	}
	if few, many := of(100), of(10_000); many > few+1 {
		t.Errorf("%.0f allocations with 100 tasks, %.0f with 10,000", few, many)
	}
}

// Who waits to be merged stands in the order of arrival, whoever comes, goes or comes again.
func TestArrivalsAreInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		y := New[int, int](0)
		var items []Item[int, int]
		for i := range rapid.IntRange(1, 6).Draw(rt, "tasks") {
			items = append(items, Item[int, int]{ID: i})
			y.Add(items[i])
		}
		for range rapid.IntRange(0, 20).Draw(rt, "changes") {
			i := rapid.IntRange(0, len(items)-1).Draw(rt, "of")
			is := items[i]
			is.Marks = Marks(0).With(Done, true).With(Unmerged, rapid.Bool().Draw(rt, "unmerged"))
			is.Arrived = rapid.Int64Range(0, 4).Draw(rt, "arrived")
			y.Change(i, items[i], is)
			items[i] = is
		}
		var want []int
		for i, x := range items {
			if x.Marks.Has(Unmerged) {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(items[a].Arrived, items[b].Arrived) })
		if got, ok := y.Arrivals(); !ok || !slices.Equal(slices.Collect(got), want) {
			rt.Fatalf("%v, want %v", slices.Collect(got), want)
		}
		if _, ok := y.Share().Arrivals(); ok {
			rt.Error("a copy, which does not follow, has them")
		}
	})
}
