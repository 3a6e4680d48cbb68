package view

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
)

// Graph is the dependency graph, placed.
type Graph struct {
	Width, Height float64 // of all of it, in its own units
	NodeWidth     float64
	NodeHeight    float64
	Small         bool // nodes without names
	Nodes         []GraphNode
	Edges         []GraphEdge
	Bands         []GraphBand
	Zoom          int    // percent; 0: as wide as the page
	Zooms         []Tab  // other zooms
	Notes         []Note // what is left out, and how to see it
}

// GraphNode is a task in the graph.
type GraphNode struct {
	ID    ralph.TaskID
	Name  string // cut to its box
	Title string // all that is to say, shown on hover
	Stand Stand
	X, Y  float64
	Focus bool
}

// GraphEdge is a line of the graph: From and To are numbers of nodes.
type GraphEdge struct {
	From, To      int
	Implied, Back bool
	Path          string
}

// GraphBand is a phase.
type GraphBand struct {
	Name      string
	Y, Height float64
}

// Note is a remark with addresses.
type Note struct {
	Text  string
	Links []Tab
}

// The margins of a drawing: round it.
const (
	graphSide = 8
	graphTop  = 8
)

func (g Graph) viewBox() string {
	return fmt.Sprintf("0 0 %.0f %.0f", g.Width+2*graphSide, g.Height+graphTop+graphSide)
}

// wide is the width of the drawing on the page: where it fits, a little larger than life.
func (g Graph) wide() string {
	return strconv.Itoa(int(g.Width+2*graphSide) * cmp.Or(g.Zoom, 125) / 100)
}

func (g Graph) class() string {
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

func (e GraphEdge) ends() string { return strconv.Itoa(e.From) + " " + strconv.Itoa(e.To) }

// class is left out where there is none: there are thousands of lines.
func (e GraphEdge) class() templ.Attributes {
	switch {
	case e.Back:
		return templ.Attributes{"class": "back"}
	case e.Implied:
		return templ.Attributes{"class": "implied"}
	}
	return nil
}

func (n GraphNode) class() templ.Attributes {
	if n.Focus {
		return templ.Attributes{"class": "focus"}
	}
	return nil
}
