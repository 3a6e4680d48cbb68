package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/web"
)

// acted is a repository in memory, on which actions work.
type acted struct {
	quiet
	j   *enginetest.Mem
	did []string
}

func (a *acted) State() *ralph.State { return a.j.State() }
func (a *acted) Context() action.Context {
	return action.Context{Now: time.Now(), Usual: ralph.Allowance{Iterations: 50, Time: 30 * time.Minute}, By: "web", ID: func(p string) string { return p + "-0001" }}
}

func (a *acted) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return a.j.Update(ctx, "web", decide)
}

func (a *acted) RollBack(_ context.Context, id ralph.TaskID) (string, error) {
	a.did = append(a.did, "rollback "+string(id))
	return "rolled back", nil
}

func (a *acted) Closed(id ralph.ApprovalID) error {
	return gates.NotOpen(id, func(int64, func(ralph.Event) error) error { return nil })
}

func openActed(t *testing.T) (*acted, *web.Server) {
	t.Helper()
	a := &acted{j: enginetest.NewMem(time.Now)}
	facts := []ralph.Fact{
		ralph.SessionStarted{ID: "s", Mode: "autopilot"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One", Notes: "old", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "w"},
		ralph.Prepared{Task: "t-1", Dir: "w", Branch: "ralph/t-1", Head: "a"},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed},
	}
	if err := a.Update(t.Context(), func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
	x := web.New(web.Options{Source: a, Backend: a, Root: "/repo", Version: "test"})
	t.Cleanup(x.Close)
	return a, x
}

// post sends a form, from a page with scripts or from one without.
func postForm(t *testing.T, x http.Handler, path string, form url.Values, scripted bool) (*httptest.ResponseRecorder, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if scripted {
		r.Header.Set("HX-Request", "true")
	}
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w, w.Body.String()
}

// fields are the hidden fields of the form that a page asks with.
func fields(page string) url.Values {
	form := url.Values{}
	_, page, _ = strings.Cut(page, "card confirm")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Add(m[1], m[2])
	}
	return form
}

// Without scripts a form that takes something away is asked about on a page of its own,
// which carries all that was said; then it is done, and the person is back where it was
// (B-034, B-078).
func TestConfirmWithoutScripts(t *testing.T) {
	t.Parallel()
	a, x := openActed(t)
	res, page := postForm(t, x, "/do/rollback", url.Values{"id": {"t-1"}, "text": {"why \"not\""}, "names": {"a"}, "to": {"3"}, "back": {"/task/t-1?tab=diff"}}, false)
	if res.Code != http.StatusOK || len(a.did) > 0 || !strings.Contains(page, "<!doctype html>") || !strings.Contains(page, "back to where the task began?") {
		t.Fatalf("%d, %v: %s", res.Code, a.did, page)
	}
	form := fields(page)
	for name, want := range map[string]string{"id": "t-1", "text": "why &#34;not&#34;", "names": "a", "to": "3", "sure": "yes", "back": "/task/t-1?tab=diff"} {
		if got := form.Get(name); got != want {
			t.Errorf("the question carries %s=%q, want %q", name, got, want)
		}
	}
	res, page = postForm(t, x, "/do/rollback", form, false)
	if res.Code != http.StatusSeeOther || res.Header().Get("Location") != "/task/t-1?tab=diff" || len(a.did) != 1 {
		t.Errorf("%d to %q, %v: %s", res.Code, res.Header().Get("Location"), a.did, page)
	}
}

// With scripts the question comes into the dialog, what was done is a message, and its
// undo is a button that says what was before.
func TestDoWithScripts(t *testing.T) {
	t.Parallel()
	a, x := openActed(t)
	res, part := postForm(t, x, "/do/rollback", url.Values{"id": {"t-1"}}, true)
	if res.Header().Get("HX-Retarget") != "#dialog" || strings.Contains(part, "<html") || !strings.Contains(part, `name="sure"`) || len(a.did) > 0 {
		t.Errorf("%v %v %s", res.Header(), a.did, part)
	}
	_, part = postForm(t, x, "/do/edit", url.Values{"id": {"t-1"}, "notes": {"new\r\nnotes"}}, true)
	if x := a.State().Task("t-1"); x.Notes != "new\nnotes" || x.Name != "One" {
		t.Errorf("%+v", x)
	}
	if !strings.Contains(part, `action="/do/edit"`) || !strings.Contains(part, `name="notes" value="old"`) || !strings.Contains(part, "Undo") {
		t.Errorf("no undo: %s", part)
	}
	_, part = postForm(t, x, "/do/retry", url.Values{"id": {"t-9"}}, true)
	if !strings.Contains(part, "toast bad") || !strings.Contains(part, "no task t-9") {
		t.Errorf("%s", part)
	}
}

// A form goes back to a page of this dashboard only; what cannot be read is refused.
func TestFormsThatLie(t *testing.T) {
	t.Parallel()
	_, x := openActed(t)
	for _, back := range []string{"https://example.com/", "//example.com/x", "/\\example.com", "\\\\example.com", "javascript:alert(1)", "task/t-1"} {
		res, _ := postForm(t, x, "/do/retry", url.Values{"id": {"t-1"}, "back": {back}}, false)
		if to := res.Header().Get("Location"); to != "" && !regexp.MustCompile(`^/([a-z%].*)?$`).MatchString(to) {
			t.Errorf("%q leads to %q", back, to)
		}
	}
	if res, page := postForm(t, x, "/do/extend", url.Values{"id": {"t-1"}, "to": {"many"}}, false); res.Code != http.StatusUnprocessableEntity || !strings.Contains(page, "is no whole number") {
		t.Errorf("%d %s", res.Code, page)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/do/retry?id=t-1", http.NoBody)
	w := httptest.NewRecorder()
	if x.ServeHTTP(w, r); w.Code == http.StatusOK || w.Code == http.StatusSeeOther {
		t.Errorf("a GET does something: %d", w.Code)
	}
}
