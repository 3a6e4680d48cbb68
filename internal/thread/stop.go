package thread

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// The names of stop conditions, as receipts and screens show them.
const (
	StopUser       = ralph.StopUser
	StopFailed     = ralph.StopFailed
	StopTokens     = ralph.StopTokens
	StopTime       = ralph.StopTime
	StopCost       = ralph.StopCost
	StopTurns      = ralph.StopTurns
	StopUnanswered = ralph.StopUnanswered
	StopFinished   = ralph.StopFinished
	StopRepeated   = ralph.StopRepeated
	StopCompaction = ralph.StopCompaction
	StopNoProgress = ralph.StopNoProgress
)

// Budget is what a thread may use; 0 is no limit.
type Budget struct {
	Tokens     int64         `json:"tokens,omitempty"` // without cache reads
	Time       time.Duration `json:"time,omitempty"`   // in turns
	Cost       float64       `json:"cost,omitempty"`   // US dollars
	Iterations int           `json:"iterations,omitempty"`
}

// Limits are by what a thread stops. 0 switches a condition off.
type Limits struct {
	Budget          Budget
	Unanswered      time.Duration // a request waits so long
	NoProgress      int           // turns in a row without any
	SameError       int           // failed turns in a row by the same kind of error
	Compactions     int           // so many ...
	CompactionTurns int           // ... in so many turns
	MinConfidence   float64       // of advice that is followed
	NoReview        bool          // changed files need no review before a finished thread stops
}

// Usual are the limits where nothing else is said.
func Usual() Limits {
	return Limits{Unanswered: 30 * time.Minute, NoProgress: 5, SameError: 3, Compactions: 3, CompactionTurns: 5, MinConfidence: 0.6}
}

// With are the limits of one thread, which has a budget of its own.
func (l Limits) With(own ralph.ThreadLimits) Limits {
	l.Budget = budgetOf(own)
	return l
}

// Stop is a stop condition that holds.
type Stop struct {
	Name string
	Rule string
	Text string
	Hard bool // no advice and no review comes before it
}

// Stops are the stop conditions that hold now; the first one decides. Hard ones come first.
func Stops(s *State, l Limits, now time.Time) []Stop {
	var all []Stop
	add := func(holds bool, stop Stop) {
		if holds {
			all = append(all, stop)
		}
	}
	add(s.Want == WantStop, Stop{StopUser, "E-068", "you stopped it", true})
	add(s.lost(), Stop{StopFailed, "E-069", "the turn failed, and no retry mends it: " + s.because(), true})
	all = append(all, s.overBudget(l)...)
	if since, ok := s.waiting(); ok && l.Unanswered > 0 {
		waited := now.Sub(since)
		add(waited >= l.Unanswered, Stop{StopUnanswered, "E-071", fmt.Sprintf("a request has waited for an answer for %s", waited.Round(time.Second)), true})
	}
	add(s.Finished && !s.refuted(l) && !s.Open && s.Status == ralph.TurnCompleted, Stop{StopFinished, "E-075", "the agent says that it is finished", false})
	add(l.SameError > 0 && s.Failing >= l.SameError, Stop{StopRepeated, "E-073", text.Count(s.Failing, "turn") + " in a row failed alike: " + s.because(), false})
	n := s.compacted(l.CompactionTurns)
	add(l.Compactions > 0 && n >= l.Compactions, Stop{
		StopCompaction, "E-074",
		fmt.Sprintf("the agent shortened its history %s in the last %s", text.Count(n, "time"), text.Count(l.CompactionTurns, "turn")), false,
	})
	add(l.NoProgress > 0 && s.Idle >= l.NoProgress, Stop{StopNoProgress, "E-072", text.Count(s.Idle, "turn") + " in a row changed neither files nor plan", false})
	return all
}

// refuted reports whether a review has just not found the work finished, was not sure, or gave no
// answer.
func (s *State) refuted(l Limits) bool {
	return s.NoReview || s.Review != nil && (s.Review.Action != ralph.ThenStop || s.Review.Confidence < l.MinConfidence)
}

// lost reports a failed turn that trying again cannot mend.
func (s *State) lost() bool {
	return s.Status == ralph.TurnFailed && s.Err != nil && (s.Err.Class == ralph.ErrClassAuth || s.Err.Permanent())
}

func (s *State) because() string {
	if s.Err == nil {
		return "the agent said no reason"
	}
	return line(string(s.Err.Class) + ": " + s.Err.Message)
}

// overBudget are the budgets that are passed: strictly, but for turns, of which the last
// allowed one is the last, and success in it counts. Where a cost is limited and not known, it counts as passed until
// a person says to go on.
func (s *State) overBudget(l Limits) []Stop {
	b := l.Budget
	var all []Stop
	add := func(limited, over bool, name, words string) {
		if limited && over {
			all = append(all, Stop{name, "E-070", words, true})
		}
	}
	m := s.More
	tokens := s.Usage.Input + s.Usage.Output + s.Usage.CacheWrite
	add(b.Tokens > 0, tokens > b.Tokens+m.Tokens, StopTokens, fmt.Sprintf("%d tokens used, the limit is %d", tokens, b.Tokens+m.Tokens))
	add(b.Time > 0, s.Spent > b.Time+m.Time, StopTime, fmt.Sprintf("%s used, the limit is %s", s.Spent.Round(time.Second), b.Time+m.Time))
	switch cost := b.Cost + m.Cost; {
	case s.Usage != (ralph.Usage{}) && !s.Usage.Known:
		add(b.Cost > 0, m.Cost == 0, StopCost, "the agent reported no cost, which counts as over a cost limit; past it nothing limits the cost")
	default:
		add(b.Cost > 0, s.Usage.Cost > cost, StopCost, fmt.Sprintf("%s spent, the limit is %s", ralph.Dollars(s.Usage.Cost), ralph.Dollars(cost)))
	}
	add(b.Iterations > 0, !s.Open && !(s.Finished && !s.refuted(l)) && s.Turn >= b.Iterations+m.Iterations, StopTurns, fmt.Sprintf("%s done, the limit is %d", text.Count(s.Turn, "turn"), b.Iterations+m.Iterations))
	return all
}

// waiting is since when the oldest request waits.
func (s *State) waiting() (time.Time, bool) {
	var first time.Time
	for _, p := range s.Pending {
		if first.IsZero() || p.Since.Before(first) {
			first = p.Since
		}
	}
	return first, len(s.Pending) > 0
}

// compacted counts the compactions of the last turns.
func (s *State) compacted(turns int) int {
	n := 0
	for _, turn := range s.Compactions {
		if turn > s.Turn-turns {
			n++
		}
	}
	return n
}
