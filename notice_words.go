package ralph

import "strings"

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
	Also  []string // other names of it
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
	NoticeBudget      = "budget-warned"
	NoticeAborted     = "aborted"
	NoticeStopped     = "stopped"
	NoticeComplete    = "complete"
)

// NoticeEvents is the table of events and sounds.
func NoticeEvents() []NoticeEvent {
	return []NoticeEvent{
		{NoticeStarted, "", []string{"engine:started"}},
		{NoticeStepStart, "", []string{"task:selected"}},
		{NoticeStepDone, SoundComplete, []string{"task:completed"}},
		{NoticeStepFailed, SoundError, nil},
		{NoticeStepSkipped, "", nil},
		{NoticeRetrying, "", nil},
		{NoticeLimited, "", nil},
		{NoticeSwitched, "", []string{"agent:switched"}},
		{NoticeAllLimited, SoundViolation, nil},
		{NoticePaused, SoundNotice, []string{"engine:paused"}},
		{NoticeResumed, SoundNotice, nil},
		{NoticeGate, SoundNotice, []string{"needs-human"}},
		{NoticeSpecDone, "", nil},
		{NoticeSpecFailed, SoundError, nil},
		{NoticeHeld, SoundNotice, nil},
		{NoticeBudget, "", nil},
		{NoticeAborted, SoundError, nil},
		{NoticeStopped, "", []string{"engine:stopped"}},
		{NoticeComplete, SoundDone, nil},
	}
}

// NoticeNamed finds an event by any of its names, `autopilot:` before it or not;
// ok is false when there is none.
func NoticeNamed(name string) (event NoticeEvent, ok bool) {
	short := strings.TrimPrefix(name, "autopilot:")
	for _, e := range NoticeEvents() {
		if e.Name == short {
			return e, true
		}
		for _, also := range e.Also {
			if also == name {
				return e, true
			}
		}
	}
	return NoticeEvent{}, false
}
