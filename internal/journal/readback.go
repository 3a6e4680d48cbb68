package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// readBack returns the facts that bring the state in line with what people
// changed in the views since ralph wrote them last: the file wins. The base of
// the comparison is the copy of that last write, so a view that is merely stale
// (a crash came between fact and view) is no edit, and an edit made beside new
// facts takes back none of them.
func (v *views) readBack(s *ralph.State) ([]ralph.Fact, error) {
	var facts []ralph.Fact
	if v.readInbox {
		more, err := v.readBackInbox(s)
		if err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	if v.readPlan {
		more, err := v.readBackPlan(s)
		if err != nil {
			return nil, err
		}
		facts = append(facts, more...)
	}
	return facts, nil
}

// changed returns the view's text and its base when a person changed it.
func (v *views) changed(f *viewFile, render func() string) (text, base string, ok bool, err error) {
	info, err := os.Stat(f.path)
	if err == nil && f.seen != nil && os.SameFile(info, f.seen) && info.Size() == f.seen.Size() && info.ModTime().Equal(f.seen.ModTime()) {
		return "", "", false, nil
	}
	b, err := os.ReadFile(f.path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return "", "", false, fmt.Errorf("read %s: %w", f.name, err)
	}
	baseText, err := os.ReadFile(f.base)
	switch {
	case errors.Is(err, os.ErrNotExist):
		baseText = []byte(render())
	case err != nil:
		return "", "", false, fmt.Errorf("read %s: %w", f.base, err)
	}
	if missing && len(baseText) == 0 {
		return "", "", false, nil
	}
	if missing { // deleted by a person, or never checked out: what it said is not taken back
		f.stale = true
		return "", "", false, nil
	}
	f.seen = info
	if string(b) == string(baseText) {
		return "", "", false, nil
	}
	return string(b), string(baseText), true, nil
}

// eachRecord calls read for each line that is not blank.
func eachRecord(name, text string, read func(line string) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := read(line); err != nil {
			return &ralph.CorruptError{File: name, Line: n, Why: err.Error()}
		}
	}
	return nil
}

func parseInbox(name, text string) ([]*ralph.Spec, error) {
	var specs []*ralph.Spec
	err := eachRecord(name, text, func(line string) error {
		x, err := readSpec(line)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(specs, func(y *ralph.Spec) bool { return y.ID == x.ID }) {
			return fmt.Errorf("id %s stands twice", x.ID)
		}
		specs = append(specs, x)
		return nil
	})
	return specs, err
}

func (v *views) readBackInbox(s *ralph.State) ([]ralph.Fact, error) {
	text, baseText, ok, err := v.changed(&v.inbox, func() string { return renderInbox(s) })
	if !ok || err != nil {
		return nil, err
	}
	file, err := parseInbox(v.inbox.name, text)
	if err != nil {
		v.inbox.seen = nil // look again next time
		return nil, err
	}
	base, err := parseInbox(v.inbox.name, baseText)
	if err != nil {
		base = nil
	}
	d := diff(base, file, s.Inbox, func(x *ralph.Spec) ralph.SpecID { return x.ID }, specLine)
	var facts []ralph.Fact
	for _, x := range d.added {
		facts = append(facts, ralph.SpecAdded{Spec: *x})
	}
	for _, x := range d.edited {
		facts = append(facts, ralph.SpecEdited{Spec: *x})
	}
	for _, id := range d.removed {
		facts = append(facts, ralph.SpecRemoved{ID: id})
	}
	if d.order != nil {
		facts = append(facts, ralph.InboxOrdered{IDs: d.order})
	}
	v.inbox.stale = true
	return facts, nil
}

// planText is plan.jsonl, parsed.
type planText struct {
	file    string
	tasks   []*ralph.Task
	issues  []*ralph.Issue
	rejects []*ralph.Reject
}

func parsePlan(name, text string, newID func(string) string) (planText, error) {
	var p planText
	err := eachRecord(name, text, func(line string) error {
		r, err := readPlanRecord(line, newID)
		if err != nil {
			return err
		}
		switch {
		case r.task != nil:
			if slices.ContainsFunc(p.tasks, func(y *ralph.Task) bool { return y.ID == r.task.ID }) {
				return fmt.Errorf("id %s stands twice", r.task.ID)
			}
			p.tasks = append(p.tasks, r.task)
		case r.issue != nil:
			p.issues = append(p.issues, r.issue)
		case r.reject != nil:
			p.rejects = append(p.rejects, r.reject)
		default:
			p.file = r.file
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if err := ralph.CheckDeps(p.tasks); err != nil {
		return p, &ralph.CorruptError{File: name, Why: err.Error()}
	}
	return p, nil
}

func (v *views) readBackPlan(s *ralph.State) ([]ralph.Fact, error) {
	text, baseText, ok, err := v.changed(&v.plan, func() string { return renderPlan(s) })
	if !ok || err != nil {
		return nil, err
	}
	file, err := parsePlan(v.plan.name, text, v.newID)
	if err != nil {
		v.plan.seen = nil
		return nil, err
	}
	base, err := parsePlan(v.plan.name, baseText, v.newID)
	if err != nil {
		base = planText{}
	}
	v.plan.stale = true
	if file.file != base.file && file.file != s.Plan.File {
		facts := []ralph.Fact{ralph.PlanStarted{File: file.file}}
		return append(facts, planFacts(planText{}, file, &ralph.State{})...), nil
	}
	return planFacts(base, file, s), nil
}

// planFacts are the facts between the base and the file, seen from the state.
func planFacts(base, file planText, s *ralph.State) []ralph.Fact {
	var facts []ralph.Fact
	t := diff(base.tasks, file.tasks, s.Plan.Tasks, func(x *ralph.Task) ralph.TaskID { return x.ID }, taskLine)
	for _, x := range t.added {
		facts = append(facts, ralph.TaskAdded{Task: *x})
	}
	for _, x := range t.edited {
		facts = append(facts, ralph.TaskEdited{Task: *x})
	}
	for _, id := range t.removed {
		facts = append(facts, ralph.TaskRemoved{ID: id})
	}
	if t.order != nil {
		facts = append(facts, ralph.PlanOrdered{IDs: t.order})
	}
	i := diff(base.issues, file.issues, s.Plan.Issues, func(x *ralph.Issue) ralph.IssueID { return x.ID }, issueLine)
	for _, x := range append(i.added, i.edited...) {
		if slices.Contains(i.edited, x) {
			facts = append(facts, ralph.IssueRemoved{ID: x.ID})
		}
		facts = append(facts, ralph.IssueAdded{Issue: *x})
	}
	for _, id := range i.removed {
		facts = append(facts, ralph.IssueRemoved{ID: id})
	}
	r := diff(base.rejects, file.rejects, s.Plan.Rejects, rejectLine, rejectLine)
	for _, x := range r.added {
		facts = append(facts, ralph.RejectAdded{Reject: *x})
	}
	return facts
}

// edits is what a person did to a list of records.
type edits[T any, ID comparable] struct {
	added, edited []T
	removed       []ID
	order         []ID // nil: as it was
}

// diff compares file with base, and leaves out what the state says already.
func diff[T any, ID comparable](base, file, now []T, id func(T) ID, line func(T) string) edits[T, ID] {
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
	order := func(list []T, other map[ID]string) []ID {
		var ids []ID
		for _, x := range list {
			if _, ok := other[id(x)]; ok {
				ids = append(ids, id(x))
			}
		}
		return ids
	}
	if !slices.Equal(order(base, fileLines), order(file, wasLines)) {
		for _, x := range file {
			d.order = append(d.order, id(x))
		}
	}
	return d
}

// viewFile is one view on disk.
type viewFile struct {
	name  string // relative to the repository, for messages
	path  string
	base  string      // copy of what ralph wrote last
	seen  os.FileInfo // of the last look: unchanged means not to look again
	stale bool        // to be written although no fact says so
}

func newViewFile(root, name string) viewFile {
	return viewFile{
		name: name, path: filepath.Join(root, name),
		base: filepath.Join(root, stateDir, "views", filepath.Base(name)),
	}
}
