package journal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

func clock(opt *time.Time) func() time.Time { return func() time.Time { return *opt } }

func wantText(t *testing.T, got, want string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}

// The records of the inbox, byte for byte, in each status (D-005 to D-013).
func TestInboxFormat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	now := time.Date(2025, 1, 20, 10, 30, 0, 999, time.UTC)
	opt.Now = clock(&now)
	j := open(t, opt)
	s := &ralph.State{}
	must(t, update(j, slices.Concat(
		s.AddSpec("q-a1b2", "feature-x.md", now), s.AddSpec("q-c3d4", "b/<ü>&.md", now), s.AddSpec("q-e5f6", "c.md", now))...))
	const pending = `{"t":"inbox","id":"q-a1b2","spec":"feature-x.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}
{"t":"inbox","id":"q-c3d4","spec":"b/<ü>&.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}
{"t":"inbox","id":"q-e5f6","spec":"c.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}
`
	wantText(t, read(t, root, inboxPath), pending)

	now = now.Add(time.Minute)
	must(t, update(j, ralph.JobStarted{Job: "j-1", ID: "q-a1b2", File: "feature-x.md"}))
	active := strings.Replace(pending, `"status":"pending"}`, `"status":"active","started_at":"2025-01-20T10:31:00Z"}`, 1)
	wantText(t, read(t, root, inboxPath), active)

	now = now.Add(time.Minute)
	must(t, update(j, ralph.JobEnded{Status: ralph.SpecFailed, Error: `tests "a" failed`}))
	wantText(t, read(t, root, inboxPath), strings.Replace(active, `"active","started_at":"2025-01-20T10:31:00Z"`,
		`"failed","started_at":"2025-01-20T10:31:00Z","completed_at":"2025-01-20T10:32:00Z","error":"tests \"a\" failed"`, 1))

	must(t, update(j, ralph.SpecRemoved{ID: "q-a1b2"}, ralph.JobStarted{Job: "j-2", ID: "q-c3d4", File: "b.md"}, ralph.JobEnded{Status: ralph.SpecDone}))
	must(t, update(j, ralph.JobStarted{Job: "j-3", ID: "q-e5f6", File: "c.md"}, ralph.JobEnded{Status: ralph.SpecPending}))
	wantText(t, read(t, root, inboxPath), `{"t":"inbox","id":"q-c3d4","spec":"b/<ü>&.md","added_at":"2025-01-20T10:30:00Z","status":"done","started_at":"2025-01-20T10:32:00Z","completed_at":"2025-01-20T10:32:00Z"}
{"t":"inbox","id":"q-e5f6","spec":"c.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}
`)
}

// The records of the plan, byte for byte, empty fields left out (product.md 2).
func TestPlanFormat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	if exists(root, planPath) {
		t.Fatal("an empty plan was written")
	}
	must(t, update(j,
		ralph.PlanStarted{File: "x.md"},
		ralph.TaskAdded{Task: ralph.Task{
			ID: "t-1a2b", Spec: "x.md", Name: "Do <it>", Notes: "n", Accept: "a", Deps: []ralph.TaskID{"t-0000"}, Tags: []string{"critical"}, Worker: []string{"gpu"},
			Priority: "high", Phase: "one", Parent: "t-0000", Status: ralph.TaskPending, RetryCount: 2, MaxIterations: 7, Timeout: 90 * time.Minute,
		}},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-0000", Name: "First", Status: ralph.TaskDone}},
		ralph.TaskAdded{Task: ralph.Task{ID: "plan:j-1:1", Kind: ralph.KindPlan, Name: "a stage, not for people", Status: ralph.TaskPending}},
		ralph.IssueAdded{Issue: ralph.Issue{ID: "i-1a2b", Spec: "x.md", Desc: "odd"}},
		ralph.TaskRejected{ID: "t-0000", Reason: "no tests"},
	))
	want := `{"t":"spec","spec":"x.md"}
{"t":"task","id":"t-1a2b","spec":"x.md","name":"Do <it>","notes":"n","accept":"a","deps":["t-0000"],"tags":["critical"],"worker":["gpu"],"priority":"high","phase":"one","parent":"t-0000","status":"pending","retry_count":2,"max_iterations":7,"timeout":"1h30m"}
{"t":"task","id":"t-0000","name":"First","status":"pending"}
{"t":"issue","id":"i-1a2b","spec":"x.md","desc":"odd"}
{"t":"reject","id":"t-0000","reason":"no tests"}
`
	wantText(t, read(t, root, planPath), want)

	// Changes of status gather for a moment; Close writes them out.
	must(t, update(j, ralph.TaskStarted{ID: "t-0000"}))
	must(t, j.Close())
	wantText(t, read(t, root, planPath), strings.Replace(want, `"First","status":"pending"`, `"First","status":"active"`, 1))
}

// What is not ours in a record stays byte for byte: spacing, order and unknown
// fields, while other records come, change and go, and over a restart (D-017, D-028).
func TestHandWrittenLinesStay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	spec := []string{
		`{ "t": "inbox", "id": "q-mine", "spec": "a.md", "added_at": "2025-01-20T10:30:00+01:00", "status": "done", "who": {"b" : [1, 2.50], "a": "x<y>&z"} }`,
		`{"t":"inbox","id":"q-next","spec":"b.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}`,
		`{"status":"failed","error":"Müll \u00e9 \/","id":"q-last","t":"inbox","added_at":"2025-01-20T10:30:00.125Z","spec":"c.md"}`,
		`{"t":"inbox","id":"q-more","spec":"d.md","added_at":"2025-01-20T10:30:00Z","status":"done","note":"a<b"}`,
	}
	task := []string{
		`{"t":"spec","spec":"a.md"}`,
		`{"t":"task", "id":"t-mine", "name":"by hand",  "points": 3e2, "tags":[ ]}`,
		`{"t":"task","id":"t-next","name":"other","status":"pending"}`,
		`{"t":"issue","id":"i-mine",  "desc":"odd", "seen":"a>b"}`,
		`{"t":"reject","id":"t-gone","reason":"why", "by":"me"}`,
	}
	write(t, root, inboxPath, strings.Join(spec, "\n")+"\n")
	write(t, root, planPath, strings.Join(task, "\n")+"\n")

	for round := range 2 {
		opt := options(root)
		opt.SegmentSize = 1 // a snapshot each time
		j := open(t, opt)
		must(t, addSpec(j, "new.md"))
		must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-next", File: "b.md"}, ralph.TaskStarted{ID: "t-next"}, ralph.IssueAdded{Issue: ralph.Issue{ID: ralph.IssueID(newID("i")), Desc: "x"}}))
		must(t, update(j, ralph.JobEnded{Status: ralph.SpecDone}, ralph.TaskEnded{ID: "t-next", Status: ralph.TaskDone}))
		must(t, j.Close())
		got := lines(t, root, inboxPath)
		if len(got) != 5+round || got[0] != spec[0] || got[2] != spec[2] || got[3] != spec[3] || !strings.Contains(got[1], `"status":"done"`) {
			t.Fatalf("inbox.jsonl, round %d:\n%s", round, strings.Join(got, "\n"))
		}
		plan := lines(t, root, planPath)
		if len(plan) != 6+round || plan[1] != task[1] || plan[3] != task[3] || plan[len(plan)-1] != task[4] || !strings.Contains(plan[2], `"done"`) {
			t.Fatalf("plan.jsonl, round %d:\n%s", round, strings.Join(plan, "\n"))
		}
	}
	j := open(t, options(root))
	var ids []ralph.Fact
	for _, x := range j.State().Inbox {
		if x.Status == ralph.SpecPending {
			ids = append(ids, ralph.SpecRemoved{ID: x.ID})
		}
	}
	must(t, update(j, ids...)) // clear (D-027)
	got := lines(t, root, inboxPath)
	if len(got) != 4 || got[0] != spec[0] || got[2] != spec[2] || got[3] != spec[3] {
		t.Fatalf("after clear:\n%s", strings.Join(got, "\n"))
	}
}

// A record that changes keeps the fields that ralph does not know.
func TestUnknownFieldsOfAChangedRecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, inboxPath, `{"t":"inbox","id":"q-mine","spec":"a.md","added_at":"2025-01-20T10:30:00Z","status":"pending","we\u007fird":1, "who":{"a":"x"}}`)
	opt := options(root)
	now := time.Date(2025, 1, 20, 10, 31, 0, 0, time.UTC)
	opt.Now = clock(&now)
	j := open(t, opt)
	must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-mine", File: "a.md"}))
	wantText(t, read(t, root, inboxPath), `{"t":"inbox","id":"q-mine","spec":"a.md","added_at":"2025-01-20T10:30:00Z","status":"active","started_at":"2025-01-20T10:31:00Z","we`+"\x7f"+`ird":1,"who":{"a":"x"}}`+"\n")
	sameState(t, j.State(), open(t, opt).State())
}

// .agent-session has D-060's five fields, is there while the session lives and
// after an interrupt, and goes at a normal end (D-061, D-066).
func TestAgentSession(t *testing.T) {
	t.Parallel()
	const path = "ralph/.agent-session"
	start := ralph.SessionStarted{ID: "s-1", Mode: "agent", Pid: 42, Host: "here"}
	for _, c := range []struct {
		reason ralph.Reason
		stays  bool
	}{
		{ralph.ReasonEmpty, false},
		{ralph.ReasonMaxSpecs, false},
		{ralph.ReasonMaxCost, false},
		{ralph.ReasonMaxFailures, false},
		{ralph.ReasonBudget, false},
		{ralph.ReasonInterrupted, true},
		{ralph.ReasonError, true},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			opt := options(root)
			now := time.Date(2025, 1, 20, 10, 30, 0, 500, time.UTC)
			opt.Now = clock(&now)
			j := open(t, opt)
			must(t, update(j, (&ralph.State{}).AddSpec("q-a1b2", "a.md", now)...))
			if exists(root, path) {
				t.Fatal("a session file without a session")
			}
			must(t, update(j, start))
			must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-a1b2", File: "a.md"}, ralph.TurnEnded{Usage: ralph.Usage{Cost: 0.1, Known: true}}, ralph.TurnEnded{Usage: ralph.Usage{Cost: 0.2, Known: true}}))
			live := `{
  "started_at": "2025-01-20T10:30:00Z",
  "specs_completed": 0,
  "specs_failed": 0,
  "total_cost": 0.3,
  "current_spec_id": "q-a1b2"
}
`
			wantText(t, read(t, root, path), live)
			must(t, update(j, ralph.SessionEnded{Reason: c.reason}))
			if exists(root, path) != c.stays {
				t.Fatalf("after %q the file is there: %v", c.reason, !c.stays)
			}
			if c.stays { // and says where to go on
				wantText(t, read(t, root, path), live)
			}
		})
	}
}

// construct has no session file of agent mode (D-060 is agent mode's).
func TestConstructHasNoAgentSession(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "construct"}, ralph.JobStarted{Job: "j", File: "a.md"}))
	if exists(root, "ralph/.agent-session") {
		t.Fatal("construct wrote ralph/.agent-session")
	}
}

// session.json is valid, versioned and follows the session.
func TestSessionView(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	view := func() map[string]any {
		m := map[string]any{}
		must(t, json.Unmarshal([]byte(read(t, root, "ralph/.state/session.json")), &m))
		return m
	}
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "agent", Pid: 42}))
	if m := view(); m["version"] != 1.0 || m["session_id"] != "s-1" || m["status"] != "running" || m["pid"] != 42.0 {
		t.Fatalf("%v", m)
	}
	must(t, update(j, ralph.JobStarted{Job: "j", File: "a.md"}, ralph.RoundStarted{Round: 2}))
	must(t, update(j, ralph.RoundStarted{Round: 3}))
	if m := view(); m["spec"] != "a.md" || m["round"] != 3.0 {
		t.Fatalf("%v", m)
	}
	must(t, update(j, ralph.Control{Want: ralph.WantPause, Cause: "lunch"}))
	if m := view(); m["status"] != "paused" || m["cause"] != "lunch" {
		t.Fatalf("%v", m)
	}
	must(t, update(j, ralph.SessionEnded{Reason: ralph.ReasonEmpty}))
	if m := view(); m["status"] != "completed" || m["end_reason"] != "inbox empty" {
		t.Fatalf("%v", m)
	}
}

// A plan with work left that has to make room is set aside.
func TestPlanSetAside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	plans := func() []string {
		found, err := filepath.Glob(filepath.Join(root, "ralph/.state/plans/*.jsonl"))
		must(t, err)
		return found
	}
	task := ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "work", Status: ralph.TaskPending}}
	must(t, update(j, ralph.PlanStarted{File: "sub/x.md"}, task))
	old := read(t, root, planPath)
	must(t, update(j, ralph.PlanStarted{File: "sub/x.md"}, task)) // of the same spec: nothing to keep
	if p := plans(); len(p) != 0 {
		t.Fatalf("%v", p)
	}
	must(t, update(j, ralph.PlanStarted{File: "y.md"}))
	p := plans()
	if len(p) != 1 {
		t.Fatalf("%v", p)
	}
	b, err := os.ReadFile(p[0])
	must(t, err)
	wantText(t, string(b), old+"\n") // not the very text that a git may put back
	must(t, update(j, task, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.PlanStarted{File: "z.md"}))
	if p := plans(); len(p) != 1 {
		t.Fatalf("a finished plan was set aside: %v", p)
	}
}

// Permissions that a person gave a view stay; what ralph makes is readable.
func TestViewPermissions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, addSpec(j, "a.md"))
	mode := func() os.FileMode {
		info, err := os.Stat(filepath.Join(root, inboxPath))
		must(t, err)
		return info.Mode().Perm()
	}
	if mode() != 0o644 {
		t.Fatal(mode())
	}
	must(t, os.Chmod(filepath.Join(root, inboxPath), 0o660))
	must(t, addSpec(j, "b.md"))
	if mode() != 0o660 {
		t.Fatal(mode())
	}
	entries, err := os.ReadDir(filepath.Join(root, "ralph"))
	must(t, err)
	if len(entries) != 2 { // .state and inbox.jsonl: no temporary file is left
		t.Fatalf("%v", entries)
	}
}
