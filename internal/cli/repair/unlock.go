package repair

import (
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The session lock as people see it.

// Unlock is `ralph unlock`.
func Unlock(env workspace.Env) *cobra.Command {
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
	Removed    bool             `json:"removed"`
	Owner      journal.Owner    `json:"owner"`
	Place      journal.Locality `json:"place"`
	Live       bool             `json:"live"`
	AgeSeconds *float64         `json:"age_seconds"` // since the heartbeat; null when the lock names no time
}

func runUnlock(env workspace.Env, force, asJSON bool) error {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return err
	}
	info, err := j.TakeAway(force)
	if err != nil {
		if locked, ok := errors.AsType[*journal.LockedError](err); ok {
			hint := workspace.LockHint(locked)
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
		_, err = fmt.Fprintf(env.Stdout, "removed the lock of %s\nShould its engine still be there, it stops before its next write.\n", workspace.OwnerWords(info))
	default:
		_, err = fmt.Fprintf(env.Stdout, "removed the lock of %s, which is gone\n%s\n", workspace.OwnerWords(info), j.State().NextStart(j.Carries()))
	}
	return err
}
