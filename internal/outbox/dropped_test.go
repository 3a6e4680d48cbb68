package outbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// dropping is a service while whose comments are looked through a person drops the entry.
type dropping struct {
	tracker.Client
	drop func()
}

func (d dropping) Find(context.Context, tracker.Ref, string, time.Time) ([]tracker.Remote, error) {
	d.drop()
	return nil, nil
}

// The one call that is tried after a break is over when its entry has gone before it: whoever comes next
// tries the service, and does not wait for a call that nobody makes.
func TestTrialOfAnEntryThatIsDropped(t *testing.T) {
	t.Parallel()
	j, err := journal.Open(journal.Options{Root: t.TempDir(), Now: clockOf("")})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	write := func(facts ...ralph.Fact) {
		t.Helper()
		if err := j.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			t.Error(err)
		}
	}
	at := ralph.PushRef{ID: "test-1-comment", Service: ralph.GitHub, Item: "o/r#1"}
	past := time.Now().Add(-time.Hour)
	write(
		ralph.PushWanted{PushRef: at, What: ralph.PushComment, Seq: 1, Text: "done"},
		ralph.PushTried{PushRef: at}, // by a process that was killed: it is looked for first
		ralph.BreakerMoved{Service: ralph.GitHub, From: ralph.BreakerClosed, Breaker: ralph.Breaker{State: ralph.BreakerOpen, Opened: past, Until: past}},
	)
	x := optionsOf(j, ralph.GitHub, "")
	how := x.Services[ralph.GitHub]
	how.Settle, how.Client = 0, func() (tracker.Client, error) {
		return dropping{drop: func() { write(ralph.PushDropped{PushRef: at}) }}, nil
	}
	x.Services[ralph.GitHub] = how
	o, err := outbox.Start(x)
	if err != nil {
		t.Fatal(err)
	}
	for s := j.State(); ; s = j.State() {
		if waiting, _ := s.Waiting(ralph.GitHub); waiting == 0 {
			break
		}
		<-j.Moved(s.Seq)
	}
	o.Close(t.Context())
	if b := j.State().Outside(ralph.GitHub).Breaker; b.Now() != ralph.BreakerHalfOpen || b.Trial != "" {
		t.Errorf("the breaker is %s, and %q tries a call", b.Now(), b.Trial)
	}
}
