package ralph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

var start = time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)

// fold makes a state of facts, a second apart.
func fold(facts ...ralph.Fact) *ralph.State {
	var s ralph.State
	apply(&s, facts...)
	return &s
}

func apply(s *ralph.State, facts ...ralph.Fact) {
	for _, f := range facts {
		at := start.Add(time.Duration(s.Seq) * time.Second)
		s.Apply(ralph.Event{Seq: s.Seq + 1, At: at, By: "engine", Hash: fmt.Sprint("h", s.Seq+1), Fact: f})
	}
}

func spec(id string, status ralph.SpecStatus) ralph.SpecAdded {
	return ralph.SpecAdded{Spec: ralph.Spec{ID: ralph.SpecID("q-" + id), File: id + ".md", Status: status, AddedAt: start}}
}

func task(id string, deps ...ralph.TaskID) ralph.Task {
	return ralph.Task{ID: ralph.TaskID(id), Name: "task " + id, Deps: deps, Status: ralph.TaskPending}
}

// D-009, D-010, D-040, D-048, D-073: what a record goes through.
func TestRecordLife(t *testing.T) {
	s := fold(spec("a", ralph.SpecPending), ralph.SessionStarted{ID: "s"}, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"})
	if x := s.Spec("q-a"); x.Status != ralph.SpecActive || x.StartedAt.IsZero() {
		t.Fatalf("fetched: %+v", x)
	}
	apply(s, ralph.JobEnded{Status: ralph.SpecFailed, Error: "broke"})
	if x := s.Spec("q-a"); x.Status != ralph.SpecFailed || x.EndedAt.Before(x.StartedAt) || x.Error != "broke" {
		t.Fatalf("failed: %+v", x)
	}
	apply(s, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}, ralph.JobEnded{Status: ralph.SpecPending, Error: "interrupted"})
	if x := s.Spec("q-a"); x.Status != ralph.SpecPending || !x.StartedAt.IsZero() || !x.EndedAt.IsZero() || x.Error != "" {
		t.Fatalf("released: %+v", x)
	}
	if s.Session.Current != "q-a" || s.Job != nil || s.Plan.Closed {
		t.Errorf("after the release: %+v", s.Session)
	}
	apply(s, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}, ralph.JobEnded{Status: ralph.SpecDone})
	if x := s.Spec("q-a"); x.Status != ralph.SpecDone || x.Error != "" || s.Session.Current != "" || !s.Plan.Closed {
		t.Errorf("done: %+v, %+v", x, s.Session)
	}
}

// D-109: failures in a row begin again at a done spec and at a resume.
func TestConsecutive(t *testing.T) {
	s := fold(ralph.SessionStarted{ID: "s"})
	end := func(status ralph.SpecStatus) {
		apply(s, ralph.JobStarted{Job: "j", File: "a.md"}, ralph.JobEnded{Status: status})
	}
	for i, step := range []struct {
		do   func()
		want int
	}{
		{func() { end(ralph.SpecFailed) }, 1},
		{func() { end(ralph.SpecFailed) }, 2},
		{func() { end(ralph.SpecPending) }, 2},
		{func() { end(ralph.SpecDone) }, 0},
		{func() { end(ralph.SpecFailed) }, 1},
		{func() { apply(s, ralph.SessionStarted{ID: "s", Resumed: true}) }, 0},
	} {
		if step.do(); s.Session.Consecutive != step.want {
			t.Errorf("step %d: %d in a row, want %d", i, s.Session.Consecutive, step.want)
		}
	}
}

// a resumed session keeps its id and counts running time only.
func TestResumeCountsRunningTime(t *testing.T) {
	s := fold(ralph.SessionStarted{ID: "s"}) // at 0 s
	apply(s, ralph.Noted{Text: "a"}, ralph.Noted{Text: "b"})
	s.Apply(ralph.Event{Seq: 4, At: start.Add(9 * time.Hour), Fact: ralph.SessionStarted{ID: "s", Resumed: true}}) // it died after 2 s
	if got := s.Running(start.Add(9*time.Hour + time.Minute)); got != time.Minute+2*time.Second {
		t.Errorf("running %s after a crash", got)
	}
	s.Apply(ralph.Event{Seq: 5, At: start.Add(10 * time.Hour), Fact: ralph.SessionEnded{Reason: ralph.ReasonInterrupted}})
	s.Apply(ralph.Event{Seq: 6, At: start.Add(20 * time.Hour), Fact: ralph.SessionStarted{ID: "s", Resumed: true}})
	if got := s.Running(start.Add(20 * time.Hour)); got != time.Hour+2*time.Second || s.Totals.Sessions != 1 {
		t.Errorf("running %s after an interrupt, %d sessions", got, s.Totals.Sessions)
	}
}

// what people write between a crash and the next start, and what that start says of it, is no
// running time of the engine that died.
func TestDeadTimeIsNoRunningTime(t *testing.T) {
	s := &ralph.State{}
	seq := int64(0)
	at := func(after time.Duration, by string, f ralph.Fact) {
		seq++
		s.Apply(ralph.Event{Seq: seq, At: start.Add(after), By: by, Fact: f})
	}
	at(0, "engine", ralph.SessionStarted{ID: "s"})
	at(0, "engine", ralph.TaskAdded{Task: task("t-1")})
	at(time.Second, "engine", ralph.TaskStarted{ID: "t-1"})
	at(2*time.Second, "engine", ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild}})
	at(4*time.Hour, "cli", ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md"}}) // it died long before
	at(9*time.Hour, "engine", ralph.StepLost{Task: "t-1", Receipt: 4, Step: "turn", Cause: ralph.LostCrash})
	at(9*time.Hour, "engine", ralph.SessionStarted{ID: "s", Resumed: true})
	if got := s.Running(start.Add(9*time.Hour + time.Minute)); got != time.Minute+2*time.Second {
		t.Errorf("running %s after a crash", got)
	}
	at(9*time.Hour+time.Hour, "engine", ralph.StepLost{Task: "t-1", Receipt: 4, Step: "turn", Cause: ralph.LostForced}) // of one that lives
	at(20*time.Hour, "engine", ralph.SessionStarted{ID: "s", Resumed: true})
	if got := s.Running(start.Add(20 * time.Hour)); got != time.Hour+2*time.Second {
		t.Errorf("running %s after another", got)
	}
}

// a session that waited for a person when its engine died had run until it began to wait, whatever
// people said meanwhile; and so had its spec, when another session takes its place.
func TestCutWhileItWaitedForAPerson(t *testing.T) {
	for _, resumed := range []bool{true, false} {
		s := &ralph.State{}
		at := func(after time.Duration, by string, f ralph.Fact) {
			s.Apply(ralph.Event{Seq: s.Seq + 1, At: start.Add(after), By: by, Fact: f})
		}
		at(0, "engine", ralph.SessionStarted{ID: "s", Mode: "agent"})
		at(0, "engine", ralph.JobStarted{Job: "j", File: "a.md"})
		at(0, "engine", ralph.TaskAdded{Task: task("t-1")})
		at(0, "engine", ralph.TaskStarted{ID: "t-1"})
		at(time.Minute, "engine", ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild}})
		at(10*time.Minute, "engine", ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-1", InTurn: true}})
		at(2*time.Hour, "cli", ralph.Answered{ID: "g-1", Text: "yes"}) // it died an hour before
		at(9*time.Hour, "engine", ralph.StepLost{Task: "t-1", Receipt: 5, Step: "turn", Cause: ralph.LostCrash})
		if !resumed {
			at(9*time.Hour, "engine", ralph.JobEnded{Status: ralph.SpecPending, Cut: true})
			if got := s.Plan.Elapsed; got != 10*time.Minute {
				t.Errorf("the spec was worked on for %s", got)
			}
			continue
		}
		at(9*time.Hour, "engine", ralph.SessionStarted{ID: "s", Mode: "agent", Resumed: true})
		if got := s.Running(start.Add(9 * time.Hour)); got != 10*time.Minute {
			t.Errorf("running %s", got)
		}
		if got := s.JobElapsed(start.Add(9 * time.Hour)); got != 10*time.Minute {
			t.Errorf("the spec was worked on for %s", got)
		}
	}
}

// what a dead engine left active is pending again, with all it had done.
func TestCrashReleasesTasks(t *testing.T) {
	s := fold(ralph.SessionStarted{ID: "s"}, ralph.JobStarted{Job: "j", File: "a.md"}, ralph.TaskAdded{Task: task("t-1")},
		ralph.TaskAdded{Task: ralph.Task{ID: "land:j", Kind: ralph.KindLand, Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1"}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK},
		ralph.TaskStarted{ID: "land:j"}, ralph.StepStarted{Task: "land:j", Step: ralph.Commit{}})
	key := s.Task("land:j").Run.CommitKey
	apply(s, ralph.SessionStarted{ID: "s", Resumed: true})
	if x := s.Task("t-1"); x.Status != ralph.TaskPending || x.Run.Iterations != 1 || x.RetryCount != 0 {
		t.Errorf("task %+v", x)
	}
	if x := s.Task("land:j"); x.Status != ralph.TaskPending || x.Run.InFlight != 0 || x.Run.CommitKey != key || key == "" {
		t.Errorf("the commit's key changed: %+v, was %q", x.Run, key)
	}
	apply(s, ralph.TaskStarted{ID: "land:j"}, ralph.StepStarted{Task: "land:j", Step: ralph.Commit{}})
	if got := s.Task("land:j").Run.CommitKey; got != key {
		t.Errorf("the second attempt has key %q, the first %q: it would commit twice", got, key)
	}
	if s.Job == nil {
		t.Error("the job is gone")
	}
}

// the state of the engine, derived.
func TestMode(t *testing.T) {
	s := fold()
	for _, step := range []struct {
		fact ralph.Fact
		want string
	}{
		{ralph.Noted{}, "idle"},
		{ralph.SessionStarted{ID: "s"}, "running"},
		{ralph.TaskAdded{Task: task("t-1")}, "running"},
		{ralph.StepStarted{Task: "t-1", Step: ralph.Check{}}, "running"},
		{ralph.Control{Want: ralph.WantPause}, "pausing"},
		{ralph.ChecksRan{Task: "t-1"}, "paused"},
		{ralph.Control{Want: ralph.WantRun}, "running"},
		{ralph.Control{Want: ralph.WantStop}, "stopping"},
		{ralph.SessionEnded{Reason: ralph.ReasonEmpty}, "completed"},
	} {
		if apply(s, step.fact); s.Mode() != step.want {
			t.Errorf("after %s: %s, want %s", step.fact.Kind(), s.Mode(), step.want)
		}
	}
}

// each counter counts its own kind, and only in a row.
func TestCounters(t *testing.T) {
	fail := func(agent string, class ralph.ErrorClass) ralph.TurnEnded {
		return ralph.TurnEnded{Task: "t-1", Agent: agent, Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: class}}
	}
	ok := ralph.TurnEnded{Task: "t-1", Agent: "a", Exit: ralph.ExitOK}
	s := fold(ralph.TaskAdded{Task: task("t-1")})
	for i, step := range []struct {
		fact                           ralph.TurnEnded
		errors, limits, same, idle, it int
	}{
		{ok, 0, 0, 0, 1, 1},
		{fail("a", ralph.ErrClassServer), 1, 0, 1, 1, 2},
		{fail("a", ralph.ErrClassServer), 2, 0, 1, 1, 3}, // a retry
		{fail("a", ralph.ErrClassLimit), 2, 1, 1, 1, 4},
		{fail("a", ralph.ErrClassLimit), 2, 2, 1, 1, 5},
		{fail("b", ralph.ErrClassLimit), 2, 1, 1, 1, 6},
		{ralph.TurnEnded{Task: "t-1", Agent: "b", Exit: ralph.ExitTimeout}, 3, 1, 1, 1, 7},
		{ok, 0, 0, 1, 2, 8}, // of a: what b has met stays
		{fail("b", ralph.ErrClassLimit), 0, 2, 1, 2, 9},
		{ralph.TurnEnded{Task: "t-1", Agent: "b", Exit: ralph.ExitOK, Changed: true}, 0, 0, 0, 0, 10},
	} {
		apply(s, step.fact)
		r := s.Task("t-1").Run
		got := []int{r.ErrorTries, r.Hits(step.fact.Agent), r.SameError, r.Unchanged, r.Iterations}
		if want := []int{step.errors, step.limits, step.same, step.idle, step.it}; !slices.Equal(got, want) {
			t.Errorf("step %d: errors, limits, same, idle, iterations %v, want %v", i, got, want)
		}
	}
}

// a person who sends an ended task back gives it a fresh attempt.
func TestEditedAndRejectedTask(t *testing.T) {
	s := fold(ralph.TaskAdded{Task: task("t-1")}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone},
		ralph.TaskRejected{ID: "t-1", Reason: "wrong"}, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed})
	if x := s.Task("t-1"); x.Run.Iterations != 1 || !slices.Equal(x.Run.Rejects, []string{"wrong"}) || len(s.Plan.Rejects) != 1 {
		t.Errorf("rejected: %+v", x.Run)
	}
	edited := task("t-1")
	edited.Notes = "try again"
	apply(s, ralph.TaskEdited{Task: edited})
	if x := s.Task("t-1"); x.Run.Iterations != 0 || x.Notes != "try again" || !slices.Equal(x.Run.Rejects, []string{"wrong"}) {
		t.Errorf("edited: %+v", x)
	}
}

// D-017: a line that a person wrote is kept until what it says is no longer so.
func TestLineKept(t *testing.T) {
	written := task("t-1")
	written.Line = `{"t":"task"}`
	s := fold(ralph.TaskAdded{Task: written}, ralph.Noted{Task: "t-1", Rule: ralph.RuleStuck})
	if s.Task("t-1").Line == "" {
		t.Error("the line went although nothing in it changed")
	}
	if apply(s, ralph.TaskStarted{ID: "t-1"}); s.Task("t-1").Line != "" {
		t.Error("the line stayed although the status changed")
	}
}

// A usage without a cost makes the sum unknown, and it stays so (product.md 14).
func TestUsageKnown(t *testing.T) {
	known, unknown := ralph.Usage{Cost: 1, Known: true}, ralph.Usage{Input: 5}
	for _, tt := range []struct {
		parts []ralph.Usage
		want  ralph.Usage
	}{
		{[]ralph.Usage{known, known}, ralph.Usage{Cost: 2, Known: true}},
		{[]ralph.Usage{known, unknown}, ralph.Usage{Cost: 1, Input: 5}},
		{[]ralph.Usage{unknown, known}, ralph.Usage{Cost: 1, Input: 5}},
		{[]ralph.Usage{unknown}, unknown},
	} {
		var sum ralph.Usage
		for _, u := range tt.parts {
			sum = sum.Add(u)
		}
		if sum != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.parts, sum, tt.want)
		}
	}
}

// kinds are all facts, by the methods that name them.
func kinds(t testing.TB) []string {
	src, err := os.ReadFile("fact.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`Kind\(\) string\s*\{ return "([a-z.]+)" \}`).FindAllStringSubmatch(string(src), -1) {
		out = append(out, m[1])
	}
	return out
}

// Every fact survives its line; a kind that is not known is refused.
func TestEveryFactSurvives(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		e := ralph.Event{Seq: 7, At: start, By: "käthe \"k\"", Prev: "p", Fact: drawFact(rt)}
		seen[e.Fact.Kind()] = true
		line, err := ralph.MarshalEvent(&e)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := ralph.UnmarshalEvent(line)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			rt.Fatalf("%s: (-written +read)\n%s", line, diff)
		}
		if e.Hash != ralph.LineHash(line) || strings.Contains(string(line), "\n") {
			rt.Fatalf("hash or newline: %s", line)
		}
	})
	for _, kind := range kinds(t) {
		line := fmt.Sprintf(`{"t":%q,"seq":1,"at":"2025-01-20T10:00:00Z","by":"x","prev":"","fact":{}}`, kind)
		if kind == "step.started" {
			continue // has no meaning without its step
		}
		if e, err := ralph.UnmarshalEvent([]byte(line)); err != nil || e.Fact.Kind() != kind {
			t.Errorf("%s: %v", kind, err)
		}
		if !seen[kind] && !slices.ContainsFunc(makers(), func(m maker) bool { return m.kind == kind }) {
			t.Errorf("no test makes a %s", kind)
		}
	}
	for _, line := range []string{`{"t":"no.such","fact":{}}`, `{"t":"noted","fact":[]}`, `{`, `{"t":"step.started","fact":{"step":{"step":"no"}}}`} {
		if _, err := ralph.UnmarshalEvent([]byte(line)); err == nil {
			t.Errorf("accepted %s", line)
		}
	}
}

// Apply is total, and no clone is ever changed by it, whatever the facts are.
func TestApplyAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s ralph.State
		var clones []*ralph.State
		var before []string
		for range rapid.IntRange(1, 60).Draw(rt, "facts") {
			apply(&s, drawFact(rt))
			clones, before = append(clones, s.Clone()), append(before, jsonOf(rt, &s))
		}
		for i, c := range clones {
			if now := jsonOf(rt, c); now != before[i] {
				rt.Fatalf("clone %d changed:\n%s", i, cmp.Diff(before[i], now))
			}
		}
	})
}

func jsonOf(t rapid.TB, s *ralph.State) string {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// SpecFile: names never leave ralph/specs (product.md 12).
func TestSpecFile(t *testing.T) {
	for in, want := range map[string]string{
		"a.md": "a.md", "./a.md": "a.md", "ralph/specs/a.md": "a.md", "sub/a.md": "sub/a.md", "a b.md": "a b.md", "sub//a.md": "sub/a.md",
		"": "", " ": "", "../a.md": "", "sub/../../a.md": "", "/etc/a.md": "", "..": "", ".": "", "a.txt": "", "-a.md": "", "a\nb.md": "", "a\x00.md": "", `..\a.md`: "", "ralph/specs/../../a.md": "",
	} {
		got, err := ralph.SpecFile(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("SpecFile(%q) = %q, %v, want %q", in, got, err, want)
		}
		if err != nil && !errors.Is(err, ralph.ErrUsage) {
			t.Errorf("SpecFile(%q): %v is no usage error", in, err)
		}
	}
}

// when a job was cut and is released by the next session, the time nobody
// worked on it does not count.
func TestTimeAfterACutDoesNotCount(t *testing.T) {
	s := fold(spec("a", ralph.SpecPending), ralph.SessionStarted{ID: "s"}, ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}, ralph.RoundStarted{Round: 1})
	worked := s.At.Sub(s.Job.Since)
	late := ralph.Event{Seq: s.Seq + 1, At: s.At.Add(100 * time.Hour), Fact: ralph.JobEnded{Status: ralph.SpecPending, Cut: true}}
	s.Apply(late)
	if s.Plan.Elapsed != worked || worked <= 0 {
		t.Errorf("%s of work counted, want %s", s.Plan.Elapsed, worked)
	}
}

// D-072: what ralph's own agents left in the checkout is no person's change, also when
// the turn was cut by the engine's death, or was one of PLAN.
func TestOwnDirt(t *testing.T) {
	begin := []ralph.Fact{ralph.SessionStarted{ID: "s", Mode: "agent"}, spec("a", ralph.SpecPending), ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}}
	added, plan := ralph.TaskAdded{Task: task("t-1")}, ralph.TaskAdded{Task: ralph.Task{ID: "plan:q-a", Kind: ralph.KindPlan, Status: ralph.TaskPending}}
	turn := ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "x", Iteration: 1}}
	limited := ralph.TurnEnded{
		Task: "plan:q-a", Stage: ralph.KindPlan, Agent: "x", Exit: ralph.ExitFailed, Usage: ralph.Usage{Input: 10, Known: true},
		Err: &ralph.AgentError{Class: ralph.ErrClassLimit},
	}
	again := ralph.SessionStarted{ID: "s", Mode: "agent", Resumed: true}
	for name, tt := range map[string]struct {
		facts []ralph.Fact
		end   ralph.SpecStatus // of the job, "" when it goes on
		want  bool
	}{
		"no turn":                      {nil, ralph.SpecPending, false},
		"a plan, and nobody at it":     {[]ralph.Fact{added}, ralph.SpecPending, false},
		"under way":                    {[]ralph.Fact{added}, "", true},
		"a turn cut with its engine":   {[]ralph.Fact{added, ralph.TaskStarted{ID: "t-1"}, turn, again}, ralph.SpecPending, true},
		"PLAN met a limit":             {[]ralph.Fact{plan, ralph.TaskStarted{ID: "plan:q-a"}, limited}, ralph.SpecPending, true},
		"failed: its changes are away": {[]ralph.Fact{added, ralph.TaskStarted{ID: "t-1"}, turn, again}, ralph.SpecFailed, false},
		"done":                         {[]ralph.Fact{plan, ralph.TaskStarted{ID: "plan:q-a"}, limited}, ralph.SpecDone, false},
	} {
		facts := slices.Concat(begin, tt.facts)
		if tt.end != "" {
			facts = append(facts, ralph.JobEnded{Status: tt.end})
		}
		if got := fold(facts...).OwnDirt(); got != tt.want {
			t.Errorf("%s: OwnDirt is %v", name, got)
		}
	}
}
