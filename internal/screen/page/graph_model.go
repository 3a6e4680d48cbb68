package page

import "github.com/ralph-loop/ralph"

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
