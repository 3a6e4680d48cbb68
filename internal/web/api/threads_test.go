package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// E-087, E-092 to E-095: a program reads how threads stand, and what was decided on them, page by page.
func TestThreadsAndDecisions(t *testing.T) {
	t.Parallel()
	p, base := open(t, 0)
	facts, err := p.State().AddThread(ralph.NewThread{ID: "t-1a2b", Prompt: "make the tests pass", Limits: ralph.ThreadLimits{Cost: 2}})
	if err != nil {
		t.Fatal(err)
	}
	p.record(append(facts, ralph.TaskStarted{ID: "t-1a2b"})...)
	decide := func(turn int, action ralph.ThreadAction, stop string) {
		p.record(ralph.Decided{Task: "t-1a2b", Decision: ralph.ThreadDecision{
			Turn: turn, Action: action, Advised: ralph.ThenContinue, Overridden: action != ralph.ThenContinue, Stop: stop, By: "rules", Confidence: 1, Rule: "E-038", Reason: "because",
		}})
	}
	decide(1, ralph.ThenContinue, "")
	decide(2, ralph.ThenContinue, "")
	decide(3, ralph.ThenStop, ralph.StopCost)
	p.record(ralph.TaskEnded{ID: "t-1a2b", Status: ralph.TaskTimeout})
	for path, want := range map[string][]string{
		"/threads":                        {`"id":"t-1a2b"`, `"state":"stopped"`, `"stop":"budget.cost"`, `"limits":{"cost":2}`},
		"/threads/t-1a2b":                 {`"goal":"make the tests pass"`, `"reason":"because"`, `"confidence":1`},
		"/decisions":                      {`"turn":3,"action":"stop"`, `"turn":1,"action":"continue"`, `"name":"make the tests pass"`},
		"/decisions?overridden=true":      {`"turn":3`, `"overridden":true`},
		"/decisions?stops=true":           {`"stop":"budget.cost"`},
		"/decisions?action=continue":      {`"turn":2`, `"turn":1`},
		"/decisions?limit=1":              {`"turn":3`, `"next":`},
		"/decisions?thread=t-0000":        {`{"decisions":[]}`},
		"/decisions?before=1":             {`{"decisions":[]}`},
		"/offers?subject=task&id=t-1a2b":  {`"action":"thread-continue"`, `"value":"budget.cost=2"`},
		"/decisions?limit=1&action=pause": {`"decisions":[]`},
	} {
		status, _, text := call(t, http.MethodGet, base+path, "")
		for _, w := range want {
			if status != http.StatusOK || !strings.Contains(text, w) {
				t.Errorf("%s has no %s: %d %.400s", path, w, status, text)
			}
		}
		fits(t, path, text)
	}
	for path, not := range map[string]string{"/decisions?limit=1": `"turn":2`, "/decisions?overridden=true": `"turn":2`, "/decisions?action=continue": `"turn":3`} {
		if _, _, text := call(t, http.MethodGet, base+path, ""); strings.Contains(text, not) {
			t.Errorf("%s has %s: %.400s", path, not, text)
		}
	}
	if status, _, text := call(t, http.MethodGet, base+"/threads/t-1", ""); status != http.StatusNotFound { // a task that is none
		t.Errorf("a task is told as a thread: %d %.200s", status, text)
	}
}
