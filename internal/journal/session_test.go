package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/views"
)

const sessionPath = "ralph/.state/session.json"

// sessionFields are A-076's thirteen.
func sessionFields() []string {
	return []string{
		"version", "session_id", "plan_id", "status", "started_at", "updated_at", "current_phase_index", "current_step_index",
		"completed_steps", "failed_steps", "skipped_step_ids", "active_agent", "config",
	}
}

// begun is a journal with a session on three tasks in two phases.
func begun(t *testing.T, root string, now *time.Time) *journal.File {
	t.Helper()
	opt := options(root)
	opt.Now = clock(now)
	j := open(t, opt)
	task := func(id ralph.TaskID, phase string) ralph.Fact {
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Phase: phase, Status: ralph.TaskPending}}
	}
	must(t, update(j, ralph.PlanStarted{File: "a.md"}, task("t-1", "one"), task("t-2", "one"), task("t-3", "two")))
	*now = now.Add(time.Minute)
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: json.RawMessage(`{"session":"autopilot","agents":["claude","codex"]}`), Pid: 42}))
	return j
}

func readSession(t *testing.T, root string) *views.Session {
	t.Helper()
	x, err := views.ReadSession(root)
	must(t, err)
	if x == nil {
		t.Fatal("no session.json")
	}
	return x
}

// C-016, C-017, X-06: the file is there at the start with its
// thirteen fields, says each end of a task at once, and stays, completed, at the end.
func TestSessionFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	j := begun(t, root, &now)
	var fields map[string]any
	must(t, json.Unmarshal([]byte(read(t, root, sessionPath)), &fields))
	for _, name := range sessionFields() {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s in session.json", name)
		}
	}
	if x := readSession(t, root); x.Version != 1 || x.SessionID != "s-1" || x.PlanID != "a.md" || x.Status != "running" || x.Completed != 0 || x.PhaseIndex != 0 ||
		x.StepIndex != 0 || !x.StartedAt.Equal(now) || !strings.Contains(string(x.Config), `"codex"`) || !x.CanResume() {
		t.Errorf("at the start: %+v", x)
	}
	ends := []struct {
		id                       ralph.TaskID
		status                   ralph.TaskStatus
		completed, failed, phase int
		skipped                  int
	}{
		{"t-1", ralph.TaskDone, 1, 0, 0, 0},
		{"t-2", ralph.TaskSkipped, 1, 0, 1, 1},
		{"t-3", ralph.TaskTimeout, 1, 1, -1, 1},
	}
	before := readSession(t, root).UpdatedAt
	for _, end := range ends {
		now = now.Add(time.Second)
		must(t, update(j, ralph.TaskStarted{ID: end.id}))
		now = now.Add(time.Second)
		must(t, update(j, ralph.TaskEnded{ID: end.id, Status: end.status}))
		x := readSession(t, root)
		if x.Completed != end.completed || x.Failed != end.failed || x.PhaseIndex != end.phase || len(x.Skipped) != end.skipped {
			t.Errorf("after %s: %+v", end.id, x)
		}
		if !x.UpdatedAt.After(before) || !x.UpdatedAt.Equal(now) {
			t.Errorf("after %s it says %s, before that %s", end.id, x.UpdatedAt, before)
		}
		before = x.UpdatedAt
	}
	must(t, update(j, ralph.AgentSwitched{From: "claude", To: "codex", Reason: ralph.SwitchLimit}))
	if x := readSession(t, root); x.ActiveAgent != "codex" || x.Fallback != "rate-limited" {
		t.Errorf("on the fallback: %+v", x)
	}
	must(t, update(j, ralph.SessionEnded{Reason: ralph.ReasonComplete}))
	if x := readSession(t, root); x.Status != "completed" || x.CanResume() || x.Completed != 1 {
		t.Errorf("at the end: %+v", x)
	}
}

// C-018, C-019: turns are counted beside the settings that limit them, and the queue is
// there beside the spec at work.
func TestSessionFileOfSpecs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	for _, file := range []string{"a.md", "b.md", "c.md"} {
		must(t, update(j, ralph.SpecAdded{Spec: ralph.Spec{ID: ralph.SpecID("q-" + file[:1]), File: file, Status: ralph.SpecPending}}))
	}
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "agent", Config: json.RawMessage(`{"max_iterations":50}`)}))
	must(t, update(j, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}))
	must(t, update(j, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "t-1"}))
	for n := range 3 {
		must(t, update(j, ralph.TurnEnded{Task: "t-1", Iteration: n + 1}))
	}
	must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}))
	x := readSession(t, root)
	if x.Iterations != 3 || !strings.Contains(string(x.Config), `"max_iterations":50`) && !strings.Contains(string(x.Config), `"max_iterations": 50`) {
		t.Errorf("%d iterations, the settings are %s", x.Iterations, x.Config)
	}
	if x.Spec != "a.md" || !slices.Equal(x.Queue, []string{"b.md", "c.md"}) {
		t.Errorf("at work is %q, and %q wait", x.Spec, x.Queue)
	}
}

// docs/status.md names every field of the file.
func TestSessionPageIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/status.md")
	must(t, err)
	for field := range reflect.TypeFor[views.Session]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/status.md does not name %s", name)
		}
	}
}

// the start of a task is in the file soon, together with plan.jsonl; that of a
// stage never is.
func TestSessionFileOfAStart(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	j := begun(t, root, &now)
	first := readSession(t, root).UpdatedAt
	now = now.Add(time.Minute)
	must(t, update(j, ralph.TaskAdded{Task: ralph.Task{ID: "merge:a:1", Kind: ralph.KindMerge, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "merge:a:1"}))
	must(t, j.Flush(t.Context()))
	if x := readSession(t, root); !x.UpdatedAt.Equal(first) {
		t.Errorf("a stage wrote it: %s", x.UpdatedAt)
	}
	must(t, update(j, ralph.TaskStarted{ID: "t-2"}))
	must(t, j.Flush(t.Context()))
	if x := readSession(t, root); x.StepIndex != 1 || x.PhaseIndex != 0 || !x.UpdatedAt.Equal(now) {
		t.Errorf("t-2 is at work: %+v", x)
	}
}

// no file is no session and no error; only an interrupted session can be
// resumed: cut, stopped by a person, or broken.
func TestReadSession(t *testing.T) {
	t.Parallel()
	if x, err := views.ReadSession(t.TempDir()); x != nil || err != nil {
		t.Errorf("without a file: %v, %v", x, err)
	}
	for reason, want := range map[ralph.Reason]bool{
		"": true, ralph.ReasonInterrupted: true, ralph.ReasonError: true, ralph.ReasonComplete: false, ralph.ReasonFailed: false, ralph.ReasonAborted: false,
	} {
		root := t.TempDir()
		now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
		j := begun(t, root, &now)
		if reason != "" {
			must(t, update(j, ralph.SessionEnded{Reason: reason}))
		}
		if x := readSession(t, root); x.CanResume() != want {
			t.Errorf("ended %q: can be resumed is %v", reason, !want)
		}
	}
}

// F-41, C-085, X-105: a file of another version, or none of ralph's, is set aside with a
// notice when an engine starts, kept as it was, and made anew from the journal.
func TestSessionSetAside(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"version": 2, "sessionId": "x"}`: "session.json has version 2, this ralph knows version 1",
		`{"status": "running"}`:            "session.json has no version",
		`{"version": 1, "session`:          "session.json is no session (unexpected end of JSON input)",
		`{"version": 1}`:                   "",
		"":                                 "",
	} {
		root := t.TempDir()
		if text != "" {
			write(t, root, sessionPath, text)
		}
		j := open(t, options(root))
		lock, _, err := j.Lock(journal.Owner{Pid: 1, Host: "here"}, func(int, string) bool { return false })
		must(t, err)
		notice, err := j.SetAside()
		must(t, err)
		if (notice == "") != (want == "") || !strings.Contains(notice, want) {
			t.Errorf("%s: said %q, want %q", text, notice, want)
		}
		must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "agent"}))
		if x := readSession(t, root); x.SessionID != "s-1" {
			t.Errorf("%+v", x)
		}
		if want != "" {
			wantText(t, strings.TrimSpace(read(t, root, sessionPath+".old")), text)
			if !strings.Contains(notice, sessionPath+".old") {
				t.Errorf("%q does not say where it is kept", notice)
			}
		} else if exists(root, sessionPath+".old") {
			t.Errorf("%q: set aside without a reason", text)
		}
		must(t, lock.Unlock())
	}
	root := t.TempDir()
	write(t, root, sessionPath, `{"version": 1, "session`)
	var corrupt *ralph.CorruptError
	if _, err := views.ReadSession(root); !errors.As(err, &corrupt) {
		t.Errorf("half a file: %v", err)
	}
}

// the end of a task is in session.json at once. Turns gather: each write makes the
// next fsync slower, and a task has many.
func TestSessionAfterTurns(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "j", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskStarted{ID: "t-1"}))
	for range 3 {
		must(t, update(j, ralph.TurnEnded{Task: "t-1", Stage: ralph.KindBuild, Agent: "x", Exit: ralph.ExitOK}))
	}
	must(t, j.Flush(t.Context()))
	if x, err := views.ReadSession(root); err != nil || x.Iterations != 3 || x.Completed != 0 {
		t.Errorf("after the turns: %+v %v", x, err)
	}
	must(t, update(j, ralph.TurnEnded{Task: "t-1", Stage: ralph.KindBuild, Agent: "x", Exit: ralph.ExitOK}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}))
	if x, err := views.ReadSession(root); err != nil || x.Iterations != 4 || x.Completed != 1 {
		t.Errorf("after the end: %+v %v", x, err)
	}
}

// C-021: the file says of each tracker that was called how its breaker stands, as soon as it moves.
func TestSessionServices(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	j := begun(t, root, &now)
	if x := readSession(t, root); x.Services != nil {
		t.Errorf("before a call: %+v", x.Services)
	}
	open := ralph.Breaker{State: ralph.BreakerOpen, Failures: []time.Time{now, now}, Opened: now, Until: now.Add(time.Minute)}
	must(t, update(j, ralph.BreakerMoved{Service: "github", From: ralph.BreakerClosed, Breaker: open}))
	want := []views.SessionService{{Service: "github", State: ralph.BreakerOpen, Failures: 2, OpenedAt: now, Until: now.Add(time.Minute)}}
	if x := readSession(t, root); !reflect.DeepEqual(x.Services, want) {
		t.Errorf("an open breaker: %+v, want %+v", x.Services, want)
	}
	must(t, update(j, ralph.BreakerMoved{Service: "github", From: ralph.BreakerOpen}))
	if x := readSession(t, root); len(x.Services) != 1 || x.Services[0].State != ralph.BreakerClosed || x.Services[0].Failures != 0 {
		t.Errorf("closed again: %+v", x.Services)
	}
}
