package ralph

import (
	"fmt"
	"slices"
	"time"
)

// What people change in inbox.jsonl and plan.jsonl, and what of it holds: the
// files say what is wanted, the journal says what happened. An old file, put back by git
// or an editor, can ask for nothing that undoes what was paid for.

// ViewRead says what was taken from a file that somebody changed, and what was kept as
// the journal has it. It comes behind the facts that it counts.
type ViewRead struct {
	File      string `json:"file"` // ralph/plan.jsonl or ralph/inbox.jsonl
	Added     int    `json:"added,omitempty"`
	Edited    int    `json:"edited,omitempty"`
	Removed   int    `json:"removed,omitempty"`
	Reordered bool   `json:"reordered,omitempty"`
	// Replaced: it is a plan of another spec, and the old one made room for it.
	Replaced bool   `json:"replaced,omitempty"`
	Kept     []Kept `json:"kept,omitempty"`
	// Older: the file is, to the letter, what it was before something happened: git or an
	// editor put it back, and nobody wrote it. Nothing of it is taken.
	Older bool `json:"older,omitempty"`
	// Gone: somebody deleted it, and it is written again from the journal.
	Gone bool `json:"gone,omitempty"`
	// Again: it could not be read before, and now it can.
	Again bool `json:"again,omitempty"`
}

// Kind implements Fact.
func (ViewRead) Kind() string { return "view.read" }

// About implements Fact.
func (ViewRead) About() TaskID { return "" }

func (f ViewRead) fold(s *State, e Event) {
	s.Unread = slices.DeleteFunc(slices.Clone(s.Unread), func(u Unreadable) bool { return u.File == f.File })
}

// Kept is one record that the journal kept against a file.
type Kept struct {
	ID  string `json:"id,omitempty"`
	Why string `json:"why"`
}

// ViewUnreadable says that a file cannot be read while an engine works: it goes on with
// what the file said last.
type ViewUnreadable struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Why  string `json:"why"`
}

// Kind implements Fact.
func (ViewUnreadable) Kind() string { return "view.unreadable" }

// About implements Fact.
func (ViewUnreadable) About() TaskID { return "" }

func (f ViewUnreadable) fold(s *State, e Event) {
	since := e.At
	if old := s.Unreadable(f.File); old != nil {
		since = old.Since
	}
	s.Unread = slices.DeleteFunc(slices.Clone(s.Unread), func(u Unreadable) bool { return u.File == f.File })
	s.Unread = append(s.Unread, Unreadable{f, since})
}

// JournalCut says that the facts from Lost on could not be read, or did not follow, and
// were moved aside. It stands where the first of them stood.
type JournalCut struct {
	Lost  int64  `json:"lost"`            // the first fact that is gone
	Until int64  `json:"until,omitempty"` // the last one that could still be read; 0: none
	Lines int    `json:"lines"`           // how many lines were moved aside
	File  string `json:"file"`            // where they lie
	Why   string `json:"why"`
}

// Kind implements Fact.
func (JournalCut) Kind() string { return "journal.cut" }

// About implements Fact.
func (JournalCut) About() TaskID { return "" }

func (f JournalCut) fold(s *State, e Event) {
	s.cut(e.At)
}

// Unreadable is a file that cannot be read at the moment.
type Unreadable struct {
	ViewUnreadable
	Since time.Time `json:"since"`
}

// Unreadable returns what is known of a file that cannot be read, nil when it can.
func (s *State) Unreadable(file string) *Unreadable {
	for i, u := range s.Unread {
		if u.File == file {
			return &s.Unread[i]
		}
	}
	return nil
}

// cut ends whatever was at work where the journal ends for good: nobody knows what came
// of it but the files that people edit, and those are read anew against this.
func (s *State) cut(at time.Time) {
	s.turnsOver("")
	s.interruptTasks()
	for _, x := range s.Inbox {
		if x.Status == SpecActive {
			s.editSpec(x.ID, func(x *Spec) { x.Status, x.StartedAt = SpecPending, time.Time{} })
		}
	}
	if s.Session.Live() {
		s.sessionEnded(SessionEnded{Reason: ReasonError, Detail: "the journal was cut here: what followed could not be read"}, at)
	}
	s.Job, s.Stages, s.Approvals = nil, nil, nil
}

// Ended is a record that was done before its line was taken out of a file. Should the
// line come back, as it does with an old file, the work is not done again.
type Ended struct {
	ID   string `json:"id"`
	Name string `json:"name"` // a task's name or a spec's file: people use ids again
}

// maxEnded is how many of them are remembered, the newest.
const maxEnded = 500

// remember notes a task or a spec that is done and leaves the state.
func (s *State) remember(t *Task, x *Spec) {
	var done Ended
	switch {
	case t != nil && t.Status == TaskDone && t.IsBuild():
		done = Ended{string(t.ID), t.Name}
	case x != nil && x.Status == SpecDone:
		done = Ended{string(x.ID), x.File}
	default:
		return
	}
	gone := append(slices.Clone(s.Gone), done)
	s.Gone = gone[max(0, len(gone)-maxEnded):]
}

// AddedByFile is a task whose line is new in the file, as it goes into the plan: one
// that was done before its line went away is done still.
func (s *State) AddedByFile(t Task) (Task, *Kept) {
	if t.Status == TaskActive { // that is the engine's word
		t.Status, t.Line = TaskPending, ""
	}
	if t.Status != TaskDone && slices.Contains(s.Gone, Ended{string(t.ID), t.Name}) {
		kept := &Kept{string(t.ID), fmt.Sprintf("%s was done before its line was taken out (the file says %s)", t.ID, t.Status)}
		t.Status, t.Line = TaskDone, ""
		return t, kept
	}
	return t, nil
}

// SpecAddedByFile is likewise for a record of the inbox.
func (s *State) SpecAddedByFile(x Spec) (Spec, *Kept) {
	if x.Status != SpecDone && slices.Contains(s.Gone, Ended{string(x.ID), x.File}) {
		kept := &Kept{string(x.ID), fmt.Sprintf("%s was done before its line was taken out (the file says %s)", x.ID, x.Status)}
		x.Status, x.Line = SpecDone, ""
		return x, kept
	}
	return x, nil
}

// KeepsPlan says why the plan stays although the file has one of another spec: somebody
// works on it.
func (s *State) KeepsPlan(file string) *Kept {
	busy := s.Job != nil && s.Session.Live() || slices.ContainsFunc(s.Plan.Tasks, func(t *Task) bool { return t.Status == TaskActive })
	if s.Plan.File == "" || !busy {
		return nil
	}
	return &Kept{Why: fmt.Sprintf("the plan of %s is at work (the file has that of %s)", s.Plan.File, file)}
}
