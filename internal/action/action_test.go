package action_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/report/gates"
)

// store is a journal: on the disk, or in memory where there are many.
type store interface {
	State() *ralph.State
	Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error
}

// fakeBackend is one over a real journal; what it would do outside it notes.
type fakeBackend struct {
	t      *testing.T
	j      store
	engine bool
	carry  bool
	n      int
	did    []string
}

func newDesk(t *testing.T, facts ...ralph.Fact) *fakeBackend {
	t.Helper()
	d := &fakeBackend{t: t}
	j, err := journal.Open(journal.Options{Root: t.TempDir(), Inbox: true, Plan: true, NewID: d.id})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	d.j = j
	d.record(facts...)
	return d
}

// memDesk is a desk over a journal in memory.
func memDesk(t *testing.T, facts ...ralph.Fact) *fakeBackend {
	t.Helper()
	d := &fakeBackend{t: t, j: enginetest.NewMem(time.Now)}
	d.record(facts...)
	return d
}

// each visits the journal on the disk.
func (d *fakeBackend) each(after int64, visit func(ralph.Event) error) error {
	return d.j.(*journal.File).Each(after, visit) //nolint:forcetypeassert // only those over a real one
}

func (d *fakeBackend) id(prefix string) string {
	d.n++
	return fmt.Sprintf("%s-%04d", prefix, d.n)
}

func (d *fakeBackend) record(facts ...ralph.Fact) {
	d.t.Helper()
	if err := d.j.Update(d.t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fakeBackend) Context() action.Context {
	return action.Context{Engine: d.engine, Now: time.Now(), Usual: ralph.Allowance{Iterations: 50, Time: 30 * time.Minute}, Carry: d.carry, Specs: []string{"a.md"}, By: "web", ID: d.id}
}

func (d *fakeBackend) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return d.j.Update(ctx, "web", decide)
}

func (d *fakeBackend) Start(_ context.Context, s action.Start) (string, error) {
	d.did = append(d.did, fmt.Sprintf("start %+v", s))
	d.engine = true
	d.record(ralph.SessionStarted{ID: "s2", Mode: s.Mode})
	return s.Mode + " works", nil
}

func (d *fakeBackend) RollBack(_ context.Context, id ralph.TaskID) (string, error) {
	d.did = append(d.did, "rollback "+string(id))
	return "rolled back", nil
}

func (d *fakeBackend) CleanUp(_ context.Context, id ralph.TaskID) (string, error) {
	d.did = append(d.did, "cleanup "+string(id))
	return "cleaned", nil
}

func (d *fakeBackend) SpecFile(name, text string) (string, error) {
	d.did = append(d.did, "spec "+name)
	if name == "" && text == "" {
		return "", &ralph.Refusal{Why: "a spec needs a name", Kind: ralph.ErrUsage}
	}
	return name, nil
}

func (d *fakeBackend) Closed(id ralph.ApprovalID) error { return gates.NotOpen(id, d.each) }

// kinds are the kinds of the facts after one.
func (d *fakeBackend) kinds(after int64) string {
	var out []string
	if err := d.each(after, func(e ralph.Event) error {
		out = append(out, e.Fact.Kind()+" by "+e.By)
		return nil
	}); err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(out, ", ")
}

func (d *fakeBackend) offered(about action.Subject, id string) []string {
	var out []string
	for _, o := range action.AllAvailable(d.j.State(), d.Context(), about, id) {
		out = append(out, o.Action)
	}
	return out
}

func task(id string, status ralph.TaskStatus) ralph.Fact {
	return ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(id), Spec: "a.md", Name: "Task " + id, Notes: "old", Status: status}}
}

func gate(id, kind string, edit ...func(*ralph.Approval)) ralph.Fact {
	g := ralph.Approval{ID: ralph.ApprovalID(id), Kind: kind, Task: "t-1", Text: "may I?"}
	for _, e := range edit {
		e(&g)
	}
	return ralph.Asked{Approval: g}
}

func inTurn(g *ralph.Approval) {
	g.InTurn, g.Request = true, &ralph.Request{Kind: ralph.RequestApproval, Text: "make"}
}

func never(g *ralph.Approval) { inTurn(g); g.Never = true }

func running() []ralph.Fact {
	return []ralph.Fact{ralph.SessionStarted{ID: "s", Mode: "autopilot", Auto: ralph.Autopilot}, ralph.PlanStarted{File: "a.md"}, task("t-1", ralph.TaskPending), task("t-2", ralph.TaskPending)}
}

func with(facts []ralph.Fact, more ...ralph.Fact) []ralph.Fact {
	return append(slices.Clone(facts), more...)
}

func text(s string) *string { return &s }

// Each action is offered when it should be, does what its facts say as the person's of
// the dashboard, and is taken back by its undo.
func TestActions(t *testing.T) {
	t.Parallel()
	ended := func(id ralph.TaskID, status ralph.TaskStatus) []ralph.Fact {
		return with(running(), ralph.TaskStarted{ID: id, Slot: 1}, ralph.TaskEnded{ID: id, Status: status})
	}
	stopped := func(why ralph.Reason) []ralph.Fact {
		return with(running(), ralph.SessionEnded{Reason: why, Detail: "$2 spent"})
	}
	spec := func(status ralph.SpecStatus) ralph.Fact {
		return ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: status}}
	}
	for _, tt := range []struct {
		name   string
		facts  []ralph.Fact
		engine bool
		about  action.Subject
		do     string
		in     action.Input
		want   string // the facts, or what the desk did
		undo   string // the action, and what undoing comes to
		undone string
	}{
		{"A-100 pause", running(), true, action.Engine, "pause", action.Input{}, "control by web", "resume", "control by web"},
		{"A-101 resume", with(running(), ralph.Control{Want: ralph.WantPause}), true, action.Engine, "resume", action.Input{}, "control by web", "pause", "control by web"},
		{"A-102 abort", running(), true, action.Engine, "stop", action.Input{}, "control by web", "", ""},
		{"X-25 stop pressed again", with(running(), ralph.Control{Want: ralph.WantStop}), true, action.Engine, "stop-now", action.Input{}, "control by web", "", ""},
		{"B-092 toggle on", with(running(), ralph.ModeSet{Mode: ralph.Semi}), true, action.Engine, "autopilot", action.Input{}, "mode.set by web", "mode", "mode.set by web"},
		{"E-086 toggle off", running(), true, action.Engine, "semi", action.Input{}, "mode.set by web", "mode", "mode.set by web"},
		{"A-099 start", stopped(ralph.ReasonComplete), false, action.Engine, "start", action.Input{Mode: "autopilot", Parallel: 3, Autonomy: "semi", Agent: "codex", Strategy: "skip"}, "start {Mode:autopilot Spec: Parallel:3 Autonomy:semi Resume:false Fresh:false Agent:codex Strategy:skip Retries:<nil>}", "stop", "control by web"},
		{"A-081, A-116, X-07 resume", running(), false, action.Engine, "recover", action.Input{}, "start {Mode:autopilot Spec: Parallel:0 Autonomy: Resume:true Fresh:false Agent: Strategy: Retries:<nil>}", "stop", "control by web"},
		{"X-07 resume of threads", []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto, Auto: ralph.Autopilot}}, false, action.Engine, "recover", action.Input{}, "start {Mode:auto Spec: Parallel:0 Autonomy: Resume:true Fresh:false Agent: Strategy: Retries:<nil>}", "stop", "control by web"},
		{"X-07 decline", running(), false, action.Engine, "fresh", action.Input{}, "start {Mode:autopilot Spec: Parallel:0 Autonomy: Resume:false Fresh:true Agent: Strategy: Retries:<nil>}", "stop", "control by web"},
		{"E-088 continue anyway", stopped(ralph.ReasonBudget), false, action.Engine, "continue", action.Input{}, "start {Mode:autopilot Spec: Parallel:0 Autonomy: Resume:false Fresh:true Agent: Strategy: Retries:<nil>}", "stop", "control by web"},
		{"B-034, B-076, B-080 r", ended("t-1", ralph.TaskTimeout), false, action.Task, "retry", action.Input{ID: "t-1"}, "task.retried by web", "", ""},
		{"B-067 unblock", ended("t-1", ralph.TaskBlocked), false, action.Task, "retry", action.Input{ID: "t-1"}, "task.retried by web", "", ""},
		{"B-077 e, then retry", ended("t-1", ralph.TaskFailed), false, action.Task, "edit", action.Input{ID: "t-1", Notes: text("new"), Tags: []string{"critical"}, Retry: true}, "task.edited by web, task.retried by web", "edit", "task.edited by web"},
		{"B-078 R", with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Head: "a"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed}), false, action.Task, "rollback", action.Input{ID: "t-1"}, "rollback t-1", "", ""},
		{"B-079 X", with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed}), false, action.Task, "cleanup", action.Input{ID: "t-1"}, "cleanup t-1", "", ""},
		{"B-066, B-082 +", ended("t-1", ralph.TaskTimeout), false, action.Task, "extend", action.Input{ID: "t-1"}, "task.extended by web", "edit", "task.edited by web"},
		{"F-12 more time", ended("t-1", ralph.TaskTimeout), false, action.Task, "extend", action.Input{ID: "t-1", Time: time.Hour}, "task.extended by web", "", ""},
		{"B-081 divide", ended("t-1", ralph.TaskTimeout), false, action.Task, "divide", action.Input{ID: "t-1", Names: []string{"one", "two"}}, "task.added by web, task.added by web, task.ended by web", "", ""},
		{"B-021, B-065 skip", running(), true, action.Task, "skip", action.Input{ID: "t-1", Text: "not now"}, "task.ended by web", "retry", "task.retried by web"},
		{"B-021 skip at work", with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1}), true, action.Task, "skip", action.Input{ID: "t-1"}, "skip.wanted by web", "", ""},
		{"B-021 message to agent", with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1}), true, action.Task, "message", action.Input{ID: "t-1", Text: "use tabs"}, "task.told by web", "", ""},
		{"B-091 assign", with(running(), ralph.ModeSet{Mode: ralph.Semi}), true, action.Task, "assign", action.Input{ID: "t-2"}, "task.assigned by web", "", ""},
		{"prioritize", running(), true, action.Task, "prioritize", action.Input{ID: "t-2"}, "task.edited by web, plan.ordered by web", "order", "task.edited by web, plan.ordered by web"},
		{"accept", ended("t-1", ralph.TaskDone), false, action.Task, "accept", action.Input{ID: "t-1"}, "task.accepted by web", "", ""},
		{"reject", ended("t-1", ralph.TaskDone), false, action.Task, "reject", action.Input{ID: "t-1", Text: "no"}, "task.rejected by web", "", ""},
		{"done", ended("t-1", ralph.TaskFailed), false, action.Task, "done", action.Input{ID: "t-1"}, "task.ended by web", "", ""},
		{"add", running(), true, action.Plan, "add", action.Input{Name: text("More")}, "task.added by web", "skip", "task.ended by web"},
		{"A-105 approve", with(running(), gate("g-1", ralph.ApprovalStart)), true, action.Gate, "approve", action.Input{ID: "g-1"}, "answered by web", "", ""},
		{"approve as a rule", with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1}, gate("g-1", ralph.ApprovalRequest, inTurn)), true, action.Gate, "approve", action.Input{ID: "g-1", Always: true}, "answered by web, rule.added by web", "revoke", "rule.revoked by web"},
		{"deny", with(running(), gate("g-1", ralph.ApprovalStep)), true, action.Gate, "deny", action.Input{ID: "g-1", Text: "no"}, "answered by web, task.ended by web", "", ""},
		{"answer", with(running(), gate("g-1", ralph.ApprovalQuestion)), true, action.Gate, "answer", action.Input{ID: "g-1", Text: "42"}, "answered by web", "", ""},
		{"queue", nil, false, action.Inbox, "queue", action.Input{File: "a.md"}, "spec.added by web", "remove", "spec.removed by web"},
		{"remove", []ralph.Fact{spec(ralph.SpecPending)}, false, action.Spec, "remove", action.Input{ID: "q-1"}, "spec.removed by web", "queue", "spec.added by web"},
		{"clear", []ralph.Fact{spec(ralph.SpecPending)}, false, action.Inbox, "clear", action.Input{}, "spec.removed by web", "queue", "spec.added by web"},
		{"C-011 priority", []ralph.Fact{spec(ralph.SpecPending)}, false, action.Spec, "spec-priority", action.Input{ID: "q-1", Priority: text("5")}, "spec.edited by web", "spec-priority", "spec.edited by web"},
		{"requeue", []ralph.Fact{spec(ralph.SpecFailed)}, false, action.Spec, "requeue", action.Input{ID: "q-1"}, "spec.added by web", "remove", "spec.removed by web"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, tt.facts...)
			d.engine = tt.engine
			if got := d.offered(tt.about, tt.in.ID); !slices.Contains(got, tt.do) {
				t.Errorf("not offered: %v", got)
			}
			before := d.j.State().Seq
			done, err := action.Do(t.Context(), d, tt.do, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.kinds(before); got != tt.want && !slices.Contains(d.did, tt.want) {
				t.Errorf("facts %q, effects %q", got, d.did)
			}
			if done.Said == "" {
				t.Error("it said nothing")
			}
			undo := ""
			if done.Undo != nil {
				undo = done.Undo.Action
			}
			if undo != tt.undo {
				t.Fatalf("undo %q, want %q", undo, tt.undo)
			}
			if undo == "" {
				return
			}
			before = d.j.State().Seq
			if _, err := action.Do(t.Context(), d, undo, done.Undo.Input); err != nil {
				t.Fatal("undo:", err)
			}
			if got := d.kinds(before); got != tt.undone {
				t.Errorf("undone by %q", got)
			}
		})
	}
}

// A button is there exactly when pressing it works: what is offered is done when the form
// is filled in, and what is not offered is refused.
func TestOfferedExactlyWhenDone(t *testing.T) {
	t.Parallel()
	all := []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped}
	hidden := []string{"unblock", "prioritize", "accept", "stop-now", "semi", "order"} // may be done, but no button stands there
	for _, status := range all {
		for _, engine := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, engine %v", status, engine), func(t *testing.T) {
				t.Parallel()
				facts := []ralph.Fact{ralph.SessionStarted{ID: "s", Mode: "autopilot", Auto: ralph.Autopilot}, ralph.PlanStarted{File: "a.md"}, task("t-1", ralph.TaskPending)}
				if status != ralph.TaskPending {
					facts = append(facts, ralph.TaskStarted{ID: "t-1", Slot: 1})
				}
				if status.Ended() {
					facts = append(facts, ralph.TaskEnded{ID: "t-1", Status: status})
				}
				d := memDesk(t, facts...)
				for _, a := range action.Actions() {
					if a.About != action.Task && a.About != action.Engine {
						continue
					}
					if d.j.State().Seq > int64(len(facts)) || len(d.did) > 0 { // the last one was done
						d = memDesk(t, facts...)
					}
					d.engine = engine
					id := ""
					if a.About == action.Task {
						id = "t-1"
					}
					offered := slices.Contains(d.offered(a.About, id), a.Name)
					in := action.Input{ID: id}
					if o, ok := action.AvailableAs(d.j.State(), d.Context(), a.Name, id); ok {
						in = filled(t, o)
					}
					_, err := action.Do(t.Context(), d, a.Name, in)
					if offered && err != nil {
						t.Errorf("%s is offered and refused: %v", a.Name, err)
					}
					if !offered && err == nil && !slices.Contains(hidden, a.Name) {
						t.Errorf("%s is not offered and was done", a.Name)
					}
					var refusal *ralph.Refusal
					if err != nil && !errors.As(err, &refusal) && !strings.Contains(err.Error(), "t-1") {
						t.Errorf("%s: %v", a.Name, err)
					}
				}
			})
		}
	}
}

// filled is the input of a form as a person sends it.
func filled(t *testing.T, o action.Available) action.Input {
	t.Helper()
	form := map[string]string{"id": o.ID}
	for _, f := range o.Fields {
		value := f.Value
		switch {
		case f.Name == "names":
			value = "one\r\ntwo\r\n"
		case f.Name == "autonomy" && o.Action == "mode":
			value = "step"
		case f.Required && value == "":
			value = "words"
		}
		form[f.Name] = value
	}
	in, err := action.ReadForm(form)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// an interrupted session is offered to be resumed, in these words.
func TestInterruptedIsOffered(t *testing.T) {
	t.Parallel()
	d := newDesk(t, running()...)
	offers := action.AllAvailable(d.j.State(), d.Context(), action.Engine, "")
	if len(offers) < 2 || offers[0].Action != "recover" || offers[0].Ask != "Resume interrupted session?" || offers[1].Action != "fresh" {
		t.Errorf("%+v", offers)
	}
	d.record(ralph.SessionEnded{Reason: ralph.ReasonComplete})
	if got := d.offered(action.Engine, ""); !slices.Equal(got, []string{"start"}) {
		t.Errorf("after its end: %v", got)
	}
	for _, mode := range []ralph.Autonomy{ralph.Manual, ralph.Stepwise} { // F-14, X-100
		d = newDesk(t, with(running(), ralph.ModeSet{Mode: mode})...)
		if got := d.offered(action.Engine, ""); slices.Contains(got, "recover") || slices.Contains(got, "fresh") || !slices.Contains(got, "start") {
			t.Errorf("mode %s: %v", mode, got)
		}
	}
	d = newDesk(t, ralph.SessionStarted{ID: "s", Mode: "agent", Auto: ralph.Autopilot})
	if got := d.offered(action.Engine, ""); slices.Contains(got, "recover") {
		t.Error("agent mode left no session to be resumed")
	}
	d.carry = true
	if got := d.offered(action.Engine, ""); !slices.Contains(got, "recover") {
		t.Errorf("with its session file: %v", got)
	}
}

// E-088: the condition that stopped the engine is named.
func TestStopCondition(t *testing.T) {
	t.Parallel()
	d := newDesk(t, with(running(), ralph.SessionEnded{Reason: ralph.ReasonMaxCost, Detail: "$10.02 spent, the limit is $10.00"})...)
	offers := action.AllAvailable(d.j.State(), d.Context(), action.Engine, "")
	if offers[0].Action != "continue" || offers[0].Ask != "Stopped: max-cost exceeded ($10.02 spent, the limit is $10.00)." {
		t.Errorf("%+v", offers[0])
	}
}

// E-086: the word of the toggle.
func TestWord(t *testing.T) {
	t.Parallel()
	d := newDesk(t, running()...)
	for _, want := range []string{"stopped", "running", "paused"} {
		if got := action.Word(d.j.State(), d.Context()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if d.engine {
			d.record(ralph.Control{Want: ralph.WantPause})
		}
		d.engine = true
	}
}

// The first answer wins, and whoever comes second hears whose it was. Nobody
// makes a rule of what is on the never list (C-036).
func TestGates(t *testing.T) {
	t.Parallel()
	d := newDesk(t, with(running(), ralph.TaskStarted{ID: "t-1", Slot: 1}, gate("g-1", ralph.ApprovalRequest, inTurn), gate("g-2", ralph.ApprovalOperation, never))...)
	d.engine = true
	always := func(id string) bool {
		o, ok := action.AvailableAs(d.j.State(), d.Context(), "approve", id)
		return ok && slices.ContainsFunc(o.Fields, func(f action.Field) bool { return f.Name == "always" })
	}
	if !always("g-1") || always("g-2") {
		t.Errorf("rules are offered for g-1 %v, g-2 %v", always("g-1"), always("g-2"))
	}
	if _, err := action.Do(t.Context(), d, "approve", action.Input{ID: "g-2", Always: true}); !errors.Is(err, ralph.ErrUsage) || !strings.Contains(err.Error(), "never decided by a rule") {
		t.Errorf("a rule for what is on the never list: %v", err)
	}
	in := action.Input{ID: "g-1", Always: true, Scope: "session", For: time.Hour}
	if _, err := action.Do(t.Context(), d, "deny", in); err != nil {
		t.Fatal(err)
	}
	r := d.j.State().Rules[0]
	if r.Scope != ralph.ScopeSession || r.Of != "s" || r.By != "web" || r.Until.Sub(r.At) != time.Hour || r.Verdict != ralph.Denied {
		t.Errorf("%+v", r)
	}
	if _, err := action.Do(t.Context(), d, "approve", action.Input{ID: "g-1"}); !errors.Is(err, ralph.ErrNotFound) || !strings.Contains(err.Error(), "denied at") || !strings.Contains(err.Error(), "by web") {
		t.Errorf("a second answer: %v", err)
	}
	if _, err := action.Do(t.Context(), d, "approve", action.Input{ID: "g-9"}); !errors.Is(err, ralph.ErrNotFound) {
		t.Errorf("no such gate: %v", err)
	}
}

// An edit says only what it changes, and its undo gives back only that.
func TestEditAndBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, running()...)
	d.record(ralph.TaskEdited{Task: ralph.Task{ID: "t-1", Spec: "a.md", Name: "Task t-1", Notes: "old", Deps: []ralph.TaskID{"t-2"}, Status: ralph.TaskPending}})
	limit := 7
	done, err := action.Do(t.Context(), d, "edit", action.Input{ID: "t-1", Name: text("New"), Deps: []string{}, Tags: []string{"critical"}, Worker: []string{"gpu"}, MaxIterations: &limit})
	if err != nil {
		t.Fatal(err)
	}
	if x := d.j.State().Task("t-1"); x.Name != "New" || x.Notes != "old" || len(x.Deps) != 0 || !slices.Equal(x.Tags, []string{"critical"}) || !slices.Equal(x.Worker, []string{"gpu"}) || x.MaxIterations != 7 {
		t.Errorf("edited: %+v", x)
	}
	form := map[string]string{"id": "t-1"} // the undo comes back as a form
	for _, p := range done.Undo.Input.Form() {
		form[p.Name] = p.Value
	}
	in, err := action.ReadForm(form)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := action.Do(t.Context(), d, "edit", in); err != nil {
		t.Fatal(err)
	}
	if x := d.j.State().Task("t-1"); x.Name != "Task t-1" || !slices.Equal(x.Deps, []ralph.TaskID{"t-2"}) || len(x.Tags) != 0 || len(x.Worker) != 0 || x.MaxIterations != 0 {
		t.Errorf("taken back: %+v", x)
	}
	if _, err := action.Do(t.Context(), d, "edit", action.Input{ID: "t-1", Worker: []string{"a b"}}); !errors.Is(err, ralph.ErrUsage) || !strings.Contains(err.Error(), `worker: the label "a b" must be a name`) {
		t.Errorf("what is no label: %v", err)
	}
}

// A form carries every field of an input, so that none is lost on the page that asks.
func TestFormCarriesEverything(t *testing.T) {
	t.Parallel()
	n := 4
	in := action.Input{
		ID: "t-1", Text: "two\nlines", To: 3, Time: time.Hour, Names: []string{"a", "b"}, Always: true, Scope: "task", For: -1, Mode: "agent", Autonomy: "semi", Parallel: 2,
		Fresh: true, File: "a.md", Past: "budget.cost=5", Retry: true, Name: text("n"), Notes: text(""), Accept: text("a"), Priority: text("high"), Phase: text("p"), Parent: text("t-2"),
		Deps: []string{}, Tags: []string{"x", "y"}, Worker: []string{"gpu", "os=linux"}, MaxIterations: &n, Sure: true, Agent: "codex", Strategy: "skip", Retries: new(int),
	}
	v := reflect.ValueOf(in)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("the test leaves %s out", v.Type().Field(i).Name)
		}
	}
	form := map[string]string{"id": in.ID}
	for _, p := range in.Form() {
		form[p.Name] = p.Value
	}
	form["for"] = "no end"
	got, err := action.ReadForm(form)
	if err != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("%v\n%+v\n%+v", err, got, in)
	}
	for _, bad := range []map[string]string{
		{"to": "x"}, {"parallel": "-1"}, {"max_iterations": "1.5"}, {"retries": "two"}, {"for": "soon"}, {"time": "long"}, {"time": "-1m"},
	} {
		if _, err := action.ReadForm(bad); !errors.Is(err, ralph.ErrUsage) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A start that no command line would take is refused before anything is started.
func TestStartIsChecked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	many := 101
	for _, in := range []action.Input{
		{},
		{Mode: "rm -rf"},
		{Mode: "agent", Autonomy: "fast"},
		{Mode: "autopilot", Parallel: 1001},
		{Mode: "construct", Parallel: 2},
		{Mode: "autopilot", File: "a.md"}, // there is no plan
		{Mode: "agent", Strategy: "ignore"},
		{Mode: "agent", Retries: &many},
	} {
		if _, err := action.Do(t.Context(), d, "start", in); !errors.Is(err, ralph.ErrUsage) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	d.engine = true
	if _, err := action.Do(t.Context(), d, "start", action.Input{Mode: "agent"}); !errors.Is(err, ralph.ErrActive) || len(d.did) > 0 {
		t.Errorf("beside an engine: %v, %v", err, d.did)
	}
}

// A-099, F-40: a start can say which plan is meant, whatever the engine: that of autopilot
// must be the one that is there, agent has the spec queued, once.
func TestStartOfAPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode   string
		facts  []ralph.Fact
		queued int
		why    string
	}{
		{"construct", nil, 0, ""},
		{"agent", nil, 1, ""},
		{"agent", []ralph.Fact{ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}}}, 1, ""},
		{"autopilot", []ralph.Fact{ralph.PlanStarted{File: "a.md"}}, 0, ""},
		{"autopilot", []ralph.Fact{ralph.PlanStarted{File: "b.md"}}, 0, "the plan is that of b.md, not of a.md: plan it first: [[plan a.md]]"},
		{"autopilot", nil, 0, "there is no plan: plan it first: [[plan a.md]]"},
	} {
		d := memDesk(t, tt.facts...)
		_, err := action.Do(t.Context(), d, "start", action.Input{Mode: tt.mode, File: "a.md"})
		if (err == nil) != (tt.why == "") || err != nil && err.Error() != tt.why || (len(d.did) == 1) != (tt.why == "") {
			t.Errorf("%s: %v, %v", tt.mode, err, d.did)
		}
		if n := len(d.j.State().Queued("a.md")); n != tt.queued {
			t.Errorf("%s: queued %d times, want %d", tt.mode, n, tt.queued)
		}
	}
	d := memDesk(t)
	if _, err := action.Do(t.Context(), d, "start", action.Input{Mode: "agent", File: "none.md"}); !errors.Is(err, ralph.ErrNotFound) || len(d.did) > 0 {
		t.Errorf("a spec that is not there: %v, %v", err, d.did)
	}
}

// The start form offers the engine for which there is work.
func TestStartOffersTheLikelyEngine(t *testing.T) {
	t.Parallel()
	plan := ralph.Plan{File: "a.md", Tasks: []*ralph.Task{{ID: "t-1", Status: ralph.TaskPending}}}
	done := ralph.Plan{File: "a.md", Tasks: []*ralph.Task{{ID: "t-1", Status: ralph.TaskDone}}}
	queue := []*ralph.Spec{{ID: "q-1", File: "a.md", Status: ralph.SpecPending}}
	for _, c := range []struct {
		name string
		s    ralph.State
		want string
	}{
		{"nothing", ralph.State{}, "agent"},
		{"a plan", ralph.State{Plan: plan}, "autopilot"},
		{"a plan that is done", ralph.State{Plan: done}, "agent"},
		{"a plan and a queue", ralph.State{Plan: plan, Inbox: queue}, "agent"},
		{"the last one", ralph.State{Inbox: queue, Session: ralph.Session{ID: "s-1", Mode: "construct", Ended: ralph.ReasonComplete}}, "construct"},
	} {
		o, ok := action.AvailableAs(&c.s, action.Context{Specs: []string{"a.md"}}, "start", "")
		if !ok || o.Fields[0].Value != c.want {
			t.Errorf("%s: %+v, want %s", c.name, o.Fields, c.want)
		}
	}
}

// Who has a thread go on past a cost that nobody knows is told that no limit of cost holds any more.
func TestPastAnUnknownCost(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		task := ralph.Task{ID: "t-1", Name: "go", Kind: ralph.KindBuild, Run: ralph.Run{Thread: &ralph.Thread{}, Turns: ralph.Turns{Usage: ralph.Usage{Input: 5, Known: known}}}}
		d := newDesk(t, ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto}, ralph.TaskAdded{Task: task},
			ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout, Why: ralph.Why{Stop: ralph.StopCost}})
		done, err := action.Do(t.Context(), d, "thread-continue", action.Input{Past: "budget.cost=1", ID: "t-1"})
		if err != nil || strings.Contains(done.Said, "no limit of cost holds") == known {
			t.Errorf("cost known %v: %q %v", known, done.Said, err)
		}
	}
}
