package index

import (
	"slices"
	"time"
)

// Series are figures over the time of a session, in stretches of the same width. The
// width doubles as the session gets longer, so that the number of stretches is bounded.
type Series struct {
	From    time.Time
	Width   time.Duration
	Buckets []Bucket
}

// Bucket is one stretch.
type Bucket struct {
	Cost   float64
	Tokens int64
	Turns  int32
	Peak   int16         // most slots at work at a time
	Busy   time.Duration // sum over the slots
}

const (
	fineBuckets   = 240
	coarseBuckets = 30
	firstWidth    = time.Second
)

// at is the stretch of an instant. One before the beginning belongs to the first.
func (s *Series) at(t time.Time) *Bucket {
	if s.From.IsZero() {
		s.From, s.Width = t, firstWidth
	}
	for t.Sub(s.From)/s.Width >= fineBuckets {
		s.halve()
	}
	i := max(0, int(t.Sub(s.From)/s.Width))
	if missing := i + 1 - len(s.Buckets); missing > 0 {
		s.Buckets = append(s.Buckets, make([]Bucket, missing)...)
	}
	return &s.Buckets[i]
}

// halve makes the stretches twice as wide.
func (s *Series) halve() {
	out := s.Buckets[:0]
	for pair := range slices.Chunk(s.Buckets, 2) {
		b := pair[0]
		if len(pair) == 2 {
			b.Cost, b.Tokens, b.Turns, b.Busy = b.Cost+pair[1].Cost, b.Tokens+pair[1].Tokens, b.Turns+pair[1].Turns, b.Busy+pair[1].Busy
			b.Peak = max(b.Peak, pair[1].Peak)
		}
		out = append(out, b)
	}
	s.Buckets = out
	s.Width *= 2
}

// shrink keeps few stretches: of an old session a rough picture is enough.
func (s *Series) shrink() {
	for len(s.Buckets) > coarseBuckets {
		s.halve()
	}
	s.Buckets = slices.Clone(s.Buckets) // the room of those that are gone is given back
}

// work notes that n slots were at work from one instant to another.
func (s *Series) work(from, to time.Time, n int) {
	for n > 0 && from.Before(to) {
		b := s.at(from)
		// at may have made the stretches wider, so the end of this one is known only now.
		next := from.Add(s.Width - from.Sub(s.From)%s.Width)
		end := to
		if next.Before(to) {
			end = next
		}
		b.Busy += time.Duration(n) * end.Sub(from)
		b.Peak = max(b.Peak, int16(min(n, 1<<15-1)))
		from = end
	}
}

// Histogram counts durations by how long they took.
type Histogram [14]int

// Edges are the upper ends of its columns; the last column has none.
func Edges() []time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	return []time.Duration{s, 2 * s, 5 * s, 10 * s, 20 * s, 45 * s, 90 * s, 3 * m, 6 * m, 12 * m, 25 * m, 50 * m, 2 * h}
}

func (h *Histogram) add(d time.Duration, edges []time.Duration) {
	i := 0
	for i < len(edges) && d > edges[i] {
		i++
	}
	h[i]++
}
