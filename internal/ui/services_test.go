package ui

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// withServices is atWork whose progress goes to two services: the one's breaker is open, the other
// has refused an entry and denies the rest until somebody has looked at its token.
func withServices(t testing.TB) *repository {
	t.Helper()
	r := atWork(t)
	hub := func(id string) ralph.PushRef {
		return ralph.PushRef{ID: ralph.PushID(id), Service: ralph.GitHub, Item: "acme/shop#12"}
	}
	jira := ralph.PushRef{ID: "j1", Service: ralph.Jira, Item: "SHOP-7"}
	now := r.story.Now
	r.add(
		ralph.PushWanted{PushRef: hub("p1"), What: ralph.PushStatus, Seq: 1}, ralph.PushTried{PushRef: hub("p1")}, ralph.Pushed{PushRef: hub("p1"), Remote: "1"},
		ralph.PushWanted{PushRef: hub("p2"), What: ralph.PushComment, Seq: 2, Spec: "feature-x.md", Text: "The work has begun."},
		ralph.PushTried{PushRef: hub("p2")}, ralph.PushRefused{PushRef: hub("p2"), Why: "422: the body is too long"},
		ralph.ServiceLimited{Service: ralph.GitHub, Until: now.Add(40 * time.Minute), Why: "the service says 403: Resource not accessible", Fix: "look at the token and its rights (docs/sync.md), then `[[breaker-retry github]]`"},
		ralph.PushWanted{PushRef: jira, What: ralph.PushComment, Seq: 3, Text: "The work has begun."},
		ralph.BreakerMoved{Service: ralph.Jira, From: ralph.BreakerClosed, Breaker: ralph.Breaker{State: ralph.BreakerOpen, Failures: []time.Time{now}, Opened: now, Until: now.Add(time.Minute), Why: "no connection"}},
	)
	return r
}

// The services that progress goes to: breaker, limit, next try, and what waits with its reason and
// with what helps; tried again and reset with a key and the menu.
func TestServices(t *testing.T) {
	t.Parallel()
	r := withServices(t)
	p := play(t, r, 150, 40).press("8")
	p.want("8 Services 2", "GitHub", "1 parked, 0 waiting, 1 sent", "Jira", "breaker open", "next "+r.story.Now.Add(time.Minute).Local().Format("15:04:05"))
	p.want("Because    the service says 403: Resource not accessible", "Helps      look at the token and its rights (docs/sync.md), then Send now (r)",
		"acme/shop#12  feature-x.md", "! parked  comment", "422: the body is too long", "“The work has begun.”", "r send now")
	p.press("r")
	if x, ok := newest(r).(ralph.ServiceRetried); !ok || x.Service != ralph.GitHub {
		t.Fatalf("r made %#v", newest(r))
	}
	p.look()
	p.want("✓ What waits is sent now")
	p.wantNot("Because    the service says 403")

	p.press("j", "x")
	p.want("Close the breaker")
	p.press("j", "enter")
	if x, ok := newest(r).(ralph.BreakerMoved); !ok || x.Service != ralph.Jira || x.Breaker.Now() != ralph.BreakerClosed {
		t.Fatalf("the menu made %#v", newest(r))
	}
}

// Before anything was sent the list says how a service is switched on.
func TestNoServices(t *testing.T) {
	t.Parallel()
	play(t, atWork(t), 100, 30).press("8").want("Nothing was sent to a service yet.", "sync")
}
