package sessionreport_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/status"
)

var update = flag.Bool("update", false, "write the golden files anew: look at what changed before you commit it")

// golden holds a text against a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./internal/report -update writes it anew): %s", name, diff)
	}
}

// tell folds a whole story into its result.
func tell(t testing.TB, r *sessionreport.Report) *sessionreport.Result {
	t.Helper()
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The report of a session with one of everything, as a person and as a script read it
// (C-012, B-100 to B-103).
func TestReportGolden(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	storytest.Sample(r)
	result := tell(t, r)
	var text, object bytes.Buffer
	if err := errors.Join(result.Markdown(&text), result.JSON(&object)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md", text.Bytes())
	golden(t, "report.json", object.Bytes())
	var back sessionreport.Result
	if err := json.Unmarshal(object.Bytes(), &back); err != nil || back.Version != sessionreport.ResultVersion || len(back.Tasks) != 7 {
		t.Errorf("the JSON does not read back: %v", err)
	}
}

// Each task says why it is as it is, with the rule behind it and what happened on the way.
func TestReportExplains(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.Sample(r)
	x.Add(ralph.TaskRetried{ID: "t-0006"})
	x.Add(ralph.TaskRolledBack{ID: "t-0001", Revert: "abcdef01234", Saved: []ralph.Saved{{Ref: "refs/ralph/recovery/t-0001/1", What: "2 commits"}}})
	x.Add(ralph.TaskExtended{ID: "t-0003", MaxIterations: 4})
	for id, want := range map[ralph.TaskID][]string{
		"t-0001": {"pending again", "a person undid its work, by the commit abcdef0 B-078", "saved 2 commits at refs/ralph/recovery/t-0001/1"},
		"t-0002": {"merged after its conflict was mended", "conflicts with what is merged, in body.go X-72", "an agent mended its merge"},
		"t-0003": {"timed out: no signal", "B-028", "a person gave it 4 iterations B-082"},
		"t-0004": {"merged clean", "a person was asked (g-1a2b): red or blue? X-75", "answered by a person: blue"},
		"t-0005": {"a person has to look first", "its work takes tests away (1 finding)"},
		"t-0006": {"pending again", "failed: 2 retries after: 503 from upstream B-073", "a person gave it another try B-076"},
		"t-0007": {"waits for t-0006 (pending)"},
	} {
		for _, row := range tell(t, r).Tasks {
			if row.ID != id {
				continue
			}
			words := row.Why + " " + row.Rule
			for _, e := range row.Trail {
				words += "\n" + e.Text + " " + e.Rule
			}
			for _, w := range want {
				if !strings.Contains(words, w) {
					t.Errorf("%s: no %q in\n%s", id, w, words)
				}
			}
		}
	}
}

// The figures of a report are those that the engine counted (B-101 to B-103), and every
// span lies in its session, whatever happens to the tasks.
func TestReportAgreesWithTheState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n, slots := rapid.IntRange(0, 25).Draw(rt, "tasks"), rapid.IntRange(1, 5).Draw(rt, "slots")
		r := sessionreport.NewReport(sessionreport.ReportOptions{})
		x := storytest.Crowd(n, slots, rapid.Uint64().Draw(rt, "seed"), r)
		result := tell(t, r)
		want := status.QueryStats(x.S, status.Engine{Alive: true}, x.Now)
		if diff := cmp.Diff(want.This, result.Figures.Counts); diff != "" {
			rt.Fatal(diff)
		}
		if result.Figures.MergesPending != want.MergesPending || result.Figures.TasksRemaining != want.Remaining || len(result.Tasks) != n {
			rt.Fatalf("%+v against %+v", result.Figures, want)
		}
		if got := result.Figures.RuntimeSeconds; got != want.RuntimeSeconds {
			rt.Fatalf("runtime %v, the state says %v", got, want.RuntimeSeconds)
		}
		for _, s := range result.Spans {
			if s.To.Before(s.From) || s.From.Before(result.Facts.From) || s.To.After(result.Facts.To) || s.Outcome == "active" {
				rt.Fatalf("span %+v in %+v", s, result.Facts)
			}
		}
		last := sessionreport.Point{}
		for _, p := range result.Spending {
			if p.Cost < last.Cost || p.Tokens < last.Tokens || p.At.Before(last.At) {
				rt.Fatalf("spending falls at %+v after %+v", p, last)
			}
			last = p
		}
		if last.Iterations != result.Figures.Iterations || len(result.Spending) > 500 {
			rt.Fatalf("%d points end at %d of %d iterations", len(result.Spending), last.Iterations, result.Figures.Iterations)
		}
	})
}

// A session's report is about that session: neither what came before nor the next
// one changes it, and a session that is not there is refused with what to do.
func TestReportScope(t *testing.T) {
	t.Parallel()
	first := sessionreport.NewReport(sessionreport.ReportOptions{Session: "s-20250120T100000Z-1a2b"})
	newest := sessionreport.NewReport(sessionreport.ReportOptions{})
	all := sessionreport.NewReport(sessionreport.ReportOptions{All: true})
	none := sessionreport.NewReport(sessionreport.ReportOptions{Session: "s-none"})
	x := storytest.Sample(first, newest, all, none)
	before := tell(t, first)
	x.Pass(time.Hour)
	x.Add(ralph.SessionStarted{ID: "s-2", Mode: "autopilot", Config: []byte(storytest.PilotConfig)}, ralph.JobStarted{Job: "a-2", File: "feature-x.md"})
	x.Start("t-0007", 1)
	x.Turn("t-0007", 10*time.Second, storytest.Complete)
	x.Done("t-0007")
	x.Finish(ralph.ReasonFailed, "1 failed")
	after := tell(t, first)
	before.Needs = after.Needs // what waits for a person is told of the newest one alone
	if diff := cmp.Diff(before.Tasks, after.Tasks); diff != "" {
		t.Errorf("the next session changed it: %s", diff)
	}
	if after.Figures.TasksDone != 4 || len(after.Sessions) != 1 {
		t.Errorf("%+v", after.Figures)
	}
	if got := tell(t, newest); got.Sessions[0].ID != "s-2" || got.Figures.Iterations != 1 || len(got.Tasks) != 7 || got.Figures.TasksDone != 1 {
		t.Errorf("the newest: %+v %+v", got.Sessions, got.Figures)
	}
	if got := tell(t, all); len(got.Sessions) != 2 || got.Figures.Iterations != 13 || got.Scope != "all" || got.Facts.First != 1 {
		t.Errorf("all: %+v %+v", got.Sessions, got.Figures)
	}
	_, err := none.Result()
	var refusal *ralph.Refusal
	if !errors.As(err, &refusal) || !errors.Is(err, ralph.ErrNotFound) || refusal.Hint == "" {
		t.Errorf("no such session: %v", err)
	}
	if _, err := sessionreport.NewReport(sessionreport.ReportOptions{}).Result(); !errors.Is(err, ralph.ErrNotFound) {
		t.Errorf("an empty journal: %v", err)
	}
}

// a session that was cut goes on as one; the time between does not count, and
// what was at work is cut there and not longer.
func TestReportOfACutSession(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.New(r)
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	x.Start("t-0001", 2)
	x.Turn("t-0001", time.Minute, nil)
	dead := x.Now
	x.Pass(10 * time.Hour)
	x.Add(ralph.SessionStarted{ID: "s-20250120T100000Z-1a2b", Mode: "autopilot", Resumed: true, Config: []byte(storytest.PilotConfig)})
	x.Pass(time.Second)
	x.Start("t-0001", 2)
	x.Turn("t-0001", time.Minute, storytest.Complete)
	x.Done("t-0001")
	x.Clean("t-0001")
	got := tell(t, r)
	if h := got.Sessions[0]; len(got.Sessions) != 1 || h.Resumed != 1 || h.RuntimeSeconds < 120 || h.RuntimeSeconds > 200 {
		t.Errorf("%+v", got.Sessions)
	}
	var outcomes []string
	for _, s := range got.Spans {
		if s.Lane == "slot" {
			outcomes = append(outcomes, s.Outcome)
		}
	}
	if diff := cmp.Diff([]string{"cut", "done"}, outcomes); diff != "" {
		t.Error(diff)
	}
	if s := got.Spans[0]; !s.To.Equal(dead) || s.Slot != 2 || got.Spans[1].Slot != 2 {
		t.Errorf("the work ended when its engine died, at %s: %+v", dead, got.Spans[:2])
	}
}

// Work in place has no slots and no merges: the report is of the same kind (D-058, C-012).
func TestReportInPlace(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.New(r)
	x.Add(ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md"})
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "plan:q-1:0", Kind: ralph.KindPlan, Name: "Plan", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "plan:q-1:0"})
	x.Turn("plan:q-1:0", 20*time.Second, nil)
	x.End("plan:q-1:0", ralph.TaskDone, "D-044", "planned", false)
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "t-0001", Name: "One", Status: ralph.TaskPending}})
	x.Add(ralph.TaskStarted{ID: "t-0001"})
	x.Turn("t-0001", 30*time.Second, storytest.Complete)
	x.End("t-0001", ralph.TaskDone, "B-022", "COMPLETE", false)
	x.Finish(ralph.ReasonEmpty, "")
	got := tell(t, r)
	var lanes []string
	for _, s := range got.Spans {
		lanes = append(lanes, s.Lane+" "+string(s.Kind)+" "+s.Outcome)
	}
	if diff := cmp.Diff([]string{"in place plan done", "in place build done"}, lanes); diff != "" {
		t.Error(diff)
	}
	if got.Figures.Iterations != 2 || got.Tasks[0].Iterations != 1 || got.Tasks[0].Merge != "" {
		t.Errorf("%+v %+v", got.Figures, got.Tasks)
	}
}

// Untrusted words stay words in markdown: no row, cell, link, image, markup or
// mention can be made of them.
func TestMarkdownIsTame(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.New(r)
	evil := "a|b\n| c | ![x](http://evil.example/p.png) <img src=x> `code` @someone **bold** [l](u) # head"
	x.Begin(ralph.Task{ID: "t-0001", Name: evil})
	x.Start("t-0001", 1)
	x.End("t-0001", ralph.TaskFailed, "B-073", evil, false)
	x.Finish(ralph.ReasonFailed, evil)
	var b bytes.Buffer
	if err := tell(t, r).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	plain := regexp.MustCompile(`\\.`).ReplaceAllString(b.String(), "") // what is escaped is text
	for _, bad := range []string{"![", "](", "<img", "**bold", "code`", "@someone", "http://", "a|b", "\n| c |"} {
		if strings.Contains(plain, bad) {
			t.Errorf("%q stands in it:\n%s", bad, plain)
		}
	}
}

// What a compaction costs is in the report as `ralph query stats` has it.
func TestReportCountsCompactions(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{All: true})
	x := storytest.New(r)
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	x.Start("t-0001", 1)
	x.Pass(time.Second)
	x.Add(ralph.Compacted{Task: "t-0001", Agent: "claude", How: "agent", Usage: ralph.Usage{Input: 5000, Output: 100, Cost: 0.75, Known: true}})
	x.Add(ralph.Compacted{Task: "t-0001", Agent: "claude", How: ralph.CompactHandover})
	result, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	want := status.QueryStats(x.S, status.Engine{Alive: true}, x.Now).Overall
	if got := result.Figures.Counts; got != want || want.Cost != 0.75 || !want.CostKnown {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(result.Tasks) != 1 || result.Tasks[0].Cost != 0.75 || result.Tasks[0].Tokens != 5100 {
		t.Errorf("%+v", result.Tasks)
	}
}

// The report sums what `ralph status` sums, also what models used that were asked for a decision.
func TestReportSumsWhatStatusSums(t *testing.T) {
	t.Parallel()
	used := ralph.Usage{Input: 70, Output: 7, Cost: 0.5, Known: true}
	whole := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.New(whole)
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	x.Good("t-1", time.Minute)
	x.Add(
		ralph.Guided{Task: "t-1", Usage: used}, ralph.Advised{Task: "t-1", Usage: used},
		ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1"}, Suggested: &ralph.Suggestion{Usage: used}},
		ralph.RequestAnswered{Task: "t-1", Suggested: &ralph.Suggestion{Usage: used}},
		ralph.StepLate{Task: "t-1", Step: "turn", Usage: used},
	)
	got, m := tell(t, whole), x.Morning(x.Now.Add(-24*time.Hour))
	if want := report.Tokens(x.S.Session.Usage); got.Figures.Tokens != want || m.Figures.Tokens != want || want < 5*77 {
		t.Errorf("tokens: the report has %d, the morning %d, status %d", got.Figures.Tokens, m.Figures.Tokens, want)
	}
	if want := report.Cents(x.S.Session.Usage.Cost); got.Figures.Cost != want || m.Figures.Cost != want {
		t.Errorf("cost: the report has %v, the morning %v, status %v", got.Figures.Cost, m.Figures.Cost, want)
	}
	if want := report.Tokens(x.S.Task("t-1").Run.Usage); got.Tasks[0].Tokens != want {
		t.Errorf("tokens of the task: the report has %d, status %d", got.Tasks[0].Tokens, want)
	}
}
