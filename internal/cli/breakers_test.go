package cli

import (
	"net/http"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// C-044 to C-046, C-048, C-049, C-052 to C-054: with the settings that people have, each service that fails is
// asked as often as its breaker lets it, and no more until its time is over; then two good answers
// close it. What is sent to it has the same breaker.
func TestBreakersOfServices(t *testing.T) {
	t.Parallel()
	for service, tt := range map[ralph.Service]struct {
		failures int
		reset    time.Duration
	}{
		ralph.GitHub:      {3, time.Minute},
		ralph.Jira:        {5, 2 * time.Minute},
		ralph.AzureDevOps: {5, 2 * time.Minute},
	} {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			server, now := trackertest.Start(t, service), time.Now()
			env := workspace.Env{Environ: []string{"GITHUB_TOKEN=token", "JIRA_USER=anna@example.com", "JIRA_TOKEN=token", "AZURE_DEVOPS_TOKEN=token"}}
			c := config.Defaults()
			c.Sync.GitHub.Repo, c.Sync.GitHub.BaseURL = "o/r", server.URL
			c.Sync.Jira.Project, c.Sync.Jira.URL = "PROJ", server.Access()
			c.Sync.ADO.Project, c.Sync.ADO.URL = "proj", server.Access()
			c.Sync.GitHub.Enabled, c.Sync.Jira.Enabled, c.Sync.ADO.Enabled = true, true, true
			c.Inbox.Sources = []setting.IssueSource{{Service: string(service), Query: "label:ralph is:open", Every: time.Second, Allow: []string{"anyone"}}}
			journal := enginetest.NewMem(func() time.Time { return now })
			w, err := (&bootstrap.Parts{Root: t.TempDir(), Config: c}).Watcher(env, journal)
			if err != nil {
				t.Fatal(err)
			}
			w.Now = func() time.Time { return now }
			// after says how many calls reach the service in the round after a time, and how its breaker is then.
			after := func(d time.Duration) (calls int, b ralph.BreakerState) {
				now = now.Add(d)
				before := len(server.Calls())
				if err := w.Round(t.Context()); err != nil {
					t.Fatal(err)
				}
				return len(server.Calls()) - before, journal.State().Outside(service).Breaker.Now()
			}

			server.Script(trackertest.Step{Status: http.StatusServiceUnavailable, Times: 1000})
			for n := 1; n <= tt.failures; n++ {
				want := ralph.BreakerClosed
				if n == tt.failures {
					want = ralph.BreakerOpen
				}
				if calls, b := after(5 * time.Second); calls != 1 || b != want {
					t.Errorf("failure %d: %d calls, the breaker is %s, want %s", n, calls, b, want)
				}
			}
			server.Unscript()
			if calls, _ := after(tt.reset - time.Second); calls != 0 {
				t.Errorf("%d calls within %s", calls, tt.reset)
			}
			for n, want := range []ralph.BreakerState{ralph.BreakerHalfOpen, ralph.BreakerClosed} {
				if calls, b := after(time.Second); calls == 0 || b != want {
					t.Errorf("good answer %d: %d calls, the breaker is %s, want %s", n+1, calls, b, want)
				}
			}

			sent := bootstrap.Trackers{Env: env, Config: c}.Services()[service].Breaker
			if sent.Failures != tt.failures || sent.Reset != tt.reset || sent.Window != tt.reset || sent.Successes != 2 {
				t.Errorf("what is sent has the breaker %+v", sent)
			}
		})
	}
}
