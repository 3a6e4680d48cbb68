package workspace

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// OwnerWords names an owner of the lock.
func OwnerWords(info *journal.LockInfo) string {
	o := info.Owner
	if o.Pid == 0 {
		return "an engine without a name"
	}
	words := fmt.Sprintf("pid %d on %s", o.Pid, o.Host)
	if info.Place == journal.Container {
		words += " (another container of this machine)"
	}
	if o.SessionID != "" {
		words += ", session " + string(o.SessionID)
	}
	switch {
	case info.Ahead > 0:
		return words + fmt.Sprintf(", whose clock is %s ahead", info.Ahead.Round(time.Second))
	case o.HeartbeatAt.IsZero():
		return words + ", whose lock names no time of a sign of life"
	}
	return words + fmt.Sprintf(", last sign of life %s ago", ralph.Elapsed(info.Age))
}

// LockHint is what a person can do about a lock that somebody holds.
func LockHint(e *journal.LockedError) string {
	const steer = "See what it does: `ralph status`. End it: `ralph stop`, or `ralph stop --now`."
	switch {
	case e.Owner.Pid == 0:
		return "Try again in a moment."
	case e.Place == journal.Container:
		return steer + "\nIf it hangs, stop that container, or kill it in there; its pid means nothing out here. Then start again."
	case e.Place == journal.Elsewhere:
		wait := fmt.Sprintf("without a sign of life its lock is free in %s", ralph.Elapsed(e.Frees))
		return steer + "\nIf " + e.Owner.Host + " will not come back: `ralph unlock --force`; " + wait + "."
	}
	return fmt.Sprintf("%s\nIf it hangs: `kill %d`, and `kill -9 %d` if that does not help; then start again.", steer, e.Owner.Pid, e.Owner.Pid)
}

// Elsewhere adds the host of a lock's owner who ran on another one.
func Elsewhere(o *journal.Owner, self journal.Owner) string {
	if o.Host == self.Host {
		return ""
	}
	return " on " + o.Host
}
