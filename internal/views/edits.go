package views

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// wish turns the edits of one kind of record into facts, or into what is kept against the
// file. edit returns no fact where nothing is left of an edit.
type wish[T any, ID comparable] struct {
	add    func(*T) (ralph.Fact, *ralph.Kept)
	edit   func(*T) (ralph.Fact, *ralph.Kept)
	remove func(ID) (ralph.Fact, *ralph.Kept)
	order  func([]ID) ralph.Fact
}

// facts are what becomes of the edits; told counts them.
func (w wish[T, ID]) facts(d edits[*T, ID], told *ralph.ViewRead) []ralph.Fact {
	var facts []ralph.Fact
	take := func(n *int, fact ralph.Fact, kept *ralph.Kept) {
		if kept != nil {
			told.Kept = append(told.Kept, *kept)
		}
		if fact != nil {
			facts = append(facts, fact)
			*n++
		}
	}
	for _, x := range d.added {
		fact, kept := w.add(x)
		take(&told.Added, fact, kept)
	}
	for _, x := range d.edited {
		fact, kept := w.edit(x)
		take(&told.Edited, fact, kept)
	}
	for _, id := range d.removed {
		fact, kept := w.remove(id)
		take(&told.Removed, fact, kept)
	}
	if d.order != nil {
		facts = append(facts, w.order(d.order))
		told.Reordered = true
	}
	return facts
}

// inboxFacts are what becomes of a person's edits of inbox.jsonl: what is wanted holds,
// what happened stays.
func inboxFacts(d edits[*ralph.Spec, ralph.SpecID], s *ralph.State) []ralph.Fact {
	told := ralph.ViewRead{File: "ralph/inbox.jsonl"}
	facts := wish[ralph.Spec, ralph.SpecID]{
		add: func(x *ralph.Spec) (ralph.Fact, *ralph.Kept) {
			spec, kept := s.SpecAddedByFile(*x)
			return ralph.SpecAdded{Spec: spec}, kept
		},
		edit: func(x *ralph.Spec) (ralph.Fact, *ralph.Kept) {
			now := s.Spec(x.ID)
			spec, kept := now.EditedByFile(*x)
			if specLine(&spec) == specLine(now) {
				return nil, kept
			}
			return ralph.SpecEdited{Spec: spec}, kept
		},
		remove: func(id ralph.SpecID) (ralph.Fact, *ralph.Kept) {
			if kept := s.Spec(id).KeepsSpec(); kept != nil {
				return nil, kept
			}
			return ralph.SpecRemoved{ID: id}, nil
		},
		order: func(ids []ralph.SpecID) ralph.Fact { return ralph.InboxOrdered{IDs: ids} },
	}.facts(d, &told)
	if len(facts) == 0 && told.Kept == nil {
		return nil
	}
	return append(facts, told)
}

// planFacts are the facts between the base and the file, seen from the state, and what
// people are told of them.
func planFacts(base, file planText, s *ralph.State) ([]ralph.Fact, ralph.ViewRead) {
	facts, told := taskFacts(base.tasks, file.tasks, s)
	i := diff(base.issues, file.issues, s.Plan.Issues, func(x *ralph.Issue) ralph.IssueID { return x.ID }, issueLine,
		func(line string) (*ralph.Issue, error) {
			r, err := readPlanRecord(line, nil)
			return r.issue, err
		})
	for _, x := range append(i.added, i.edited...) {
		if slices.Contains(i.edited, x) {
			facts = append(facts, ralph.IssueRemoved{ID: x.ID})
		}
		facts = append(facts, ralph.IssueAdded{Issue: *x})
	}
	for _, id := range i.removed {
		facts = append(facts, ralph.IssueRemoved{ID: id})
	}
	r := diff(base.rejects, file.rejects, s.Plan.Rejects, rejectLine, rejectLine, nil)
	for _, x := range r.added {
		facts = append(facts, ralph.RejectAdded{Reject: *x})
	}
	told.Added += len(i.added) + len(r.added)
	told.Edited += len(i.edited)
	told.Removed += len(i.removed)
	return facts, told
}

// taskFacts are those about tasks: the file adds, edits, orders and cancels; what is at
// work or done stays so.
func taskFacts(base, file []*ralph.Task, s *ralph.State) (facts []ralph.Fact, told ralph.ViewRead) {
	d := diff(base, file, s.Plan.Tasks, func(x *ralph.Task) ralph.TaskID { return x.ID }, taskLine,
		func(line string) (*ralph.Task, error) {
			r, err := readPlanRecord(line, nil)
			return r.task, err
		})
	facts = wish[ralph.Task, ralph.TaskID]{
		add: func(x *ralph.Task) (ralph.Fact, *ralph.Kept) {
			task, kept := s.AddedByFile(*x)
			return ralph.TaskAdded{Task: task}, kept
		},
		edit: func(x *ralph.Task) (ralph.Fact, *ralph.Kept) {
			now := s.Task(x.ID)
			task, kept := now.EditedByFile(*x)
			if taskLine(&task) == taskLine(now) {
				return nil, kept
			}
			return ralph.TaskEdited{Task: task}, kept
		},
		remove: func(id ralph.TaskID) (ralph.Fact, *ralph.Kept) {
			if kept := s.Task(id).KeepsTask(); kept != nil {
				return nil, kept
			}
			return ralph.TaskRemoved{ID: id}, nil
		},
		order: func(ids []ralph.TaskID) ralph.Fact { return ralph.PlanOrdered{IDs: ids} },
	}.facts(d, &told)
	return facts, told
}

// edits is what a person did to a list of records.
type edits[T any, ID comparable] struct {
	added, edited []T
	removed       []ID
	order         []ID // nil: as it was
}

// diff compares file with base, and leaves out what the state says already.
// line writes a record and read reads it. An edited record keeps what the state
// has changed in it since base.
func diff[T any, ID comparable](base, file, now []T, id func(T) ID, line func(T) string, read func(string) (T, error)) edits[T, ID] {
	index := func(list []T) map[ID]string {
		m := make(map[ID]string, len(list))
		for _, x := range list {
			m[id(x)] = line(x)
		}
		return m
	}
	wasLines, nowLines, fileLines := index(base), index(now), index(file)
	var d edits[T, ID]
	for _, x := range file {
		was, inBase := wasLines[id(x)]
		is, inState := nowLines[id(x)]
		switch {
		case inBase && was == line(x): // untouched
		case !inState && !inBase:
			d.added = append(d.added, x)
		case inState && inBase && is != was:
			merged, err := read(mergeLines(was, line(x), is))
			if err != nil { // the file wins
				merged = x
			}
			if line(merged) != is {
				d.edited = append(d.edited, merged)
			}
		case inState && is != line(x):
			d.edited = append(d.edited, x)
		}
	}
	for _, x := range base {
		_, kept := fileLines[id(x)]
		_, inState := nowLines[id(x)]
		if !kept && inState {
			d.removed = append(d.removed, id(x))
		}
	}
	if moved(base, file, wasLines, fileLines, id) {
		for _, x := range file {
			d.order = append(d.order, id(x))
		}
	}
	return d
}

// moved reports whether a person gave the records another order, or put a new
// one before an old one. New ones at the end are where they belong anyway.
func moved[T any, ID comparable](base, file []T, inBase, inFile map[ID]string, id func(T) ID) bool {
	var was, is []ID
	for _, x := range base {
		if _, ok := inFile[id(x)]; ok {
			was = append(was, id(x))
		}
	}
	added := false
	for _, x := range file {
		if _, ok := inBase[id(x)]; !ok {
			added = true
			continue
		}
		if added {
			return true
		}
		is = append(is, id(x))
	}
	return !slices.Equal(was, is)
}
