package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// outage is what the log remembers while nothing answers any agent: a try each minute is
// nothing new to people, so it says so at the beginning, seldom in between, and at the end.
type outage struct {
	on     bool
	agent  string
	since  time.Time
	tries  int
	told   time.Time     // the newest line about it
	gap    time.Duration // to the next one
	trying bool          // a try goes on: what it makes is held back
	over   ralph.TaskID  // the task whose try has just failed: it is given back
	task   ralph.TaskID  // the task of the try
	held   []string
}

const (
	firstStillAway = 15 * time.Minute
	maxStillAway   = time.Hour
)

// quietly is what is said of an event, out being its lines, as an outage allows.
func (l *Log) quietly(e ralph.Event, s *ralph.State, out []string) []string {
	o := &l.out
	if !o.on {
		if f, ok := e.Fact.(ralph.AgentLimited); ok && f.Class == ralph.ErrClassNetwork {
			l.out = outage{on: true, agent: f.Agent, since: awaySince(f, s), tries: 1, told: e.At, gap: firstStillAway}
		}
		return out
	}
	switch f := e.Fact.(type) {
	case ralph.AgentLimited:
		if f.Class != ralph.ErrClassNetwork {
			return l.outageOver(nil, out)
		}
		if o.trying {
			o.tries++
			o.trying, o.over, o.held = false, f.Task, nil
		}
		return nil
	case ralph.Control:
		switch {
		case f.Want == ralph.WantRun && f.From == ralph.PauseLimits:
			o.trying, o.task, o.over = true, "", ""
			return nil
		case f.Want == ralph.WantPause && f.From == ralph.PauseLimits:
			return l.stillAway(e.At, s, out)
		}
		return l.outageOver(nil, out)
	case ralph.SessionStarted, ralph.SessionEnded, ralph.Asked:
		return l.outageOver(nil, out)
	case ralph.StepStarted:
		if _, ok := f.Step.(ralph.Turn); ok && o.trying && o.task == "" {
			o.task = f.Task
		}
	case ralph.TurnEnded:
		if !f.Limited() && f.Agent == o.agent {
			return l.outageOver([]string{fmt.Sprintf("RESUMED: %s answers again: there was no connection since %s, %s", o.agent, o.since.UTC().Format(time.RFC3339), text.Plural(o.tries, "try", "tries"))}, out)
		}
	}
	about := About(e.Fact)
	switch {
	case o.trying && (o.task == "" || about == "" || about == o.task):
		o.held = append(o.held, out...)
		return nil
	case o.over != "" && about == o.over:
		return nil
	}
	return out
}

// outageOver ends the outage with a line, what was held back, and what comes now.
func (l *Log) outageOver(first, out []string) []string {
	lines := slices.Concat(first, l.out.held, out)
	l.out = outage{}
	return lines
}

// stillAway says seldom that it goes on; the pause of the first try is told as every pause.
func (l *Log) stillAway(at time.Time, s *ralph.State, out []string) []string {
	o := &l.out
	o.trying, o.over, o.held = false, "", nil
	if o.tries <= 1 {
		return out
	}
	if at.Sub(o.told) < o.gap {
		return nil
	}
	o.told, o.gap = at, min(2*o.gap, maxStillAway)
	next := ""
	if known := s.Limit(o.agent); known != nil {
		next = ", next try " + known.Until.UTC().Format(time.RFC3339)
	}
	return []string{fmt.Sprintf("AWAY: %s: still no connection since %s, %d tries%s", o.agent, o.since.UTC().Format(time.RFC3339), o.tries, next)}
}

func awaySince(f ralph.AgentLimited, s *ralph.State) time.Time {
	if known := s.Limit(f.Agent); known != nil && !known.First.IsZero() {
		return known.First
	}
	return f.Since
}

// Quiet reports whether the newest event was a part of one more try in an outage, which
// is nothing new to people.
func (l *Log) Quiet() bool { return l.out.on && l.out.trying && l.out.tries > 0 }
