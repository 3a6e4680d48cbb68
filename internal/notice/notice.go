// Package notice owns the list of events that people can hear or be told of, with their names
// and sounds. It does NOT own what is said of one (internal/notify), nor when (its facts).
package notice

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/eventname"
)

// Sound is the name of a sound.
type Sound string

// The sounds.
const (
	SoundComplete  Sound = "aiComplete"
	SoundError     Sound = "aiError"
	SoundDone      Sound = "workflowDone"
	SoundNotice    Sound = "notification"
	SoundViolation Sound = "sectorViolation"
)

// Sounds are all of them.
func Sounds() []Sound {
	return []Sound{SoundComplete, SoundError, SoundDone, SoundNotice, SoundViolation}
}

// Event is an event that people can hear or be told of.
type Event struct {
	Name  string   // the short one, without `autopilot:`, where it has one
	Sound Sound    // that it is heard with unless `notify.events` says otherwise; "" for none
	Also  []string // names of it that are not in the table of events
}

// The names of Events.
const (
	Started     = "started"
	StepStart   = "step-start"
	StepDone    = "step-complete"
	StepFailed  = "step-failed"
	StepSkipped = "step-skipped"
	Retrying    = "retrying"
	Limited     = "rate-limited"
	Switched    = "agent-switched"
	AllLimited  = "all-limited"
	Paused      = "paused"
	Resumed     = "resumed"
	Gate        = "gate"
	SpecDone    = "spec-complete"
	SpecFailed  = "spec-failed"
	Held        = "landing-held"
	File        = "file-unreadable"
	Stalled     = "stalled"
	Budget      = "budget-warned"
	Aborted     = "aborted"
	Stopped     = "stopped"
	Complete    = "complete"
)

// Events is the table of events and sounds.
func Events() []Event {
	return []Event{
		{Started, "", nil},
		{StepStart, "", nil},
		{StepDone, SoundComplete, nil},
		{StepFailed, SoundError, nil},
		{StepSkipped, "", nil},
		{Retrying, "", nil},
		{Limited, "", nil},
		{Switched, "", nil},
		{AllLimited, SoundViolation, nil},
		{Paused, SoundNotice, nil},
		{Resumed, SoundNotice, nil},
		{Gate, SoundNotice, []string{"needs-human"}},
		{SpecDone, "", nil},
		{SpecFailed, SoundError, nil},
		{Held, SoundNotice, nil},
		{File, SoundNotice, []string{"view.unreadable"}},
		{Stalled, SoundError, nil},
		{Budget, "", nil},
		{Aborted, SoundError, nil},
		{Stopped, "", []string{"engine:stopped"}},
		{Complete, SoundDone, nil},
	}
}

// Named finds an event by any of the names that it goes by; ok is false
// when there is none.
func Named(name string) (event Event, ok bool) {
	for _, e := range Events() {
		if e.Name == strings.TrimPrefix(name, "autopilot:") || slices.Contains(e.Also, name) {
			return e, true
		}
	}
	names := eventname.All()
	for _, n := range names {
		if n.Name != name && (n.Kind != name || n.When != "") {
			continue
		}
		for _, own := range names { // that means the very same events
			short := own.Short()
			if short != "" && short != name && own.Kind == n.Kind && own.When == n.When {
				return Named(short)
			}
		}
	}
	return Event{}, false
}
