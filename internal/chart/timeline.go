package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/text"
)

// Timeline is who did what when: a lane for each, on one axis.
type Timeline struct {
	Lanes  []Lane
	Ticks  []Mark
	Folds  []string
	Legend []string // statuses that occur
	Dots   []Key    // kinds of dots that occur, in Status
}

// Lane is what one did.
type Lane struct {
	Name string
	Bars []Bar
	Dots []Dot
}

// Bar is a stretch of work, or several that are too short to be told apart.
type Bar struct {
	X, W          string
	Status, Title string
	Label         string // "" where there is no room
	Href          string

	from, to float64
	counts   []count // of what it was joined from
}

// count is how often there is a status inside a bar.
type count struct {
	status string
	n      int
}

// NewBar is a bar from one place to another, in per cent.
func NewBar(from, to float64, status string) Bar {
	return Bar{Status: status, from: from, to: to, counts: []count{{status, 1}}}
}

// Dot is a moment on a lane.
type Dot struct {
	X, Kind, Title string
	at             float64
}

// NewDot is a dot at a place, in per cent.
func NewDot(at float64, kind, title string) Dot { return Dot{Kind: kind, Title: title, at: at} }

// Add puts a lane below the others: its bars, which are in order, and its dots where they
// can be told apart. Of bars that are one, the status that comes last in order is shown.
func (t *Timeline) Add(name string, bars []Bar, dots []Dot, order []string) {
	for _, b := range bars {
		if !slices.Contains(t.Legend, b.Status) {
			t.Legend = append(t.Legend, b.Status)
		}
	}
	slices.Sort(t.Legend)
	t.Lanes = append(t.Lanes, Lane{name, placeBars(bars, order), placeDots(dots)})
}

// narrow is what can be told apart, in per cent: narrower bars that touch are drawn as one.
const narrow = 0.35

func (b *Bar) wide() float64 { return b.to - b.from }

// placeBars puts bars where they are drawn; those too short to be seen apart become one.
func placeBars(bars []Bar, order []string) []Bar {
	var out []Bar
	for _, b := range bars {
		if n := len(out); n > 0 && b.wide() < narrow && b.from-out[n-1].to < narrow/3 && out[n-1].wide() < 1.5*narrow &&
			(len(out[n-1].counts) > 1 || out[n-1].counts[0].n > 1 || out[n-1].wide() < narrow) {
			out[n-1].join(b, order)
			continue
		}
		out = append(out, b)
	}
	for i := range out {
		b := &out[i]
		width := max(b.wide(), 0.12)
		b.X, b.W = Percent(min(b.from, 100-width)), Percent(width)
		if width < 5 {
			b.Label = ""
		}
	}
	return out
}

// join takes another bar into this one: the worst status gives the colour.
func (b *Bar) join(x Bar, order []string) {
	b.to = max(b.to, x.to)
	counts := slices.Clone(b.counts)
	for _, c := range x.counts {
		i := slices.IndexFunc(counts, func(o count) bool { return o.status == c.status })
		if i < 0 {
			counts = append(counts, count{status: c.status})
			i = len(counts) - 1
		}
		counts[i].n += c.n
	}
	slices.SortStableFunc(counts, func(a, c count) int {
		return cmp.Compare(slices.Index(order, c.status), slices.Index(order, a.status))
	})
	words, all := make([]string, len(counts)), 0
	for i, c := range counts {
		words[i] = fmt.Sprintf("%d %s", c.n, c.status)
		all += c.n
	}
	b.counts, b.Status, b.Href = counts, counts[0].status, ""
	b.Title, b.Label = strings.Join(words, ", "), fmt.Sprint(all)
}

// placeDots puts dots where they are drawn, those of one kind on one spot once.
func placeDots(dots []Dot) []Dot {
	dots = slices.SortedStableFunc(slices.Values(dots), func(a, b Dot) int { return cmp.Compare(a.at, b.at) })
	last := map[string]float64{}
	var out []Dot
	for _, d := range dots {
		if at, seen := last[d.Kind]; seen && d.at-at < narrow {
			continue
		}
		last[d.Kind] = d.at
		d.X = Percent(d.at)
		out = append(out, d)
	}
	return out
}

// words says what a lane has to those who do not see it.
func (l *Lane) words() string {
	words := l.Name + ": " + text.Plural(len(l.Bars), "stretch of work", "stretches of work")
	if len(l.Dots) > 0 {
		words += ", " + text.Count(len(l.Dots), "mark")
	}
	return words
}
