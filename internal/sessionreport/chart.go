package sessionreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// Charts are SVG drawn here: shapes in per cent of a width that the page decides,
// so that one drawing fits a phone, a screen and paper. Words stand beside them in
// HTML, where they keep their size.

// axis maps time to 0..100, with stretches in which nothing happened folded up.
type axis struct {
	pieces []piece
	step   time.Duration
}

// piece is a stretch of time and where it is drawn.
type piece struct {
	from, to time.Time
	x0, x1   float64
}

// mostFolds bounds the folds: a report of a year of sessions is drawn as one piece.
const mostFolds = 24

// newAxis draws the time in which there is work. A gap longer than a tenth of it is
// a fold of fixed width.
func newAxis(spans []Span, from, to time.Time) axis {
	busy := stretches(spans, from, to)
	var sum time.Duration
	for _, s := range busy {
		sum += s.to.Sub(s.from)
	}
	joined := busy[:1]
	for _, s := range busy[1:] {
		last := &joined[len(joined)-1]
		if s.from.Sub(last.to) <= max(sum/10, time.Minute) {
			last.to = s.to
			continue
		}
		joined = append(joined, s)
	}
	if len(joined) > mostFolds {
		joined = []piece{{from: busy[0].from, to: busy[len(busy)-1].to}}
	}
	const fold = 1.2
	sum = 0
	for _, s := range joined {
		sum += s.to.Sub(s.from)
	}
	x, room := 0.0, 100-fold*float64(len(joined)-1)
	for i := range joined {
		joined[i].x0 = x
		x += room * float64(joined[i].to.Sub(joined[i].from)) / float64(sum)
		joined[i].x1 = x
		x += fold
	}
	return axis{joined, stepOf(sum)}
}

// stretches are the times with work, in order and without overlap; at least one.
func stretches(spans []Span, from, to time.Time) []piece {
	sorted := slices.Clone(spans)
	slices.SortStableFunc(sorted, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []piece
	for _, s := range sorted {
		if n := len(out); n > 0 && !s.From.After(out[n-1].to) {
			if s.To.After(out[n-1].to) {
				out[n-1].to = s.To
			}
			continue
		}
		out = append(out, piece{from: s.From, to: s.To})
	}
	if len(out) == 0 {
		out = []piece{{from: from, to: to}}
	}
	if last := &out[len(out)-1]; len(out) == 1 && !last.to.After(last.from) {
		last.to = last.from.Add(time.Second) // something has to be as wide as the page
	}
	return out
}

// at is where an instant is drawn; one inside a fold is drawn at its border.
func (a axis) at(t time.Time) float64 {
	for _, p := range a.pieces {
		if t.Before(p.from) {
			return p.x0
		}
		if !t.After(p.to) {
			if p.to.Equal(p.from) {
				return p.x0
			}
			return p.x0 + (p.x1-p.x0)*float64(t.Sub(p.from))/float64(p.to.Sub(p.from))
		}
	}
	return a.pieces[len(a.pieces)-1].x1
}

// stepOf is the time between two ticks: a round one, at most seven of them.
func stepOf(d time.Duration) time.Duration {
	const most, minute, hour, day = 7, 60, 3600, 86400
	for _, seconds := range []int{
		1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day,
	} {
		if step := time.Duration(seconds) * time.Second; d/step <= most {
			return step
		}
	}
	days := int(d.Hours())/24/most + 1
	return time.Duration(days*day) * time.Second
}

// tick is a time on the axis.
type tick struct {
	X    string
	Text string
	Few  bool // left out where there is little room
}

// ticks are round times, no two so near that their words touch: gap is the room for
// one of five letters, in per cent.
func (a axis) ticks(gap float64) []tick {
	var out []tick
	last, day := -100.0, ""
	for _, p := range a.pieces {
		for t := p.from.UTC().Truncate(a.step); !t.After(p.to); t = t.Add(a.step) {
			x := a.at(t)
			text := t.Format("15:04")
			if a.step < time.Minute {
				text = t.Format(time.TimeOnly)
			}
			room := gap * float64(len(text)) / 5
			if t.Before(p.from) || x < last+room || x < room/3 || x > 97 {
				continue
			}
			if d := t.Format("Jan 2"); d != day && (day != "" || a.step >= 12*time.Hour) {
				text = t.Format("Jan 2 15:04")
			}
			day = t.Format("Jan 2")
			out = append(out, tick{percent(x), text, len(out)%2 == 1})
			last = x
		}
	}
	return out
}

// folds are where time is folded up.
func (a axis) folds() []string {
	var out []string
	for i := 1; i < len(a.pieces); i++ {
		out = append(out, percent((a.pieces[i-1].x1+a.pieces[i].x0)/2))
	}
	return out
}

func percent(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".") + "%"
}

// gantt is the chart of the slots.
type gantt struct {
	Lanes  []lane
	Ticks  []tick
	Folds  []string
	Legend []string // outcomes that occur
	// MarkLegend are the marks that occur.
	MarkLegend []segment
}

// lane is one slot, the merge queue, or work without slots.
type lane struct {
	Name  string
	Bars  []bar
	Marks []dot
}

// bar is a stretch of work, or several that are too short to be told apart.
type bar struct {
	X, W, Class, Title string
	Label              string // "" where there is no room
	Href               string

	from, to float64
	n        int
	counts   []outcomeCount
}

// outcomeCount counts one outcome inside a bar.
type outcomeCount struct {
	outcome string
	n       int
}

// dot is a mark on a lane.
type dot struct {
	X, Class, Title string
	at              float64
}

// laneKey orders the lanes: what was in place first, the slots, the merge queue last.
func laneKey(name string, slot int) (order int, label string) {
	switch name {
	case "slot":
		return slot, fmt.Sprintf("slot %d", slot)
	case "merge":
		return 1 << 20, "merges"
	}
	return 0, "in place"
}

// drawGantt is nil when nothing was worked on.
func drawGantt(r *Result, at clockFormat) *gantt {
	if len(r.Spans) == 0 {
		return nil
	}
	ax := newAxis(r.Spans, r.Facts.From, r.Facts.To)
	g := &gantt{Ticks: ax.ticks(8), Folds: ax.folds()}
	names := map[ralph.TaskID]string{}
	for _, t := range r.Tasks {
		names[t.ID] = report.Clip(t.Name, 60)
	}
	byLane := map[int]*lane{}
	var orders []int
	laneOf := func(name string, slot int) *lane {
		order, label := laneKey(name, slot)
		if byLane[order] == nil {
			byLane[order] = &lane{Name: label}
			orders = append(orders, order)
		}
		return byLane[order]
	}
	spans := slices.Clone(r.Spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		b := barOf(s, names[s.Task], ax, at)
		if !slices.Contains(g.Legend, b.Class) {
			g.Legend = append(g.Legend, b.Class)
		}
		l := laneOf(s.Lane, s.Slot)
		l.Bars = append(l.Bars, b)
	}
	slices.Sort(g.Legend)
	for _, m := range r.Marks {
		if m.Kind == outcomeMerged || m.Kind == outcomeConflict {
			continue // the bars of the merges say so
		}
		if !slices.ContainsFunc(g.MarkLegend, func(x segment) bool { return x.Class == m.Kind }) {
			g.MarkLegend = append(g.MarkLegend, segment{Class: m.Kind, Name: markWords(m.Kind)})
		}
		l := laneOf(m.Lane, m.Slot)
		l.Marks = append(l.Marks, dot{Class: m.Kind, at: ax.at(m.At), Title: fmt.Sprintf("%s %s %s %s", at.at(m.At), m.Kind, m.Task, report.Clip(m.Text, 80))})
	}
	slices.Sort(orders)
	for _, o := range orders {
		l := byLane[o]
		l.Bars, l.Marks = placeBars(l.Bars), placeDots(l.Marks)
		g.Lanes = append(g.Lanes, *l)
	}
	return g
}

// markWords names a kind of mark.
func markWords(kind string) string {
	switch kind {
	case "red":
		return "red checks"
	case "error":
		return "an agent's error"
	case "asked":
		return "a person was asked"
	}
	return kind
}

// barOf draws one span.
func barOf(s Span, name string, ax axis, at clockFormat) bar {
	label := string(s.Task)
	if len(s.Members) > 1 {
		label = fmt.Sprintf("%s +%d", s.Task, len(s.Members)-1)
	}
	what := label
	if s.Kind != ralph.KindBuild {
		what = fmt.Sprintf("%s %s", s.Kind, label)
	}
	class := s.Outcome
	switch {
	case s.Kind == ralph.KindResolve && class == string(ralph.TaskDone):
		class = "resolve"
	case s.Lane == "in place" && s.Kind != ralph.KindBuild && class == string(ralph.TaskDone):
		class = "stage"
	}
	b := bar{
		Class: class, Label: label, n: 1, from: ax.at(s.From), to: ax.at(s.To),
		Title:  fmt.Sprintf("%s %s: %s, %s to %s (%s)", what, name, s.Outcome, at.at(s.From), at.at(s.To), lasted(s.To.Sub(s.From).Seconds())),
		counts: []outcomeCount{{class, 1}},
	}
	if strings.HasPrefix(string(s.Task), "t-") {
		b.Href = string(s.Task)
	}
	return b
}

// Bars narrower than this, in per cent, that touch are drawn as one.
const narrow = 0.35

// placeBars puts bars where they are drawn; those too short to be seen apart become one.
func placeBars(bars []bar) []bar {
	var out []bar
	for _, b := range bars {
		if n := len(out); n > 0 && b.from-out[n-1].to < narrow/3 && out[n-1].to-out[n-1].from < 1.5*narrow && b.to-b.from < narrow &&
			(out[n-1].n > 1 || out[n-1].to-out[n-1].from < narrow) {
			out[n-1].join(b)
			continue
		}
		out = append(out, b)
	}
	for i := range out {
		b := &out[i]
		width := max(b.to-b.from, 0.12)
		b.X, b.W = percent(min(b.from, 100-width)), percent(width)
		if width < 5 {
			b.Label = ""
		}
	}
	return out
}

// join takes another bar into this one: the worst outcome gives the colour.
func (b *bar) join(x bar) {
	b.to, b.n = max(b.to, x.to), b.n+x.n
	for _, c := range x.counts {
		i := slices.IndexFunc(b.counts, func(o outcomeCount) bool { return o.outcome == c.outcome })
		if i < 0 {
			b.counts = append(b.counts, outcomeCount{outcome: c.outcome})
			i = len(b.counts) - 1
		}
		b.counts[i].n += c.n
	}
	slices.SortStableFunc(b.counts, func(a, c outcomeCount) int { return cmp.Compare(badness(c.outcome), badness(a.outcome)) })
	words := make([]string, len(b.counts))
	for i, c := range b.counts {
		words[i] = fmt.Sprintf("%d %s", c.n, c.outcome)
	}
	b.Class, b.Href, b.Title = b.counts[0].outcome, "", strings.Join(words, ", ")
	b.Label = fmt.Sprint(b.n)
}

// badness orders outcomes: what a person should see first is highest.
func badness(outcome string) int {
	order := []string{
		"stage", "resolve", string(ralph.TaskDone), outcomeMerged, outcomeActive, outcomeReleased, outcomeCut, outcomeWaiting,
		string(ralph.TaskSkipped), outcomeRetry, outcomeConflict, string(ralph.TaskBlocked), string(ralph.TaskTimeout), outcomeRed, string(ralph.TaskFailed),
	}
	return slices.Index(order, outcome)
}

// placeDots puts marks where they are drawn, those of one kind on one spot once.
func placeDots(marks []dot) []dot {
	slices.SortStableFunc(marks, func(a, b dot) int { return cmp.Compare(a.at, b.at) })
	last := map[string]float64{}
	var out []dot
	for _, m := range marks {
		if at, seen := last[m.Class]; seen && m.at-at < narrow {
			continue
		}
		last[m.Class] = m.at
		m.X = percent(m.at)
		out = append(out, m)
	}
	return out
}
