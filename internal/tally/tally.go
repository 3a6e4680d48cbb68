// Package tally owns what is counted of the tasks of a plan while they change, so that who looks for a few of ten
// thousand needs no walk over all: which have a mark, which waits for its turn with what weight, where one
// stands. It does not know what a task is, nor how much a weight counts.
package tally

import (
	"iter"
	"slices"
)

// Mark is what tasks are looked for by.
type Mark uint

// The marks. Those of how far a task is come first.
const (
	Pending  Mark = iota // it waits for its turn
	Active               // it is at work
	Done                 // done
	Failed               // failed
	TimedOut             // out of time
	Blocked              // blocked
	Skipped              // skipped
	Open                 // it has not ended
	Holds                // it holds up what depends on it, merged or not
	Unmerged             // done, and its work is on the way to be merged
	Torn                 // of these, one that conflicts with what is merged, or is red with it
	Mended               // of these, one that an agent has mended after that
	Flying               // a step of it is under way
	Turning              // a turn of it is under way, or reserves some of a budget
	Placed               // it has a slot or a worktree
	Wanted               // pending, and a person wants it next
	Thread               // it goes on by itself
	last
)

// Marks are several marks of a task.
type Marks uint32

// Has reports whether a mark is one of them.
func (m Marks) Has(x Mark) bool { return m&(1<<x) != 0 }

// With adds a mark where it is so.
func (m Marks) With(x Mark, is bool) Marks {
	if is {
		m |= 1 << x
	}
	return m
}

// Item is what is counted of a task. Its weight is what it is chosen by, as far as that is its own.
type Item[ID, W comparable] struct {
	ID, Parent ID
	Deps       []ID
	Phase      string
	Marks      Marks
	Weight     W
	Arrived    int64 // where it is Unmerged: the number by which it came to be merged
}

// Held is what holds a task up that depends on others.
type Held uint8

// What holds it up, the most of it.
const (
	Free     Held = iota
	ByMerge       // what it depends on is done, and not merged
	ByOthers      // what it depends on is not done
)

// Rank is what those of the pending tasks have in common among which the first of the plan is chosen.
type Rank[W comparable] struct {
	Weight     W
	Phase      int  // by its place in the order of the plan
	Dependents int  // tasks that have not ended and wait on it
	Near       bool // more than half of its parent's tasks are done
	Held       Held
}

// Tally is what is counted of a list.
type Tally[ID, W comparable] struct {
	sets   [last]Set
	ranks  []ranked[W]
	at     map[ID]int // the first task with that id
	phases map[string]int
	names  []string
	steps  []int   // tasks of each phase
	open   []int32 // of each phase, those that have not ended
	merges []int32 // of each phase, those that are done and unmerged
	places []position
	// A copy has the maps, or what is counted of each phase, as well: they stay as they are.
	keptMaps, keptCounts bool

	links *links[ID, W] // nil in a copy, to which nothing is added
}

type ranked[W comparable] struct {
	rank Rank[W]
	set  Set
}

// position is where a task stands within the phases.
type position struct{ phase, step int }

// New returns the tally of an empty list.
func New[ID, W comparable](room int) *Tally[ID, W] {
	return &Tally[ID, W]{at: make(map[ID]int, room), phases: map[string]int{}, links: newLinks[ID, W]()}
}

// Share returns a copy that stays as it is while y goes on.
func (y *Tally[ID, W]) Share() *Tally[ID, W] {
	y.keptMaps, y.keptCounts = true, true
	for m := range y.sets {
		y.sets[m].shared = true
	}
	for i := range y.ranks {
		y.ranks[i].set.shared = true
	}
	c := *y
	c.ranks, c.links = slices.Clone(y.ranks), nil
	return &c
}

// Arrivals yields the places of the unmerged tasks in the order in which they came. A copy has none.
func (y *Tally[ID, W]) Arrivals() (iter.Seq[int], bool) {
	if y.links == nil {
		return nil, false
	}
	return func(yield func(int) bool) {
		for _, x := range y.links.arrivals {
			if !yield(x.place) {
				return
			}
		}
	}, true
}

// Len is the length of the list.
func (y *Tally[ID, W]) Len() int { return len(y.places) }

// Place is where the first task with that id stands.
func (y *Tally[ID, W]) Place(id ID) (int, bool) {
	i, ok := y.at[id]
	return i, ok
}

// Marked are the tasks with a mark.
func (y *Tally[ID, W]) Marked(m Mark) *Set { return &y.sets[m] }

// Phase is the phase of a task, by its place in their order, and how many tasks of it stand before.
func (y *Tally[ID, W]) Phase(i int) (phase, step int) { return y.places[i].phase, y.places[i].step }

// OpenPhase is the first phase with a task that has not ended or, with merged, is not merged; -1 for none.
func (y *Tally[ID, W]) OpenPhase(merged bool) (int, string) {
	for p, n := range y.open {
		if n > 0 || merged && y.merges[p] > 0 {
			return p, y.names[p]
		}
	}
	return -1, ""
}

// Ranked yields the pending tasks by their ranks, in no order of these that means anything.
func (y *Tally[ID, W]) Ranked() iter.Seq2[Rank[W], *Set] {
	return func(yield func(Rank[W], *Set) bool) {
		for i := range y.ranks {
			if x := &y.ranks[i]; x.set.n > 0 && !yield(x.rank, &x.set) {
				return
			}
		}
	}
}
