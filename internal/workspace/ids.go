package workspace

import (
	"crypto/rand"
	"time"

	"github.com/ralph-loop/ralph"
)

// NewID makes an id like q-a1b2. Whoever uses it checks that it is new.
func NewID(prefix string) string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	var b [4]byte
	for i := range b {
		var r [1]byte
		for { // without the bias of a plain remainder
			rand.Read(r[:]) //nolint:errcheck // never fails since Go 1.24
			if int(r[0]) < 256-256%len(letters) {
				break
			}
		}
		b[i] = letters[int(r[0])%len(letters)]
	}
	return prefix + "-" + string(b[:])
}

// NewSpecID makes an id that no record of the inbox has.
func NewSpecID(s *ralph.State) ralph.SpecID {
	for {
		if id := ralph.SpecID(NewID("q")); s.Spec(id) == nil {
			return id
		}
	}
}

// NewTaskID makes an id that no task of the plan has.
func NewTaskID(s *ralph.State) ralph.TaskID {
	for {
		if id := ralph.TaskID(NewID("t")); s.Task(id) == nil {
			return id
		}
	}
}

// NewTaskIDs makes n ids that neither the plan nor each other has.
func NewTaskIDs(s *ralph.State, n int) []ralph.TaskID {
	taken := s.Clone()
	ids := make([]ralph.TaskID, n)
	for i := range ids {
		ids[i] = NewTaskID(taken)
		taken.Plan.Tasks = append(taken.Plan.Tasks, &ralph.Task{ID: ids[i]})
	}
	return ids
}

// NewSessionID makes an id that sorts by when the session began.
func NewSessionID(now time.Time) ralph.SessionID {
	return ralph.SessionID("s-" + now.UTC().Format("20060102T150405Z") + NewID(""))
}
