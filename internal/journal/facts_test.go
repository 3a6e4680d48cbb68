package journal_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// facts holds one of each kind, as docs/facts.md lists them.
func facts() []ralph.Fact {
	return []ralph.Fact{
		ralph.SessionStarted{},
		ralph.SessionEnded{},
		ralph.Control{},
		ralph.SpecAdded{},
		ralph.SpecEdited{},
		ralph.SpecRemoved{},
		ralph.InboxOrdered{},
		ralph.JobStarted{},
		ralph.JobEnded{},
		ralph.RoundStarted{},
		ralph.PlanStarted{},
		ralph.PlanOrdered{},
		ralph.TaskAdded{},
		ralph.TaskEdited{},
		ralph.TaskRemoved{},
		ralph.TaskStarted{},
		ralph.TaskEnded{},
		ralph.TaskRejected{},
		ralph.TaskAccepted{},
		ralph.RejectAdded{},
		ralph.IssueAdded{},
		ralph.IssueRemoved{},
		ralph.StepStarted{},
		ralph.StepLost{},
		ralph.StepLate{},
		ralph.Prepared{},
		ralph.TurnEnded{},
		ralph.ChecksRan{},
		ralph.Committed{},
		ralph.Shelved{},
		ralph.Asked{},
		ralph.Answered{},
		ralph.AgentLimited{},
		ralph.PushWanted{},
		ralph.PushTried{},
		ralph.Pushed{},
		ralph.PushFailed{},
		ralph.PushRefused{},
		ralph.PushDropped{},
		ralph.ServiceLimited{},
		ralph.ServiceRetried{},
		ralph.RepoRenamed{},
		ralph.BreakerMoved{},
		ralph.Noted{},
		ralph.CheckoutFound{},
		ralph.IntegrationStarted{},
		ralph.MergeQueued{},
		ralph.Merged{},
		ralph.Advanced{},
		ralph.BaselineRan{},
		ralph.Landed{},
		ralph.Published{Branch: "ralph/x", Remote: "origin"},
		ralph.PullSeen{Branch: "ralph/x"},
		ralph.IssueSeen{Issue: ralph.Tracked{Ref: "o/r#1"}},
		ralph.Polled{Source: "github label:ralph"},
		ralph.CleanedUp{},
		ralph.SavedWork{},
		ralph.TaskRetried{},
		ralph.SkipWanted{},
		ralph.TaskRolledBack{},
		ralph.TaskMessaged{},
		ralph.TaskCleaned{},
		ralph.TaskExtended{},
		ralph.TaskAssigned{},
		ralph.ModeSet{},
		ralph.Retrying{},
		ralph.AgentSwitched{},
		ralph.AgentRetries{},
		ralph.RequestAnswered{},
		ralph.SandboxRefused{},
		ralph.RuleAdded{},
		ralph.RuleRevoked{},
		ralph.Signalled{},
		ralph.AllLimited{},
		ralph.BudgetWarned{},
		ralph.ContextWarned{},
		ralph.Compacted{},
		ralph.HookRan{},
		ralph.NoticeFailed{},
		ralph.ViewRead{},
		ralph.ViewUnreadable{},
		ralph.JournalCut{},
		ralph.ThreadStarted{},
		ralph.ThreadWanted{},
		ralph.ThreadParked{},
		ralph.ThreadContinued{},
		ralph.Guided{},
		ralph.Advised{},
		ralph.Decided{},
		ralph.Reviewed{},
		ralph.Stalled{},
	}
}

// pool returns the values that a type's strings are drawn from, so that facts
// meet the same specs and tasks again and again; nil for free text.
func pool(typ reflect.Type) []string {
	switch reflect.Zero(typ).Interface().(type) {
	case ralph.SpecID:
		return []string{"", "q-aaaa", "q-bbbb"}
	case ralph.TaskID:
		return []string{"t-aaaa", "t-bbbb", "plan:j-1:1", ""}
	case ralph.IssueID:
		return []string{"i-aaaa", "i-bbbb"}
	case ralph.ApprovalID:
		return []string{"g-aaaa", "g-bbbb"}
	case ralph.SessionID:
		return []string{"s-1", "s-2"}
	case ralph.SpecStatus:
		return []string{"pending", "active", "done", "failed"}
	case ralph.TaskStatus:
		return []string{"pending", "active", "done", "failed", "blocked", "timeout", "skipped"}
	case ralph.TaskKind:
		return []string{"", "build", "plan", "investigate", "verify", "land", "shelve"}
	case ralph.ErrorClass:
		return []string{"rate_limit", "overloaded", "unknown"}
	case ralph.SignalKind:
		return []string{"", "COMPLETE", "PROGRESS", "NEEDS_HUMAN"}
	case ralph.Want:
		return []string{"run", "pause", "stop"}
	}
	return nil
}

func steps() []ralph.Step {
	return []ralph.Step{
		ralph.Prepare{},
		ralph.Turn{},
		ralph.Check{},
		ralph.Commit{},
		ralph.Shelve{},
		ralph.Ask{},
		ralph.Wait{},
		ralph.Finish{},
		ralph.Done{},
	}
}

// fill draws a value for everything in v.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		at := rapid.Int64Range(0, 4e15).Draw(t, "time")
		v.Set(reflect.ValueOf(time.UnixMicro(at).UTC()))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(rapid.SampledFrom([]string{`{"a":[1,2]}`, `7`, `"x"`}).Draw(t, "raw"))))
		return
	case ralph.RawObject:
		v.SetString(rapid.SampledFrom([]string{"", `{"x":"é","n":{"m":1.50}}`}).Draw(t, "object"))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if p := pool(v.Type()); p != nil {
			v.SetString(rapid.SampledFrom(p).Draw(t, "name"))
			return
		}
		v.SetString(rapid.SampledFrom([]string{"", "B-017", "b-017", "a <b> & \"c\"\n\t\u2028é\U0001F600\x7f\x00", "x.md"}).Draw(t, "text"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 1<<50).Draw(t, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(0, 1e6).Draw(t, "float"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "len")
		for range n {
			x := reflect.New(v.Type().Elem()).Elem()
			fill(t, x)
			v.Set(reflect.Append(v, x))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Map:
		for range rapid.IntRange(0, 2).Draw(t, "len") {
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			x := reflect.New(v.Type().Elem()).Elem()
			fill(t, x)
			v.SetMapIndex(filled(t, reflect.Zero(v.Type().Key()).Interface()), x)
		}
	case reflect.Interface:
		v.Set(filled(t, rapid.SampledFrom(steps()).Draw(t, "step")))
	default:
		t.Fatalf("no way to fill a %s", v.Type())
	}
}

func filled(t *rapid.T, zero any) reflect.Value {
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(t, v)
	return v
}

// Every kind of fact comes back from its line as it was, and the line is its
// hash's: nothing is lost on the way (architecture 2.8).
func TestFactsSurviveTheFile(t *testing.T) {
	t.Parallel()
	for _, zero := range facts() {
		t.Run(zero.Kind(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				e := ralph.Event{
					Seq: rapid.Int64Range(1, 1<<50).Draw(t, "seq"), At: time.UnixMicro(1e15).UTC(),
					By: rapid.SampledFrom([]string{"engine", `O'"Neill <x>`}).Draw(t, "by"), Prev: "abc",
					Fact: filled(t, zero).Interface().(ralph.Fact),
				}
				line, err := ralph.MarshalEvent(&e)
				if err != nil {
					t.Fatal(err)
				}
				if strings.ContainsRune(string(line), '\n') || !json.Valid(line) {
					t.Fatalf("not one JSON line: %s", line)
				}
				back, err := ralph.UnmarshalEvent(line)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(e, back); d != "" {
					t.Fatalf("%s\n%s", line, d)
				}
			})
		})
	}
}

// What the session report, the morning and the dashboard sum is what the state sums, whichever fact says it.
func TestSpentByIsWhatStateCounts(t *testing.T) {
	t.Parallel()
	for _, zero := range facts() {
		t.Run(zero.Kind(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				fact := filled(t, zero).Interface().(ralph.Fact)
				s := &ralph.State{}
				s.Apply(ralph.Event{Seq: 1, By: "engine", Fact: fact})
				if spent, _ := report.SpentBy(fact); s.Totals.Usage != spent {
					t.Fatalf("%+v: the state counts %+v, SpentBy says %+v", fact, s.Totals.Usage, spent)
				}
			})
		})
	}
}

// The root package's tests keep docs/facts.md in step with the code, so these
// tests try every kind when they try every row.
func TestEveryKindIsTried(t *testing.T) {
	t.Parallel()
	var tried, listed []string
	for _, f := range facts() {
		tried = append(tried, f.Kind())
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\|.*\\|.*\\|.*\\|$").FindAllStringSubmatch(read(t, "../..", "docs/facts.md"), -1) {
		listed = append(listed, m[1])
	}
	slices.Sort(tried)
	slices.Sort(listed)
	if d := cmp.Diff(listed, tried); d != "" {
		t.Fatal(d)
	}
}

// A fact of a newer ralph is refused, not skipped: skipping would fold a state
// that never was.
func TestUnknownFactIsRefused(t *testing.T) {
	t.Parallel()
	_, err := ralph.UnmarshalEvent([]byte(`{"t":"task.cloned","seq":1,"at":"2025-01-20T10:30:00Z","by":"x","prev":"","fact":{}}`))
	if err == nil || !strings.Contains(err.Error(), `unknown kind "task.cloned"`) {
		t.Fatalf("err = %v", err)
	}
}

// Folding all facts gives the same state as a snapshot at any place and the
// facts after it: JSON of State loses nothing (X-10, architecture 2.8).
func TestSnapshotPlusTailIsTheFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "facts")
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		whole, resumed := &ralph.State{}, &ralph.State{}
		at := time.UnixMicro(1e15).UTC()
		for i := range n {
			if i == cut {
				resumed = throughJSON(t, resumed)
			}
			e := ralph.Event{Seq: int64(i + 1), At: at, Prev: whole.Hash, Fact: filled(t, rapid.SampledFrom(facts()).Draw(t, "fact")).Interface().(ralph.Fact)}
			at = at.Add(time.Second)
			line, err := ralph.MarshalEvent(&e)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ralph.UnmarshalEvent(line)
			if err != nil {
				t.Fatal(err)
			}
			whole.Apply(e)
			resumed.Apply(back)
		}
		whole.Aside, resumed.Aside = nil, nil // not kept, by design
		if d := cmp.Diff(throughJSON(t, whole), throughJSON(t, resumed), lookups()); d != "" {
			t.Fatalf("cut after %d facts: %s", cut, d)
		}
		if d := cmp.Diff(whole, resumed, nilIsEmpty(), lookups()); d != "" {
			t.Fatalf("cut after %d facts, beyond JSON: %s", cut, d)
		}
	})
}

// lookups leaves out where a look for a task begins: it is quick or slow, never other.
func lookups() cmp.Option { return cmpopts.IgnoreUnexported(ralph.State{}) }

// nilIsEmpty takes a slice without elements for none: JSON cannot tell.
func nilIsEmpty() cmp.Option {
	return cmp.FilterValues(func(a, b any) bool {
		x, y := reflect.ValueOf(a), reflect.ValueOf(b)
		return x.IsValid() && y.IsValid() && x.Kind() == reflect.Slice && y.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0
	}, cmp.Ignore())
}

func throughJSON(t *rapid.T, s *ralph.State) *ralph.State {
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := &ralph.State{}
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	return back
}
