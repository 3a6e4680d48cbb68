package eventname_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
)

// told folds facts one by one and returns the names of each.
func told(t *testing.T, rest func(*ralph.State, time.Time) bool, facts ...ralph.Fact) [][]string {
	t.Helper()
	var s ralph.State
	namer := eventname.New(rest)
	var names [][]string
	for i, f := range facts {
		e := ralph.Event{Seq: int64(i + 1), At: time.Unix(int64(i), 0), Fact: f}
		s.Apply(e)
		got := namer.Names(e, &s)
		if len(got) == 0 || got[len(got)-1] != f.Kind() && !slices.Contains(got, f.Kind()) {
			t.Errorf("%s goes by %v, without its kind", f.Kind(), got)
		}
		names = append(names, got)
	}
	return names
}

func always(*ralph.State, time.Time) bool { return true }

// A whole story in which every name of documents A and B is told,
// B-084 to
// B-092; X-92.
func TestEveryNameIsTold(t *testing.T) {
	t.Parallel()
	task := func(id ralph.TaskID) ralph.Fact {
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Status: ralph.TaskPending}}
	}
	stage := ralph.TaskAdded{Task: ralph.Task{ID: "verify:1", Kind: ralph.KindVerify, Status: ralph.TaskPending}}
	ended := func(id ralph.TaskID, status ralph.TaskStatus) ralph.Fact {
		return ralph.TaskEnded{ID: id, Status: status}
	}
	limit := &ralph.AgentError{Class: ralph.ErrClassLimit}
	story := []struct {
		fact ralph.Fact
		want string // besides the kind
	}{
		{ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Auto: ralph.Semi}, "autopilot:started started engine:started START START_SEMI_AUTO"},
		{ralph.ModeSet{Mode: ralph.Autopilot}, "TOGGLE_AUTOPILOT"},
		{task("t-1"), ""},
		{task("t-2"), ""},
		{stage, ""},
		{ralph.TaskAssigned{ID: "t-1"}, "ASSIGN_IDEA"},
		{ralph.TaskStarted{ID: "t-1"}, "autopilot:step-start step-start task:selected"},
		{ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Iteration: 1}}, "iteration:started"},
		{ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitFailed, Err: limit}, "iteration:failed"},
		{ralph.AgentLimited{Agent: "a"}, "autopilot:rate-limited rate-limited"},
		{ralph.AgentSwitched{From: "a", To: "b"}, "autopilot:agent-switched agent-switched agent:switched"},
		{ralph.Retrying{Task: "t-1", Attempt: 1}, "autopilot:retrying retrying"},
		{ralph.AllLimited{}, "autopilot:all-limited all-limited"},
		{ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Iteration: 2}}, "iteration:started"},
		{ralph.Control{Want: ralph.WantPause}, "PAUSE"},
		{ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK}, "autopilot:paused paused engine:paused iteration:completed"},
		{ralph.TaskAdded{Task: ralph.Task{ID: "t-3"}}, ""},
		{ralph.Control{Want: ralph.WantRun}, "autopilot:resumed resumed RESUME"},
		{ralph.StepStarted{Task: "t-1", Step: ralph.Check{}}, ""},
		{ralph.ChecksRan{Task: "t-1", Pass: true}, ""},
		{ended("t-1", ralph.TaskDone), "autopilot:step-complete step-complete task:completed AGENT_COMPLETED"},
		{ended("t-2", ralph.TaskSkipped), "autopilot:step-skipped step-skipped"},
		{ended("t-3", ralph.TaskBlocked), "autopilot:step-blocked step-blocked AGENT_BLOCKED"},
		{ended("t-2", ralph.TaskFailed), "autopilot:step-failed step-failed"},
		{ended("t-2", ralph.TaskTimeout), "autopilot:step-timeout step-timeout"},
		{ended("t-2", ralph.TaskPending), ""},
		{ralph.TaskStarted{ID: "verify:1"}, ""}, // a stage is none of the plan's steps
		{ended("verify:1", ralph.TaskDone), ""},
		{ralph.Control{Want: ralph.WantStop}, "STOP"},
		{ralph.SessionEnded{Reason: ralph.ReasonComplete}, "autopilot:complete complete engine:stopped NO_MORE_IDEAS"},
		{ralph.SessionStarted{ID: "s-2"}, "autopilot:started started engine:started START START_AUTOPILOT"},
		{ralph.SessionEnded{Reason: ralph.ReasonAborted}, "autopilot:aborted aborted engine:stopped"}, // no complete
		{ralph.SessionEnded{Reason: ralph.ReasonInterrupted}, "engine:stopped"},
	}
	facts := make([]ralph.Fact, len(story))
	for i, x := range story {
		facts[i] = x.fact
	}
	seen := map[string]bool{}
	for i, got := range told(t, always, facts...) {
		for _, name := range got {
			seen[name] = true
		}
		kind := story[i].fact.Kind()
		want := strings.Fields(story[i].want)
		if !slices.Contains(want, kind) {
			want = append(want, kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("fact %d, %s: %v, want %v", i+1, kind, got, want)
		}
	}
	for _, n := range eventname.All() {
		if !seen[n.Name] {
			t.Errorf("%s is never told", n.Name)
		}
	}
}

// A pause is told once, at the event after which nothing is done any more: not while
// a step is in flight, and not while more is to be done at rest's word.
func TestPauseIsToldWhenItIsReached(t *testing.T) {
	t.Parallel()
	atRest := func(s *ralph.State, _ time.Time) bool { return s.CountTasks(ralph.TaskActive) == 0 }
	names := told(t, atRest,
		ralph.SessionStarted{ID: "s-1", Mode: "autopilot"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1"}},
		ralph.TaskStarted{ID: "t-1"},
		ralph.StepStarted{Task: "t-1", Step: ralph.Turn{}},
		ralph.Control{Want: ralph.WantPause},
		ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK},
		ralph.StepStarted{Task: "t-1", Step: ralph.Check{}},
		ralph.ChecksRan{Task: "t-1", Pass: true},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, // 8: here
		ralph.TaskAccepted{ID: "t-1"},
		ralph.Control{Want: ralph.WantRun},
		ralph.Control{Want: ralph.WantPause}, // 11: nothing was under way
		ralph.Control{Want: ralph.WantStop},
		ralph.SessionEnded{Reason: ralph.ReasonInterrupted},
	)
	var at []int
	for i, got := range names {
		if slices.Contains(got, "engine:paused") != slices.Contains(got, "autopilot:paused") {
			t.Errorf("fact %d goes by one of the two names only: %v", i, got)
		}
		if slices.Contains(got, "paused") {
			at = append(at, i)
		}
	}
	if want := []int{8, 11}; !slices.Equal(at, want) {
		t.Errorf("paused is told at facts %v, want %v", at, want)
	}
}

// What is no name is refused with the one that was meant; live output is told apart.
func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"turn.ended", "autopilot:step-complete", "step-complete", "engine:paused", "AGENT_BLOCKED", "agent-switched"} {
		if err := eventname.Check(name); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		"step-complte":            "did you mean step-complete?",
		"autopilot-step-complete": "did you mean autopilot:step-complete?",
		"stepComplete":            "did you mean step-complete?",
		"TURN_ENDED":              "did you mean turn.ended?",
		"agent_blocked":           "did you mean AGENT_BLOCKED?",
		"autopilot:output":        "live output",
		"nothing like any of it":  "docs/events.md",
		"":                        "docs/events.md",
	} {
		err := eventname.Check(name)
		if !errors.Is(err, ralph.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// docs/events.md has the table of names as it is.
func TestNamesAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `[^`]+`(, `[^`]+`)? \\| (`[a-z.]+`|any) \\| .* \\|$")
	var want []string
	for _, n := range eventname.All() {
		names, kind := "`"+n.Name+"`", "any"
		if short := n.Short(); short != "" {
			names += ", `" + short + "`"
		}
		if n.Kind != "" {
			kind = "`" + n.Kind + "`"
		}
		want = append(want, "| "+names+" | "+kind+" | "+n.When+" |")
	}
	table, _, _ := strings.Cut(string(doc), "## One event as JSON")
	if got := row.FindAllString(table, -1); !slices.Equal(got, want) {
		t.Errorf("docs/events.md has these rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
