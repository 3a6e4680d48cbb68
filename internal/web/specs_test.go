package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/web"
)

// fakeSpecs are files by name.
type fakeSpecs map[string]string

func (f fakeSpecs) List() ([]web.SpecFile, error) {
	if _, broken := f["broken"]; broken {
		return nil, errors.New("the disk is gone")
	}
	var out []web.SpecFile
	for name, text := range f {
		out = append(out, web.SpecFile{Name: name, Size: int64(len(text)), ChangedAt: time.Date(2025, 3, 1, 8, 0, 0, 0, time.UTC)})
	}
	return out, nil
}

func (f fakeSpecs) Read(name string) (web.SpecFile, []byte, error) {
	text, ok := f[name]
	if !ok {
		return web.SpecFile{}, nil, &ralph.Refusal{Why: "there is no spec " + name, Kind: ralph.ErrNotFound}
	}
	return web.SpecFile{Name: name, Size: int64(len(text))}, []byte(text[:min(len(text), specfile.MaxSize)]), nil
}

// queued is a state with a queue, and the plan of the spec at work.
func queued() *ralph.State {
	at := time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)
	return &ralph.State{
		Inbox: []*ralph.Spec{
			{ID: "q-1", File: "old.md", Status: ralph.SpecFailed, AddedAt: at, StartedAt: at, EndedAt: at.Add(90 * time.Second), Error: "no <progress>"},
			{ID: "q-2", File: "now.md", Status: ralph.SpecActive, AddedAt: at, StartedAt: at},
			{ID: "q-3", File: "next.md", Status: ralph.SpecPending, AddedAt: at},
			{ID: "q-4", File: "gone.md", Status: ralph.SpecPending, AddedAt: at},
		},
		Plan: ralph.Plan{File: "now.md", Elapsed: time.Minute, Usage: ralph.Usage{Cost: 1.25, Known: true}, Turns: 3, Tasks: []*ralph.Task{
			{ID: "t-1", Name: "first <task>", Status: ralph.TaskDone}, {ID: "t-2", Name: "second", Status: ralph.TaskActive}, {ID: "t-3", Kind: ralph.KindVerify, Name: "verify"},
		}},
	}
}

func specFiles() fakeSpecs {
	return fakeSpecs{"old.md": "# Old", "now.md": "# Now\n\n- [x] a\n- [ ] b\n\n<script>alert(1)</script>\n", "next.md": "# Next", "fresh.md": "", "sub/deep.md": "# Deep"}
}

// TestSpecsPage: the queue stands in its order, and each spec says where it stands (D-014,
// D-019, D-023, D-027).
func TestSpecsPage(t *testing.T) {
	t.Parallel()
	opt := web.Options{Specs: specFiles()}
	status, page := planAt(t, opt, queued(), "/specs")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	at := -1
	for _, want := range []string{`id="queue-q-2"`, `id="queue-q-3"`, `id="queue-q-4"`} {
		i := strings.Index(page, want)
		if i <= at {
			t.Errorf("%s is not in its place", want)
		}
		at = i
	}
	for _, want := range []string{
		"First in, first out: next.md is next.", `action="/do/remove"`, `action="/do/clear"`, `action="/do/queue"`, `href="/spec/sub/deep.md"`, "the file is gone",
		"1/2 tasks, 1 at work", "not queued", "no <progress>", "Queue again", `name="text"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(page, `id="queue-q-1"`) {
		t.Error("what has ended is in the queue")
	}
	urgent := queued() // C-011: a higher priority comes first
	urgent.Inbox[3].Priority = 4
	if _, page = planAt(t, opt, urgent, "/specs"); strings.Index(page, `id="queue-q-4"`) > strings.Index(page, `id="queue-q-3"`) || strings.Index(page, `id="queue-q-4"`) < strings.Index(page, `id="queue-q-2"`) {
		t.Error("the spec of a higher priority does not stand first behind the one at work")
	}
	for _, want := range []string{"priority 4, ", "By priority, then first in, first out: gone.md is next.", `name="priority"`, `/do/spec-priority`} {
		if !strings.Contains(page, want) {
			t.Errorf("with a priority %q is not there", want)
		}
	}
	if _, page = planAt(t, opt, queued(), "/specs?q=DEEP"); !strings.Contains(page, "sub/deep.md") || strings.Contains(page, "fresh.md") {
		t.Error("the list is not narrowed")
	}
	if _, page = planAt(t, web.Options{}, &ralph.State{}, "/specs"); !strings.Contains(page, "The queue is empty") || !strings.Contains(page, "There are no specs yet") {
		t.Error("an empty page does not say what to do")
	}
	if status, _ = planAt(t, web.Options{Specs: fakeSpecs{"broken": ""}}, queued(), "/specs"); status != http.StatusInternalServerError {
		t.Errorf("a broken disk: %d", status)
	}
}

// TestSpecPage: a spec is rendered with its progress, and nothing in it is markup.
func TestSpecPage(t *testing.T) {
	t.Parallel()
	opt := web.Options{Specs: specFiles()}
	raw := func(address string) string {
		t.Helper()
		status, page := planAt(t, opt, queued(), address)
		if status != http.StatusOK {
			t.Errorf("%s: %d", address, status)
		}
		return page
	}
	page := raw("/spec/now.md")
	for _, want := range []string{`<h2 id="doc-now">Now</h2>`, "☑ 1/2 ticked", "1/2 tasks, 1 at work", "$1.25", "3 turns", "first <task>", `href="/task/t-1"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(page, ">verify<") {
		t.Error("a stage is shown as a task")
	}
	if page = raw("/spec/now.md?raw"); !strings.Contains(page, "# Now") || strings.Contains(page, "doc-now") {
		t.Error("the text is not as it was written")
	}
	if page = raw("/spec/old.md"); !strings.Contains(page, "took 1m 30s") || !strings.Contains(page, "no <progress>") || !strings.Contains(page, `value="old.md"`) {
		t.Error("what became of it is not there, or it cannot be queued")
	}
	if page = raw("/spec/gone.md"); !strings.Contains(page, "is gone") || !strings.Contains(page, `action="/do/remove"`) {
		t.Error("a file that is gone is not told of")
	}
	if page = raw("/spec/fresh.md"); !strings.Contains(page, "The file is empty") || !strings.Contains(page, "It was never queued") {
		t.Error("an empty file is not told of")
	}
	if page = raw("/spec/sub/deep.md"); !strings.Contains(page, `id="doc-deep"`) {
		t.Error("a spec in a folder is not shown")
	}
	opt.Specs = fakeSpecs{"large.md": strings.Repeat("word ", specfile.MaxSize/4)}
	if page = raw("/spec/large.md?raw"); !strings.Contains(page, "256.0 KiB more are not shown") {
		t.Error("nothing is said of what was cut")
	}
	for _, name := range []string{"none.md", "..%2f..%2fetc%2fpasswd", "%00", ""} {
		if status, _ := planAt(t, opt, queued(), "/spec/"+name); status != http.StatusNotFound {
			t.Errorf("%q: %d", name, status)
		}
	}
}

// TestSpecIsEscaped looks at the page as it is sent.
func TestSpecIsEscaped(t *testing.T) {
	t.Parallel()
	source := &planSource{state: queued()}
	x := web.New(web.Options{Source: source, Backend: source, Specs: specFiles()})
	defer x.Close()
	for _, address := range []string{"/spec/now.md", "/spec/now.md?raw", "/spec/old.md", "/specs"} {
		w := httptest.NewRecorder()
		x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
		for _, bad := range []string{"<script>alert", "<task>", "<progress>"} {
			if w.Code != http.StatusOK || strings.Contains(w.Body.String(), bad) {
				t.Errorf("%s: %d, or it has %s", address, w.Code, bad)
			}
		}
	}
}

// TestManySpecs: pages stay small whatever there is.
func TestManySpecs(t *testing.T) {
	t.Parallel()
	s, files := queued(), fakeSpecs{}
	for i := range 1000 {
		name := fmt.Sprintf("spec-%d.md", i)
		files[name] = "# A"
		s.Inbox = append(s.Inbox, &ralph.Spec{ID: ralph.SpecID(fmt.Sprintf("q-x%d", i)), File: name, Status: ralph.SpecPending})
		s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-x%d", i)), Name: "one"})
	}
	for address, want := range map[string]string{"/specs": "more are not shown", "/spec/now.md": "more are on the plan's page"} {
		_, page := planAt(t, web.Options{Specs: files}, s, address)
		if len(page) > 400<<10 || !strings.Contains(page, want) {
			t.Errorf("%s has %d bytes, or does not say %q", address, len(page), want)
		}
	}
}
