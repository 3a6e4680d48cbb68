package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// tape is a source whose state is what its facts add up to.
type tape struct {
	*planSource
	at time.Time
}

func newTape(at string) *tape {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return &tape{&planSource{state: &ralph.State{}}, t}
}

func (x *tape) add(facts ...ralph.Fact) {
	for _, fact := range facts {
		e := ralph.Event{Seq: x.state.Seq + 1, At: x.at, By: "engine", Fact: fact}
		x.state = x.state.Clone()
		x.state.Apply(e)
		x.events = append(x.events, e)
	}
}

func (x *tape) page(t *testing.T, address string) string {
	t.Helper()
	_, body := planAt(t, web.Options{Source: x.planSource, Backend: x.planSource}, x.state, address)
	return body
}

// Issue 14: the overview says what happened in the night, with links; a session that went
// well and is long over makes no block.
func TestOverviewMorning(t *testing.T) {
	t.Parallel()
	x := newTape("2025-03-01T01:00:00Z")
	x.add(
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}},
		ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.JobStarted{Job: "j-1", ID: "q-1", File: "a.md"},
		ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One <b>", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1"},
		ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "which <port>?"}},
	)
	young := newTape("2025-03-01T11:30:00Z")
	young.add(ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.Control{Want: ralph.WantPause})
	young.engine = status.Engine{Alive: true}
	if strings.Contains(young.page(t, "/"), "morning-title") {
		t.Error("a morning of a session that began half an hour ago")
	}
	x.at = x.at.Add(2 * time.Hour)
	x.add(
		ralph.Answered{ID: "g-1", Text: "7777"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
		ralph.AgentLimited{Agent: "claude", Class: ralph.ErrClassNetwork, Until: x.at.Add(time.Minute), Message: "<refused>"},
	)
	x.at = x.at.Add(time.Hour)
	x.add(ralph.JobEnded{Status: ralph.SpecDone, Commit: "abc1234"}, ralph.SessionEnded{Reason: ralph.ReasonEmpty})
	body := x.page(t, "/")
	wantAll(t, body, "morning-title", "1 spec landed, 2 stood still for 3h 0m in all", `href="/session/s-1"`, `href="/spec/a.md">a.md</a>`,
		`href="/gate/g-1">t-1 waited for you: which <port>?; then answered</a>`, "no network: nothing answered claude: <refused>", "for 2h 0m", "ralph report --since last")
	// one of them changes into another, and that lasts
	x.add(ralph.SessionStarted{ID: "s-2", Mode: "agent"}, ralph.AgentLimited{Agent: "claude", Class: ralph.ErrClassLimit, Until: x.at.Add(time.Hour), Message: "5-hour limit"})
	x.at = x.at.Add(2 * time.Hour)
	x.add(ralph.AgentLimited{Agent: "claude", Class: ralph.ErrClassAuth, Message: "token has expired"})
	x.engine = status.Engine{Alive: true}
	body = x.page(t, "/")
	wantAll(t, body, "claude was at its limit: 5-hour limit; then something else kept it from work", "claude was not logged in: token has expired; it lasts")
	if !regexp.MustCompile(`no login</span>\s*<span class="morning-when muted">for <`).MatchString(body) {
		t.Error("it is not said for how long it has lasted")
	}
	old := newTape("2025-02-27T01:00:00Z")
	old.add(ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}},
		ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.JobStarted{Job: "j-1", ID: "q-1", File: "a.md"},
		ralph.JobEnded{Status: ralph.SpecDone, Commit: "abc1234"}, ralph.SessionEnded{Reason: ralph.ReasonEmpty})
	if strings.Contains(old.page(t, "/"), "morning-title") {
		t.Error("old news are on the first screen")
	}
}

// F-32: a line of a task's past is what it was when it was written: the page of a task
// tells it with the state of its time, as the feed does.
func TestTaskPastOfItsTime(t *testing.T) {
	t.Parallel()
	x := newTape("2025-03-01T01:00:00Z")
	x.add(
		ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "The old name", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
		ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}},
		ralph.TurnEnded{Task: "t-1", Agent: "claude", Exit: ralph.ExitOK, Took: time.Minute},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed, Why: ralph.Why{Text: "gave up"}},
		ralph.TaskEdited{Task: ralph.Task{ID: "t-1", Name: "The new name", Status: ralph.TaskFailed}},
	)
	x.engine = status.Engine{}
	body := x.page(t, "/task/t-1")
	_, past, ok := strings.Cut(body, `id="task-past"`)
	if !ok {
		t.Fatalf("no past:\n%s", body)
	}
	wantAll(t, past, "TASK: t-1 failed: The old name (gave up)", "BUILD: t-1 The old name, try 1 (claude)")
	if strings.Contains(past, "The new name, try 1") {
		t.Error("an old line is told with today's name")
	}
}
