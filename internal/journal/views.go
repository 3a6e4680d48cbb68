package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
)

// ViewError says that facts were recorded, and that a file made from them could not be
// written. The next Update, of whatever process, writes it.
type ViewError struct{ Err error }

func (e *ViewError) Error() string {
	return fmt.Sprintf("it is done and recorded in the journal, so there is nothing to repeat; a file made from that is not up to date (the next command of ralph mends it): %v", e.Err)
}

func (e *ViewError) Unwrap() error { return e.Err }

// views are the files made from the state: inbox.jsonl and plan.jsonl, which
// people read and edit, .agent-session (D-060) and session.json.
type views struct {
	root                string
	readInbox, readPlan bool
	inbox, plan         viewFile
	newID               func(prefix string) string
	redact              func(ralph.Fact) ralph.Fact // nil: nothing is secret
	specLines           map[*ralph.Spec]string      // of inbox.jsonl, for the next time
	taskLines           map[*ralph.Task]string      // of plan.jsonl
	tolerant            bool                        // an engine works: a view that cannot be read ends nothing
	sessionLater        bool                        // session.json is to be written together with plan.jsonl
}

func (v *views) init(opt Options) {
	v.root, v.readInbox, v.readPlan, v.newID, v.redact = opt.Root, opt.Inbox, opt.Plan, opt.NewID, opt.Redact
	v.inbox = newViewFile(opt.Root, "ralph/inbox.jsonl")
	v.plan = newViewFile(opt.Root, "ralph/plan.jsonl")
}

// touched says which views facts show in.
type touched struct{ inbox, plan, planSoon, planStarted, session, sessionSoon bool }

func touches(facts []ralph.Fact) touched {
	var t touched
	for _, fact := range facts {
		switch f := fact.(type) {
		case ralph.SpecAdded, ralph.SpecEdited, ralph.SpecRemoved, ralph.InboxOrdered:
			t.inbox = true
		case ralph.JobStarted, ralph.JobEnded:
			t.inbox, t.plan, t.session = true, true, true
		case ralph.PlanStarted:
			t.plan, t.planStarted = true, true
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
		case ralph.TurnEnded:
			t.sessionSoon = true
		}
	}
	return t
}

// movedBy notes that facts, which no person wrote into a file, change what a view says.
func (v *views) movedBy(facts []ralph.Fact) {
	t := touches(facts)
	v.inbox.versions.moved = v.inbox.versions.moved || t.inbox
	v.plan.versions.moved = v.plan.versions.moved || t.plan || t.planSoon
}

// changedSince reports whether somebody saved a view since ralph looked last.
func (v *views) changedSince() bool {
	for _, f := range []struct {
		*viewFile
		on bool
	}{{&v.inbox, v.readInbox}, {&v.plan, v.readPlan}} {
		if !f.on {
			continue
		}
		info, err := os.Stat(f.path)
		if err == nil && !f.sawLast(info) && f.settled() && !(f.badErr != nil && sameInfo(info, f.bad)) {
			return true
		}
	}
	return false
}

// write brings the views in line with the state after facts. It reports whether
// plan.jsonl may be written a little later.
func (v *views) write(s *ralph.State, facts []ralph.Fact) (later bool, err error) {
	t := touches(facts)
	// A view that is not read is not written either: construct leaves the inbox
	// alone, whatever is in it (D-122). Who reads it next brings it in line.
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
	if t.planStarted {
		err = v.setAside(s)
	}
	return later, err
}

// writeLater writes what write left for later.
func (v *views) writeLater(s *ralph.State) error {
	if err := v.writePlan(s); err != nil || !v.sessionLater {
		return err
	}
	return v.writeSession(s)
}

func (v *views) writePlan(s *ralph.State) error {
	return v.writeRecords(&v.plan, v.renderPlan(s))
}

// writeRecords replaces a view atomically and durably, and then its base: should
// a crash come between the two, the difference is what the state says already.
// A view that would be empty is made only where there is one.
func (v *views) writeRecords(f *viewFile, text string) error {
	f.stale = true // until it is written
	info, err := os.Stat(f.path)
	missing := errors.Is(err, os.ErrNotExist)
	if err == nil && !f.sawLast(info) { // saved by a person since readBack: the next Update reads it first
		return nil
	}
	old, err := os.ReadFile(f.path)
	if err != nil && !missing {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	if missing && text == "" {
		f.stale = false
		return f.remember(nil, text)
	}
	if missing || string(old) != text {
		if info, err = writeAtomic(f.path, []byte(text), 0o644, true); err != nil {
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
	if base, err := os.ReadFile(f.base); string(base) == text && (err == nil || text == "") {
		return nil
	}
	if _, err := writeAtomic(f.base, []byte(text), 0o600, true); err != nil {
		return fmt.Errorf("write %s: %w", f.base, err)
	}
	return nil
}

// writeAtomic replaces a file by rename and returns how the new one looks. mode
// is for a file that is not there yet. durable adds fsync of file and folder;
// what is made from the journal alone does not need it. The temporary file has
// a fixed name, so that a crash leaves at most one, which the next write takes
// away; the journal's lock keeps two writers apart. That of a view in ralph/ lies
// in ralph/.state, into which git never looks: a `git add -A` that met it and
// found it renamed a moment later would fail.
func writeAtomic(path string, text []byte, mode os.FileMode, durable bool) (os.FileInfo, error) {
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
	if filepath.Base(dir) == filepath.Dir(stateDir) {
		tmp = filepath.Join(dir, filepath.Base(stateDir), filepath.Base(path)+".tmp")
	}
	info, err := writeFile(tmp, text, mode, durable)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	if durable {
		return info, syncDir(dir)
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

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// renderInbox and renderPlan keep the lines they made: what changes gets a new
// pointer (State.Apply), so of a thousand records only those are written anew.
func (v *views) renderInbox(s *ralph.State) string {
	var b strings.Builder
	lines := make(map[*ralph.Spec]string, len(s.Inbox))
	for _, x := range s.Inbox {
		text, ok := v.specLines[x]
		if !ok {
			text = specLine(x)
		}
		lines[x] = text
		b.WriteString(text)
		b.WriteByte('\n')
	}
	v.specLines = lines
	return b.String()
}

func (v *views) renderPlan(s *ralph.State) string {
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
	lines := make(map[*ralph.Task]string, len(s.Plan.Tasks))
	for _, t := range s.Plan.Tasks {
		text, ok := v.taskLines[t]
		if !ok {
			text = taskLine(t)
		}
		lines[t] = text
		line(text)
	}
	v.taskLines = lines
	for _, i := range s.Plan.Issues {
		line(issueLine(i))
	}
	for _, r := range s.Plan.Rejects {
		line(rejectLine(r))
	}
	return b.String()
}

// setAside keeps a plan that has to make room for another spec's, while it has
// work left. The journal has it too; the file is for people.
func (v *views) setAside(s *ralph.State) error {
	old := s.Aside
	if old == nil || old.Unfinished() == 0 || old.File == s.Plan.File {
		return nil
	}
	name := fmt.Sprintf("%s-%d.jsonl", strings.NewReplacer("/", "_").Replace(strings.TrimSuffix(old.File, ".md")), s.Seq)
	path := filepath.Join(v.root, stateDir, "plans", name)
	_, err := writeAtomic(path, []byte(v.renderPlan(&ralph.State{Plan: *old})), 0o600, false)
	return err
}

func (v *views) writeJSON(path string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		_, err = writeAtomic(path, append(b, '\n'), 0o600, false)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
