package chart

import (
	"slices"
	"time"
)

// Span is a time in which there was work.
type Span struct{ From, To time.Time }

// Axis maps time to 0..100, with stretches in which nothing happened folded up.
type Axis struct {
	pieces []piece
	step   time.Duration
}

// piece is a stretch of time and where it is drawn.
type piece struct {
	from, to time.Time
	x0, x1   float64
}

// maxFolds bounds the folds: a report of a year of sessions is drawn as one piece.
const maxFolds = 24

// NewAxis draws the time in which there is work. A gap longer than a tenth of it is
// a fold of fixed width.
func NewAxis(spans []Span, from, to time.Time) Axis {
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
	if len(joined) > maxFolds {
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
	return Axis{joined, stepOf(sum)}
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

// At is where an instant is drawn; one inside a fold is drawn at its border.
func (a Axis) At(t time.Time) float64 {
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

// Ticks are round times, no two so near that their words touch: gap is the room for
// one of five letters, in per cent.
func (a Axis) Ticks(gap float64) []Mark {
	var out []Mark
	last, day := -100.0, ""
	for _, p := range a.pieces {
		for t := p.from.UTC().Truncate(a.step); !t.After(p.to); t = t.Add(a.step) {
			x := a.At(t)
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
			out = append(out, Mark{At: Percent(x), Text: text, Place: "mid", Few: len(out)%2 == 1})
			last = x
		}
	}
	return out
}

// Folds are where time is folded up.
func (a Axis) Folds() []string {
	var out []string
	for i := 1; i < len(a.pieces); i++ {
		out = append(out, Percent((a.pieces[i-1].x1+a.pieces[i].x0)/2))
	}
	return out
}
