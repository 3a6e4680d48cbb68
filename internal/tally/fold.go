package tally

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
)

// links is what the rank of a task comes from that is not its own: kept where tasks change, and in no copy.
type links[ID, W comparable] struct {
	items      []linked[ID, W]
	ranks      map[Rank[W]]int
	free       []int        // ranks that nobody has any more
	waiters    map[ID][]int // places of the tasks that depend on it, each once
	dependents map[ID]int   // of these, those that have not ended
	families   map[ID]*family
	arrivals   []arrival // of the unmerged, in their order
}

// arrival is an unmerged task, and when it came.
type arrival struct {
	at    int64
	place int
}

func (a arrival) compare(b arrival) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place, b.place))
}

// linked is a task with the rank that it is in, -1 for none.
type linked[ID, W comparable] struct {
	id, parent ID
	deps       []ID
	weight     W
	rank       int
}

// family is what came of a parent.
type family struct {
	children []int // places
	done     int
}

func (f *family) near() bool { return f != nil && 2*f.done > len(f.children) }

func newLinks[ID, W comparable]() *links[ID, W] {
	return &links[ID, W]{ranks: map[Rank[W]]int{}, waiters: map[ID][]int{}, dependents: map[ID]int{}, families: map[ID]*family{}}
}

// Add takes up the task behind those that are counted.
func (y *Tally[ID, W]) Add(t Item[ID, W]) {
	i := len(y.places)
	_, twice := y.at[t.ID]
	phase, known := y.phases[t.Phase]
	if y.keptMaps && (!twice || !known) {
		y.at, y.phases, y.keptMaps = maps.Clone(y.at), maps.Clone(y.phases), false
	}
	if !twice {
		y.at[t.ID] = i
	}
	y.ownCounts()
	if !known {
		phase = len(y.names)
		y.phases[t.Phase] = phase
		y.names, y.steps, y.open, y.merges = append(y.names, t.Phase), append(y.steps, 0), append(y.open, 0), append(y.merges, 0)
	}
	y.places = append(y.places, position{phase, y.steps[phase]})
	y.steps[phase]++
	y.links.items = append(y.links.items, linked[ID, W]{id: t.ID, rank: -1})
	y.Change(i, Item[ID, W]{ID: t.ID, Phase: t.Phase}, t)
	if !twice {
		y.rankAll(y.links.waiters[t.ID])
	}
}

// Change takes up that a task is another now, with the same id and the same phase.
func (y *Tally[ID, W]) Change(i int, was, is Item[ID, W]) {
	y.count(i, was.Marks, is.Marks)
	l, changed := y.links, was.Marks^is.Marks
	if changed.Has(Unmerged) || was.Arrived != is.Arrived {
		l.arrive(arrival{was.Arrived, i}, was.Marks.Has(Unmerged), false)
		l.arrive(arrival{is.Arrived, i}, is.Marks.Has(Unmerged), true)
	}
	moved := was.Parent != is.Parent || !slices.Equal(was.Deps, is.Deps)
	var again []int // places whose rank may be another now
	if moved || changed.Has(Open) || changed.Has(Done) {
		left, joined := l.families[was.Parent], l.families[is.Parent]
		leftNear, joinedNear := left.near(), joined.near()
		l.tell(was, -1)
		if moved {
			l.belong(i, was, false)
			l.belong(i, is, true)
		}
		l.tell(is, 1)
		if left.near() != leftNear {
			again = append(again, left.children...)
		}
		if joined = l.families[is.Parent]; joined != left && joined.near() != joinedNear {
			again = append(again, joined.children...)
		}
		for _, id := range slices.Concat(was.Deps, is.Deps) {
			if at, ok := y.at[id]; ok {
				again = append(again, at)
			}
		}
	}
	l.items[i] = linked[ID, W]{is.ID, is.Parent, is.Deps, is.Weight, l.items[i].rank}
	if changed.Has(Holds) || changed.Has(Unmerged) {
		again = append(again, l.waiters[is.ID]...)
	}
	y.rank(i)
	y.rankAll(again)
}

// count moves a task from one lot of sets to another.
func (y *Tally[ID, W]) count(i int, was, is Marks) {
	for diff := uint32(was ^ is); diff != 0; diff &= diff - 1 {
		m := Mark(bits.TrailingZeros32(diff))
		y.sets[m].put(i, is.Has(m))
		switch n, phase := step(is.Has(m)), y.places[i].phase; m {
		case Open:
			y.ownCounts()
			y.open[phase] += n
		case Unmerged:
			y.ownCounts()
			y.merges[phase] += n
		}
	}
}

func step(in bool) int32 {
	if in {
		return 1
	}
	return -1
}

// ownCounts copies what is counted of each phase where a copy has it as well.
func (y *Tally[ID, W]) ownCounts() {
	if y.keptCounts {
		y.steps, y.open, y.merges, y.keptCounts = slices.Clone(y.steps), slices.Clone(y.open), slices.Clone(y.merges), false
	}
}

// tell counts what a task says of those that it depends on, and of its parent.
func (l *links[ID, W]) tell(t Item[ID, W], n int) {
	var none ID
	if f := l.families[t.Parent]; t.Parent != none && f != nil && t.Marks.Has(Done) {
		f.done += n
	}
	if !t.Marks.Has(Open) {
		return
	}
	for k, dep := range t.Deps {
		if !slices.Contains(t.Deps[:k], dep) { // a person may have written it twice
			l.dependents[dep] += n
		}
	}
}

// belong enters a task with those that it depends on and with its parent, or takes it out.
func (l *links[ID, W]) belong(i int, t Item[ID, W], in bool) {
	var none ID
	if t.Parent != none {
		f := l.families[t.Parent]
		if f == nil {
			f = &family{}
			l.families[t.Parent] = f
		}
		f.children = with(f.children, i, in)
	}
	for k, dep := range t.Deps {
		if !slices.Contains(t.Deps[:k], dep) {
			l.waiters[dep] = with(l.waiters[dep], i, in)
		}
	}
}

// arrive enters an unmerged task with its arrival, nearly always behind all others, or takes it out.
func (l *links[ID, W]) arrive(x arrival, unmerged, in bool) {
	if !unmerged {
		return
	}
	at, found := slices.BinarySearchFunc(l.arrivals, x, arrival.compare)
	switch {
	case in:
		l.arrivals = slices.Insert(l.arrivals, at, x)
	case found:
		l.arrivals = slices.Delete(l.arrivals, at, at+1)
	}
}

func with(list []int, i int, in bool) []int {
	if in {
		return append(list, i)
	}
	return slices.DeleteFunc(list, func(x int) bool { return x == i })
}

func (y *Tally[ID, W]) rankAll(places []int) {
	for _, i := range places {
		y.rank(i)
	}
}

// rank puts a task into the rank that it has now.
func (y *Tally[ID, W]) rank(i int) {
	l := y.links
	x, now := &l.items[i], -1
	if y.sets[Pending].Has(i) {
		r := Rank[W]{Weight: x.weight, Phase: y.places[i].phase, Dependents: l.dependents[x.id], Near: l.near(x.parent), Held: y.held(x.deps)}
		now = y.rankOf(r)
	}
	if now == x.rank {
		return
	}
	if was := x.rank; was >= 0 {
		g := &y.ranks[was]
		if g.set.put(i, false); g.set.n == 0 {
			delete(l.ranks, g.rank)
			l.free = append(l.free, was)
		}
	}
	if now >= 0 {
		y.ranks[now].set.put(i, true)
	}
	x.rank = now
}

func (l *links[ID, W]) near(parent ID) bool {
	var none ID
	return parent != none && l.families[parent].near()
}

// rankOf is where a rank is kept.
func (y *Tally[ID, W]) rankOf(r Rank[W]) int {
	l := y.links
	at, ok := l.ranks[r]
	if ok {
		return at
	}
	if n := len(l.free); n > 0 {
		at, l.free = l.free[n-1], l.free[:n-1]
		y.ranks[at].rank = r
	} else {
		at = len(y.ranks)
		y.ranks = append(y.ranks, ranked[W]{rank: r})
	}
	l.ranks[r] = at
	return at
}

// held is what holds up a task that depends on others.
func (y *Tally[ID, W]) held(deps []ID) Held {
	most := Free
	for _, dep := range deps {
		i, ok := y.at[dep]
		switch {
		case !ok: // it is not in the plan: nothing to wait for
		case y.sets[Holds].Has(i):
			return ByOthers
		case y.sets[Unmerged].Has(i):
			most = ByMerge
		}
	}
	return most
}
