package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// fakeBackend is a repository with a real journal, in which an engine seems to work.
type fakeBackend struct {
	action.Backend // nil: what is not below is never called
	*journal.File
	t testing.TB
}

func newKept(t testing.TB) *fakeBackend {
	t.Helper()
	j, err := journal.Open(journal.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return &fakeBackend{File: j, t: t}
}

func (k *fakeBackend) State() *ralph.State                     { return k.File.State() }
func (k *fakeBackend) Engine(*ralph.State) status.Engine       { return status.Engine{Alive: true} }
func (k *fakeBackend) Wait(ctx context.Context, n int64) error { return k.File.Wait(ctx, n) }
func (k *fakeBackend) Now() time.Time                          { return k.File.Now() }
func (k *fakeBackend) Context() action.Context {
	return action.Context{Engine: true, Now: k.Now(), By: "web", ID: func(prefix string) string { return prefix + "-made" }}
}

func (k *fakeBackend) Each(after int64, visit func(ralph.Event) error) error {
	return k.File.Each(after, visit)
}

func (k *fakeBackend) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return k.File.Update(ctx, "web", decide)
}

func (k *fakeBackend) Closed(id ralph.ApprovalID) error {
	return &ralph.Refusal{Why: "no open gate " + string(id)}
}

func (k *fakeBackend) add(by string, facts ...ralph.Fact) {
	k.t.Helper()
	if err := k.File.Update(context.Background(), by, func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		k.t.Fatal(err)
	}
}

func (k *fakeBackend) server(opt web.Options) *web.Server {
	opt.Source, opt.Backend, opt.Root = k, k, "repo"
	x := web.New(opt)
	k.t.Cleanup(x.Close)
	return x
}

// pageOf is the HTML of an address.
func pageOf(t *testing.T, x *web.Server, address string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	if w.Code != status {
		t.Fatalf("GET %s: %d, want %d\n%s", address, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// act sends the form of an action.
func act(t *testing.T, x *web.Server, name string, form url.Values) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/do/"+name, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	if x.ServeHTTP(w, r); w.Code != http.StatusSeeOther {
		t.Fatalf("POST %s: %d\n%s", name, w.Code, w.Body)
	}
}

func hasAll(t *testing.T, what, html string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(html, w) {
			t.Errorf("%s: no %q in\n%s", what, w, html)
		}
	}
}

func hasNone(t *testing.T, what, html string, bad ...string) {
	t.Helper()
	for _, w := range bad {
		if strings.Contains(html, w) {
			t.Errorf("%s: %q is there", what, w)
		}
	}
}

const nasty = "\x1b[31m<script>alert(1)</script>\u202e"

// everyGate begins a session with a gate of each kind.
func everyGate(k *fakeBackend) {
	at := k.Now()
	k.add("cli", ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-0001", Name: "Paint " + nasty, Notes: "note " + nasty, Accept: "two coats", Status: ralph.TaskPending}},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-0002", Name: "Test", Status: ralph.TaskPending}})
	k.add("engine", ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: json.RawMessage(`{}`)})
	k.add("engine", ralph.JobStarted{Job: "a-1", File: "a.md"}, ralph.TaskStarted{ID: "t-0001"}, ralph.TaskStarted{ID: "t-0002"})
	k.add("engine", ralph.ChecksRan{Task: "t-0002", Results: []ralph.CheckResult{
		{Name: "go test", Exit: 1, Output: "\x1b[31mFAIL\x1b[0m " + nasty, Coverage: &ralph.Coverage{Percent: 61.25, Covered: 49, Total: 80, Format: "go"}},
		{Name: "secrets", Findings: []ralph.Finding{{Path: "env.go", Line: 3, Kind: "secret", What: "a key"}}},
		{Name: "green one", Pass: true},
	}})
	ask := func(g ralph.Approval) {
		g.AskedAt = at
		at = at.Add(time.Second)
		k.add("engine", ralph.Asked{Approval: g})
	}
	ask(ralph.Approval{ID: "g-ques", Kind: ralph.ApprovalQuestion, Task: "t-0001", InTurn: true, Text: "Which " + nasty, Options: []string{"red", "blue"}, Request: &ralph.Request{Kind: ralph.RequestQuestion, Text: "Which"}})
	ask(ralph.Approval{
		ID: "g-appr", Kind: ralph.ApprovalRequest, Task: "t-0001", InTurn: true, Text: "use Fetch", Deadline: at.Add(time.Hour), Detail: "Tool: Fetch\nAsked because: gate.approvals: ask\n\n{\"url\":\"" + "<b>" + "\"}",
		Request: &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "Fetch"},
	})
	ask(ralph.Approval{
		ID: "g-oper", Kind: ralph.ApprovalOperation, Task: "t-0001", InTurn: true, Never: true, Rule: "the never list: push --force", Text: "run git push " + nasty,
		Detail: "Command: git push " + nasty, Request: &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: "git push " + nasty, Dir: "sub"},
	})
	ask(ralph.Approval{
		ID: "g-edit", Kind: ralph.ApprovalRequest, Task: "t-0001", InTurn: true, Text: "change x.go", Detail: "Files: x.go\n\ndiff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-var a = 1\n+var a = 2\n",
		Request: &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: []string{"x.go"}},
	})
	ask(ralph.Approval{ID: "g-test", Kind: ralph.ApprovalTest, Task: "t-0002", Rule: "C-063", Text: "the checks stay red"})
	ask(ralph.Approval{ID: "g-merg", Kind: ralph.ApprovalMerge, Task: "merge:a-1:1", About: "t-0002", Text: "it removes tests", Detail: "x_test.go: 1 test removed"})
	ask(ralph.Approval{ID: "g-star", Kind: ralph.ApprovalStart, Text: "begin?"})
	ask(ralph.Approval{ID: "g-step", Kind: ralph.ApprovalStep, Task: "t-0002", Text: "next: Test"})
}

// the list has all that waits, oldest first, with which rule holds it, how long there
// is time, and the answers; nothing of an agent's words is markup.
func TestGatesListsAllThatWaits(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	everyGate(k)
	html := pageOf(t, k.server(web.Options{}), "/gates", http.StatusOK)
	last := -1
	for _, id := range []string{"g-ques", "g-appr", "g-oper", "g-edit", "g-test", "g-merg", "g-star", "g-step"} {
		at := strings.Index(html, `id="gate-`+id+`"`)
		if at <= last {
			t.Errorf("%s stands at %d, after %d", id, at, last)
		}
		last = at
	}
	hasAll(t, "list", html, `action="/do/approve"`, `action="/do/deny"`, `action="/do/answer"`, `name="text" value="blue"`, `data-key="2"`, `data-until="`,
		"Held by: the never list: push --force (never approved by a rule)", `\x1b[31m&lt;script&gt;alert(1)&lt;/script&gt;\u202e`, "Nobody has decided anything lately.")
	hasNone(t, "list", html, "<script>alert", "\x1b", "\u202e", `name="always"`)
}

// X-75, C-041: each gate's page has what there is to decide by and the answers that it takes.
func TestGatePages(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	everyGate(k)
	x := k.server(web.Options{})
	for id, want := range map[string][]string{
		"g-ques": {"An agent asks you", `<button class="btn gate-option" name="text" value="red" formnovalidate`, `name="always"`, "It waits as long as it takes.", "two coats"},
		"g-appr": {"May the agent do this?", "Fetch", "Asked because: gate.approvals: ask", `class="code chroma"`, "&lt;b&gt;", `data-until="`, `name="scope"`},
		"g-oper": {`git push \x1b[31m&lt;script&gt;alert(1)&lt;/script&gt;\u202e`, "never list: push --force", "an approval makes no rule", `<dd class="mono">sub</dd>`},
		"g-edit": {"Files that it changes", "x.go", `class="patch"`},
		"g-test": {"What speaks against it", "go test", `<span class="a-fg1">FAIL`, "61.2% of the code is covered (49 of 80, go)", "env.go:3", "the checks stay red"},
		"g-merg": {"It cannot be merged without you", "x_test.go: 1 test removed", "/task/t-0002"},
		"g-star": {"May the session begin?", "The session ends."},
		"g-step": {"May this step be taken?", "The task is skipped."},
	} {
		html := pageOf(t, x, "/gate/"+id, http.StatusOK)
		hasAll(t, id, html, want...)
		hasNone(t, id, html, "<script>alert", "\x1b", "\u202e", "<b>\"", "green one")
		decide := id == "g-ques"
		if got := strings.Contains(html, `action="/do/answer"`); got != decide {
			t.Errorf("%s: answered in words: %v", id, got)
		}
		if got := strings.Contains(html, `action="/do/approve"`); got == decide {
			t.Errorf("%s: approved or denied: %v", id, got)
		}
	}
	hasNone(t, "g-oper", pageOf(t, x, "/gate/g-oper", http.StatusOK), `name="always"`)
	hasAll(t, "an unknown gate", pageOf(t, x, "/gate/g-none", http.StatusNotFound), "There is no gate g-none")
}

// B-013, C-039, E-078: an answer from the page is recorded, may become a rule, and the page
// then says who was first; what somebody has typed can still be read there.
func TestGateIsAnsweredFromItsPage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	everyGate(k)
	x := k.server(web.Options{})
	_ = pageOf(t, x, "/gate/g-ques", http.StatusOK)
	act(t, x, "answer", url.Values{"id": {"g-ques"}, "text": {"blue"}, "always": {"yes"}, "scope": {"repository"}, "for": {"24h"}})
	k.add("cli", ralph.Answered{ID: "g-appr", Verdict: ralph.Denied, Text: "no " + nasty})
	k.add("engine", ralph.RequestAnswered{Task: "t-0001", Request: ralph.Request{Kind: ralph.RequestApproval, Command: "ls"}, Verdict: ralph.Approved, Rule: "gate.approvals: policy"})
	html := pageOf(t, x, "/gate/g-ques", http.StatusOK)
	hasAll(t, "answered", html, `data-status="answered"`, "by web", "blue", `class="card gate-late"`, `id="text-answer-g-ques"`)
	if got := k.State().Task("t-0001").Run.PendingReplies; len(got) != 2 || got[0].Text != "blue" {
		t.Errorf("replies: %+v", got)
	}
	hasAll(t, "denied", pageOf(t, x, "/gate/g-appr", http.StatusOK), `data-status="denied"`, "by cli", `no \x1b[31m&lt;script&gt;`, "Your words are still here.", `id="text-deny-g-appr"`, "disabled")
	list := pageOf(t, x, "/gates", http.StatusOK)
	hasAll(t, "list", list, "by web", "by cli", "run ls", "gate.approvals: policy", "answered from now on: Which: blue", `action="/do/revoke"`, "from <a href=\"/gate/g-ques\">")
	hasNone(t, "list", list, `id="gate-g-ques"`)
	act(t, x, "revoke", url.Values{"id": {string(k.State().Rules[0].ID)}, "sure": {"yes"}})
	hasAll(t, "no rule", pageOf(t, x, "/gates", http.StatusOK), "No answer holds from now on.")
}

// A gate that was decided long ago is looked for in the background, and found.
func TestGateOfLongAgo(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.add("engine", ralph.Asked{Approval: ralph.Approval{ID: "g-old", Kind: ralph.ApprovalStart, Text: "begin?"}})
	k.add("cli", ralph.Answered{ID: "g-old", Verdict: ralph.Approved})
	many := make([]ralph.Fact, 5100)
	for i := range many {
		many[i] = ralph.Control{Want: ralph.WantRun, Cause: fmt.Sprint(i)}
	}
	k.add("cli", many...)
	x := k.server(web.Options{})
	seen := waitPage(t, func() (string, bool) {
		html := pageOf(t, x, "/gate/g-old", http.StatusOK)
		return html, !strings.Contains(html, "Looking for it")
	})
	hasAll(t, "old", seen, `data-status="approved"`, "by cli", "begin?")
	waitPage(t, func() (string, bool) {
		w := httptest.NewRecorder()
		x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/gate/g-none", http.NoBody))
		return w.Body.String(), w.Code == http.StatusNotFound
	})
}

// waitPage makes a page until it is as wanted.
func waitPage(t *testing.T, look func() (string, bool)) string {
	t.Helper()
	wait := time.NewTicker(10 * time.Millisecond)
	defer wait.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-wait.C {
		if html, ok := look(); ok {
			return html
		}
	}
	html, _ := look()
	t.Fatal("it did not come to that:\n" + html)
	return ""
}
