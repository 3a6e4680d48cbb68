package tracker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/ado"
	"github.com/ralph-loop/ralph/internal/tracker/github"
	"github.com/ralph-loop/ralph/internal/tracker/jira"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

var services = []struct { //nolint:gochecknoglobals // a table of tests
	service ralph.Service
	key     string
	done    string
	user    string
}{
	{ralph.GitHub, "o/r#1", "completed", ""},
	{ralph.Jira, "PROJ-7", "Done", "anna@example.com"},
	{ralph.AzureDevOps, "123", "Closed", ""},
}

func client(t testing.TB, s *trackertest.Server, token string) tracker.Client {
	t.Helper()
	a := tracker.Access{URL: s.Access(), Token: token, Project: "o/r"}
	var c tracker.Client
	var err error
	switch s.Service {
	case ralph.GitHub:
		c, err = github.New(a)
	case ralph.Jira:
		a.Project, a.User = "PROJ", "anna@example.com"
		c, err = jira.New(a)
	default:
		a.Project = "proj"
		c, err = ado.New(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// C-076, C-077, C-078: what each client sends, and what it reads of the answer, are as the
// official document of the service has them; a comment is found by its marker alone.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, tt := range services {
		t.Run(string(tt.service), func(t *testing.T) {
			t.Parallel()
			s := trackertest.Start(t, tt.service)
			s.Add(trackertest.Item{Key: tt.key, Title: "A title", Body: "What is wanted.", State: "To Do", Labels: []string{"old"}, Fields: map[string]any{"System.Tags": "old"}})
			if tt.service == ralph.GitHub {
				s.Add(trackertest.Item{Key: tt.key, Title: "A title", Body: "What is wanted.", Labels: []string{"old"}})
			}
			c, ctx := client(t, s, "token"), t.Context()
			ref := tracker.Ref{Service: tt.service, Key: tt.key}

			item, err := c.Item(ctx, ref, "")
			if err != nil || item.Title != "A title" || item.Body != "What is wanted." || !slices.Equal(item.Labels, []string{"old"}) || item.Closed {
				t.Fatalf("item %+v, %v", item, err)
			}
			rev := 0
			if g, ok := c.(tracker.Guarded); ok {
				if rev, err = g.Revision(ctx, ref); err != nil || rev != item.Rev {
					t.Fatalf("revision %d, %v; the item has %d", rev, err, item.Rev)
				}
			}
			words := "**Begun**\n\n- one <b>&\n- two"
			made, err := c.Comment(ctx, ref, tracker.Comment{Marker: "j1-1", Text: words, Rev: rev})
			if err != nil || made.ID == "" {
				t.Fatalf("comment %+v, %v", made, err)
			}
			if rev > 0 {
				if _, err := c.Comment(ctx, ref, tracker.Comment{Marker: "j1-1", Text: words, Rev: rev}); tracker.KindOf(err) != tracker.Conflict {
					t.Fatalf("the second write for revision %d: %v", rev, err)
				}
			}
			if _, err = c.Comment(ctx, ref, tracker.Comment{Marker: "j1-11", Text: "another"}); err != nil {
				t.Fatal(err)
			}
			found, err := c.Find(ctx, ref, "j1-1", time.Now().Add(-time.Minute))
			if err != nil || len(found) != 1 || found[0].ID != made.ID {
				t.Fatalf("found %+v, %v; made %+v", found, err, made)
			}
			if found, err = c.Find(ctx, ref, "j1-2", time.Now().Add(-time.Minute)); err != nil || len(found) != 0 {
				t.Fatalf("found %+v, %v", found, err)
			}
			if edited, err := c.Edit(ctx, ref, made.ID, tracker.Comment{Marker: "j1-1", Text: "Done"}); err != nil || edited.ID != made.ID {
				t.Fatalf("edited %+v, %v", edited, err)
			}
			if got := s.Item(tt.key).Comments; len(got) != 2 || !strings.Contains(got[0].Text, "Done") || strings.Contains(got[0].Text, "two") || got[0].Edits != 1 {
				t.Fatalf("comments %+v", got)
			}
			for range 2 { // to set it twice changes nothing
				if err := c.Set(ctx, ref, tracker.Change{State: tt.done, Add: []string{"ralph"}, Remove: []string{"old"}}); err != nil {
					t.Fatal(err)
				}
			}
			if item, err = c.Item(ctx, ref, ""); err != nil || !item.Closed || !slices.Equal(item.Labels, []string{"ralph"}) {
				t.Fatalf("item %+v, %v", item, err)
			}
			if who, err := c.Check(ctx); err != nil || who == "" {
				t.Fatalf("check: %q, %v", who, err)
			}
			if _, err := client(t, s, "wrong").Check(ctx); tracker.KindOf(err) != tracker.Denied {
				t.Fatalf("check with a wrong token: %v", err)
			}
			page, err := c.(tracker.Searcher).Search(ctx, map[ralph.Service]string{ralph.GitHub: "label:ralph is:closed", ralph.Jira: "project = PROJ", ralph.AzureDevOps: "SELECT [System.Id] FROM WorkItems"}[tt.service], "")
			if err != nil || len(page.Items) != 1 || page.Items[0].Ref != ref {
				t.Fatalf("search %+v, %v", page, err)
			}
			if _, err := c.Item(ctx, tracker.Ref{Service: tt.service, Key: strings.Replace(tt.key, "1", "9", 1) + "0"}, ""); tracker.KindOf(err) != tracker.Refused {
				t.Fatalf("an item that is not there: %v", err)
			}
		})
	}
}

// GitHub tells an unchanged issue by its etag.
func TestGitHubUnchanged(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1"})
	c, ref := client(t, s, "token"), tracker.Ref{Service: ralph.GitHub, Key: "o/r#1"}
	item, err := c.Item(t.Context(), ref, "")
	if err != nil || item.ETag == "" {
		t.Fatalf("%+v, %v", item, err)
	}
	if item, err = c.Item(t.Context(), ref, item.ETag); err != nil || !item.Unchanged {
		t.Fatalf("%+v, %v", item, err)
	}
}

// A field of a project is set by the id of its option, and an option that is not there is refused
// with those that are.
func TestGitHubProject(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1"})
	c, ref := client(t, s, "token"), tracker.Ref{Service: ralph.GitHub, Key: "o/r#1"}
	field := github.ProjectField("orgs/acme/7", "status")
	for range 2 {
		if err := c.Set(t.Context(), ref, tracker.Change{Fields: map[string]string{field: "In Progress"}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Item("o/r#1").Fields["field 7"]; got != "b2" {
		t.Errorf("the field is %v", got)
	}
	if reads := len(s.Calls(http.MethodGet)); reads != 1 {
		t.Errorf("the fields were read %d times", reads)
	}
	err := c.Set(t.Context(), ref, tracker.Change{Fields: map[string]string{field: "Nearly"}})
	if tracker.KindOf(err) != tracker.Refused || !strings.Contains(err.Error(), "Todo, In progress, Done") {
		t.Errorf("%v", err)
	}
}

// Without a user it is a Jira Data Center: version 2, a bearer's token, comments as text.
func TestJiraDataCenter(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.Jira)
	s.Add(trackertest.Item{Key: "PROJ-7"})
	c, err := jira.New(tracker.Access{URL: s.URL, Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Comment(t.Context(), tracker.Ref{Service: ralph.Jira, Key: "PROJ-7"}, tracker.Comment{Marker: "m", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal([]byte(s.Item("PROJ-7").Comments[0].Text), &text); err != nil || text != "hello\n\nralph:m" {
		t.Errorf("%q, %v", text, err)
	}
}

// What an answer means for the calls after it is told by its headers, not by its status alone
// (C-045, C-047): a limit is no failure, and a sign-in page is a token that is not known.
func TestWhatErrorsMean(t *testing.T) {
	t.Parallel()
	in40 := time.Now().Add(40 * time.Minute).Truncate(time.Second)
	reset := fmt.Sprint(in40.Unix())
	for _, tt := range []struct {
		name    string
		step    trackertest.Step
		want    tracker.Kind
		until   time.Duration // of a limit, from now
		arrived bool
		says    string
	}{
		{"primary limit", trackertest.Step{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}, Body: `{"message":"API rate limit exceeded"}`}, tracker.Limited, 40 * time.Minute, false, "rate limit"},
		{"429 with a reset", trackertest.Step{Status: 429, Header: map[string]string{"X-RateLimit-Reset": reset}}, tracker.Limited, 40 * time.Minute, false, ""},
		{"a reset as a date", trackertest.Step{Status: 429, Header: map[string]string{"X-RateLimit-Reset": in40.UTC().Format(time.RFC3339), "RateLimit-Reason": "jira-quota-based"}}, tracker.Limited, 40 * time.Minute, false, "jira-quota-based"},
		{"429 alone", trackertest.Step{Status: 429, Body: "<html>busy</html>"}, tracker.Limited, time.Minute, false, ""},
		{"secondary limit by header", trackertest.Step{Status: 403, Header: map[string]string{"Retry-After": "90"}}, tracker.Limited, 90 * time.Second, false, ""},
		{"secondary limit by words", trackertest.Step{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest/x#secondary-rate-limits"}`}, tracker.Limited, time.Minute, false, ""},
		{"503 with a time", trackertest.Step{Status: 503, Header: map[string]string{"Retry-After": "12.500"}}, tracker.Limited, 12500 * time.Millisecond, false, ""},
		{"503", trackertest.Step{Status: 503}, tracker.Failure, 0, true, "503"},
		{"500", trackertest.Step{Status: 500}, tracker.Failure, 0, true, ""},
		{"no JSON", trackertest.Step{Status: 200, Body: "<html>welcome</html>"}, tracker.Failure, 0, true, "no JSON"},
		{"cut", trackertest.Step{Cut: true}, tracker.Failure, 0, true, "no answer"},
		{"hang", trackertest.Step{Hang: true}, tracker.Failure, 0, true, "in time"},
		{"sign-in page", trackertest.Step{Status: 203, Body: "<html>Sign in</html>"}, tracker.Denied, 0, false, "token"},
		{"sign-in page of 200", trackertest.Step{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Please Sign In</html>"}, tracker.Denied, 0, false, "token"},
		{"sign-in redirect", trackertest.Step{Status: 302, Header: map[string]string{"Location": "/signin"}}, tracker.Denied, 0, false, "token"},
		{"a right is missing", trackertest.Step{Status: 403, Header: map[string]string{"X-Accepted-GitHub-Permissions": "issues=write", "X-RateLimit-Remaining": "4000"}, Body: `{"message":"Resource not accessible"}`}, tracker.Denied, 0, false, "needs issues=write"},
		{"401", trackertest.Step{Status: 401}, tracker.Denied, 0, false, ""},
		{"gone", trackertest.Step{Status: 410}, tracker.Refused, 0, false, ""},
		{"not valid", trackertest.Step{Status: 422, Body: `{"message":"Validation Failed"}`}, tracker.Refused, 0, false, "Validation Failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, service := range services {
				s := trackertest.Start(t, service.service)
				s.Script(tt.step)
				ctx := t.Context()
				if tt.step.Hang {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
					defer cancel()
				}
				_, err := client(t, s, "token").Edit(ctx, tracker.Ref{Service: service.service, Key: service.key}, "1", tracker.Comment{Marker: "m", Text: "x"})
				e, ok := errors.AsType[*tracker.Error](err)
				if !ok || e.Kind() != tt.want || e.Arrived != tt.arrived || !strings.Contains(e.Error(), tt.says) {
					t.Errorf("%s: %v (%+v)", service.service, err, e)
					continue
				}
				now := time.Now()
				if got := e.Until(now).Sub(now); tt.want == tracker.Limited && (got < tt.until-tt.until/8 || got > tt.until) {
					t.Errorf("%s: the limit ends in %v, want %v", service.service, got, tt.until)
				}
			}
		})
	}
}

// A server that is not there has not got what was sent: it need not be looked for.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.Jira)
	c := client(t, s, "token")
	s.Close()
	_, err := c.Comment(t.Context(), tracker.Ref{Service: ralph.Jira, Key: "PROJ-7"}, tracker.Comment{Marker: "m"})
	e, ok := errors.AsType[*tracker.Error](err)
	if !ok || e.Kind() != tracker.Failure || e.Arrived {
		t.Errorf("%+v", e)
	}
}

// A repository that was renamed is followed to where it is, by reading and by writing, and is
// asked there by its new name from then on. Another host gets nothing: the token is for this one.
func TestRenamed(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	s.Add(trackertest.Item{Key: "o/r#1", Title: "A title"})
	s.Rename("o/r", "o/new")
	c, ref := client(t, s, "token"), tracker.Ref{Service: ralph.GitHub, Key: "o/r#1"}
	if item, err := c.Item(t.Context(), ref, ""); err != nil || item.Title != "A title" || item.Ref != ref {
		t.Fatalf("%+v, %v", item, err)
	}
	if got := c.(tracker.Renamer).Renames(); got["o/r"] != "o/new" {
		t.Errorf("renames %v", got)
	}
	before := len(s.Calls())
	if _, err := c.Comment(t.Context(), ref, tracker.Comment{Marker: "m", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Calls()) - before; n != 1 {
		t.Errorf("%d calls for one comment", n)
	}
	if _, err := client(t, s, "token").Comment(t.Context(), ref, tracker.Comment{Marker: "m2", Text: "x"}); err != nil {
		t.Fatalf("a write that is redirected: %v", err)
	}
	if n := len(s.Item("o/new#1").Comments); n != 2 {
		t.Errorf("%d comments", n)
	}
	s.Script(trackertest.Step{Status: 301, Header: map[string]string{"Location": "http://evil.example/repositories/17/issues/1"}})
	_, err := c.Item(t.Context(), ref, "")
	if e, ok := errors.AsType[*tracker.Error](err); !ok || e.Moved != "http://evil.example/repositories/17/issues/1" || e.Kind() != tracker.Refused {
		t.Errorf("%v", err)
	}
}

// More than a page of issues and comments is read whole; what has not changed on any page is told
// by its etags, and an answer that has costs one call a page.
func TestGitHubPages(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.GitHub)
	for n := 1; n <= 230; n++ {
		s.Add(trackertest.Item{Key: fmt.Sprintf("o/r#%d", n), Labels: []string{"ralph"}})
	}
	c := client(t, s, "token").(*github.Client)
	page, err := c.Search(t.Context(), "label:ralph", "")
	if err != nil || len(page.Items) != 230 || page.More {
		t.Fatalf("%d issues, %v", len(page.Items), err)
	}
	again, err := c.Search(t.Context(), "label:ralph", page.ETag)
	if err != nil || !again.Unchanged {
		t.Fatalf("%+v, %v", again.Unchanged, err)
	}
	for _, call := range s.Calls()[3:] {
		if call.Status != http.StatusNotModified {
			t.Errorf("%+v", call)
		}
	}
	s.Add(trackertest.Item{Key: "o/r#230", Title: "edited", Labels: []string{"ralph"}, Rev: 2}) // on the last page
	if again, err = c.Search(t.Context(), "label:ralph", page.ETag); err != nil || again.Unchanged || again.Items[229].Title != "edited" {
		t.Fatalf("%+v, %v", again.Unchanged, err)
	}
	ref := tracker.Ref{Service: ralph.GitHub, Key: "o/r#1"}
	for n := range 130 {
		if _, err := c.Comment(t.Context(), ref, tracker.Comment{Marker: fmt.Sprint("m-", n), Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := c.Comments(t.Context(), ref); err != nil || len(said) != 130 {
		t.Errorf("%d comments, %v", len(said), err)
	}
	if found, err := c.Find(t.Context(), ref, "m-129", time.Time{}); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestGitHubQuery(t *testing.T) {
	t.Parallel()
	q, err := github.ParseQuery(`label:ralph label:"good first" is:open author:mia is:issue repo:o/r`)
	if err != nil || strings.Join(q.Labels, ",") != "ralph,good first" || q.Repo != "o/r" {
		t.Errorf("%+v %v", q, err)
	}
	for _, bad := range []string{"discount", "sort:created", "is:pr", "label:"} {
		if _, err := github.ParseQuery(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
