package tracker_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

func TestParse(t *testing.T) {
	t.Parallel()
	at := tracker.Places{GitHubRepo: "acme/app", GitHubURL: "https://git.acme.example/api/v3", JiraURL: "https://jira.acme.example", ADOURL: "https://tfs.acme.example/tfs/Default"}
	for text, want := range map[string]tracker.Ref{
		"owner/repo#12": {ralph.GitHub, "owner/repo#12"},
		"#12":           {ralph.GitHub, "acme/app#12"},
		"\tPROJ-7\n":    {ralph.Jira, "PROJ-7"},
		"ado:123":       {ralph.AzureDevOps, "123"},
		"ADO:123":       {ralph.AzureDevOps, "123"},
		"https://github.com/owner/repo/issues/12?x=1#issuecomment-3":    {ralph.GitHub, "owner/repo#12"},
		"https://github.com/owner/repo/pull/12/files":                   {ralph.GitHub, "owner/repo#12"},
		"https://git.acme.example/owner/repo/issues/12":                 {ralph.GitHub, "owner/repo#12"},
		"https://git.acme.example/api/v3/repos/owner/repo/issues/12":    {ralph.GitHub, "owner/repo#12"},
		"https://acme.atlassian.net/browse/PROJ-7":                      {ralph.Jira, "PROJ-7"},
		"https://acme.atlassian.net/jira/x/board?selectedIssue=PROJ-7":  {ralph.Jira, "PROJ-7"},
		"https://jira.acme.example/browse/PROJ-7":                       {ralph.Jira, "PROJ-7"},
		"https://dev.azure.com/org/proj/_workitems/edit/123":            {ralph.AzureDevOps, "123"},
		"https://dev.azure.com/org/proj/_boards/board/t?workitem=123":   {ralph.AzureDevOps, "123"},
		"https://tfs.acme.example/tfs/Default/proj/_workitems/edit/123": {ralph.AzureDevOps, "123"},
	} {
		if got, err := tracker.Parse(text, at); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "12", "#", "#0", "a/b/c#1", "../x#1", "proj-7", "PROJ-", "PROJ-0", "PROJ-07", "ado:", "ado:x", "https://evil.example/browse/PROJ-7", "https://github.com/o/r", "http://", "o r/x#1", "PROJ-7\nX"} {
		if got, err := tracker.Parse(text, at); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if _, err := tracker.Parse("#12", tracker.Places{}); err == nil {
		t.Error("#12 without a repository was taken")
	}
}

// Whatever is written, what is taken for an item is one again when it is written down.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"o/r#1", "PROJ-7", "ado:3", "https://github.com/o/r/issues/1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := tracker.Parse(s, tracker.Places{GitHubRepo: "a/b"})
		if err != nil {
			return
		}
		if again, err := tracker.Parse(ref.String(), tracker.Places{}); err != nil || again != ref {
			t.Errorf("%q is %v, which is %v, %v", s, ref, again, err)
		}
	})
}
