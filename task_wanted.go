package ralph

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// What a person wants of a task that is there.

// TaskRetried gives a task that ended badly another try, its worktree kept (B-076).
type TaskRetried struct {
	ID TaskID `json:"id"`
	// Free: what ended was no failure (blocked, skipped), so that retry_count stays.
	Free bool `json:"free,omitempty"`
}

// Kind implements Fact.
func (TaskRetried) Kind() string { return "task.retried" }

// About implements Fact.
func (f TaskRetried) About() TaskID { return f.ID }

func (f TaskRetried) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) {
		t.Status, t.Run = TaskPending, t.Run.again()
		if !f.Free {
			t.RetryCount++
		}
	})
}

// SkipWanted leaves a task out at the end of the iteration that it is in (B-065).
type SkipWanted struct {
	ID     TaskID `json:"id"`
	Reason string `json:"reason"`
}

// Kind implements Fact.
func (SkipWanted) Kind() string { return "skip.wanted" }

// About implements Fact.
func (f SkipWanted) About() TaskID { return f.ID }

func (f SkipWanted) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) { t.Run.Skip = f.Reason })
}

// TaskRolledBack undoes a task's work and makes it pending (B-078).
type TaskRolledBack struct {
	ID     TaskID  `json:"id"`
	Revert string  `json:"revert,omitempty"` // merged: the commit that undoes it
	Saved  []Saved `json:"saved,omitempty"`  // unmerged: where its commits and changes are
}

// Kind implements Fact.
func (TaskRolledBack) Kind() string { return "task.rolledback" }

// About implements Fact.
func (f TaskRolledBack) About() TaskID { return f.ID }

func (f TaskRolledBack) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) {
		rejects := t.Run.Rejects
		t.Status, t.Run = TaskPending, Run{Approvals: Approvals{Rejects: rejects}, Worktree: Worktree{Dir: t.Run.Worktree.Dir}}
		t.RetryCount++
	})
}

// TaskCleaned takes the worktree of a task away; its status stays (B-079).
type TaskCleaned struct {
	ID    TaskID  `json:"id"`
	Dir   string  `json:"dir,omitempty"`
	Saved []Saved `json:"saved,omitempty"`
}

// Kind implements Fact.
func (TaskCleaned) Kind() string { return "task.cleaned" }

// About implements Fact.
func (f TaskCleaned) About() TaskID { return f.ID }

func (f TaskCleaned) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) {
		t.Run.Worktree.Dir, t.Run.Worktree.Ready = "", false // the branch stays, also where files were saved
	})
}

// TaskMessaged is what a person says to the agent of a task, unasked (B-021).
type TaskMessaged struct {
	ID   TaskID `json:"id"`
	Text string `json:"text"`
}

// Kind implements Fact.
func (TaskMessaged) Kind() string { return "task.told" }

// About implements Fact.
func (f TaskMessaged) About() TaskID { return f.ID }

func (f TaskMessaged) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) { t.Run.Words = append(slices.Clone(t.Run.Words), f.Text) })
}

// TaskExtended raises the iterations or the time of one task (B-082).
type TaskExtended struct {
	ID            TaskID        `json:"id"`
	MaxIterations int           `json:"max_iterations"`    // as before where only its time is raised
	Timeout       time.Duration `json:"timeout,omitempty"` // 0: as before
}

// Kind implements Fact.
func (TaskExtended) Kind() string { return "task.extended" }

// About implements Fact.
func (f TaskExtended) About() TaskID { return f.ID }

func (f TaskExtended) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) {
		t.MaxIterations, t.Line = f.MaxIterations, ""
		if f.Timeout > 0 {
			t.Timeout = f.Timeout
		}
	})
}

// Words says what a task may take now.
func (f TaskExtended) Words() string {
	switch {
	case f.Timeout == 0:
		return text.Count(f.MaxIterations, "iteration")
	case f.MaxIterations == 0:
		return ClockTime(f.Timeout)
	}
	return text.Count(f.MaxIterations, "iteration") + " and " + ClockTime(f.Timeout)
}

// TaskAssigned is a person's choice of what is worked on next (B-091).
type TaskAssigned struct {
	ID TaskID `json:"id"`
}

// Kind implements Fact.
func (TaskAssigned) Kind() string { return "task.assigned" }

// About implements Fact.
func (f TaskAssigned) About() TaskID { return f.ID }

func (f TaskAssigned) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) { t.Run.Assigned = true })
}
