package tracker_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// An item is read with what people said of it, its attachments and the names that its author cannot
// choose; a query in words finds what is labelled and open, as the document of each service has it.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		service  ralph.Service
		keys     [4]string
		closed   string
		name     string
		project  string // in the language of the service
		attached string
	}{
		{ralph.Jira, [4]string{"PROJ-7", "PROJ-8", "PROJ-9", "PROJ-10"}, "Done", "id-mia", "project = PROJ ORDER BY key", "/secure/attachment/a.png"},
		{ralph.AzureDevOps, [4]string{"7", "8", "9", "10"}, "Closed", "mia@example.com", "[System.Id] > 0", "/attachments/a.png"},
	} {
		t.Run(string(tt.service), func(t *testing.T) {
			t.Parallel()
			s := trackertest.Start(t, tt.service)
			at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
			add := func(n int, state string, tags ...string) {
				s.Add(trackertest.Item{
					Key: tt.keys[n], Title: fmt.Sprint("item ", n), Body: "What is wanted.", State: state, Labels: tags, Author: "Mia", Updated: at, Attached: []string{"a.png"},
					Fields:   map[string]any{"System.Tags": strings.Join(tags, "; ")},
					Comments: []trackertest.Comment{{ID: 2, Author: "Ben", Text: said(tt.service, "how many?")}, {ID: 3, Author: "Mia", Text: said(tt.service, "three")}},
				})
			}
			add(0, "To Do", "ralph", "other")
			add(1, tt.closed, "ralph")
			add(2, "To Do", "ralphs") // a label that begins alike
			add(3, "To Do")
			c := client(t, s, "token")
			find := func(query string) (refs []string) {
				page, err := c.(tracker.Searcher).Search(t.Context(), query, "")
				if err != nil || page.More {
					t.Fatalf("%s: %+v, %v", query, page, err)
				}
				for _, i := range page.Items {
					refs = append(refs, i.Ref.Key)
				}
				return refs
			}
			if got := find(`label:ralph is:open`); !slices.Equal(got, tt.keys[:1]) {
				t.Errorf("open and labelled: %v", got)
			}
			if got := find(tt.project); len(got) != 4 {
				t.Errorf("in its own language: %v", got)
			}
			if _, err := c.(tracker.Searcher).Search(t.Context(), "label:ralph sort:created", ""); err == nil || !strings.Contains(err.Error(), "sort:created") {
				t.Errorf("a word that is none: %v", err)
			}
			ref := tracker.Ref{Service: tt.service, Key: tt.keys[0]}
			i, err := c.Item(t.Context(), ref, "")
			if err != nil || !i.Member || !slices.Contains(i.Names, tt.name) || slices.Contains(i.Names, "Mia") || !i.Updated.Equal(at) || len(i.Attached) != 1 || i.Attached[0].Name != "a.png" || !strings.HasSuffix(i.Attached[0].URL, tt.attached) {
				t.Errorf("%+v, %v", i, err)
			}
			comments, err := c.(tracker.Reader).Comments(t.Context(), ref)
			if err != nil || len(comments) != 2 || comments[0].Text != "how many?" || comments[1].Text != "three" || !strings.EqualFold(comments[1].Author[:3], "mia") {
				t.Errorf("%+v, %v", comments, err)
			}
		})
	}
}

// said is a comment as a service has it.
func said(service ralph.Service, words string) string {
	if service == ralph.Jira {
		return fmt.Sprintf(`{"type":"doc","version":1,"content":[{"type":"paragraph","content":[{"type":"text","text":%q}]}]}`, words)
	}
	return "<div>" + words + "</div>"
}

// A customer of a help desk is none of the site's own people.
func TestJiraCustomer(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.Jira)
	s.Add(trackertest.Item{Key: "PROJ-7", Author: "Mallory", Kind: "customer"})
	i, err := client(t, s, "token").Item(t.Context(), tracker.Ref{Service: ralph.Jira, Key: "PROJ-7"}, "")
	if err != nil || i.Member || i.Author != "Mallory" {
		t.Errorf("%+v, %v", i, err)
	}
}

// All of a search is read, page by page.
func TestJiraPages(t *testing.T) {
	t.Parallel()
	s := trackertest.Start(t, ralph.Jira)
	for n := range 230 {
		s.Add(trackertest.Item{Key: fmt.Sprintf("PROJ-%d", n+1), Labels: []string{"ralph"}})
	}
	page, err := client(t, s, "token").(tracker.Searcher).Search(t.Context(), "label:ralph", "")
	if err != nil || len(page.Items) != 230 || page.More || len(s.Calls()) != 3 {
		t.Errorf("%d items in %d calls, %v", len(page.Items), len(s.Calls()), err)
	}
}

func TestParseWords(t *testing.T) {
	t.Parallel()
	w, ok, err := tracker.ParseWords(`label:ralph label:"two words" is:open author:mia is:issue`)
	if err != nil || !ok || strings.Join(w.Labels, "|") != "ralph|two words" || w.State != "open" || w.Author != "mia" {
		t.Errorf("%+v %v %v", w, ok, err)
	}
	for _, own := range []string{"project = PROJ AND labels = ralph", "SELECT [System.Id] FROM WorkItems", `summary ~ "a label: x"`} {
		if _, ok, err := tracker.ParseWords(own); ok || err != nil {
			t.Errorf("%q is taken for words: %v", own, err)
		}
	}
	for _, bad := range []string{"label:ralph discount", "label:", "is:pr"} {
		if _, _, err := tracker.ParseWords(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
