package ralph

import (
	"slices"
	"time"
)

// What errors and limits of turns add up to.

// Failed reports whether the turn ended in an error of any kind. A driver that
// had to end the turn itself may have no typed error for it.
func (f *TurnEnded) Failed() bool { return f.Exit != ExitOK || f.Err != nil }

// Limited reports whether it ended because the agent cannot be used now: it is at its
// limit, not logged in, or nothing answers it.
func (f *TurnEnded) Limited() bool { return f.Err != nil && f.Err.OfAgent() }

// class is the kind of its error, for counting the same kind in a row.
func (f *TurnEnded) class() string {
	if f.Err != nil {
		return string(f.Err.Class)
	}
	return string(f.Exit)
}

// foldError keeps the counters of the error strategy and of limits apart.
// A turn with all its retries is one error for task.same_error_turns (A-061, E-073), and
// only a change between two of them ends the row.
func (r *Run) foldError(f TurnEnded) {
	r.said(f)
	if !f.Failed() {
		r.ErrorTries = 0
		if f.Changed {
			r.SameError, r.ErrorKind = 0, ""
		}
		r.hit(f.Agent, 0)
		return
	}
	if f.Limited() {
		if c := f.Err.Class; c == ErrClassLimit || c == ErrClassBusy {
			r.hit(f.Agent, r.Hits(f.Agent)+1)
		}
		return
	}
	r.ErrorTries++
	switch {
	case r.ErrorTries > 1: // a retry, which errors.max_retries counts
	case r.ErrorKind == f.class():
		r.SameError++
	default:
		r.SameError, r.ErrorKind = 1, f.class()
	}
}

// said counts how often in a row an agent ended with the very same words.
func (r *Run) said(f TurnEnded) {
	words := ""
	if f.Failed() && f.Err != nil {
		words = f.Err.Message
	}
	if words == "" || words != r.ErrorSaid {
		r.ErrorSaid, r.SaidTimes = words, 0
	}
	if words != "" {
		r.SaidTimes++
	}
}

// uncount takes back that the last turn was an error.
func (r *Run) uncount() {
	if r.Last == nil || !r.Last.Failed() {
		return
	}
	r.Last, r.Checks, r.Told, r.RetryAt = nil, nil, 0, time.Time{}
	r.ErrorTries = max(0, r.ErrorTries-1)
	if r.ErrorTries == 0 { // else it was a retry of an error that counts
		r.SameError = max(0, r.SameError-1)
	}
}

// hit sets the count of an agent's limit. The counters are the agents' own,
// and no release ends them: who waits for hours asks ever more rarely.
func (r *Run) hit(agent string, count int) {
	r.LimitHits = slices.DeleteFunc(slices.Clone(r.LimitHits), func(h Hits) bool { return h.Agent == agent })
	if count > 0 {
		r.LimitHits = append(r.LimitHits, Hits{agent, count})
	}
}
