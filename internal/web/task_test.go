package web_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web"
)

// turnFolder has records in a folder, as the command line has them.
type turnFolder struct{ dir string }

func (f turnFolder) List(id ralph.TaskID) ([]web.TurnRecord, error) {
	list, _ := filepath.Glob(filepath.Join(f.dir, string(id), "*"))
	var out []web.TurnRecord
	for _, x := range list {
		r := web.TurnRecord{Name: filepath.Base(x), Try: 1}
		if n, _ := fmt.Sscanf(r.Name, "%d.%d", &r.Iteration, &r.Try); n > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f turnFolder) Open(id ralph.TaskID, record, name string) (web.TurnFile, int64, error) {
	if strings.Contains(string(id)+record+name, "..") {
		return nil, 0, fs.ErrInvalid // the page must not have asked
	}
	in, err := os.Open(filepath.Join(f.dir, string(id), record, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	return in, info.Size(), err
}

func (f turnFolder) Grown(*ralph.State) map[ralph.TaskID]int64 { return nil }

// keep writes a file of a turn.
func (f turnFolder) keep(t testing.TB, path, text string) {
	t.Helper()
	name := filepath.Join(f.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// taskAt asks for an address with records and facts, and gives what was sent.
func taskAt(t testing.TB, f turnFolder, s *ralph.State, events []ralph.Event, address string) *httptest.ResponseRecorder {
	t.Helper()
	source := &planSource{state: s, events: events}
	x := web.New(web.Options{Source: source, Backend: source, Turns: f, Schedule: planSchedule{}})
	defer x.Close()
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w
}

const hostileTask = "\x1b[31mred\x1b[0m <script>alert(1)</script> \x1b]0;title\x07 \x00\xff \u202e"

func TestTaskPage(t *testing.T) {
	t.Parallel()
	f := turnFolder{t.TempDir()}
	f.keep(t, "t-act/1/output.log", "the first turn")
	f.keep(t, "t-act/2/output.log", hostileTask)
	f.keep(t, "t-act/2/prompt.md", "# Do it\n\n<script>alert(2)</script>")
	f.keep(t, "t-act/2/diff.patch", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+<script>alert(3)</script>\n")
	f.keep(t, "t-act/2/checks.json", `{"pass":false,"results":[{"name":"make test","exit":2,"output":"<script>alert(4)</script>","coverage":{"percent":71.5}}]}`)
	f.keep(t, "t-act/3/output.log", "it goes on "+hostileTask)
	f.keep(t, "t-act/3/feed.json", `{"plan":[{"text":"look around","status":"completed"},{"text":"<script>alert(5)</script>","status":"in_progress"}],
		"diff":"diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+22\n","items":[{"kind":"command","text":"go test ./...\nand more","exit":1,"status":"completed"},{"kind":"edit","files":["a.go","b.go"]}]}`)
	s := planState()
	x := s.Plan.Tasks[2]
	x.Notes, x.Accept = "**bold** <script>alert(6)</script>", "it works"
	x.Run.Checks = &ralph.ChecksRan{Results: []ralph.CheckResult{{Name: "lint", Pass: true, Findings: []ralph.Finding{{Path: "a_test.go", Line: 3, Kind: "removed", What: "TestX"}}}}}
	s.Seq = 3
	at := time.Date(2025, 3, 1, 11, 0, 0, 0, time.UTC)
	events := []ralph.Event{
		{Seq: 1, At: at, Fact: ralph.TurnEnded{Task: "t-act", Iteration: 2, Agent: "claude", Exit: ralph.ExitOK, Dir: "ralph/.state/tasks/t-act/2", Took: time.Minute, Signal: ralph.Signal{Kind: ralph.SignalProgress, Text: "half"}}},
		{Seq: 2, At: at, Fact: ralph.ChecksRan{Task: "t-act"}},
		{Seq: 3, At: at, Fact: ralph.TaskEnded{ID: "t-act", Status: ralph.TaskPending, Why: ralph.Why{Rule: "B-064", Text: "tried again"}}},
	}
	for address, wants := range map[string][]string{
		"/task/t-act": {
			"because of t-act", "look around", "go test ./...", "a.go, b.go", "exit 1", "it goes on", "Changes of this turn", "22", "TestX", "<strong>bold</strong>",
			"PROGRESS", "half", "cut off", "tried again (rule B-064)", "iteration=2", `/receipts?task=t-act`, `a-fg1`, "t-wait",
		},
		"/task/t-act?iteration=2":                  {"a-fg1", "output.log", "as text"},
		"/task/t-act?iteration=2&file=prompt.md":   {"Do it"},
		"/task/t-act?iteration=2&file=diff.patch":  {`class="add"`},
		"/task/t-act?iteration=2&file=checks.json": {"make test", "71.5 % covered"},
		"/task/t-act?iteration=9":                  {"no such file"},
		"/task/t-act?iteration=../x":               {"no such file"},
		"/task/t-act?iteration=2&file=summary":     {"no such file"},
		"/task/t-fail":                             {"failed", "Break"},
	} {
		w := taskAt(t, f, s, events, address)
		page := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d: %s", address, w.Code, page)
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %q", address, want)
			}
		}
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "style=") || strings.ContainsAny(page, "\x1b\x00\u202e") {
			t.Errorf("%s has what others wrote as markup, or as signs that steer", address)
		}
	}
}

// TestTaskPageOfNobody: what is no task is not there, whatever it is called.
func TestTaskPageOfNobody(t *testing.T) {
	t.Parallel()
	f := turnFolder{t.TempDir()}
	for address, want := range map[string]string{
		"/task/t-atc": "t-act", "/task/..%2fx": "", "/task/%00": "", "/task/" + strings.Repeat("x", 5000): "",
	} {
		w := taskAt(t, f, planState(), nil, address)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) || w.Body.Len() > 20<<10 {
			t.Errorf("%.40s: %d, %d bytes", address, w.Code, w.Body.Len())
		}
	}
}

// TestTaskFile: a file of a turn is text and nothing else, and only five of them can be read.
func TestTaskFile(t *testing.T) {
	t.Parallel()
	f := turnFolder{t.TempDir()}
	f.keep(t, "t-act/2/output.log", hostileTask)
	f.keep(t, "t-act/2/secret.txt", "secret")
	f.keep(t, "t-act/diff.patch", "whole")
	w := taskAt(t, f, planState(), nil, "/task/t-act/file/2/output.log")
	if w.Code != http.StatusOK || w.Body.String() != hostileTask || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
	if w = taskAt(t, f, planState(), nil, "/task/t-act/file/all/diff.patch"); w.Body.String() != "whole" {
		t.Errorf("the patch of the whole task: %d %q", w.Code, w.Body)
	}
	for _, address := range []string{
		"/task/t-act/file/2/secret.txt", "/task/t-act/file/2/..%2f..%2fx", "/task/t-act/file/..%2f2/output.log", "/task/t-act/file/2/prompt.md",
		"/task/..%2ft-act/file/2/output.log/", "/task/t-act/file/-1/output.log", "/task/t-act/file/2x/output.log",
	} {
		if w := taskAt(t, f, planState(), nil, address); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %q", address, w.Code, w.Body)
		}
	}
}

// TestTaskPageIsBounded: floods of output, of facts and of tasks make a page of a bounded size.
func TestTaskPageIsBounded(t *testing.T) {
	t.Parallel()
	f := turnFolder{t.TempDir()}
	f.keep(t, "t-act/2/output.log", strings.Repeat("a line of output <b>\n", 100_000))
	f.keep(t, "t-act/3/output.log", strings.Repeat("x", 2<<20))
	f.keep(t, "t-act/3/feed.json", strings.Repeat("x", 2<<20))
	f.keep(t, "t-act/diff.patch", strings.Repeat("+x\n", 1<<20))
	s := planState()
	s.Seq = 12_000
	var events []ralph.Event
	for i := range s.Seq {
		events = append(events, ralph.Event{Seq: i + 1, Fact: ralph.TurnEnded{Task: "t-act", Iteration: int(i), Exit: ralph.ExitFailed, Err: &ralph.AgentError{Message: strings.Repeat("long ", 200)}}})
	}
	w := taskAt(t, f, s, events, "/task/t-act?iteration=2")
	page := w.Body.String()
	if w.Code != http.StatusOK || len(page) > 1<<20 {
		t.Errorf("%d, %d bytes", w.Code, len(page))
	}
	for _, want := range []string{"before this are left out", "earlier lines are left out", "Facts up to number 7000", "before this"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// E-091: what an agent prints for programs is folded, and what it does stands in its place,
// both live; what it prints for people stays as it is.
func TestOutputForProgramsIsFolded(t *testing.T) {
	t.Parallel()
	const feed = `{"plan":[{"text":"look around","status":"completed"}],"items":[{"kind":"command","text":"go test ./...","status":"completed"}]}`
	for _, tt := range []struct {
		output, feed string
		folded       bool
	}{
		{"{\"type\":\"a\"}\n{\"type\":\"b\"}\n", feed, true},
		{"of a line that is cut\"}\n{\"type\":\"b\"}\n{\"half", feed, true},
		{"{\"type\":\"a\"}\n", "", false}, // nobody says what it does
		{"reading {\nwriting }\n", feed, false},
		{"{no json}\n{\"a\":1}\n", feed, false},
		{"", feed, false},
	} {
		f := turnFolder{t.TempDir()}
		f.keep(t, "t-act/3/output.log", tt.output)
		if tt.feed != "" {
			f.keep(t, "t-act/3/feed.json", tt.feed)
		}
		body := taskAt(t, f, planState(), nil, "/task/t-act").Body.String()
		_, live, _ := strings.Cut(body, `id="task-live"`)
		live, rest, _ := strings.Cut(live, `id="task-feed"`)
		rest, _, _ = strings.Cut(rest, `id="task-text"`)
		if got := strings.Contains(live, `<details class="raw-output" id="raw-output">`); got != tt.folded || got != strings.Contains(live, "go test ./...") {
			t.Errorf("%q: folded %v, want %v", tt.output, got, tt.folded)
		}
		if tt.folded && (strings.Contains(rest, "go test") || !strings.Contains(rest, "look around") || !strings.Contains(live, "type")) {
			t.Errorf("%q: what it does is there twice, or its plan or output is not", tt.output)
		}
	}
}

// A task that timed out is told so in words, not by the name of its status.
func TestTimeoutInWords(t *testing.T) {
	t.Parallel()
	s := planState()
	s.Seq = 1
	end := ralph.TaskEnded{ID: "t-fail", Status: ralph.TaskTimeout, Why: ralph.Why{Rule: "B-029", Text: "the agent ran out of time (task.timeout)"}}
	s.Task(end.ID).Status = end.Status
	page := taskAt(t, turnFolder{t.TempDir()}, s, []ralph.Event{{Seq: 1, Fact: end}}, "/task/t-fail").Body.String()
	wantAll(t, page, "<dt>Last end</dt>", "timed out: the agent ran out of time (task.timeout) (rule B-029)")
	if strings.Contains(page, "Last timeout") {
		t.Error("the page has the name of a status for a word")
	}
}
