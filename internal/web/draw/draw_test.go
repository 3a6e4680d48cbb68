package draw_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// TestRoads: a line goes round the boxes, within a band and between bands.
func TestRoads(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string][]draw.Node{
		"one to five below": {{}, {Band: 1, Deps: []int{0}}, {Band: 1, Deps: []int{0}}, {Band: 1, Deps: []int{0}}, {Band: 1, Deps: []int{0}}, {Band: 1, Deps: []int{0}}},
		"over a band":       {{}, {Band: 1, Deps: []int{0}}, {Band: 2, Deps: []int{0, 1}}, {Band: 2, Deps: []int{2}}, {Band: 3, Deps: []int{3, 0}}},
		"over a column":     {{}, {Deps: []int{0}}, {Deps: []int{0}}, {Deps: []int{1, 2, 0}}, {}, {Deps: []int{3, 4}}},
		"many":              plan(200, 4, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := draw.Lay(nodes, sizes())
			for _, e := range p.Edges {
				for _, at := range walk(t, e.Path) {
					for i, box := range p.Nodes {
						const touch = 1 // the ends lie on a border
						if at[0] > box.X+touch && at[0] < box.X+sizes().Width-touch && at[1] > box.Y+touch && at[1] < box.Y+sizes().Height-touch {
							t.Fatalf("the line from %d to %d runs through box %d at %v: %s", e.From, e.To, i, at, e.Path)
						}
					}
				}
			}
		})
	}
}

// walk are points on a path, close to each other.
func walk(t *testing.T, path string) [][2]float64 {
	t.Helper()
	var at [2]float64
	var out [][2]float64
	for _, step := range regexp.MustCompile(`([MLQch])([^MLQch]*)`).FindAllStringSubmatch(path, -1) {
		var n []float64
		for _, word := range strings.Fields(step[2]) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatalf("%q in %s", word, path)
			}
			n = append(n, v)
		}
		from, control := at, [][2]float64{at}
		switch step[1] {
		case "M":
			from = [2]float64{n[0], n[1]}
			control = [][2]float64{from}
		case "L":
			control = append(control, [2]float64{n[0], n[1]})
		case "Q":
			control = append(control, [2]float64{n[0], n[1]}, [2]float64{n[2], n[3]})
		case "h":
			control = append(control, [2]float64{at[0] + n[0], at[1]})
		case "c":
			for i := 0; i < 6; i += 2 {
				control = append(control, [2]float64{from[0] + n[i], from[1] + n[i+1]})
			}
		}
		at = control[len(control)-1]
		for s := range 41 {
			out = append(out, bent(control, float64(s)/40))
		}
	}
	return out
}

// bent is the point at part u of a Bézier curve.
func bent(control [][2]float64, u float64) [2]float64 {
	p := slices.Clone(control)
	for n := len(p) - 1; n > 0; n-- {
		for i := range n {
			p[i] = [2]float64{p[i][0] + (p[i+1][0]-p[i][0])*u, p[i][1] + (p[i+1][1]-p[i][1])*u}
		}
	}
	return p[0]
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
