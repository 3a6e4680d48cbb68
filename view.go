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

// JournalCut says that the facts from Lost on could not be read, or did not follow, and
// were moved aside (R-M2). It stands where the first of them stood.
type JournalCut struct {
	Lost  int64  `json:"lost"`            // the first fact that is gone
	Until int64  `json:"until,omitempty"` // the last one that could still be read; 0: none
	Lines int    `json:"lines"`           // how many lines were moved aside
	File  string `json:"file"`            // where they lie
	Why   string `json:"why"`
}

// The names of these facts, "t" in the file.
func (ViewRead) Kind() string       { return "view.read" }
func (ViewUnreadable) Kind() string { return "view.unreadable" }
func (JournalCut) Kind() string     { return "journal.cut" }

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

// applyView folds what concerns the files that people edit, and notes what leaves the
// lists; it reports whether that is all there is to the fact.
func (s *State) applyView(e Event) bool {
	switch f := e.Fact.(type) {
	case SpecRemoved:
		s.remember(nil, s.Spec(f.ID))
		return false
	case TaskRemoved:
		s.remember(s.Task(f.ID), nil)
		return false
	case PlanStarted:
		for _, t := range s.Plan.Tasks {
			s.remember(t, nil)
		}
		return false
	case ViewRead:
		s.Unread = slices.DeleteFunc(slices.Clone(s.Unread), func(u Unreadable) bool { return u.File == f.File })
	case ViewUnreadable:
		since := e.At
		if old := s.Unreadable(f.File); old != nil {
			since = old.Since
		}
		s.Unread = slices.DeleteFunc(slices.Clone(s.Unread), func(u Unreadable) bool { return u.File == f.File })
		s.Unread = append(s.Unread, Unreadable{f, since})
	case JournalCut:
		s.cut(e.At)
	default:
		return false
	}
	return true
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
	s.Job, s.Stages, s.Gates = nil, nil, nil
}

// Ended is a record that was done before its line was taken out of a file. Should the
// line come back, as it does with an old file, the work is not done again.
type Ended struct {
	ID   string `json:"id"`
	Name string `json:"name"` // a task's name or a spec's file: people use ids again
}

// mostEnded is how many of them are remembered, the newest.
const mostEnded = 500

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
	s.Gone = gone[max(0, len(gone)-mostEnded):]
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

// EditedByFile is what a person's edit of a task's line makes of it. Everything that is
// wanted holds; a status goes only forward: what is at work or over is so until
// `ralph task retry`, `reject` or `skip` says otherwise.
func (t *Task) EditedByFile(edited Task) (Task, *Kept) {
	if edited.RetryCount != t.RetryCount { // a count of what happened
		edited.RetryCount, edited.Line = t.RetryCount, ""
	}
	if edited.Status == t.Status || t.Status == TaskPending && edited.Status != TaskActive {
		return edited, nil
	}
	asked := edited.Status
	edited.Status, edited.Line = t.Status, ""
	why := fmt.Sprintf("%s is %s (the file says %s", t.ID, t.Status, asked)
	switch {
	case t.Status == TaskActive:
		why += fmt.Sprintf("; `ralph task skip %s` ends it)", t.ID)
	case t.Status == TaskDone && asked == TaskPending:
		why += fmt.Sprintf("; `ralph task reject %s` sends it back)", t.ID)
	case asked == TaskPending:
		why += fmt.Sprintf("; `ralph task retry %s` tries it again)", t.ID)
	default:
		why += ")"
	}
	return edited, &Kept{string(t.ID), why}
}

// EditedByFile is what a person's edit of an inbox line makes of the record.
func (x *Spec) EditedByFile(edited Spec) (Spec, *Kept) {
	over := x.Status == SpecActive || x.Status == SpecDone
	if edited.Status == x.Status || !over && edited.Status != SpecActive {
		return edited, nil
	}
	asked := edited.Status
	edited.Status, edited.Line = x.Status, ""
	edited.StartedAt, edited.EndedAt = x.StartedAt, x.EndedAt
	why := fmt.Sprintf("%s is %s (the file says %s", x.ID, x.Status, asked)
	if x.Status == SpecDone && asked == SpecPending {
		why += fmt.Sprintf("; `ralph inbox add %s` queues it once more", x.File)
	}
	return edited, &Kept{string(x.ID), why + ")"}
}

// KeepsTask says why the task stays although its line is gone from the file, nil when it
// may go.
func (t *Task) KeepsTask() *Kept {
	q := t.Run.Queue.State
	switch {
	case t.Status == TaskActive:
		return &Kept{string(t.ID), fmt.Sprintf("%s is at work (its line is gone; `ralph task skip %s` ends it)", t.ID, t.ID)}
	case t.Status == TaskDone && q != "" && q != MergeMerged:
		return &Kept{string(t.ID), fmt.Sprintf("%s is done and not merged yet (its line is gone)", t.ID)}
	case t.Status != TaskDone && t.Run.Place.Dir != "":
		return &Kept{string(t.ID), fmt.Sprintf("%s has work in %s (its line is gone; `ralph task cleanup %s` puts that away)", t.ID, t.Run.Place.Dir, t.ID)}
	}
	return nil
}

// KeepsSpec is likewise for a record of the inbox.
func (x *Spec) KeepsSpec() *Kept {
	if x.Status == SpecActive {
		return &Kept{string(x.ID), fmt.Sprintf("%s is at work (its line is gone)", x.ID)}
	}
	return nil
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
