package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/ralph-loop/ralph"
)

// views are the files made from the state: inbox.jsonl and plan.jsonl, which
// people read and edit, .agent-session (D-060) and session.json.
type views struct {
	root                string
	readInbox, readPlan bool
	inbox, plan         viewFile
	newID               func(prefix string) string
}

func (v *views) init(opt Options) {
	v.root, v.readInbox, v.readPlan, v.newID = opt.Root, opt.Inbox, opt.Plan, opt.NewID
	v.inbox = newViewFile(opt.Root, "ralph/inbox.jsonl")
	v.plan = newViewFile(opt.Root, "ralph/plan.jsonl")
}

// touched says which views facts show in.
type touched struct{ inbox, plan, planSoon, planStarted, session bool }

func touches(facts []ralph.Fact) touched {
	var t touched
	for _, fact := range facts {
		switch fact.(type) {
		case ralph.SpecAdded, ralph.SpecEdited, ralph.SpecRemoved, ralph.InboxOrdered:
			t.inbox = true
		case ralph.JobStarted, ralph.JobEnded:
			t.inbox, t.plan, t.session = true, true, true
		case ralph.PlanStarted:
			t.plan, t.planStarted = true, true
		case ralph.PlanOrdered, ralph.TaskEdited, ralph.TaskRemoved, ralph.TaskRejected,
			ralph.RejectAdded, ralph.IssueAdded, ralph.IssueRemoved, ralph.TaskAdded:
			t.plan = true
		case ralph.TaskStarted, ralph.TaskEnded:
			t.planSoon = true
		case ralph.SessionStarted:
			t.session, t.plan = true, true // tasks that were active are pending again
		case ralph.SessionEnded, ralph.Control, ralph.Asked, ralph.Answered, ralph.TurnEnded:
			t.session = true
		}
	}
	return t
}

// write brings the views in line with the state after facts. It reports whether
// plan.jsonl may be written a little later.
func (v *views) write(s *ralph.State, facts []ralph.Fact) (later bool, err error) {
	t := touches(facts)
	// construct leaves the inbox alone, whatever is in it (D-122).
	if v.readInbox && (t.inbox || v.inbox.stale) {
		if err := v.writeRecords(&v.inbox, renderInbox(s)); err != nil {
			return false, err
		}
	}
	if t.plan || v.plan.stale {
		if err := v.writePlan(s); err != nil {
			return false, err
		}
	}
	if t.session {
		if err := v.writeSession(s); err != nil {
			return false, err
		}
	}
	if t.planStarted {
		err = v.setAside(s)
	}
	return t.planSoon && !t.plan, err
}

func (v *views) writePlan(s *ralph.State) error {
	return v.writeRecords(&v.plan, renderPlan(s))
}

// writeRecords replaces a view atomically and durably, after its base: should a
// crash come between the two, the difference is what the state says already.
// A view that would be empty is made only where there is one.
func (v *views) writeRecords(f *viewFile, text string) error {
	f.stale = false
	old, err := os.ReadFile(f.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	if string(old) == text {
		if err != nil { // nothing to say and no file
			return nil
		}
		return v.remember(f, text)
	}
	if err := writeAtomic(f.path, text, true); err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	return v.remember(f, text)
}

func (v *views) remember(f *viewFile, text string) error {
	if base, err := os.ReadFile(f.base); err != nil || string(base) != text {
		if err := writeAtomic(f.base, text, false); err != nil {
			return fmt.Errorf("write %s: %w", f.base, err)
		}
	}
	info, err := os.Stat(f.path)
	if err != nil {
		info = nil
	}
	f.seen = info
	return nil
}

// writeAtomic replaces a file by rename. durable adds fsync of file and folder;
// what is made from the journal alone does not need it.
func writeAtomic(path, text string, durable bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if durable {
		if err := renameio.WriteFile(path, []byte(text), mode, renameio.WithExistingPermissions()); err != nil {
			return err
		}
		return syncDir(filepath.Dir(path))
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), mode); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func renderInbox(s *ralph.State) string {
	var b strings.Builder
	for _, x := range s.Inbox {
		b.WriteString(specLine(x))
		b.WriteByte('\n')
	}
	return b.String()
}

func renderPlan(s *ralph.State) string {
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
	for _, t := range s.Plan.Tasks {
		line(taskLine(t))
	}
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
	return writeAtomic(path, renderPlan(&ralph.State{Plan: *old}), false)
}

// agentSession is ralph/.agent-session: D-060's five fields, exactly.
type agentSession struct {
	StartedAt      time.Time `json:"started_at"`
	SpecsCompleted int       `json:"specs_completed"`
	SpecsFailed    int       `json:"specs_failed"`
	TotalCost      float64   `json:"total_cost"`
	CurrentSpecID  string    `json:"current_spec_id"`
}

// sessionView is ralph/.state/session.json.
type sessionView struct {
	Version    int           `json:"version"`
	SessionID  string        `json:"session_id"`
	Mode       string        `json:"mode"`
	Status     string        `json:"status"`
	Cause      string        `json:"cause,omitempty"`
	StartedAt  time.Time     `json:"started_at"`
	EndedAt    time.Time     `json:"ended_at,omitzero"`
	EndReason  string        `json:"end_reason,omitempty"`
	Pid        int           `json:"pid,omitempty"`
	Completed  int           `json:"specs_completed"`
	Failed     int           `json:"specs_failed"`
	Iterations int           `json:"iterations"`
	TotalCost  float64       `json:"total_cost"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	Spec       string        `json:"spec,omitempty"`
	SpecID     string        `json:"spec_id,omitempty"`
	Round      int           `json:"round,omitempty"`
}

func (v *views) writeSession(s *ralph.State) error {
	if err := v.writeAgentSession(s); err != nil {
		return err
	}
	x := s.Session
	view := sessionView{
		Version: 1, SessionID: string(x.ID), Mode: x.Mode, Status: string(s.Mode()), Cause: x.Cause,
		StartedAt: x.StartedAt, EndedAt: x.EndedAt, EndReason: string(x.Ended), Pid: x.Pid,
		Completed: x.Completed, Failed: x.Failed, Iterations: x.Turns, TotalCost: x.Usage.Cost, Elapsed: s.Running(s.At),
	}
	if s.Job != nil {
		view.Spec, view.SpecID, view.Round = s.Job.File, string(s.Job.Spec), s.Job.Round
	}
	return v.writeJSON(filepath.Join(v.root, stateDir, "session.json"), view)
}

// writeAgentSession keeps D's session file while agent mode has something to
// go on with: it is gone after a normal end, and stays after SIGINT (D-061).
func (v *views) writeAgentSession(s *ralph.State) error {
	x := s.Session
	if x.Mode != "agent" {
		return nil
	}
	path := filepath.Join(v.root, "ralph/.agent-session")
	if !x.Live() && x.Ended != ralph.ReasonInterrupted && x.Ended != ralph.ReasonError {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove ralph/.agent-session: %w", err)
		}
		return nil
	}
	return v.writeJSON(path, agentSession{
		StartedAt: x.StartedAt.UTC().Truncate(time.Second), SpecsCompleted: x.Completed, SpecsFailed: x.Failed,
		TotalCost: math.Round(x.Usage.Cost*1e6) / 1e6, CurrentSpecID: string(x.Current),
	})
}

func (v *views) writeJSON(path string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = writeAtomic(path, string(b)+"\n", false)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
