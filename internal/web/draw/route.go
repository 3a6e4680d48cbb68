package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// edges are the lines, those that go forward first.
func (l *layout) edges(bands []Stripe) []Edge {
	var out []Edge
	implied := l.implied()
	for to, deps := range l.deps {
		for _, from := range deps {
			out = append(out, Edge{From: from, To: to, Implied: l.nodes[from].Band != l.nodes[to].Band || implied(from, to)})
		}
	}
	out = append(out, l.back...)
	r := l.roads(bands)
	for n, e := range out {
		switch a, b := l.nodes[e.From].Band, l.nodes[e.To].Band; {
		case e.Back:
			out[n].Path = r.back(l.spots[e.From], l.spots[e.To])
		case a < b:
			out[n].Path = r.down(a, b, l.spots[e.From], l.spots[e.To])
		default:
			out[n].Path = r.beside(a, l.spots[e.From], l.spots[e.To])
		}
	}
	return out
}

// roads is where lines may run: beside the nodes of a column, between two of them, and
// between two bands. Numbers in paths are whole: a plan of a thousand tasks has thousands
// of lines.
type roads struct {
	opt     Options
	bands   []Stripe
	columns [][]post // of each band, from left to right
}

// post is a column as it stands in the picture, with the heights of its nodes.
type post struct {
	x    float64
	tops []float64 // sorted
}

func (l *layout) roads(bands []Stripe) roads {
	r := roads{opt: l.opt, bands: bands, columns: make([][]post, len(bands))}
	for i, s := range l.spots {
		b := l.nodes[i].Band
		at, ok := slices.BinarySearchFunc(r.columns[b], s.X, func(p post, x float64) int { return cmp.Compare(p.x, x) })
		if !ok {
			r.columns[b] = slices.Insert(r.columns[b], at, post{x: s.X})
		}
		r.columns[b][at].tops = append(r.columns[b][at].tops, s.Y)
	}
	for _, list := range r.columns {
		for _, p := range list {
			slices.Sort(p.tops)
		}
	}
	return r
}

// beside leads to a later column of the same band, between the nodes of those on its way.
func (r roads) beside(band int, a, b Spot) string {
	x, y := a.X+r.opt.Width, a.Y+r.opt.Height/2
	endX, endY := b.X, b.Y+r.opt.Height/2
	var path strings.Builder
	fmt.Fprintf(&path, "M%.0f %.0f", x, y)
	curve := func(toX, toY float64) {
		dx, dy := math.Round(toX)-math.Round(x), math.Round(toY)-math.Round(y)
		fmt.Fprintf(&path, "c%.0f 0 %.0f %.0f %.0f %.0f", dx/2, dx/2, dy, dx, dy)
		x, y = toX, toY
	}
	for _, p := range r.columns[band] {
		if p.x <= a.X || p.x >= b.X {
			continue
		}
		want := y + (endY-y)*(p.x+r.opt.Width/2-x)/max(1, endX-x)
		curve(p.x, p.between(want, r.opt))
		fmt.Fprintf(&path, "h%.0f", r.opt.Width)
		x += r.opt.Width
	}
	curve(endX, endY)
	return path.String()
}

// between is the height nearest to y where no node of a column stands.
func (p post) between(y float64, opt Options) float64 {
	best := p.tops[0] - opt.GapY/2
	for i, top := range p.tops {
		gap := top + opt.Height + opt.GapY/2
		if i+1 < len(p.tops) {
			next := p.tops[i+1] - opt.GapY/2
			gap = max(gap, min(next, y)) // the room below it may be larger than one gap
		} else {
			gap = max(gap, y)
		}
		if math.Abs(gap-y) < math.Abs(best-y) {
			best = gap
		}
	}
	if y < p.tops[0]-opt.GapY/2 {
		best = y
	}
	return best
}

// down leads to a later band: beside the nodes of both, and left of the bands between.
func (r roads) down(from, to int, a, b Spot) string {
	side := min(r.opt.GapX/4, 14)
	out, in := a.X+r.opt.Width+side, b.X-side
	below, above := r.bands[from].Y+r.bands[from].Height+r.opt.GapY/2, r.bands[to].Y-r.opt.GapY/2
	points := [][2]float64{{a.X + r.opt.Width, a.Y + r.opt.Height/2}, {out, a.Y + r.opt.Height/2}, {out, below}}
	if above > below { // bands between, which it passes at their left
		const margin = -4
		points = append(points, [2]float64{margin, below}, [2]float64{margin, above})
	}
	points = append(points, [2]float64{in, above}, [2]float64{in, b.Y + r.opt.Height/2}, [2]float64{b.X, b.Y + r.opt.Height/2})
	return rounded(points, min(side, 8))
}

// rounded is a line through points, each beside or below the one before it, with round
// corners.
func rounded(points [][2]float64, radius float64) string {
	for i := range points {
		points[i] = [2]float64{math.Round(points[i][0]), math.Round(points[i][1])}
	}
	points = slices.Compact(points)
	var path strings.Builder
	fmt.Fprintf(&path, "M%.0f %.0f", points[0][0], points[0][1])
	for i := 1; i+1 < len(points); i++ {
		p, at, next := points[i-1], points[i], points[i+1]
		in, out := math.Hypot(at[0]-p[0], at[1]-p[1]), math.Hypot(next[0]-at[0], next[1]-at[1])
		r := math.Floor(min(radius, in/2, out/2))
		fmt.Fprintf(&path, "L%.0f %.0fQ%.0f %.0f %.0f %.0f", at[0]-(at[0]-p[0])/in*r, at[1]-(at[1]-p[1])/in*r, at[0], at[1], at[0]+(next[0]-at[0])/out*r, at[1]+(next[1]-at[1])/out*r)
	}
	end := points[len(points)-1]
	fmt.Fprintf(&path, "L%.0f %.0f", end[0], end[1])
	return path.String()
}

// back leads against the order, which no line should: it is seen from afar.
func (r roads) back(a, b Spot) string {
	x, y := a.X+r.opt.Width, a.Y+r.opt.Height/2
	dx, dy := b.X-x, b.Y-a.Y
	return fmt.Sprintf("M%.0f %.0fc40 0 %.0f %.0f %.0f %.0f", x, y, dx-40, dy, dx, dy)
}
