package web_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// overviewState is a run with twelve tasks, of which two are done, one is stuck at work
// and one waits for an answer.
func overviewState() *ralph.State {
	at := time.Date(2025, 3, 1, 11, 30, 0, 0, time.UTC)
	s := &ralph.State{Seq: 7}
	s.Session = ralph.Session{
		ID: "s-1", Mode: "autopilot", Auto: ralph.Autopilot, StartedAt: at, Since: at, Agent: "claude", Want: ralph.WantRun,
		Config: json.RawMessage(`{"parallel":3,"agents":["claude"],"max_iterations":20,"max_consecutive":3,"budget":{"cost":10}}`),
		Usage:  ralph.Usage{Input: 1_200_000, Cost: 8.5, Known: true}, Turns: 4,
	}
	for range 12 {
		s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{ID: ralph.TaskID("t-" + string(rune('a'+len(s.Plan.Tasks)))), Name: "Task <" + string(rune('a'+len(s.Plan.Tasks))) + ">", Status: ralph.TaskPending, Phase: "Implementation"})
	}
	t := s.Plan.Tasks
	t[0].Status, t[1].Status = ralph.TaskDone, ralph.TaskDone
	t[2].Status = ralph.TaskActive
	t[2].Run = ralph.Run{
		Attempt: ralph.Attempt{InFlight: 5, StartedAt: at}, Worktree: ralph.Worktree{Slot: 1},
		Turns: ralph.Turns{Iterations: 5, Agent: "claude", Progress: 40, Note: "jitter is <missing>", TurnAt: at, Warned: true, Unchanged: 4},
	}
	t[3].Status = ralph.TaskActive
	s.Approvals = []*ralph.Approval{{ID: "g-1", Kind: "question", Task: "t-d", Text: "Keep keys for <30> days?", AskedAt: at}}
	return s
}

func overviewAt(t *testing.T, s *ralph.State, alive bool, events ...ralph.Event) string {
	t.Helper()
	source := &planSource{state: s, engine: status.Engine{Alive: alive, Words: map[ralph.TaskID]string{"t-c": "reading client.go <again>"}}, events: events}
	_, body := planAt(t, web.Options{Source: source, Backend: source}, s, "/")
	return body
}

func wantAll(t *testing.T, body string, words ...string) {
	t.Helper()
	flat := text.OneLine(body)
	for _, w := range words {
		if !strings.Contains(flat, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
}

// TestControlBar: the texts of, the number that needs a person, the
// budget's warning, the tab's title.
func TestControlBar(t *testing.T) {
	body := overviewAt(t, overviewState(), true)
	wantAll(t, body, `>▶</span> Autopilot Running`, "Step 3/12", `>⏸</span> Pause`, `>⏹</span> Stop`, "Phase: Implementation", "Agent: Claude", "Retries: 0",
		"1 needs you", "1.2M", "$8.50 of $10.00", "<title>(1) ▶ 3/12 · shop</title>")
	if strings.Contains(body, "No engine runs") {
		t.Error("a bar at work says that no engine runs")
	}
}

// TestControlBarRetries: F-31, A-098: retries count while the next try waits and while it
// runs, and are over with a turn that did not fail.
func TestControlBarRetries(t *testing.T) {
	s := overviewState()
	s.Plan.Tasks[2].Run.Told = 2
	wantAll(t, overviewAt(t, s, true), "Retries: 2")
	s.Plan.Tasks[2].Status = ralph.TaskPending
	wantAll(t, overviewAt(t, s, true), "Retries: 0")
}

// TestOverviewChecks: F-31: while checks run, a slot names them, and the iteration that
// they judge; what its agent said is over.
func TestOverviewChecks(t *testing.T) {
	s := overviewState()
	s.Session.Config = json.RawMessage(`{"parallel":3,"agents":["claude"],"max_iterations":20,"check_names":["go test ./..."]}`)
	r := &s.Plan.Tasks[2].Run
	r.Warned, r.TurnAt, r.Doing = false, time.Time{}, "check"
	body := overviewAt(t, s, true)
	wantAll(t, body, "checking: go test ./...", "5 of 20")
	if strings.Contains(body, "reading client.go") {
		t.Error("the agent's last words stand there while its work is checked")
	}
}

// TestOverviewInPlace: F-31: in the checkout there are no slots to be busy or free.
func TestOverviewInPlace(t *testing.T) {
	s := overviewState()
	s.Session.Mode = "construct"
	s.Session.Config = json.RawMessage(`{"parallel":1,"agents":["claude"],"max_iterations":20}`)
	s.Plan.Tasks[2].Run.Worktree.Slot = 0
	body := overviewAt(t, s, true)
	wantAll(t, body, "At work", "reading client.go")
	if strings.Contains(body, "slots busy") || strings.Contains(body, "free slot") {
		t.Error("work in the checkout is shown beside free slots")
	}
}

// TestNoControlBar: none while no engine works; a session that was cut is offered
// to be resumed.
func TestNoControlBar(t *testing.T) {
	body := overviewAt(t, overviewState(), false)
	wantAll(t, body, "Resume interrupted session?", ", cut when its engine died", "was at work")
	if n := strings.Count(body, `action="/do/recover"`); n != 1 {
		t.Errorf("a cut session is offered to be resumed %d times, not once", n)
	}
	for _, not := range []string{"Autopilot Running", "Retries:"} {
		if strings.Contains(body, not) {
			t.Errorf("without an engine the bar says %q", not)
		}
	}
	s := overviewState()
	s.Session.Ended, s.Session.Detail = ralph.ReasonBudget, "cost"
	wantAll(t, overviewAt(t, s, false), "No engine runs", "last session: budget exceeded: cost") // E-088
}

// TestHowItEnded: the overview says how the session came to its end that can be resumed, as `ralph status` does: not
// every one was cut.
func TestHowItEnded(t *testing.T) {
	for want, end := range map[string]func(*ralph.Session){
		"No engine runs: the last one was cut. Resume it above":                          func(*ralph.Session) {},
		"No engine runs: the last one was ended at once (Ctrl+C twice). Resume it above": func(x *ralph.Session) { x.Want, x.Immediate, x.Cause = ralph.WantStop, true, "Ctrl+C twice" },
		"The session has ended: interrupted. Resume it above":                            func(x *ralph.Session) { x.Ended = ralph.ReasonInterrupted },
		"The session has ended: error: disk full. Resume it above":                       func(x *ralph.Session) { x.Ended, x.Detail = ralph.ReasonError, "disk full" },
	} {
		s := overviewState()
		end(&s.Session)
		wantAll(t, overviewAt(t, s, false), want)
	}
}

// TestPausedBar: pausing says how many still work, paused why and what helps (B-059, B-063).
func TestPausedBar(t *testing.T) {
	s := overviewState()
	s.Session.Want = ralph.WantPause
	s.Session.Pause = ralph.PausePerson
	wantAll(t, overviewAt(t, s, true), "Autopilot Pausing", "1 agent is still at work")
	s = overviewState()
	s.Session.Want, s.Session.Pause = ralph.WantPause, ralph.PauseFailures
	s.Session.TaskFailures, s.Session.Streak = 3, []ralph.TaskID{"t-e", "t-f", "t-g"}
	s.Plan.Tasks[2].Run.InFlight = 0
	wantAll(t, overviewAt(t, s, true), "Autopilot Paused", "3 tasks failed in a row", "failures in a row", `href="/task/t-e"`, `href="/task/t-f"`, `href="/task/t-g"`)
}

// TestOverviewSlots: iteration, progress with its note (B-055), the stuck warning (B-019)
// and the last words, all escaped; free slots.
func TestOverviewSlots(t *testing.T) {
	body := overviewAt(t, overviewState(), true)
	wantAll(t, body, "6 of 20", "40%", "jitter is <missing>", "May be stuck: 4 iterations without progress", "reading client.go <again>", "1 of 3 slots busy", "free slot", "waits for you")
	raw := planRaw(t, overviewState(), "/")
	for _, hostile := range []string{"Task <c>", "Keep keys for <30> days?"} {
		if strings.Contains(raw, hostile) {
			t.Errorf("%q stands in the page as it is", hostile)
		}
	}
}

// TestOverviewAsksInTurn: who asks in the middle of a turn waits for a person, in its slot too.
func TestOverviewAsksInTurn(t *testing.T) {
	s := overviewState()
	s.Plan.Tasks[2].Run.Warned = false
	s.Approvals = []*ralph.Approval{{ID: "g-1", Kind: "operation", Task: "t-c", Text: "run npm publish", InTurn: true}}
	wantAll(t, overviewAt(t, s, true), "waits for you", `href="/gate/g-1"`)
	s.Approvals = nil
	if body := overviewAt(t, s, true); strings.Contains(body, "waits for you") {
		t.Error("nobody asks, and a card waits for an answer")
	}
}

// TestOverviewFeed: the newest decision and its reason (E-087), an agent's items (E-091).
func TestOverviewFeed(t *testing.T) {
	at := time.Date(2025, 3, 1, 11, 59, 0, 0, time.UTC)
	step := func(seq int64, why string) ralph.Event {
		return ralph.Event{Seq: seq, At: at, Fact: ralph.StepStarted{Task: "t-c", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: int(seq)}, Why: ralph.Why{Rule: "B-026", Text: why}}}
	}
	ended := ralph.Event{Seq: 6, At: at, Fact: ralph.TurnEnded{Task: "t-c", Agent: "claude", Exit: ralph.ExitOK, Summary: ralph.TurnSummary{
		Items: []ralph.ItemCount{{Kind: ralph.ItemCommand, N: 3}}, Files: []string{"a.go", "b.go"},
	}}}
	body := overviewAt(t, overviewState(), true, step(5, "the first"), ended, step(7, "no signal yet"))
	wantAll(t, body, "no signal yet", "B-026", "3 command, changed a.go, b.go", `href="/receipt/7"`)
	if latest, older := strings.Index(body, "no signal yet"), strings.Index(body, "the first"); older < latest {
		t.Error("the newest decision does not come first")
	}
}

// TestOverviewFeedOfItsTime: F-32: a line of the feed is what it was when it was written,
// whatever came after.
func TestOverviewFeedOfItsTime(t *testing.T) {
	at := time.Date(2025, 3, 1, 11, 59, 0, 0, time.UTC)
	source := &planSource{engine: status.Engine{}}
	fold := &ralph.State{}
	add := func(facts ...ralph.Fact) {
		for _, fact := range facts {
			e := ralph.Event{Seq: fold.Seq + 1, At: at, By: "engine", Fact: fact}
			fold = fold.Clone()
			fold.Apply(e)
			source.events = append(source.events, e)
		}
		source.state = fold
	}
	spec := func(id ralph.SpecID) []ralph.Fact {
		return []ralph.Fact{
			ralph.SpecAdded{Spec: ralph.Spec{ID: id, File: "a.md", Status: ralph.SpecPending}},
			ralph.JobStarted{Job: ralph.JobID(id), ID: id, File: "a.md"},
			ralph.JobEnded{Status: ralph.SpecDone, Commit: "abc"},
		}
	}
	add(ralph.SessionStarted{ID: "s-1", Mode: "agent"})
	add(spec("q-1")...)
	add(ralph.SessionEnded{Reason: ralph.ReasonEmpty}, ralph.SessionStarted{ID: "s-2", Mode: "agent"})
	options := web.Options{Source: source, Backend: source}
	_, body := planAt(t, options, fold, "/")
	wantAll(t, body, "Session summary: 1 spec,")
	add(spec("q-2")...)
	add(spec("q-3")...)
	add(ralph.SessionEnded{Reason: ralph.ReasonEmpty}, ralph.SessionStarted{ID: "s-3", Mode: "agent"})
	_, body = planAt(t, options, fold, "/")
	wantAll(t, body, "Session summary: 1 spec,", "Session summary: 2 specs,")
	if strings.Contains(body, "summary: 0 specs") {
		t.Error("an old line has today's numbers")
	}
}

// TestOverviewProgressOnce: what an agent reports in each iteration is there once.
func TestOverviewProgressOnce(t *testing.T) {
	at := time.Date(2025, 3, 1, 11, 59, 0, 0, time.UTC)
	said := func(seq int64) ralph.Event {
		return ralph.Event{Seq: seq, At: at, Fact: ralph.TurnEnded{Task: "t-c", Agent: "claude", Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalProgress, Percent: 60, Text: "three of five moved"}}}
	}
	body := overviewAt(t, overviewState(), true, said(5), said(6), said(7))
	if n := strings.Count(body, "</span> <a href=\"/task/t-c\">60% three of five moved"); n != 1 {
		t.Errorf("the same progress stands there %d times\n%s", n, body)
	}
}

// TestFirstSteps: a fresh repository says what to do.
func TestFirstSteps(t *testing.T) {
	wantAll(t, overviewAt(t, &ralph.State{}, false), "Three steps to the first commit", "ralph inbox add", "ralph agent", `href="/doctor"`)
}

// TestSearch: all words, the best first, and no limit without a word.
func TestSearch(t *testing.T) {
	_, body := planAt(t, web.Options{}, overviewState(), "/search?q=task+%3Cc")
	wantAll(t, body, `href="/task/t-c"`)
	if strings.Contains(body, `href="/task/t-b"`) {
		t.Error("found what has not all the words")
	}
	_, body = planAt(t, web.Options{}, overviewState(), "/search?q="+strings.Repeat("%C3%A4", 300))
	wantAll(t, body, "Nothing has all of these words")
}

// scored is a scheduler with an opinion.
type scored struct{ list []web.Scored }

func (x scored) Ready(*ralph.State) []web.Scored                       { return x.list }
func (scored) Why(*ralph.State, ralph.TaskID, string) (view.Why, bool) { return view.Why{}, false }
func (scored) Iterations(*ralph.State) int                             { return 0 }

// B-047: what would start next is on the overview, with its score.
func TestOverviewSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	plan := scored{[]web.Scored{{ID: "t-f", Score: 130}, {ID: "t-e", Score: 30}, {ID: "t-g"}, {ID: "t-h"}}}
	_, body := planAt(t, web.Options{Schedule: plan}, overviewState(), "/")
	wantAll(t, body, `Ready next <span class="count">4</span>`, `href="/task/t-f">t-f</a> <span class="clip">Task <f></span>`, `>130</span>`)
	if _, list, _ := strings.Cut(body, "next-up"); strings.Contains(strings.SplitN(list, "</ol>", 2)[0], "t-h") {
		t.Error("the list has no end")
	}
}

// The palette offers what may be done now: to the engine by the name of the action, to a
// task by that and its own words; what asks for more leads to the page with its form.
func TestPaletteOffersActions(t *testing.T) {
	t.Parallel()
	s := overviewState()
	s.Plan.Tasks[5].Status = ralph.TaskFailed
	at := func(q string) string {
		source := &planSource{state: s, engine: status.Engine{Alive: true}}
		_, body := planAt(t, web.Options{Source: source, Backend: source}, s, "/search?q="+url.QueryEscape(q))
		_, body, _ = strings.Cut(body, `id="results"`)
		return body
	}
	wantAll(t, at("pau"), `action="/do/pause"`)
	wantAll(t, at("retry t-f"), `action="/do/retry"`, `name="id" value="t-f"`)
	wantAll(t, at("retry <f>"), `action="/do/retry"`)
	wantAll(t, at("edit t-f"), `<a class="btn" href="/task/t-f">Edit …</a>`)
	for _, q := range []string{"retry t-a", "retry", "pause t-f", "t-f", "", "s", "pa", "use"} {
		if body := at(q); strings.Contains(body, `action="/do/`) {
			t.Errorf("%s offers what it should not", q)
		}
	}
}
