package forge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/ado"
	"github.com/ralph-loop/ralph/internal/tracker/jira"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// Issues of Jira and Azure DevOps become specs with their source, comments and attachments; who may
// not is passed over; what is edited, closed or labelled otherwise while it waits or is worked on is
// told, and what waits leaves the queue (C-055).
func TestIssuesOfOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		service ralph.Service
		keys    [5]string
		refs    [5]string
		closed  string
		file    string
		allow   string
	}{
		{ralph.Jira, [5]string{"PROJ-7", "PROJ-8", "PROJ-9", "PROJ-10", "PROJ-11"}, [5]string{"PROJ-7", "PROJ-8", "PROJ-9", "PROJ-10", "PROJ-11"}, "Done", "proj-7-add-codes.md", "id-mia"},
		{ralph.AzureDevOps, [5]string{"7", "8", "9", "10", "11"}, [5]string{"ado:7", "ado:8", "ado:9", "ado:10", "ado:11"}, "Closed", "ado-7-add-codes.md", "mia@example.com"},
	} {
		t.Run(string(tt.service), func(t *testing.T) {
			t.Parallel()
			x := newStand(t)
			s := trackertest.Start(t, tt.service)
			add := func(n int, author string) {
				i := trackertest.Item{Key: tt.keys[n], Title: "Add codes", Body: "They are taken at the till.", State: "To Do", Author: author, Attached: []string{"till.png"}}
				labelled(&i, "ralph")
				s.Add(i)
			}
			for n := range 3 {
				add(n, "Mia")
			}
			add(3, "Mallory")
			x.Others = map[ralph.Service]Reached{tt.service: {Client: clientOf(t, s), Breaker: breaker.Config{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2}}}
			x.Set.Sources = []Source{{Service: tt.service, Words: "label:ralph is:open", Every: time.Minute, Allow: []string{tt.allow, "Mallory"}}}
			var told []string
			x.Said = func(f ralph.Fact, _ *ralph.State) {
				if f, is := f.(ralph.IssueSeen); is {
					told = append(told, f.Issue.Ref+" "+f.What)
				}
			}
			round := func(after time.Duration) string {
				told = nil
				x.after(t, after)
				return strings.Join(told, "\n")
			}
			if got := round(0); strings.Count(got, "is queued as") != 3 || !strings.Contains(got, tt.refs[3]+" is passed over: its author") {
				t.Fatalf("queued:\n%s", got)
			}
			spec := func() string {
				b, err := os.ReadFile(filepath.Join(x.Root, "ralph/specs", tt.file))
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			if got := spec(); !strings.Contains(got, "They are taken at the till.") || !strings.Contains(got, "- till.png: https://example.com/") || !strings.Contains(got, tt.refs[0]) || !strings.Contains(got, tt.keys[0]) {
				t.Errorf("the spec is\n%s", got)
			}
			if got := round(time.Minute); got != "" {
				t.Errorf("nothing has changed, and it is told:\n%s", got)
			}

			s.Change(tt.keys[0], func(i *trackertest.Item) { i.Body = "At the desk." })
			s.Change(tt.keys[1], func(i *trackertest.Item) { i.State = tt.closed })
			s.Change(tt.keys[2], func(i *trackertest.Item) { labelled(i, "other") })
			got := round(time.Minute)
			for _, want := range []string{tt.refs[0] + " was edited: its spec is written anew", tt.refs[1] + " was closed, taken out of the queue", tt.refs[2] + " has other labels (other), taken out of the queue"} {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not among\n%s", want, got)
				}
			}
			if got := spec(); !strings.Contains(got, "At the desk.") {
				t.Errorf("the spec is\n%s", got)
			}
			if n := len(x.journal.State().Inbox); n != 1 {
				t.Errorf("%d are queued", n)
			}

			// What a person named is looked at as well, and the work on it goes on.
			s.Add(trackertest.Item{Key: tt.keys[4], Title: "Named", State: "To Do", Author: "Mallory"})
			said, err := x.Add(t.Context(), tt.refs[4])
			if err != nil || !strings.HasPrefix(said, "Queued: ") {
				t.Fatalf("%q, %v", said, err)
			}
			if _, err := x.Add(t.Context(), tt.refs[4]); err == nil || !strings.Contains(err.Error(), "is queued already") {
				t.Errorf("twice: %v", err)
			}
			s.Change(tt.keys[4], func(i *trackertest.Item) { i.State = tt.closed })
			if got := round(5 * time.Minute); !strings.Contains(got, tt.refs[4]+" was closed, taken out of the queue") {
				t.Errorf("told:\n%s", got)
			}

			// A service that fails opens its own breaker, and no other one.
			s.Script(trackertest.Step{Status: 500, Times: 100})
			x.after(t, time.Minute)
			for range 3 {
				x.after(t, 10*time.Second)
			}
			state := x.journal.State()
			if state.Outside(tt.service).Breaker.Now() != ralph.BreakerOpen || state.Outside(ralph.GitHub).Breaker.Now() != ralph.BreakerClosed {
				t.Errorf("%+v", state.Outsides)
			}
		})
	}
}

// labelled gives an item labels, as each service keeps them.
func labelled(i *trackertest.Item, labels ...string) {
	i.Labels = labels
	i.Fields = map[string]any{"System.Tags": strings.Join(labels, "; ")}
}

func clientOf(t *testing.T, s *trackertest.Server) interface {
	tracker.Client
	tracker.Searcher
	tracker.Reader
} {
	t.Helper()
	if s.Service == ralph.Jira {
		c, err := jira.New(tracker.Access{URL: s.Access(), Token: "token", User: "anna@example.com", Project: "PROJ"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, err := ado.New(tracker.Access{URL: s.Access(), Token: "token", Project: "proj"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A name that an author chose himself lets nobody in.
func TestLets(t *testing.T) {
	t.Parallel()
	mallory := tracker.Item{Ref: tracker.Ref{Service: ralph.Jira, Key: "PROJ-7"}, Author: "mia@example.com", Names: []string{"id-mallory"}}
	for _, tt := range []struct {
		allow []string
		want  bool
	}{{[]string{"mia@example.com"}, false}, {[]string{"team"}, false}, {[]string{"anyone"}, true}, {[]string{"ID-mallory"}, true}, {nil, false}} {
		if got := (Source{Allow: tt.allow}).lets(mallory); got != tt.want {
			t.Errorf("%v: %v", tt.allow, got)
		}
	}
	mallory.Member = true
	if !(Source{Allow: []string{"team"}}).lets(mallory) {
		t.Error("one of the site's own people is none of the team")
	}
}
