package policy

import "github.com/ralph-loop/ralph"

// refused reports whether a person's hook gave the stage back: to begin it again
// would ask the hook again, and the session would never end.
func refused(s *ralph.State, stage *ralph.Task) bool {
	return stage != nil && s.Session.Ends == ralph.ReasonHook && stage.Status == ralph.TaskPending
}
