package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// C-040, X-75: what a hook of a person's own session asks is listed and answered while no
// engine runs, also for good; when its time is over it is neither.
func TestGatesWithoutAnEngine(t *testing.T) {
	t.Parallel()
	env, _ := engineIn(t, `true`, "")
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		t.Fatal(err)
	}
	gate := func(id ralph.ApprovalID, until time.Time) ralph.Fact {
		return ralph.Asked{Approval: ralph.Approval{
			ID: id, Kind: ralph.ApprovalOperation, By: "hook", InTurn: true, Text: "run make deploy", Rule: "gate.patterns: deploy", AskedAt: j.Now(), Deadline: until,
			Request: &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "Bash", Command: "make deploy"},
		}}
	}
	facts := []ralph.Fact{gate("g-open", j.Now().Add(time.Hour)), gate("g-over", j.Now().Add(-time.Hour))}
	facts = append(facts, ralph.Asked{Approval: ralph.Approval{ID: "g-gone", Kind: ralph.ApprovalRequest, InTurn: true, Text: "run x"}})
	if err := j.Update(context.Background(), "hook", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	say := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		env.Stdout, env.Stderr = &out, &out
		ralphIn(t, env, code, args...)
		return out.String()
	}
	if got := say(0, "gates"); !strings.Contains(got, "g-open  operation") || !strings.Contains(got, "Held by: gate.patterns: deploy") || strings.Contains(got, "g-over") || strings.Contains(got, "g-gone") {
		t.Error(got)
	}
	if got := say(0, "status"); !strings.Contains(got, "g-open") || strings.Contains(got, "g-over") {
		t.Error(got)
	}
	if got := say(1, "approve", "g-over"); !strings.Contains(got, "the time to answer g-over is over") {
		t.Error(got)
	}
	if got := say(1, "approve", "g-gone"); !strings.Contains(got, "its engine died") {
		t.Error(got)
	}
	if got := say(2, "approve", "g-open", "--always", "--scope", "task"); !strings.Contains(got, "use --scope repository") {
		t.Error(got)
	}
	if got := say(0, "approve", "g-open", "--always"); !strings.Contains(got, "approved from now on: run make deploy") {
		t.Error(got)
	}
	if got := say(0, "rules"); !strings.Contains(got, "from g-open by cli") {
		t.Error(got)
	}
}
