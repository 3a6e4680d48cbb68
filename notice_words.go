package ralph

import (
	"slices"
	"strings"
)

// Sound is the name of a sound.
type Sound string

// The sounds of document A.
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

// NoticeEvent is an event that people can hear or be told of.
type NoticeEvent struct {
	Name  string   // document A's own name without `autopilot:`, where it has one
	Sound Sound    // that it is heard with unless `notify.events` says otherwise; "" for none
	Also  []string // names of it that are not in the table of events
}

// The names of NoticeEvents.
const (
	NoticeStarted     = "started"
	NoticeStepStart   = "step-start"
	NoticeStepDone    = "step-complete"
	NoticeStepFailed  = "step-failed"
	NoticeStepSkipped = "step-skipped"
	NoticeRetrying    = "retrying"
	NoticeLimited     = "rate-limited"
	NoticeSwitched    = "agent-switched"
	NoticeAllLimited  = "all-limited"
	NoticePaused      = "paused"
	NoticeResumed     = "resumed"
	NoticeGate        = "gate"
	NoticeSpecDone    = "spec-complete"
	NoticeSpecFailed  = "spec-failed"
	NoticeHeld        = "landing-held"
	NoticeFile        = "file-unreadable"
	NoticeStalled     = "stalled"
	NoticeBudget      = "budget-warned"
	NoticeAborted     = "aborted"
	NoticeStopped     = "stopped"
	NoticeComplete    = "complete"
)

// NoticeEvents is the table of events and sounds.
func NoticeEvents() []NoticeEvent {
	return []NoticeEvent{
		{NoticeStarted, "", nil},
		{NoticeStepStart, "", nil},
		{NoticeStepDone, SoundComplete, nil},
		{NoticeStepFailed, SoundError, nil},
		{NoticeStepSkipped, "", nil},
		{NoticeRetrying, "", nil},
		{NoticeLimited, "", nil},
		{NoticeSwitched, "", nil},
		{NoticeAllLimited, SoundViolation, nil},
		{NoticePaused, SoundNotice, nil},
		{NoticeResumed, SoundNotice, nil},
		{NoticeGate, SoundNotice, []string{"needs-human"}},
		{NoticeSpecDone, "", nil},
		{NoticeSpecFailed, SoundError, nil},
		{NoticeHeld, SoundNotice, nil},
		{NoticeFile, SoundNotice, []string{"view.unreadable"}},
		{NoticeStalled, SoundError, nil},
		{NoticeBudget, "", nil},
		{NoticeAborted, SoundError, nil},
		{NoticeStopped, "", []string{"engine:stopped"}},
		{NoticeComplete, SoundDone, nil},
	}
}

// NoticeNamed finds an event by any of the names that it goes by; ok is false
// when there is none.
func NoticeNamed(name string) (event NoticeEvent, ok bool) {
	for _, e := range NoticeEvents() {
		if e.Name == strings.TrimPrefix(name, ownPrefix) || slices.Contains(e.Also, name) {
			return e, true
		}
	}
	names := EventNames()
	for _, n := range names {
		if n.Name != name && (n.Kind != name || n.When != "") {
			continue
		}
		for _, own := range names { // that means the very same events
			short := own.Short()
			if short != "" && short != name && own.Kind == n.Kind && own.When == n.When {
				return NoticeNamed(short)
			}
		}
	}
	return NoticeEvent{}, false
}
