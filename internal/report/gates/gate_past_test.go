package gates_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/gates"

	"github.com/ralph-loop/ralph"
)

// X-75, E-078: what became of each gate, and by whom; the first answer counts, and what
// nobody was asked about is told too.
func TestGatePast(t *testing.T) {
	t.Parallel()
	var p gates.Past
	seq := int64(0)
	add := func(by string, facts ...ralph.Fact) {
		for _, f := range facts {
			seq++
			p.Add(ralph.Event{Seq: seq, At: storytest.Clock("2025-01-20T10:00:00Z"), By: by, Fact: f})
		}
	}
	ask := func(id ralph.ApprovalID, task ralph.TaskID, inTurn bool) {
		add("engine", ralph.Asked{Approval: ralph.Approval{ID: id, Kind: ralph.ApprovalRequest, Task: task, InTurn: inTurn, Text: "run " + string(id)}})
	}
	for _, id := range []ralph.ApprovalID{"g-yes", "g-no", "g-rule", "g-late", "g-turn", "g-open"} {
		ask(id, "t-0001", true)
	}
	ask("g-ended", "t-0002", false)
	ask("g-words", "t-0003", false)
	add("web", ralph.Answered{ID: "g-yes", Verdict: ralph.Approved})
	add("cli", ralph.Answered{ID: "g-yes", Verdict: ralph.Denied}, ralph.Answered{ID: "g-no", Verdict: ralph.Denied, Text: "not\x1b[1m here"}, ralph.Answered{ID: "g-words", Text: "blue"})
	add("engine", ralph.Answered{ID: "g-rule", Verdict: ralph.Approved, Rule: "r-1"}, ralph.Answered{ID: "g-late", Verdict: ralph.Expired})
	add("engine", ralph.TaskEnded{ID: "t-0002", Status: ralph.TaskSkipped, Why: ralph.Why{Text: "by a person"}})
	add("engine", ralph.RequestAnswered{Task: "t-0001", Request: ralph.Request{Kind: ralph.RequestApproval, Command: "ls"}, Verdict: ralph.Approved, Rule: "gate.approvals: policy"})
	for id, want := range map[ralph.ApprovalID]string{
		"g-yes": "it was approved at 2025-01-20 ", "g-no": `by cli: not\x1b[1m here`, "g-rule": "by rule r-1", "g-late": "it expired at ",
		"g-words": "it was answered at ", "g-ended": "its task ended at ",
	} {
		end, asked := p.Of(id)
		if end == nil || asked != nil || !strings.Contains(end.Words(), want) {
			t.Errorf("%s: %+v, want %q", id, end, want)
			continue
		}
		if person := id == "g-yes" || id == "g-no" || id == "g-words"; end.Person != person {
			t.Errorf("%s: a person's %v", id, end.Person)
		}
	}
	if end, asked := p.Of("g-open"); end != nil || asked == nil {
		t.Errorf("%+v", end)
	}
	add("engine", ralph.TurnEnded{Task: "t-0001"})
	if end, _ := p.Of("g-open"); end == nil || end.How != string(ralph.Withdrawn) {
		t.Errorf("%+v", end)
	}
	if end, asked := p.Of("g-none"); end != nil || asked != nil {
		t.Error("a gate that never was")
	}
	ends := p.Ends()
	if len(ends) != 9 || ends[0].Seq < ends[8].Seq || ends[2].By != "gate.approvals: policy" || ends[2].Gate.Text != "run ls" {
		t.Errorf("%d ends, %+v", len(ends), ends)
	}
	few := gates.Past{Most: 2}
	for range 5 {
		few.Add(ralph.Event{Fact: ralph.RequestAnswered{Rule: "x"}})
	}
	if len(few.Ends()) != 2 {
		t.Errorf("%d ends", len(few.Ends()))
	}
}
