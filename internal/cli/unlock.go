package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The session lock as people see it.

func newUnlock(env workspace.Env) *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use: "unlock", Short: "Remove the session lock of an engine that is gone", Args: cobra.NoArgs,
		Long: `Remove the session lock of an engine that is gone.

Seldom needed: the next start takes over a lock whose process on this machine has
ended, and a lock of another machine without a sign of life for 30 minutes. An
engine that lives on this machine is never unlocked: stop it, or kill it.`,
		Example: "  ralph unlock\n  ralph unlock --force    the engine's machine is gone for good",
		RunE:    func(*cobra.Command, []string) error { return runUnlock(env, force, asJSON) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "also remove a fresh lock of another machine that will not come back")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// lockRecord is the session lock in JSON.
type lockRecord struct {
	Removed    bool          `json:"removed"`
	Owner      journal.Owner `json:"owner"`
	Place      journal.Place `json:"place"`
	Live       bool          `json:"live"`
	AgeSeconds *float64      `json:"age_seconds"` // since the heartbeat; null when the lock names no time
}

func runUnlock(env workspace.Env, force, asJSON bool) error {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return err
	}
	info, err := j.TakeAway(force)
	if err != nil {
		if locked, ok := errors.AsType[*journal.LockedError](err); ok {
			hint := lockHint(locked)
			if force && locked.Place != journal.Elsewhere {
				hint = "--force is for the lock of another machine. " + hint
			}
			return &ralph.Refusal{Why: locked.Error() + "\n" + hint, Kind: ralph.ErrActive}
		}
		return err
	}
	switch {
	case asJSON && info == nil:
		return workspace.PrintJSON(env.Stdout, map[string]any{"removed": false})
	case asJSON:
		r := lockRecord{Removed: true, Owner: info.Owner, Place: info.Place, Live: info.Live}
		if age := info.Age.Seconds(); !info.Owner.HeartbeatAt.IsZero() {
			r.AgeSeconds = &age
		}
		return workspace.PrintJSON(env.Stdout, r)
	case info == nil:
		_, err = fmt.Fprintln(env.Stdout, "there is no lock: nothing was changed")
	case info.Live:
		_, err = fmt.Fprintf(env.Stdout, "removed the lock of %s\nShould its engine still be there, it stops before its next write.\n", ownerWords(info))
	default:
		_, err = fmt.Fprintf(env.Stdout, "removed the lock of %s, which is gone\n%s\n", ownerWords(info), j.State().NextStart(j.Carries()))
	}
	return err
}

// ownerWords names an owner of the lock.
func ownerWords(info *journal.LockInfo) string {
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

// lockHint is what a person can do about a lock that somebody holds.
func lockHint(e *journal.LockedError) string {
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

// elsewhere adds the host of a lock's owner who ran on another one.
func elsewhere(o *journal.Owner, self journal.Owner) string {
	if o.Host == self.Host {
		return ""
	}
	return " on " + o.Host
}

// lock is who holds the session lock, or left it behind.
func (x *examination) lock(j *journal.File) {
	info, err := j.Look()
	switch {
	case err != nil:
		x.refused("lock", err)
	case info == nil:
	case !info.Live:
		x.note("lock", "left behind by "+ownerWords(info)+", which is gone", "the next start takes it over; `ralph unlock` removes it")
	case info.Place == journal.Elsewhere:
		x.note("lock", "held by "+ownerWords(info), "`ralph stop` ends it; if "+info.Owner.Host+" will not come back, `ralph unlock --force`")
	default:
		x.ok("lock", "held by %s", ownerWords(info))
	}
}
