package views

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/regular"
)

// ReadBack returns the facts that bring the state in line with what people
// changed in the views since ralph wrote them last: the file wins in what is wanted. The base of
// the comparison is the copy of that last write, so a view that is merely stale
// (a crash came between fact and view) is no edit, and an edit made beside new
// facts takes back none of them.
//
// A view that cannot be read is an error, and nothing of the other is taken either. While
// an engine works (tolerant) it is a fact instead, and the last good reading holds: a
// file that is half saved, or holds conflict markers, ends no work.
func (v *Views) ReadBack(s *ralph.State) ([]ralph.Fact, error) {
	var facts []ralph.Fact
	for _, f := range []struct {
		*viewFile
		on   bool
		read func(*ralph.State) ([]ralph.Fact, error)
	}{{&v.inbox, v.readInbox, v.readBackInbox}, {&v.plan, v.readPlan, v.readBackPlan}} {
		if !f.on || v.Tolerant && !f.settled() {
			continue
		}
		more, err := f.readable(s, f.read)
		if err != nil {
			if more = f.unreadable(s, err); more == nil || !v.Tolerant {
				return nil, err
			}
		}
		facts = append(facts, more...)
	}
	return facts, nil
}

// settleTime is how long a view has to rest before an engine at work reads it: an editor
// empties a file and then fills it, and what stands there in between is nobody's wish.
const settleTime = 200 * time.Millisecond

// settled reports whether nobody is saving the view at this moment. What another ralph wrote, as `ralph inbox
// add` does beside an engine, is whole when it is there: an engine that ends at once would leave it as it is.
func (f *viewFile) settled() bool {
	info, err := os.Stat(f.path)
	if err != nil || f.sawLast(info) {
		return true
	}
	age := time.Since(info.ModTime()) // below 0 the time is another machine's
	return age < 0 || age >= settleTime || f.isBase(info.Size())
}

// readable reads a view back, unless it is the very file that could not be read before.
func (f *viewFile) readable(s *ralph.State, read func(*ralph.State) ([]ralph.Fact, error)) ([]ralph.Fact, error) {
	if info, err := os.Stat(f.path); err == nil && f.badErr != nil && SameInfo(info, f.bad) {
		return nil, f.badErr
	}
	f.bad, f.badErr = nil, nil
	facts, err := read(s)
	if err != nil {
		if _, ok := errors.AsType[*ralph.CorruptError](err); ok && f.seen != nil {
			f.bad, f.badErr = f.seen, err
		}
		f.seen, f.edited = nil, false // not what ralph may write over
		return nil, err
	}
	if f.gone {
		facts = append(facts, ralph.ViewRead{File: f.name, Gone: true})
	}
	if len(facts) == 0 && s.Unreadable(f.name) != nil {
		facts = append(facts, ralph.ViewRead{File: f.name})
	}
	for i, fact := range facts {
		if told, ok := fact.(ralph.ViewRead); ok && s.Unreadable(f.name) != nil {
			told.Again = true
			facts[i] = told
		}
	}
	return facts, nil
}

// unreadable is the fact that a view cannot be read: an empty list when that is known,
// nil when it is another trouble than what stands in the file.
func (f *viewFile) unreadable(s *ralph.State, err error) []ralph.Fact {
	corrupt, ok := errors.AsType[*ralph.CorruptError](err)
	if !ok {
		return nil
	}
	fact := ralph.ViewUnreadable{File: f.name, Line: corrupt.Line, Why: corrupt.Why}
	if old := s.Unreadable(f.name); old != nil && old.ViewUnreadable == fact {
		return []ralph.Fact{}
	}
	return []ralph.Fact{fact}
}

// Show applies to s what people changed in the views, for a reader that records nothing.
// A view that still is the file in which a look found no edit is not read again, whatever
// has become a fact since: with each fact that would be all the parsing there is.
func (v *Views) Show(s *ralph.State) error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		f.shown = true
		if f.edited {
			f.seen = nil // it may have been recorded meanwhile
		}
	}
	edits, err := v.ReadBack(s)
	for _, fact := range edits {
		if v.redact != nil { // what a reader shows is what will be recorded
			fact = v.redact(fact)
		}
		s.Apply(ralph.Event{Seq: s.Seq, Hash: s.Hash, At: s.At, Fact: fact})
	}
	return err
}

// Forget makes the next ReadBack look at the views again.
func (v *Views) Forget() { v.inbox.seen, v.plan.seen = nil, nil }

// ForgetBases is for a journal that begins: the copies are of another one, that
// was deleted. Without them all that the views say is read back, and not one
// record of it is taken for something the state has since removed.
func (v *Views) ForgetBases() error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		for _, path := range []string{f.base, f.versions.path} {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove %s: %w", path, err)
			}
		}
	}
	return nil
}

// Stale reports whether a view has to be written although no fact says so.
func (v *Views) Stale() bool {
	return v.readInbox && v.inbox.stale || v.readPlan && v.plan.stale
}

// Rebase is called when what ReadBack found is recorded: it is part of the
// state from here on, and compared no more.
func (v *Views) Rebase() error {
	for _, f := range []*viewFile{&v.inbox, &v.plan} {
		if !f.edited {
			continue
		}
		f.edited = false
		if err := f.remember(f.seen, f.text); err != nil {
			return err
		}
		f.versions.note(f.text, false)
	}
	return nil
}

// changed returns the view's text and its base when a person changed it. A
// journal that begins has no base, whatever lies there (ForgetBases).
func (f *viewFile) changed(begins bool, render func() string) (text, base string, ok bool, err error) {
	f.edited, f.gone = false, false
	info, err := os.Stat(f.path)
	if err == nil && f.sawLast(info) {
		return "", "", false, nil
	}
	if f.shown && err == nil && !begins && f.isBase(info.Size()) {
		f.seen = info
		return "", "", false, nil // whether it is to be written anew is nothing to a reader, which never writes it
	}
	b, err := regular.ReadFile(f.path, maxView)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return "", "", false, fmt.Errorf("read %s: %w", f.name, err)
	}
	baseText, err := os.ReadFile(f.base)
	now := render()
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
		f.seen, f.gone = nil, !begins && now != "" && len(baseText) > 0
		return "", "", false, nil
	}
	f.seen, f.text = info, string(b)
	f.edited = f.text != string(baseText)
	return f.text, string(baseText), f.edited, nil
}

// isBase reports whether the view, of some bytes, is what ralph has written. It holds little of them at a time:
// each `ralph status` asks, and new memory is most of what reading costs.
func (f *viewFile) isBase(size int64) bool {
	view, err := os.Open(f.path)
	if err != nil {
		return false
	}
	defer view.Close()
	base, err := os.Open(f.base)
	if err != nil {
		return false
	}
	defer base.Close()
	if info, err := base.Stat(); err != nil || info.Size() != size {
		return false
	}
	var a, b [8 << 10]byte
	for {
		n, errA := io.ReadFull(view, a[:])
		m, errB := io.ReadFull(base, b[:])
		switch {
		case !bytes.Equal(a[:n], b[:m]):
			return false
		case errA != nil || errB != nil:
			return ended(errA) && ended(errB)
		}
	}
}

// ended reports whether a file was read to its end.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// older is what comes of a file that was put back as it once was. It is not written over
// by itself: whoever put it aside for a moment (git stash) could not bring it back then.
func (f *viewFile) older() []ralph.Fact {
	f.stale = false
	return []ralph.Fact{ralph.ViewRead{File: f.name, Older: true}}
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
		var err error
		switch {
		case conflictMarker(line):
			err = errors.New("a conflict marker of git: resolve the conflict in this file")
		case !utf8.ValidString(line): // the journal could not keep it byte for byte
			err = errors.New("not UTF-8")
		default:
			err = read(line)
		}
		if err != nil {
			return &ralph.CorruptError{File: name, Line: n, Why: err.Error()}
		}
	}
	return nil
}

// conflictMarker reports whether a line is one of those that git leaves where two sides of
// a merge do not fit.
func conflictMarker(line string) bool {
	for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return false
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

func (v *Views) readBackInbox(s *ralph.State) ([]ralph.Fact, error) {
	text, baseText, ok, err := v.inbox.changed(s.Seq == 0, func() string { return v.renderInbox(s) })
	if !ok || err != nil {
		return nil, err
	}
	if v.inbox.versions.older(text) {
		return v.inbox.older(), nil
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
	return inboxFacts(d, s), nil
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

func (v *Views) readBackPlan(s *ralph.State) ([]ralph.Fact, error) {
	text, baseText, ok, err := v.plan.changed(s.Seq == 0, func() string { return v.renderPlan(s) })
	if !ok || err != nil {
		return nil, err
	}
	if v.plan.versions.older(text) {
		return v.plan.older(), nil
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
		if kept := s.KeepsPlan(file.file); kept != nil {
			return []ralph.Fact{ralph.ViewRead{File: v.plan.name, Kept: []ralph.Kept{*kept}}}, nil
		}
		begun := s.Clone()
		begun.Apply(ralph.Event{Seq: s.Seq, Hash: s.Hash, At: s.At, Fact: ralph.PlanStarted{File: file.file}})
		facts, told := planFacts(planText{}, file, begun)
		told.File, told.Replaced = v.plan.name, s.Plan.File != ""
		return append(append([]ralph.Fact{ralph.PlanStarted{File: file.file}}, facts...), told), nil
	}
	facts, told := planFacts(base, file, s)
	if len(facts) == 0 && told.Kept == nil {
		return nil, nil
	}
	told.File = v.plan.name
	return append(facts, told), nil
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
func (v *Views) freshID(text string) func(prefix string) string {
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

// viewFile is one view on disk.
type viewFile struct {
	name  string // relative to the repository, for messages
	path  string
	base  string      // copy of what ralph wrote last
	seen  os.FileInfo // of the last look: unchanged means not to look again
	stale bool        // to be written although no fact says so
	shown bool        // to a reader, who writes nothing

	text   string // what ReadBack read
	edited bool   // text differs from the base
	gone   bool   // somebody deleted it

	bad    os.FileInfo // how it looked when it could not be read, and why
	badErr error

	versions versions // what it said before
}

// sawLast reports whether the view looks as it did at the last look.
func (f *viewFile) sawLast(info os.FileInfo) bool {
	return f.seen != nil && os.SameFile(info, f.seen) && info.Size() == f.seen.Size() && info.ModTime().Equal(f.seen.ModTime())
}

func newViewFile(root, name string) viewFile {
	base := filepath.Join(root, StateDir, "views", filepath.Base(name))
	return viewFile{name: name, path: filepath.Join(root, name), base: base, versions: versions{path: base + ".versions"}}
}
