// Package observe owns the reading of what a session is at that no State has: who holds the lock, the
// newest words of a turn under way, what a receipt saw, what is changed in a work tree by now.
//
// It does NOT own what is made of it (screen, report), and writes nothing.
package observe

import (
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/status"
)

// Engine is who works on the repository now, by the session lock.
func Engine(j *journal.File) status.Engine { return engine(j, new(Fleet)) }

func engine(j *journal.File, fleet *Fleet) status.Engine {
	owner := j.Holder()
	if owner == nil {
		return status.Engine{Carry: j.Carries()}
	}
	return status.Engine{Alive: true, Pid: owner.Pid, Host: owner.Host, Fleet: fleet.Now(owner, j.Root(), j.Now())}
}
