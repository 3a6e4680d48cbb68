package status

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/services"
)

// C-021: how each service stands, what waits or is parked with its reason, and what helps: of
// progress, pull requests and pushes alike.
func TestServices(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	s := &ralph.State{}
	s.Outsides = []ralph.OutsideService{{Service: ralph.GitHub, Trips: 2, Breaker: ralph.Breaker{State: ralph.BreakerOpen, Until: at.Add(time.Minute), Why: "502 Bad Gateway"}}}
	s.Remotes = []*ralph.RemoteItem{{Service: ralph.GitHub, Item: "o/r#1", Sent: 3, Pushes: []ralph.Push{{ID: "a", Kind: ralph.PushComment, Refused: true, Why: "422"}, {ID: "b", Kind: ralph.PushStatus}}}}
	s.Pulls = []*ralph.Pull{
		{Outgoing: ralph.Outgoing{Branch: "ralph/x", Remote: "origin"}, Commit: "c", Pushed: "c", Request: ralph.PullRequest{Repo: "o/r", Number: 4, Error: "no such base", Parked: true}},
		{Outgoing: ralph.Outgoing{Branch: "ralph/y", Remote: "origin"}, Commit: "d", Tried: 2, Error: "no route to host"},
	}
	rows := services.List(s, at)
	if len(rows) != 2 || rows[0].Sent != 3 || rows[0].Waiting != 1 || rows[0].Parked != 2 || rows[0].Pulls != 1 || rows[0].Trips != 2 {
		t.Fatalf("%+v", rows)
	}
	if e := rows[0].Entries[2]; e.Item != "o/r#4" || e.Problem != "no such base" || e.Help != "`[[breaker-retry github]]`" {
		t.Errorf("the pull request: %+v", e)
	}
	if r := rows[1]; r.Title != "the remote origin" || r.State != "failing" || r.Waiting != 1 || r.Entries[0].Help != "`[[pull]]`" {
		t.Errorf("the remote: %+v", r)
	}
	if r := services.Query(s, at); r[0].Entries[2].Help != "`ralph breaker retry github`" {
		t.Errorf("as programs read it: %+v", r[0].Entries[2])
	}
	words := Text(s, Engine{}, at)
	for _, want := range []string{"GitHub open until", "502 Bad Gateway; 3 sent, 1 waiting, 2 parked, 1 pull request", "the remote origin failing; 1 waiting", "GitHub: 2 entries are parked: o/r#1: 422"} {
		if !strings.Contains(words, want) {
			t.Errorf("the status does not say %q:\n%s", want, words)
		}
	}
	if rows := services.List(&ralph.State{}, at); len(rows) != 0 {
		t.Errorf("without any: %+v", rows)
	}
}
