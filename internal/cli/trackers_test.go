package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// of is a repository whose issues come from a service.
func of(t *testing.T, service ralph.Service, s *trackertest.Server) (env workspace.Env, out *bytes.Buffer, item string) {
	t.Helper()
	item = map[ralph.Service]string{ralph.GitHub: "o/r#7", ralph.Jira: "PROJ-7", ralph.AzureDevOps: "ado:7"}[service]
	settings := map[ralph.Service]string{
		ralph.GitHub: "{repo: o/r, base_url: '" + s.URL + "'}", ralph.Jira: "{project: PROJ, url: '" + s.Access() + "'}", ralph.AzureDevOps: "{project: proj, url: '" + s.Access() + "'}",
	}[service]
	env, out = engineIn(t, builds, "sync: {"+string(service)+": "+settings+"}\ninbox: {sources: [{service: "+string(service)+", query: 'label:ralph is:open', allow: [anyone]}]}\n")
	env.Environ = append(env.Environ, "GITHUB_TOKEN=token", "JIRA_USER=anna@example.com", "JIRA_TOKEN=token", "AZURE_DEVOPS_TOKEN=token")
	return env, out, item
}

// Issues of each service come in by a source and by name, and are worked on like any spec (C-055).
func TestIssuesIn(t *testing.T) {
	t.Parallel()
	for _, service := range ralphtest.Cases(3, ralph.Services()) {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			s := trackertest.Start(t, service)
			env, out, item := of(t, service, s)
			for _, n := range []string{"7", "8"} {
				i := trackertest.Item{Key: strings.Replace(strings.TrimPrefix(item, "ado:"), "7", n, 1), Title: "Add codes", Body: "They are taken at the till.", State: "To Do", Author: "Mia"}
				if n == "7" {
					i.Labels, i.Fields = []string{"ralph"}, map[string]any{"System.Tags": "ralph"}
				}
				if service == ralph.GitHub {
					i.State = "open"
				}
				s.Add(i)
			}
			ralphIn(t, env, 0, "inbox", "pull")
			ralphIn(t, env, 0, "inbox", "add", strings.Replace(item, "7", "8", 1))
			ralphIn(t, env, 2, "inbox", "add", strings.Replace(item, "7", "8", 1)) // it waits already
			specs, err := filepath.Glob(filepath.Join(env.Dir, "ralph/specs/*-add-codes.md"))
			if err != nil || len(specs) != 2 {
				t.Fatalf("%v, %v\n%s", specs, err, out)
			}
			for _, spec := range specs {
				if b, err := os.ReadFile(spec); err != nil || !strings.Contains(string(b), "They are taken at the till.") {
					t.Errorf("%s: %v\n%s", spec, err, b)
				}
			}
			ralphIn(t, env, 0, "agent")
			if !strings.Contains(out.String(), "is queued as") || !strings.Contains(out.String(), "Session summary: 2 specs, ") {
				t.Errorf("%s", out)
			}
			ralphIn(t, env, 0, "verify")
		})
	}
}

// The doctor asks each service in use once, changes nothing there, and says which right is missing.
func TestDoctorOfServices(t *testing.T) {
	t.Parallel()
	for _, service := range ralphtest.Cases(3, ralph.Services()) {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			s := trackertest.Start(t, service)
			env, out, _ := of(t, service, s)
			look := func(want string, steps ...trackertest.Step) {
				t.Helper()
				out.Reset()
				s.Script(steps...)
				env.Args = []string{"doctor"}
				Main(t.Context(), env) // there may be other findings
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
				s.Unscript()
			}
			look(service.Title() + " takes the token of ")
			look("401", trackertest.Step{Status: http.StatusUnauthorized})
			look("a sign-in page came instead of an answer", trackertest.Step{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Sign in</html>"})
			look("what is to be sent waits for it", trackertest.Step{Status: http.StatusBadGateway})
			writes := s.Calls(http.MethodPatch, http.MethodPut, http.MethodDelete)
			if service != ralph.AzureDevOps { // that is asked by a query, which is posted
				writes = append(writes, s.Calls(http.MethodPost)...)
			}
			if len(writes) > 0 {
				t.Errorf("changed: %v", writes)
			}
			env.Environ = append(env.Environ, "GITHUB_TOKEN=", "JIRA_TOKEN=", "AZURE_DEVOPS_TOKEN=")
			look("there is no token for " + service.Title())
		})
	}
}
