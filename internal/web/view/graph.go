package view

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph/internal/screen/page"
)

// The dependency graph.
type (
	Graph     = page.Graph
	GraphNode = page.GraphNode
	GraphEdge = page.GraphEdge
	GraphBand = page.GraphBand
	Note      = page.Note
)

// The margins of a drawing: round it.
const (
	graphSide = 8
	graphTop  = 8
)

func graphBox(g Graph) string {
	return fmt.Sprintf("0 0 %.0f %.0f", g.Width+2*graphSide, g.Height+graphTop+graphSide)
}

// graphWidth is the width of the drawing on the page: where it fits, a little larger than life.
func graphWidth(g Graph) string {
	return strconv.Itoa(int(g.Width+2*graphSide) * cmp.Or(g.Zoom, 125) / 100)
}

func graphClass(g Graph) string {
	class := "graph"
	if g.Small {
		class += " small"
	}
	if g.Zoom == 0 {
		class += " fit"
	}
	return class
}

func shifted(x, y float64) string { return fmt.Sprintf("translate(%.0f %.0f)", x, y) }

func units(x float64) string { return strconv.Itoa(int(x)) }

func edgeEnds(e GraphEdge) string { return strconv.Itoa(e.From) + " " + strconv.Itoa(e.To) }

// graphClass is left out where there is none: there are thousands of lines.
func edgeClass(e GraphEdge) templ.Attributes {
	switch {
	case e.Back:
		return templ.Attributes{"class": "back"}
	case e.Implied:
		return templ.Attributes{"class": "implied"}
	}
	return nil
}

func nodeClass(n GraphNode) templ.Attributes {
	if n.Focus {
		return templ.Attributes{"class": "focus"}
	}
	return nil
}
