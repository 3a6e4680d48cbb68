package draw

import (
	"math"
	"math/bits"
)

// place gives the nodes their coordinates and draws the lines.
func (l *layout) place() Picture {
	rows := l.opt.Rows
	if rows <= 0 {
		rows = max(10, int(math.Ceil(math.Sqrt(float64(len(l.nodes))))))
	}
	p := Picture{Bands: make([]Stripe, len(l.bands))}
	for b, s := range l.bands {
		if s.from == s.to {
			continue
		}
		columns, x := l.columns[s.from:s.to], 0.0
		for _, c := range columns {
			x = l.column(c, x, rows)
		}
		p.Width = max(p.Width, x)
		for range 2 { // pull what belongs together to one height
			for _, c := range columns {
				l.pull(c, l.left, rows)
			}
			for c := len(columns) - 1; c >= 0; c-- {
				l.pull(columns[c], l.right, rows)
			}
		}
		p.Bands[b] = Stripe{p.Height, l.settle(columns, p.Height)}
		p.Height += p.Bands[b].Height + l.opt.GapY
	}
	p.Height -= l.opt.GapY
	p.Nodes, p.Edges = l.spots, l.edges(p.Bands)
	return p
}

// settle brings the nodes of a band below y, and returns the height of the band.
func (l *layout) settle(columns [][]int, y float64) float64 {
	top, bottom := math.Inf(1), math.Inf(-1)
	for _, c := range columns {
		for _, i := range c {
			top, bottom = min(top, l.spots[i].Y), max(bottom, l.spots[i].Y)
		}
	}
	for _, c := range columns {
		for _, i := range c {
			l.spots[i].Y = math.Round(l.spots[i].Y-top) + y + l.opt.Head
		}
	}
	return math.Round(bottom-top) + l.opt.Height + l.opt.Head + l.opt.Foot
}

// column sets the nodes of a layer one below the other, in as many columns as it needs,
// and returns where the next layer begins.
func (l *layout) column(nodes []int, x float64, rows int) float64 {
	columns := (len(nodes) + rows - 1) / rows
	each := (len(nodes) + columns - 1) / columns
	pitch := l.opt.Height + l.opt.GapY
	for n, i := range nodes {
		at, of := n%each, min(each, len(nodes)-n/each*each)
		l.spots[i] = Spot{
			X: x + l.opt.GapX/2 + float64(n/each)*(l.opt.Width+l.opt.GapX/2), Layer: l.layer[i],
			Y: (float64(at) - float64(of-1)/2) * pitch,
		}
	}
	return x + float64(columns)*(l.opt.Width+l.opt.GapX/2) + l.opt.GapX/2
}

// pull moves the nodes of a layer towards the middle of their neighbours. Their order
// and the gap between them stay: it is the nearest such place for all of them together.
func (l *layout) pull(nodes []int, beside [][]int, rows int) {
	if len(nodes) > rows {
		return // it stands in several columns
	}
	type block struct {
		sum, n float64
		nodes  int
	}
	pitch := l.opt.Height + l.opt.GapY
	var blocks []block
	for n, i := range nodes {
		want, weight := l.spots[i].Y, 0.1
		if len(beside[i]) > 0 {
			sum := 0.0
			for _, j := range beside[i] {
				sum += l.spots[j].Y
			}
			want, weight = sum/float64(len(beside[i])), 1
		}
		blocks = append(blocks, block{(want - float64(n)*pitch) * weight, weight, 1})
		for k := len(blocks) - 1; k > 0 && blocks[k-1].sum/blocks[k-1].n > blocks[k].sum/blocks[k].n; k-- {
			blocks[k-1] = block{blocks[k-1].sum + blocks[k].sum, blocks[k-1].n + blocks[k].n, blocks[k-1].nodes + blocks[k].nodes}
			blocks = blocks[:k]
		}
	}
	n := 0
	for _, b := range blocks {
		for range b.nodes {
			l.spots[nodes[n]].Y = b.sum/b.n + float64(n)*pitch
			n++
		}
	}
}

// implied says of an edge whether other edges lead the same way.
func (l *layout) implied() func(from, to int) bool {
	words := (len(l.nodes) + bits.UintSize - 1) / bits.UintSize
	before := make([]uint, words*len(l.nodes)) // all that comes before each node
	for _, i := range l.sorted() {
		mine := before[i*words : (i+1)*words]
		for _, d := range l.deps[i] {
			for w, x := range before[d*words : (d+1)*words] {
				mine[w] |= x
			}
			mine[d/bits.UintSize] |= 1 << (d % bits.UintSize)
		}
	}
	return func(from, to int) bool {
		for _, d := range l.deps[to] {
			if d != from && before[d*words+from/bits.UintSize]&(1<<(from%bits.UintSize)) != 0 {
				return true
			}
		}
		return false
	}
}
