package draw_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/draw"
)

func sizes() draw.Options {
	return draw.Options{Width: 160, Height: 40, GapX: 60, GapY: 16, Head: 20, Foot: 10}
}

// plan is a plan of n nodes in bands, where each waits for up to `most` earlier ones.
func plan(n, bands, most int) []draw.Node {
	random := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // the same plan each time
	nodes := make([]draw.Node, n)
	for i := range nodes {
		nodes[i].Band = i * bands / n
		for range min(i, most) {
			nodes[i].Deps = append(nodes[i].Deps, max(0, i-1-random.IntN(60)))
		}
	}
	return nodes
}

func TestLay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		nodes []draw.Node
		back  int // edges that go against the order
	}{
		{name: "nothing"},
		{name: "one", nodes: []draw.Node{{}}},
		{name: "a chain", nodes: []draw.Node{{Deps: []int{1}}, {Deps: []int{2}}, {}}},
		{name: "a diamond", nodes: []draw.Node{{}, {Deps: []int{0}}, {Deps: []int{0}}, {Deps: []int{1, 2, 0}}}},
		{name: "a circle", nodes: []draw.Node{{Deps: []int{2}}, {Deps: []int{0}}, {Deps: []int{1}}}, back: 1},
		{name: "itself, doubles and what is not there", nodes: []draw.Node{{Deps: []int{0, 7, -1}}, {Deps: []int{0, 0}}}},
		{name: "a later band", nodes: []draw.Node{{Deps: []int{1}}, {Band: 1}}, back: 1},
		{name: "a circle over bands", nodes: []draw.Node{{Deps: []int{1}}, {Band: 1, Deps: []int{0}}}, back: 1},
		{name: "an empty band", nodes: []draw.Node{{}, {Band: 2, Deps: []int{0}}}},
		{name: "alone", nodes: plan(100, 1, 0)},
		{name: "many", nodes: plan(400, 4, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := draw.Lay(c.nodes, sizes())
			if again := draw.Lay(c.nodes, sizes()); !reflect.DeepEqual(p, again) {
				t.Error("the same plan gives another picture")
			}
			if len(p.Nodes) != len(c.nodes) {
				t.Fatalf("%d of %d nodes", len(p.Nodes), len(c.nodes))
			}
			apart(t, p)
			back := 0
			for _, e := range p.Edges {
				from, to := p.Nodes[e.From], p.Nodes[e.To]
				switch {
				case e.Back:
					back++
				case c.nodes[e.From].Band < c.nodes[e.To].Band && from.Y+sizes().Height < to.Y && e.Implied:
				case from.X+sizes().Width > to.X || from.Layer >= to.Layer:
					t.Errorf("edge %d to %d goes back: %v, %v", e.From, e.To, from, to)
				}
				if e.Path == "" {
					t.Errorf("edge %d to %d has no line", e.From, e.To)
				}
			}
			if back != c.back {
				t.Errorf("%d edges go back, not %d", back, c.back)
			}
			for i, n := range c.nodes {
				if band := p.Bands[n.Band]; p.Nodes[i].Y < band.Y+sizes().Head || p.Nodes[i].Y+sizes().Height+sizes().Foot > band.Y+band.Height {
					t.Errorf("node %d at %v is outside of its band %v", i, p.Nodes[i], band)
				}
			}
		})
	}
}

// apart checks that no two nodes overlap and all are inside the picture.
func apart(t *testing.T, p draw.Picture) {
	t.Helper()
	w, h := sizes().Width, sizes().Height
	for i, a := range p.Nodes {
		if a.X < 0 || a.Y < 0 || a.X+w > p.Width || a.Y+h > p.Height {
			t.Errorf("node %d at %v is outside of %v x %v", i, a, p.Width, p.Height)
		}
		for j, b := range p.Nodes[:i] {
			if a.X < b.X+w && b.X < a.X+w && a.Y < b.Y+h && b.Y < a.Y+h {
				t.Errorf("nodes %d and %d overlap: %v, %v", i, j, a, b)
			}
		}
	}
}

// TestImplied: of a diamond with a short cut, the short cut alone says nothing new.
func TestImplied(t *testing.T) {
	t.Parallel()
	p := draw.Lay([]draw.Node{{}, {Deps: []int{0}}, {Deps: []int{0}}, {Deps: []int{1, 2, 0}}}, sizes())
	got := map[string]bool{}
	for _, e := range p.Edges {
		got[fmt.Sprintf("%d-%d", e.From, e.To)] = e.Implied
	}
	want := map[string]bool{"0-1": false, "0-2": false, "1-3": false, "2-3": false, "0-3": true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestStraight: a chain is drawn as one straight line.
func TestStraight(t *testing.T) {
	t.Parallel()
	p := draw.Lay([]draw.Node{{}, {Deps: []int{0}}, {Deps: []int{1}}, {}}, sizes())
	if p.Nodes[0].Y != p.Nodes[1].Y || p.Nodes[1].Y != p.Nodes[2].Y {
		t.Errorf("a chain that is not straight: %v", p.Nodes)
	}
}

func BenchmarkLay(b *testing.B) {
	nodes := plan(1000, 5, 3)
	for b.Loop() {
		draw.Lay(nodes, sizes())
	}
}
