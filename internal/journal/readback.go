package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// show applies to s what people changed in the views, for a reader that records nothing.
// A view that still is the file in which a look found no edit is not read again, whatever
// has become a fact since: with each fact that would be all the parsing there is.
func (v *views) show(s *ralph.State) error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		if f.edited {
			f.seen = nil // it may have been recorded meanwhile
		}
	}
	edits, err := v.readBack(s)
	for _, fact := range edits {
		s.Apply(ralph.Event{Seq: s.Seq, Hash: s.Hash, At: s.At, Fact: fact})
	}
	return err
}

// forget makes the next readBack look at the views again.
func (v *views) forget() { v.inbox.seen, v.plan.seen = nil, nil }

// forgetBases is for a journal that begins: the copies are of another one, that
// was deleted. Without them all that the views say is read back, and not one
// record of it is taken for something the state has since removed.
func (v *views) forgetBases() error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		if err := os.Remove(f.base); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", f.base, err)
		}
	}
	return nil
}

// stale reports whether a view has to be written although no fact says so.
func (v *views) stale() bool {
	return v.readInbox && v.inbox.stale || v.readPlan && v.plan.stale
}

// rebase is called when what readBack found is recorded: it is part of the
// state from here on, and compared no more.
func (v *views) rebase() error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		if !f.edited {
			continue
		}
		f.edited = false
		if err := f.remember(f.seen, f.text); err != nil {
			return err
		}
	}
	return nil
}

// changed returns the view's text and its base when a person changed it. A
// journal that begins has no base, whatever lies there (forgetBases).
func (f *viewFile) changed(begins bool, render func() string) (text, base string, ok bool, err error) {
	f.edited = false
	info, err := os.Stat(f.path)
	if err == nil && f.sawLast(info) {
		return "", "", false, nil
	}
	b, err := os.ReadFile(f.path)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return "", "", false, fmt.Errorf("read %s: %w", f.name, err)
	}
	now := render()
	baseText, err := os.ReadFile(f.base)
	switch {
	case begins, errors.Is(err, os.ErrNotExist):
		baseText = []byte(now)
	case err != nil:
		return "", "", false, fmt.Errorf("read %s: %w", f.base, err)
	}
	// A view that a crash left behind the facts is to be written, and so is one
	// that a person deleted: what it said is not taken back.
	f.stale = string(b) != now
	if missing {
		f.seen = nil
		return "", "", false, nil
	}
	f.seen, f.text = info, string(b)
	f.edited = f.text != string(baseText)
	return f.text, string(baseText), f.edited, nil
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
		err := error(nil)
		if !utf8.ValidString(line) { // the journal could not keep it byte for byte
			err = errors.New("not UTF-8")
		} else {
			err = read(line)
		}
		if err != nil {
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
	text, baseText, ok, err := v.inbox.changed(s.Seq == 0, func() string { return v.renderInbox(s) })
	if !ok || err != nil {
		return nil, err
	}
	file, err := parseInbox(v.inbox.name, text)
	if err != nil {
		return nil, err
	}
	base, err := parseInbox(v.inbox.name, baseText)
	if err != nil {
		base = nil
	}
	d := diff(base, file, s.Inbox, func(x *ralph.Spec) ralph.SpecID { return x.ID }, specLine, readSpec)
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
	return facts, nil
}

// planText is plan.jsonl, parsed.
type planText struct {
	file    string
	tasks   []*ralph.Task
	issues  []*ralph.Issue
	rejects []*ralph.Reject
}

func parsePlan(name, text string, newID func(prefix, words string) string) (planText, error) {
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
			if slices.ContainsFunc(p.issues, func(y *ralph.Issue) bool { return y.ID == r.issue.ID }) {
				return fmt.Errorf("id %s stands twice", r.issue.ID)
			}
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
	text, baseText, ok, err := v.plan.changed(s.Seq == 0, func() string { return v.renderPlan(s) })
	if !ok || err != nil {
		return nil, err
	}
	fresh := v.freshID(text + baseText)
	file, err := parsePlan(v.plan.name, text, unwritten(s, text+baseText, fresh))
	if err != nil {
		return nil, err
	}
	base, err := parsePlan(v.plan.name, baseText, unwritten(s, text+baseText, fresh))
	if err != nil {
		base = planText{}
	}
	if file.file != base.file && file.file != s.Plan.File {
		facts := []ralph.Fact{ralph.PlanStarted{File: file.file}}
		return append(facts, planFacts(planText{}, file, &ralph.State{})...), nil
	}
	return planFacts(base, file, s), nil
}

// unwritten returns ids for records without one: that of the record in the state with
// the same words whose id stands in neither file, else a fresh one. Such a record was
// read back before, and its id did not come into the view: a crash came first, or a
// person saved once more.
func unwritten(s *ralph.State, text string, fresh func(prefix string) string) func(prefix, words string) string {
	taken := map[string]bool{}
	return func(prefix, words string) string {
		take := func(id, its string) bool {
			if its != words || taken[id] || strings.Contains(text, strconv.Quote(id)) {
				return false
			}
			taken[id] = true
			return true
		}
		for _, t := range s.Plan.Tasks {
			if prefix == "t" && take(string(t.ID), t.Name) {
				return string(t.ID)
			}
		}
		for _, i := range s.Plan.Issues {
			if prefix == "i" && take(string(i.ID), i.Desc) {
				return string(i.ID)
			}
		}
		return fresh(prefix)
	}
}

// freshID returns ids for records without one that are not in text, nor given
// out before.
func (v *views) freshID(text string) func(prefix string) string {
	given := map[string]bool{}
	return func(prefix string) string {
		for {
			id := v.newID(prefix)
			if !given[id] && !strings.Contains(text, id) {
				given[id] = true
				return id
			}
		}
	}
}

// planFacts are the facts between the base and the file, seen from the state.
func planFacts(base, file planText, s *ralph.State) []ralph.Fact {
	var facts []ralph.Fact
	t := diff(base.tasks, file.tasks, s.Plan.Tasks, func(x *ralph.Task) ralph.TaskID { return x.ID }, taskLine,
		func(line string) (*ralph.Task, error) {
			r, err := readPlanRecord(line, nil)
			return r.task, err
		})
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
	return facts
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

// viewFile is one view on disk.
type viewFile struct {
	name  string // relative to the repository, for messages
	path  string
	base  string      // copy of what ralph wrote last
	seen  os.FileInfo // of the last look: unchanged means not to look again
	stale bool        // to be written although no fact says so

	text   string // what readBack read
	edited bool   // text differs from the base
}

// sawLast reports whether the view looks as it did at the last look.
func (f *viewFile) sawLast(info os.FileInfo) bool {
	return f.seen != nil && os.SameFile(info, f.seen) && info.Size() == f.seen.Size() && info.ModTime().Equal(f.seen.ModTime())
}

func newViewFile(root, name string) viewFile {
	return viewFile{
		name: name, path: filepath.Join(root, name),
		base: filepath.Join(root, stateDir, "views", filepath.Base(name)),
	}
}
