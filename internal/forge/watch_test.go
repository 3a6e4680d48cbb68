package forge

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// stand is a watcher of one source, with a clock that tests move.
type stand struct {
	*Watcher
	hub     *trackertest.Server
	journal *enginetest.Mem
	at      time.Time
}

func newStand(t *testing.T) *stand {
	t.Helper()
	x := &stand{hub: trackertest.Start(t, ralph.GitHub), at: time.Now()}
	x.journal = enginetest.NewMem(func() time.Time { return x.at })
	client, err := github.New(tracker.Access{URL: x.hub.URL, Token: "token", Project: "o/r"})
	if err != nil {
		t.Fatal(err)
	}
	x.Watcher = &Watcher{
		Journal: x.journal, Client: client, Repo: "o/r", Places: tracker.Places{GitHubRepo: "o/r"}, Root: t.TempDir(), Redact: redact.New(nil, nil),
		Breaker: breaker.Config{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2},
		Set:     Settings{Sources: []Source{{Repo: "o/r", Words: "label:ralph", Labels: []string{"ralph"}, Every: time.Second, Allow: []string{"anyone"}}}},
		NewID:   func(s *ralph.State) ralph.SpecID { return ralph.SpecID(fmt.Sprintf("q-%d", len(s.Inbox))) },
		Now:     func() time.Time { return x.at },
	}
	return x
}

// after lets time pass and goes round once; it returns the calls that were made.
func (x *stand) after(t *testing.T, d time.Duration) []trackertest.Call {
	t.Helper()
	x.at = x.at.Add(d)
	before := len(x.hub.Calls())
	if err := x.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x.hub.Calls()[before:]
}

// C-045, C-047: a limit of the service, by whichever header it is told, holds all that asks it until
// its time, is a fact, and does not move the breaker.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		step trackertest.Step
		wait time.Duration
	}{
		"primary":            {trackertest.Step{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(time.Now().Add(40 * time.Minute).Unix())}}, 40 * time.Minute},
		"secondary":          {trackertest.Step{Status: 403, Header: map[string]string{"Retry-After": "90"}}, 90 * time.Second},
		"429":                {trackertest.Step{Status: 429, Header: map[string]string{"Retry-After": "120"}}, 2 * time.Minute},
		"429 without a time": {trackertest.Step{Status: 429}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newStand(t)
			x.hub.Script(tt.step)
			if calls := x.after(t, 0); len(calls) != 1 {
				t.Fatalf("%v", calls)
			}
			s := x.journal.State().Outside(ralph.GitHub)
			if got := s.Until.Sub(x.at); got < tt.wait-5*time.Second || got > tt.wait || s.Breaker.Now() != ralph.BreakerClosed || len(s.Breaker.Failures) > 0 {
				t.Fatalf("held for %v, breaker %+v", got, s.Breaker)
			}
			if calls := x.after(t, tt.wait-10*time.Second); len(calls) > 0 {
				t.Errorf("asked before its time: %v", calls)
			}
			if _, err := x.Add(t.Context(), "#1"); err == nil || !strings.Contains(err.Error(), "is not asked before") {
				t.Errorf("a person's request: %v", err)
			}
			if calls := x.after(t, 11*time.Second); len(calls) != 1 || calls[0].Status != http.StatusOK {
				t.Errorf("after its time: %v", calls)
			}
		})
	}
}

// C-044, C-046: failures open the breaker of the service, which whatever asks it shares; half-open
// it is tried, and closes again. A person's word has it tried at once.
func TestBreakerHolds(t *testing.T) {
	t.Parallel()
	x := newStand(t)
	x.hub.Script(trackertest.Step{Status: 502, Times: 4})
	for range 3 {
		if calls := x.after(t, firstPause); len(calls) != 1 {
			t.Fatalf("%v", calls)
		}
	}
	if b := x.journal.State().Outside(ralph.GitHub).Breaker; b.Now() != ralph.BreakerOpen {
		t.Fatalf("%+v", b)
	}
	if calls := x.after(t, 59*time.Second); len(calls) > 0 {
		t.Errorf("asked while it is open: %v", calls)
	}
	if calls := x.after(t, time.Second); len(calls) != 1 { // the trial fails
		t.Errorf("the trial: %v", calls)
	}
	if calls := x.after(t, 30*time.Second); len(calls) > 0 {
		t.Errorf("asked while it is open again: %v", calls)
	}
	if err := x.journal.Update(t.Context(), "person", func(s *ralph.State) ([]ralph.Fact, error) { return s.RetryService("github") }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if calls := x.after(t, 2*time.Second); len(calls) != 1 || calls[0].Status >= 400 {
			t.Errorf("after a person's word: %v", calls)
		}
	}
	if b := x.journal.State().Outside(ralph.GitHub).Breaker; b.Now() != ralph.BreakerClosed {
		t.Errorf("%+v", b)
	}
	// What sends progress to the service has met a limit: issues are not asked for either.
	limited := ralph.ServiceLimited{Service: ralph.GitHub, Until: x.at.Add(time.Hour), Why: "limit"}
	if err := x.journal.Update(t.Context(), "sync", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{limited}, nil }); err != nil {
		t.Fatal(err)
	}
	if calls := x.after(t, 59*time.Minute); len(calls) > 0 {
		t.Errorf("asked at a limit that another has met: %v", calls)
	}
}

// A sign-in page in the place of an answer is a token that is not known: the service is held, with
// what a person can do. A right that is missing for one thing holds no other.
func TestDenied(t *testing.T) {
	t.Parallel()
	x := newStand(t)
	x.hub.Script(trackertest.Step{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>Sign in</html>"})
	x.after(t, 0)
	if s := x.journal.State().Outside(ralph.GitHub); !strings.Contains(s.Why, "sign-in page") || s.Fix == "" || s.Breaker.Now() != ralph.BreakerClosed {
		t.Errorf("%+v", s)
	}
	y := newStand(t)
	y.hub.Script(trackertest.Step{Status: 403, Body: `{"message":"Resource not accessible"}`})
	y.after(t, 0)
	if at, why := breaker.MayCall(y.journal.State().Outside(ralph.GitHub), "forge", y.at); !at.IsZero() {
		t.Errorf("held until %v: %s", at, why)
	}
}

// A repository that was renamed is followed and told once, and its issues are the same under both
// names. More issues than one page has are all taken in.
func TestRenamedSource(t *testing.T) {
	t.Parallel()
	x := newStand(t)
	for n := 1; n <= 120; n++ {
		x.hub.Add(trackertest.Item{Key: fmt.Sprintf("o/r#%d", n), Title: fmt.Sprint("issue ", n), Labels: []string{"ralph"}})
	}
	x.after(t, 0)
	if n := len(x.journal.State().Inbox); n != 120 {
		t.Fatalf("%d specs", n)
	}
	x.hub.Rename("o/r", "o/new")
	x.after(t, 2*time.Second)
	x.after(t, 2*time.Second)
	var renames []ralph.Fact
	for _, e := range x.journal.Events() {
		if f, ok := e.Fact.(ralph.RepoRenamed); ok {
			renames = append(renames, f)
		}
	}
	if len(renames) != 1 || renames[0] != ralph.Fact(ralph.RepoRenamed{Service: ralph.GitHub, From: "o/r", To: "o/new"}) {
		t.Errorf("%v", renames)
	}
	x.Set.Sources[0].Repo = "o/new" // the person has changed the settings
	x.after(t, 2*time.Second)
	if s := x.journal.State(); len(s.Inbox) != 120 || s.Item("o/new#7") == nil || s.Item("o/new#7") != s.Item("o/r#7") {
		t.Errorf("%d specs, %v", len(s.Inbox), s.Item("o/new#7"))
	}
}
