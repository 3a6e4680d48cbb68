package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web"
)

// threads records a session of three: one at work, one stopped by its budget, one that waits.
func threads(k *fakeBackend) {
	k.add("engine", ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto, Config: []byte(`{"session":"auto","max_iterations":50}`)})
	for i, id := range []ralph.TaskID{"t-work", "t-over", "t-wait"} {
		facts, err := k.State().AddThread(ralph.NewThread{ID: id, Name: "Goal of " + string(id) + nasty, Prompt: "make it pass " + nasty, Limits: ralph.ThreadLimits{Cost: 2}})
		if err != nil {
			k.t.Fatal(err)
		}
		k.add("cli", facts...)
		k.add("engine", ralph.TaskStarted{ID: id, Slot: i + 1})
	}
	decided(k, "t-work", 1, ralph.ThreadDecision{Action: ralph.ThenContinue, Advised: ralph.ThenContinue, By: "model " + nasty, Confidence: 0.8, Rule: "E-038", Reason: "work is left " + nasty})
	decided(k, "t-over", 1, ralph.ThreadDecision{Action: ralph.ThenStop, Advised: ralph.ThenContinue, By: "rules", Confidence: 1, Rule: "E-070", Stop: ralph.StopCost, Overridden: true, Reason: "$2.50 spent, the limit is $2.00"})
	k.add("engine", ralph.TaskEnded{ID: "t-over", Status: ralph.TaskTimeout, Why: ralph.Why{Rule: "E-070", Text: "$2.50 spent, the limit is $2.00"}})
	k.add("engine", ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-wait", Text: "shall I go on? " + nasty}})
	k.add("engine", ralph.StepStarted{Task: "t-work", Step: ralph.Turn{Stage: ralph.KindThread, Agent: "claude", Iteration: 2}, DecidedAt: k.Now()})
}

func decided(k *fakeBackend, id ralph.TaskID, turn int, d ralph.ThreadDecision) {
	k.add("engine", ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindThread, Agent: "claude", Iteration: turn}, DecidedAt: k.Now()})
	k.add("engine", ralph.TurnEnded{Task: id, Stage: ralph.KindThread, Agent: "claude", Iteration: turn, Exit: ralph.ExitOK, Changed: true, Summary: ralph.TurnSummary{
		Plan: []ralph.PlanStep{{Text: "read it " + nasty, Status: "completed"}, {Text: "mend it", Status: "in_progress"}}, Items: []ralph.ItemCount{{Kind: ralph.ItemCommand, N: 3}},
		Diff: &ralph.DiffSummary{Files: 2, Added: 7, Deleted: 1},
	}})
	d.Turn = turn
	k.add("engine", ralph.StepStarted{Task: id, Step: ralph.Decide{}, DecidedAt: k.Now()})
	k.add("engine", ralph.Advised{Task: id, Turn: turn, By: d.By, Action: d.Advised, DecidedAt: k.Now()}, ralph.Decided{Task: id, Decision: d})
}

// cardOf is the part of the page of threads that is one thread's.
func cardOf(t *testing.T, page, id string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<div id="at-`+id+`"`)
	if !ok {
		t.Fatalf("there is no card of %s", id)
	}
	card, _, _ := strings.Cut(rest, `</article>`)
	return card
}

// E-086 to E-088, E-091: each thread with the word of its switch and the buttons to switch it, the latest decision
// with its reason, and the stop condition with the way past it.
func TestThreadsPage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	threads(k)
	page := pageOf(t, k.server(web.Options{}), "/threads", http.StatusOK)
	for id, want := range map[string][]string{
		"t-work": {">running<", ">continue<", "after turn 1 · 80 % sure", "work is left", "Turn 2", "3 commands · 2 files, +7 -1", "mend it", `action="/do/thread-pause"`},
		"t-over": {">stopped<", "Stopped by <b>budget.cost</b>: its money is used up.", "rules advised continue", ">overridden<", "$2.50 spent", "Continue anyway", `value="budget.cost=2"`},
		"t-wait": {">paused<", "Waits for <a href=\"/gate/g-1\">your word</a>", "shall I go on?", "Continue anyway"},
	} {
		wantAll(t, cardOf(t, page, id), want...)
	}
	for id, not := range map[string]string{"t-work": "Continue anyway", "t-over": "thread-pause", "t-wait": "50"} {
		if strings.Contains(cardOf(t, page, id), not) {
			t.Errorf("%s says %q", id, not)
		}
	}
	if order := []int{strings.Index(page, "at-t-wait"), strings.Index(page, "at-t-work"), strings.Index(page, "at-t-over")}; order[0] > order[1] || order[1] > order[2] {
		t.Errorf("what needs a person does not come first: %v", order)
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "\u202e") {
		t.Errorf("what a person or an agent wrote is not made plain: %q", page[max(0, strings.Index(page, "\u202e")-300):][:400])
	}
	empty := pageOf(t, newKept(t).server(web.Options{}), "/threads", http.StatusOK)
	wantAll(t, empty, "No thread here", "ralph auto")
}

// E-088: past a stop by the form of the page, with the amount that is in it.
func TestContinueAnywayFromThePage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	threads(k)
	x := k.server(web.Options{})
	act(t, x, "thread-continue", url.Values{"id": {"t-over"}, "past": {"budget.cost=2"}})
	if got := k.State().Task("t-over").Run.Thread.More.Cost; got != 2 {
		t.Errorf("it got %v more", got)
	}
	wantAll(t, cardOf(t, pageOf(t, x, "/threads", http.StatusOK), "t-over"), ">running<", ">ready<")
}

// E-087, E-098: a thread's own page has its decision, its agent's plan, and the steps of its run; its turns are
// counted, and no limit is shown that does not hold for it.
func TestPageOfAThread(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	threads(k)
	x := k.server(web.Options{Schedule: planSchedule{}})
	page := pageOf(t, x, "/task/t-over", http.StatusOK)
	wantAll(t, page, "Full auto run", "it was asked for", "stop (budget.cost): $2.50 spent", "Stopped by <b>budget.cost</b>", "read it", ">Turns<")
	if strings.Contains(page, "of 25") || strings.Contains(page, "/do/extend") {
		t.Error("it has a limit that is not its own")
	}
	first := strings.Index(page, "/do/thread-continue")
	if retry := strings.Index(page, "/do/retry"); first < 0 || retry < first {
		t.Errorf("another try comes before going on: %d, %d", first, retry)
	}
	wantAll(t, pageOf(t, x, "/task/t-work", http.StatusOK), "what comes after turn 2", "when its goal is reached")
	wantAll(t, pageOf(t, x, "/", http.StatusOK), `id="threads-title"`, "shall I go on?", "work is left", "<dt>turn</dt>")
}

// E-092 to E-095: what was decided on threads is listed newest first, and chosen by thread, action and what the rules
// overrode.
func TestDecisionsPage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	threads(k)
	x := k.server(web.Options{})
	for query, want := range map[string]struct{ has, lacks string }{
		"":                 {"work is left", "No decision here"},
		"?only=overridden": {"$2.50 spent", "work is left"},
		"?only=stops":      {"stop: budget.cost", "work is left"},
		"?thread=t-work":   {"work is left", "$2.50 spent"},
		"?action=continue": {"80 % sure", "$2.50 spent"},
		"?thread=t-wait":   {"No decision here", "$2.50 spent"},
		"?before=1":        {"No decision here", "$2.50 spent"},
		"?before=x":        {"work is left", "No decision here"},
	} {
		page := pageOf(t, x, "/decisions"+query, http.StatusOK)
		if !strings.Contains(page, want.has) || strings.Contains(page, want.lacks) {
			t.Errorf("/decisions%s: wants %q and not %q", query, want.has, want.lacks)
		}
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "\u202e") {
			t.Errorf("/decisions%s: what a model wrote is not made plain", query)
		}
	}
	for i := range 120 {
		decided(k, "t-work", i+2, ralph.ThreadDecision{Action: ralph.ThenContinue, By: "rules", Confidence: 1, Rule: "E-038", Reason: fmt.Sprintf("round %d", i)})
	}
	page := pageOf(t, x, "/decisions", http.StatusOK)
	if n := strings.Count(page, "data-row"); n != 100 || !strings.Contains(page, `rel="next"`) {
		t.Errorf("%d decisions on a page, and no way on", n)
	}
	before, _, _ := strings.Cut(page[strings.Index(page, "before=")+len("before="):], `"`)
	wantAll(t, pageOf(t, x, "/decisions?before="+before, http.StatusOK), "round 19", "work is left", "Newest")
}
