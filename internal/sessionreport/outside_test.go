package sessionreport_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/sessionreport"
)

// C-082: the report of a session has how often each breaker opened, what was sent to trackers, and what
// these did not take, with its reason.
func TestReportOfServices(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.New(r)
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	sent := ralph.PushRef{ID: "a", Service: ralph.GitHub, Item: "o/r#1"}
	parked := ralph.PushRef{ID: "b", Service: ralph.GitHub, Item: "o/r#1"}
	x.Add(ralph.PushWanted{PushRef: sent, What: ralph.PushComment, Seq: 1, Text: "not for reports"}, ralph.PushTried{PushRef: sent}, ralph.Pushed{PushRef: sent, Remote: "17"})
	x.Add(ralph.PushWanted{PushRef: parked, What: ralph.PushComment, Seq: 2}, ralph.PushRefused{PushRef: parked, Why: "This issue was locked"})
	open := ralph.Breaker{State: ralph.BreakerOpen, Opened: x.Now, Until: x.Now.Add(time.Hour), Why: "502 Bad Gateway"}
	for range 2 {
		x.Add(ralph.BreakerMoved{Service: ralph.GitHub, From: ralph.BreakerClosed, Breaker: open})
		x.Add(ralph.BreakerMoved{Service: ralph.GitHub, From: ralph.BreakerOpen, Breaker: ralph.Breaker{}})
	}
	x.Add(ralph.BreakerMoved{Service: ralph.GitHub, From: ralph.BreakerClosed, Breaker: open})
	x.Finish(ralph.ReasonComplete, "")
	got := tell(t, r)
	if len(got.Services) != 1 || got.Services[0].Trips != 3 || got.Services[0].Sent != 1 || got.Services[0].Parked != 1 {
		t.Errorf("%+v", got.Services)
	}
	var b bytes.Buffer
	if err := got.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| GitHub | open | 1 |  | 1 |  | 3 |", "502 Bad Gateway", "| parked | This issue was locked | ralph breaker retry github |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "not for reports") {
		t.Error("what was sent stands in the report")
	}
}
