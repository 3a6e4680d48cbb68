package journal

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// inboxFacts are what becomes of a person's edits of inbox.jsonl: what is wanted holds,
// what happened stays.
func inboxFacts(d edits[*ralph.Spec, ralph.SpecID], s *ralph.State) []ralph.Fact {
	var facts []ralph.Fact
	told := ralph.ViewRead{File: "ralph/inbox.jsonl"}
	keep := func(k *ralph.Kept) {
		if k != nil {
			told.Kept = append(told.Kept, *k)
		}
	}
	for _, x := range d.added {
		spec, kept := s.SpecAddedByFile(*x)
		keep(kept)
		facts = append(facts, ralph.SpecAdded{Spec: spec})
		told.Added++
	}
	for _, x := range d.edited {
		now := s.Spec(x.ID)
		spec, kept := now.EditedByFile(*x)
		keep(kept)
		if specLine(&spec) != specLine(now) {
			facts = append(facts, ralph.SpecEdited{Spec: spec})
			told.Edited++
		}
	}
	for _, id := range d.removed {
		if kept := s.Spec(id).KeepsSpec(); kept != nil {
			keep(kept)
			continue
		}
		facts = append(facts, ralph.SpecRemoved{ID: id})
		told.Removed++
	}
	if d.order != nil {
		facts = append(facts, ralph.InboxOrdered{IDs: d.order})
		told.Reordered = true
	}
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
func taskFacts(base, file []*ralph.Task, s *ralph.State) ([]ralph.Fact, ralph.ViewRead) {
	var facts []ralph.Fact
	var told ralph.ViewRead
	d := diff(base, file, s.Plan.Tasks, func(x *ralph.Task) ralph.TaskID { return x.ID }, taskLine,
		func(line string) (*ralph.Task, error) {
			r, err := readPlanRecord(line, nil)
			return r.task, err
		})
	keep := func(k *ralph.Kept) {
		if k != nil {
			told.Kept = append(told.Kept, *k)
		}
	}
	for _, x := range d.added {
		task, kept := s.AddedByFile(*x)
		keep(kept)
		facts = append(facts, ralph.TaskAdded{Task: task})
		told.Added++
	}
	for _, x := range d.edited {
		now := s.Task(x.ID)
		task, kept := now.EditedByFile(*x)
		keep(kept)
		if taskLine(&task) != taskLine(now) {
			facts = append(facts, ralph.TaskEdited{Task: task})
			told.Edited++
		}
	}
	for _, id := range d.removed {
		if kept := s.Task(id).KeepsTask(); kept != nil {
			keep(kept)
			continue
		}
		facts = append(facts, ralph.TaskRemoved{ID: id})
		told.Removed++
	}
	if d.order != nil {
		facts = append(facts, ralph.PlanOrdered{IDs: d.order})
		told.Reordered = true
	}
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
