// Package draw owns the layout of the dependency graph: where each task stands and how
// the lines between tasks run. It is pure, and knows neither tasks nor HTML.
package draw

import "slices"

// Node is what is to be placed. Deps are indices of other nodes, which come before it;
// what is no index of another node is left out.
type Node struct {
	Band int // bands stand one below the other, in the order of their numbers from 0
	Deps []int
}

// Options are the sizes of a drawing, in its own units.
type Options struct {
	Width, Height float64 // of a node
	GapX, GapY    float64 // between nodes
	Head, Foot    float64 // of a band, above and below its nodes
	Rows          int     // at most so many nodes in a column; 0: as many as look well
}

// Spot is where a node stands: its upper left corner.
type Spot struct {
	X, Y  float64
	Layer int
}

// Edge is a line from what comes before to what waits for it.
type Edge struct {
	From, To int
	// Implied: it says nothing new. Other lines lead from one to the other as well, or
	// they are in two bands, which come one after the other anyway.
	Implied bool
	// Back: it goes against the order, as one of each circle does, and one that waits for a
	// later band.
	Back bool
	Path string // SVG path data
}

// Stripe is the place of a band; all are as wide as the picture.
type Stripe struct{ Y, Height float64 }

// Picture is a finished layout.
type Picture struct {
	Width, Height float64
	Nodes         []Spot // as the nodes that came in
	Edges         []Edge
	Bands         []Stripe
}

// layout is a picture while it is made.
type layout struct {
	opt     Options
	nodes   []Node
	deps    [][]int // forward edges alone, without doubles
	heirs   [][]int // the same, turned round
	left    [][]int // of deps, those in the same band: what stands beside a node
	right   [][]int // of heirs, likewise
	back    []Edge
	layer   []int
	columns [][]int // the nodes of each layer, from top to bottom
	bands   []span
	spots   []Spot
}

type span struct{ from, to int } // layers, to is not in it

// Lay makes the picture. The same nodes give the same picture, always.
func Lay(nodes []Node, opt Options) Picture {
	l := &layout{opt: opt, nodes: nodes, layer: make([]int, len(nodes)), spots: make([]Spot, len(nodes))}
	if len(nodes) == 0 {
		return Picture{}
	}
	l.forward()
	l.left, l.right = l.beside(l.deps), l.beside(l.heirs)
	l.layers()
	l.order()
	return l.place()
}

// forward keeps the edges that go forward: of each circle one is turned out, and what
// would wait for a later band.
func (l *layout) forward() {
	n := len(l.nodes)
	l.deps, l.heirs = make([][]int, n), make([][]int, n)
	const fresh, open, done = 0, 1, 2
	state := make([]int, n)
	type visit struct{ node, next int }
	for start := range n {
		if state[start] != fresh {
			continue
		}
		state[start] = open
		stack := []visit{{start, 0}}
		for len(stack) > 0 {
			at := &stack[len(stack)-1]
			if at.next == len(l.nodes[at.node].Deps) {
				state[at.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			node, dep := at.node, l.nodes[at.node].Deps[at.next]
			at.next++
			switch {
			case dep < 0 || dep >= n || dep == node || slices.Contains(l.nodes[node].Deps[:at.next-1], dep):
			case state[dep] == open || l.nodes[dep].Band > l.nodes[node].Band:
				l.back = append(l.back, Edge{From: dep, To: node, Back: true})
			default:
				l.deps[node] = append(l.deps[node], dep)
				l.heirs[dep] = append(l.heirs[dep], node)
				if state[dep] == fresh {
					state[dep] = open
					stack = append(stack, visit{dep, 0})
				}
			}
		}
	}
}

// beside keeps of each node's neighbours those in its band.
func (l *layout) beside(all [][]int) [][]int {
	out := make([][]int, len(all))
	for i, list := range all {
		for _, j := range list {
			if l.nodes[j].Band == l.nodes[i].Band {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// sorted are the nodes so that each comes after what it waits for.
func (l *layout) sorted() []int {
	waits := make([]int, len(l.nodes))
	var queue []int
	for i, d := range l.deps {
		if waits[i] = len(d); waits[i] == 0 {
			queue = append(queue, i)
		}
	}
	for at := 0; at < len(queue); at++ {
		for _, h := range l.heirs[queue[at]] {
			if waits[h]--; waits[h] == 0 {
				queue = append(queue, h)
			}
		}
	}
	return queue
}

// layers gives each node its layer: as many steps into its band as the longest way to it
// there, and each band begins where the one before has ended.
func (l *layout) layers() {
	most := 0
	for _, x := range l.nodes {
		most = max(most, x.Band)
	}
	depth := make([]int, most+1)
	for _, i := range l.sorted() {
		for _, d := range l.left[i] {
			l.layer[i] = max(l.layer[i], l.layer[d]+1)
		}
		depth[l.nodes[i].Band] = max(depth[l.nodes[i].Band], l.layer[i]+1)
	}
	l.bands = make([]span, most+1)
	at := 0
	for b, d := range depth {
		l.bands[b] = span{at, at + d}
		at += d
	}
	l.columns = make([][]int, at)
	for i, x := range l.nodes {
		l.layer[i] += l.bands[x.Band].from
		l.columns[l.layer[i]] = append(l.columns[l.layer[i]], i)
	}
}

// sweeps are how often the order is mended in each direction.
const sweeps = 4

// order sorts each column by where its neighbours stand, so that few lines cross.
func (l *layout) order() {
	row := make([]float64, len(l.nodes))
	number := func(column []int) {
		for y, i := range column {
			row[i] = (float64(y) + 0.5) / float64(len(column))
		}
	}
	for _, c := range l.columns {
		number(c)
	}
	want := make([]float64, len(l.nodes))
	mend := func(column []int, beside [][]int) {
		for _, i := range column {
			want[i] = row[i]
			if len(beside[i]) > 0 {
				sum := 0.0
				for _, j := range beside[i] {
					sum += row[j]
				}
				want[i] = sum / float64(len(beside[i]))
			}
		}
		slices.SortStableFunc(column, func(a, b int) int {
			switch {
			case want[a] < want[b]:
				return -1
			case want[a] > want[b]:
				return 1
			}
			return 0
		})
		number(column)
	}
	for range sweeps {
		for c := 1; c < len(l.columns); c++ {
			mend(l.columns[c], l.left)
		}
		for c := len(l.columns) - 2; c >= 0; c-- {
			mend(l.columns[c], l.right)
		}
	}
}
