// Package views owns the files that are made of the state and that people read and edit:
// inbox.jsonl, plan.jsonl, session.json, .agent-session; how they are written, what of them is
// read back as facts, and how git merges them.
//
// It does NOT own the facts or their order (journal), or what a fact does (the root).
package views

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// ViewError says that facts were recorded, and that a file made from them could not be
// written. The next Update, of whatever process, writes it.
type ViewError struct{ Err error }

// Error says that nothing needs to be repeated.
func (e *ViewError) Error() string {
	return fmt.Sprintf("it is done and recorded in the journal, so there is nothing to repeat; a file made from that is not up to date (the next command of ralph mends it): %v", e.Err)
}

// Unwrap is why.
func (e *ViewError) Unwrap() error { return e.Err }

// Views are the files made from the state: inbox.jsonl and plan.jsonl, which
// people read and edit, .agent-session and session.json.
type Views struct {
	root                string
	readInbox, readPlan bool
	inbox, plan         viewFile
	newID               func(prefix string) string
	redact              func(ralph.Fact) ralph.Fact // nil: nothing is secret
	specLines           written[ralph.Spec]         // of inbox.jsonl, for the next time
	taskLines           written[ralph.Task]         // of plan.jsonl
	Tolerant            bool                        // an engine works: a view that cannot be read ends nothing
	sessionLater        bool                        // session.json is to be written together with plan.jsonl
}

// StateDir is the folder of what is ralph's own.
const StateDir = "ralph/.state"

// Options say which views there are to be.
type Options struct {
	Root        string // of the repository
	Inbox, Plan bool   // is read, and written
	NewID       func(prefix string) string
	Redact      func(ralph.Fact) ralph.Fact // nil: nothing is secret
}

// Init makes them those of a repository.
func (v *Views) Init(opt Options) {
	v.root, v.readInbox, v.readPlan, v.newID, v.redact = opt.Root, opt.Inbox, opt.Plan, opt.NewID, opt.Redact
	v.inbox = newViewFile(opt.Root, "ralph/inbox.jsonl")
	v.plan = newViewFile(opt.Root, "ralph/plan.jsonl")
}

// touched says which views facts show in.
type touched struct{ inbox, plan, planSoon, session, sessionSoon, services bool }

func touches(facts []ralph.Fact) touched {
	var t touched
	for _, fact := range facts {
		switch f := fact.(type) {
		case ralph.SpecAdded, ralph.SpecEdited, ralph.SpecRemoved, ralph.InboxOrdered:
			t.inbox = true
		case ralph.JobStarted, ralph.JobEnded:
			t.inbox, t.plan, t.session = true, true, true
		case ralph.PlanStarted:
			t.plan = true
		case ralph.PlanOrdered, ralph.TaskEdited, ralph.TaskRemoved, ralph.TaskRejected,
			ralph.RejectAdded, ralph.IssueAdded, ralph.IssueRemoved, ralph.TaskRetried, ralph.TaskRolledBack, ralph.TaskExtended:
			t.plan = true
		case ralph.TaskAdded:
			t.plan = t.plan || f.Task.IsBuild() // stages are not in the file: each merge is one
		case ralph.TaskStarted, ralph.TaskEnded:
			t.planSoon = true
		case ralph.SessionStarted:
			t.session, t.plan = true, true // tasks that were active are pending again
		case ralph.SessionEnded, ralph.RoundStarted, ralph.Control, ralph.Asked, ralph.Answered,
			ralph.ModeSet, ralph.AgentSwitched, ralph.AllLimited:
			t.session = true
		case ralph.BreakerMoved, ralph.ServiceLimited, ralph.ServiceRetried:
			t.services = true
		case ralph.TurnEnded:
			t.sessionSoon = true
		}
	}
	return t
}

// MovedBy notes that facts, which no person wrote into a file, change what a view says.
func (v *Views) MovedBy(facts []ralph.Fact) {
	t := touches(facts)
	v.inbox.versions.moved = v.inbox.versions.moved || t.inbox
	v.plan.versions.moved = v.plan.versions.moved || t.plan || t.planSoon
}

// ChangedSince reports whether somebody saved a view since ralph looked last.
func (v *Views) ChangedSince() bool {
	for _, f := range []struct {
		*viewFile
		on bool
	}{{&v.inbox, v.readInbox}, {&v.plan, v.readPlan}} {
		if !f.on {
			continue
		}
		info, err := os.Stat(f.path)
		if err == nil && !f.sawLast(info) && f.settled() && !(f.badErr != nil && SameInfo(info, f.bad)) {
			return true
		}
	}
	return false
}

// Write brings the views in line with the state after facts. It reports whether
// plan.jsonl may be written a little later.
func (v *Views) Write(s *ralph.State, facts []ralph.Fact) (later bool, err error) {
	t := touches(facts)
	// A view that is not read is not written either: construct leaves the inbox
	// alone, whatever is in it. Who reads it next brings it in line.
	if v.readInbox && (t.inbox || v.inbox.stale) {
		if err := v.writeRecords(&v.inbox, v.renderInbox(s)); err != nil {
			return false, err
		}
	}
	if v.readPlan && (t.plan || v.plan.stale) {
		if err := v.writePlan(s); err != nil {
			return false, err
		}
	}
	if t.session || t.sessionSoon {
		if err := v.writeAgentSession(s); err != nil {
			return false, err
		}
	}
	later = v.readPlan && (t.planSoon || t.sessionSoon) && !t.plan
	if err := v.writeSteps(s, facts, t, later); err != nil {
		return false, err
	}
	if i := slices.IndexFunc(facts, func(f ralph.Fact) bool { _, ok := f.(ralph.PlanStarted); return ok }); i >= 0 {
		err = v.setAside(s, s.Seq-int64(len(facts)-1-i))
	}
	return later, err
}

// WriteLater writes what write left for later.
func (v *Views) WriteLater(s *ralph.State) error {
	if err := v.writePlan(s); err != nil || !v.sessionLater {
		return err
	}
	return v.writeSession(s)
}

func (v *Views) writePlan(s *ralph.State) error {
	return v.writeRecords(&v.plan, v.renderPlan(s))
}

// writeRecords replaces a view atomically and durably, and then its base: should
// a crash come between the two, the difference is what the state says already.
// A view that would be empty is made only where there is one.
func (v *Views) writeRecords(f *viewFile, text string) error {
	f.stale = true // until it is written
	info, err := os.Stat(f.path)
	missing := errors.Is(err, os.ErrNotExist)
	if err == nil && !f.sawLast(info) { // saved by a person since ReadBack: the next Update reads it first
		return nil
	}
	if err != nil && !missing {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	if missing && text == "" {
		f.stale = false
		return f.remember(nil, text)
	}
	if !says(f.path, text) {
		if info, err = WriteAtomic(f.path, []byte(text), 0o644, true); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	f.stale = false
	if err := f.remember(info, text); err != nil {
		return err
	}
	f.versions.note(text, true)
	return nil
}

// remember keeps what the view says and how it looks, to notice edits by.
func (f *viewFile) remember(info os.FileInfo, text string) error {
	f.seen = info
	if says(f.base, text) {
		return nil
	}
	if _, err := WriteAtomic(f.base, []byte(text), 0o600, true); err != nil {
		return fmt.Errorf("write %s: %w", f.base, err)
	}
	return nil
}

// maxView bounds what is read of a view, in bytes: agents can write it.
const maxView = 256 << 20

// says reports whether a file has that text; one that is not there has none. It is read only where it is as long.
func says(path, text string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(text)) {
		return errors.Is(err, os.ErrNotExist) && text == ""
	}
	is, err := regular.ReadFile(path, maxView)
	return err == nil && string(is) == text
}

// WriteAtomic replaces a file by rename and returns how the new one looks. mode
// is for a file that is not there yet. durable adds fsync of file and folder;
// what is made from the journal alone does not need it. The temporary file has
// a fixed name, so that a crash leaves at most one, which the next write takes
// away; the journal's lock keeps two writers apart. That of a view in ralph/ lies
// in ralph/.state, into which git never looks: a `git add -A` that met it and
// found it renamed a moment later would fail.
func WriteAtomic(path string, text []byte, mode os.FileMode, durable bool) (os.FileInfo, error) {
	dir := filepath.Dir(path)
	folder := os.FileMode(0o755)
	if mode == 0o600 {
		folder = 0o700
	}
	if err := os.MkdirAll(dir, folder); err != nil {
		return nil, err
	}
	if old, err := os.Stat(path); err == nil && mode != 0o600 { // what may hold secrets is closed again
		mode = old.Mode().Perm()
	}
	tmp := filepath.Join(dir, "."+filepath.Base(path)+".tmp")
	if filepath.Base(dir) == filepath.Dir(StateDir) {
		tmp = filepath.Join(dir, filepath.Base(StateDir), filepath.Base(path)+".tmp")
	}
	info, err := writeFile(tmp, text, mode, durable)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if durable {
		return info, SyncDir(dir)
	}
	return info, nil
}

func writeFile(path string, text []byte, mode os.FileMode, durable bool) (os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode) // whatever umask or a leftover says
	}
	if err == nil && durable {
		err = f.Sync()
	}
	info, statErr := f.Stat()
	return info, errors.Join(err, statErr, f.Close())
}

// SyncDir makes the names in a folder safe.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// written are the lines of records, in their order, as they were made last. What changes gets a new
// pointer (State.Apply), so of a thousand records only those are written anew, and those behind one
// that was put in or taken out.
type written[T any] []struct {
	of   *T
	line string
}

// add writes the lines of a list.
func (w *written[T]) add(b *strings.Builder, list []*T, line func(*T) string) {
	lines, size := slices.Grow((*w)[:0], len(list))[:len(list)], 0
	for i, x := range list {
		if lines[i].of != x {
			lines[i].of, lines[i].line = x, line(x)
		}
		size += len(lines[i].line) + 1
	}
	clear(lines[len(list):cap(lines)])
	*w = lines
	b.Grow(size)
	for _, x := range lines {
		b.WriteString(x.line)
		b.WriteByte('\n')
	}
}

func (v *Views) renderInbox(s *ralph.State) string {
	var b strings.Builder
	v.specLines.add(&b, s.Inbox, specLine)
	return b.String()
}

func (v *Views) renderPlan(s *ralph.State) string {
	if s.Plan.File == "" && len(s.Plan.Tasks) == 0 && len(s.Plan.Issues) == 0 {
		return ""
	}
	var b strings.Builder
	line := func(text string) {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	if s.Plan.File != "" {
		line(encodeRecord([]member{{"t", "spec"}, {"spec", s.Plan.File}}, ""))
	}
	v.taskLines.add(&b, s.Plan.Tasks, taskLine)
	for _, i := range s.Plan.Issues {
		line(issueLine(i))
	}
	for _, r := range s.Plan.Rejects {
		line(rejectLine(r))
	}
	return b.String()
}

// setAside keeps a plan that has to make room for another spec's, while it has
// work left. The journal has it too; the file is for people, who copy it over plan.jsonl to have it
// back: the line at its end tells it from the plan of before that a git put back.
func (v *Views) setAside(s *ralph.State, seq int64) error {
	old := s.Aside
	if old == nil || old.Unfinished() == 0 || old.File == s.Plan.File {
		return nil
	}
	path := filepath.Join(v.root, StateDir, "plans", specfile.SetAside(old.File, seq))
	_, err := WriteAtomic(path, []byte(v.renderPlan(&ralph.State{Plan: *old})+"\n"), 0o600, false)
	return err
}

func (v *Views) writeJSON(path string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		_, err = WriteAtomic(path, append(b, '\n'), 0o600, false)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Anew makes the state the base of both views: all that their files say beyond it is read
// back, and none of it is taken for an old version.
func (v *Views) Anew(s *ralph.State) error {
	if err := v.ForgetBases(); err != nil {
		return err
	}
	for _, f := range []struct {
		*viewFile
		text string
	}{{&v.inbox, v.renderInbox(s)}, {&v.plan, v.renderPlan(s)}} {
		if _, err := WriteAtomic(f.base, []byte(f.text), 0o600, true); err != nil {
			return fmt.Errorf("write %s: %w", f.base, err)
		}
	}
	return nil
}

// Stat is how the views look; nil for one that is not there.
func (v *Views) Stat() (files [2]os.FileInfo) {
	for i, f := range []*viewFile{&v.inbox, &v.plan} {
		files[i], _ = os.Stat(f.path)
	}
	return files
}

// SameInfo reports whether a file looks as it did.
func SameInfo(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
