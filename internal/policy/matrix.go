package policy

import "github.com/ralph-loop/ralph"

// Verdict is what the checks said.
type Verdict int

// The verdicts; a turn whose checks have not run is Unchecked.
const (
	Unchecked Verdict = iota
	Green
	Red
)

// Outcome is what becomes of a task after a turn.
type Outcome string

// The outcomes of both matrices.
const (
	Complete Outcome = "done"
	Continue Outcome = "continue" // next iteration
	CheckIt  Outcome = "check"    // a claim, not yet checked
	Blocked  Outcome = "blocked"
	Human    Outcome = "needs human"
	TimedOut Outcome = "timeout"
	Failed   Outcome = "failed"
	Pending  Outcome = "pending" // released
)

// Completion is the completion matrix (B-022 to B-029): a signal is a
// claim, and only green checks make it true. spent says that the iterations or
// the time of the task are used up. The claim is looked at before the limit, so
// that success on the last allowed turn counts.
func Completion(signal ralph.SignalKind, checks Verdict, spent bool) (Outcome, ralph.Why) {
	switch signal {
	case ralph.SignalComplete:
		switch checks {
		case Green:
			return Complete, ralph.Why{Rule: "B-022", Text: "COMPLETE and the checks pass"}
		case Unchecked:
			return CheckIt, ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"}
		}
		if spent {
			return TimedOut, ralph.Why{Rule: "B-028", Text: "the checks fail"}
		}
		return Continue, ralph.Why{Rule: "B-023", Text: "COMPLETE but a check fails"}
	case ralph.SignalBlocked:
		return Blocked, ralph.Why{Rule: "B-024", Text: "the agent is blocked"}
	case ralph.SignalHuman:
		return Human, ralph.Why{Rule: "B-025", Text: "the agent needs a human"}
	}
	if spent {
		return TimedOut, ralph.Why{Rule: "B-028", Text: "no signal"}
	}
	return Continue, ralph.Why{Rule: "B-026", Text: "no signal yet"}
}

// Exit is the exit matrix (B-069 to B-075). Continue means that the
// completion matrix decides; Failed that the error strategy has its tries first.
func Exit(kind ralph.ExitKind) (Outcome, ralph.Why) {
	switch kind {
	case ralph.ExitOK:
		return Continue, ralph.Why{Rule: "B-069", Text: "the agent ended by itself"}
	case ralph.ExitTimeout:
		return TimedOut, ralph.Why{Rule: "B-029", Text: "out of time"}
	case ralph.ExitUser:
		return Pending, ralph.Why{Rule: "B-074", Text: "stopped before its end"}
	case ralph.ExitCrashed:
		return Pending, ralph.Why{Rule: "B-075", Text: "the agent was killed"}
	case ralph.ExitSpawn:
		return Failed, ralph.Why{Rule: "B-097", Text: "Failed to spawn agent"}
	}
	return Failed, ralph.Why{Rule: "B-073", Text: "the agent ended with an error"}
}
