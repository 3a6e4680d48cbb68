package page

import (
	"cmp"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/draw"
)

const (
	MaxNamed = 300  // tasks that are drawn with their names
	MaxDrawn = 2000 // tasks that are drawn at all
	maxLines = 4000
)

// Phases leads to the graph of each phase.
func (b *Board) Phases(here string) (Note, bool) {
	n := Note{Text: "Phases:"}
	seen := map[string]bool{"": true}
	for _, t := range b.Order {
		if !seen[t.Phase] && len(n.Links) < maxChoices {
			seen[t.Phase] = true
			n.Links = append(n.Links, Tab{Title: text.Clip(text.FirstLine(t.Phase), 40), Address: With("/plan/graph", nil, "phase", t.Phase), Here: t.Phase == here})
		}
	}
	if here != "" {
		n.Links = append(n.Links, Tab{Title: "all", Address: "/plan/graph"})
	}
	return n, len(n.Links) > 1
}

// Around are the tasks that hang together with one, the nearest first, in the plan's order.
func (b *Board) Around(t *ralph.Task, most int) []*ralph.Task {
	heirs := map[ralph.TaskID][]*ralph.Task{}
	for _, x := range b.Order {
		for _, d := range x.Deps {
			heirs[d] = append(heirs[d], x)
		}
	}
	in := map[ralph.TaskID]bool{t.ID: true}
	for _, next := range []func(*ralph.Task) []*ralph.Task{
		func(x *ralph.Task) (out []*ralph.Task) {
			for _, d := range x.Deps {
				if y := b.Tasks[d]; y != nil {
					out = append(out, y)
				}
			}
			return out
		},
		func(x *ralph.Task) []*ralph.Task { return heirs[x.ID] },
	} {
		queue := []*ralph.Task{t}
		for begun := len(in); len(queue) > 0 && len(in)-begun < most/2; queue = queue[1:] {
			for _, y := range next(queue[0]) {
				if !in[y.ID] && len(in) < most {
					in[y.ID] = true
					queue = append(queue, y)
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(b.Order), func(x *ralph.Task) bool { return !in[x.ID] })
}

// Graph places tasks and draws the lines between them.
func (b *Board) Graph(list []*ralph.Task, focus *ralph.Task) Graph {
	number, band := map[ralph.TaskID]int{}, map[string]int{}
	var names []string
	for i, t := range list {
		number[t.ID] = i
		if _, ok := band[t.Phase]; !ok {
			band[t.Phase] = len(names)
			names = append(names, t.Phase)
		}
	}
	nodes := make([]draw.Node, len(list))
	for i, t := range list {
		nodes[i].Band = band[t.Phase]
		for _, d := range t.Deps {
			if n, ok := number[d]; ok {
				nodes[i].Deps = append(nodes[i].Deps, n)
			}
		}
	}
	g := Graph{NodeWidth: widthOf(nodes), NodeHeight: 44, Small: len(list) > MaxNamed}
	opt := draw.Options{Width: g.NodeWidth, Height: g.NodeHeight, GapX: 56, GapY: 14, Foot: 10, Head: 10}
	if g.Small {
		g.NodeWidth, g.NodeHeight = 46, 15
		opt = draw.Options{Width: g.NodeWidth, Height: g.NodeHeight, GapX: 34, GapY: 5, Rows: 40, Foot: 6, Head: 6}
	}
	if len(names) > 1 { // their names stand above them
		opt.Head += 18
	}
	p := draw.Lay(nodes, opt)
	g.Width, g.Height = p.Width, p.Height
	most := MaxLine
	if g.Small {
		most /= 3
	}
	letters := int((g.NodeWidth - 20) / 6.8)
	for i, t := range list {
		stand := b.stand(t)
		title := string(t.ID) + "  " + text.Clip(text.FirstLine(t.Name), most) + "\n" + string(stand)
		if line := text.Clip(text.FirstLine(b.Line(t, stand)), most); line != "" {
			title += ": " + line
		}
		g.Nodes = append(g.Nodes, GraphNode{
			ID: t.ID, Name: text.Clip(text.FirstLine(t.Name), letters), Title: title, Stand: stand, X: p.Nodes[i].X, Y: p.Nodes[i].Y, Focus: t == focus,
		})
	}
	for _, e := range p.Edges {
		if (!g.Small || !e.Implied) && len(g.Edges) < maxLines {
			g.Edges = append(g.Edges, GraphEdge{From: e.From, To: e.To, Implied: e.Implied, Back: e.Back, Path: e.Path})
		}
	}
	for n, stripe := range p.Bands {
		if len(names) > 1 {
			g.Bands = append(g.Bands, GraphBand{Name: text.Clip(text.FirstLine(cmp.Or(names[n], "no phase")), 60), Y: stripe.Y, Height: stripe.Height})
		}
	}
	return g
}

// widthOf is the width of a box: wider where few stand beside each other, so that a small
// plan uses the page and its names are whole.
func widthOf(nodes []draw.Node) float64 {
	depth, columns := make([]int, len(nodes)), 1
	for range nodes { // the longest chain in a band; plans are short chains, and it ends when nothing grows
		grown := false
		for i, n := range nodes {
			for _, d := range n.Deps {
				if nodes[d].Band == n.Band && depth[i] < depth[d]+1 && depth[d]+1 < len(nodes) {
					depth[i], grown = depth[d]+1, true
					columns = max(columns, depth[i]+1)
				}
			}
		}
		if !grown || columns > 8 {
			break
		}
	}
	return min(300, max(178, 1400/float64(columns)-56))
}
