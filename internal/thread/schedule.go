package thread

import (
	"fmt"
	"slices"
	"time"
)

// Pace is how threads take turns.
type Pace struct {
	Slots    int           // threads at work at once; 0 is no limit
	Cooldown time.Duration // after a turn that changed nothing; it doubles with each one more
	Longest  time.Duration // a cooldown at the most
}

// UsualPace is the pace where nothing else is said.
func UsualPace() Pace { return Pace{Cooldown: 2 * time.Second, Longest: time.Minute} }

// Schedule says whose turn is next: fairly, in the order in which threads became ready, one
// turn a thread. Between two turns of a thread that is ready each other ready thread has
// one, however long the turns are. It is for one goroutine at a time.
type Schedule struct {
	pace    Pace
	threads map[string]*place
	ready   []string // in the order in which they became ready
	working int
}

type place struct {
	working bool
	empty   int       // turns in a row that changed nothing
	after   time.Time // its cooldown is over
}

// NewSchedule is a schedule without threads.
func NewSchedule(pace Pace) *Schedule {
	return &Schedule{pace: pace, threads: map[string]*place{}}
}

// Add lets a thread take part; it is ready at once. One that is there already stays as it is.
func (s *Schedule) Add(id string) {
	if s.threads[id] == nil {
		s.threads[id] = &place{}
		s.ready = append(s.ready, id)
	}
}

// Remove takes a thread out: it is paused, stopped or waits. Add brings it back. A turn
// under way gives its slot back.
func (s *Schedule) Remove(id string) {
	if p := s.threads[id]; p != nil {
		if p.working {
			s.working--
		}
		delete(s.threads, id)
		s.ready = slices.DeleteFunc(s.ready, func(x string) bool { return x == id })
	}
}

// Next gives the slot to the thread whose turn it is, which works from then on. Where there
// is none, until is when a cooldown ends; zero means that only the end of a turn, or a new
// thread, changes anything.
func (s *Schedule) Next(now time.Time) (id string, until time.Time, ok bool) {
	if s.pace.Slots > 0 && s.working >= s.pace.Slots {
		return "", time.Time{}, false
	}
	for i, id := range s.ready {
		p := s.threads[id]
		if now.Before(p.after) && p.after.Sub(now) <= max(s.pace.Longest, s.pace.Cooldown) { // further ahead: the clock went back
			if until.IsZero() || p.after.Before(until) {
				until = p.after
			}
			continue
		}
		s.ready = slices.Delete(s.ready, i, i+1)
		p.working = true
		s.working++
		return id, time.Time{}, true
	}
	return "", until, false
}

// Done says that the turn of a thread is over: it is ready again, behind all that are. An
// empty turn changed nothing; after it the thread rests, longer each time.
func (s *Schedule) Done(id string, empty bool, now time.Time) error {
	p := s.threads[id]
	if p == nil || !p.working {
		return fmt.Errorf("thread %s has no turn under way", id)
	}
	p.working, p.after = false, time.Time{}
	s.working--
	if empty {
		p.empty++
		p.after = now.Add(s.pace.cooldown(p.empty))
	} else {
		p.empty = 0
	}
	s.ready = append(s.ready, id)
	return nil
}

// cooldown is the rest after so many empty turns in a row.
func (p Pace) cooldown(empty int) time.Duration {
	d := p.Cooldown
	for range empty - 1 {
		if d >= p.Longest {
			break
		}
		d *= 2
	}
	return min(d, max(p.Longest, p.Cooldown))
}
