package web_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// planSource is a repository with a state that does not change.
type planSource struct {
	action.Backend
	state  *ralph.State
	engine status.Engine
	events []ralph.Event
}

func (p *planSource) State() *ralph.State               { return p.state }
func (p *planSource) Engine(*ralph.State) status.Engine { return p.engine }
func (p *planSource) Now() time.Time                    { return time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC) }

func (p *planSource) Context() action.Context {
	return action.Context{Engine: p.engine.Alive, Now: p.Now(), Workers: p.engine.Fleet.Drainable()}
}
func (p *planSource) Wait(ctx context.Context, _ int64) error { <-ctx.Done(); return ctx.Err() }

func (p *planSource) Each(after int64, visit func(ralph.Event) error) error {
	for _, e := range p.events {
		if e.Seq > after {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *planSource) Update(context.Context, func(*ralph.State) ([]ralph.Fact, error)) error {
	return nil
}

// planSchedule has the tasks that it is given as ready.
type planSchedule struct{ ready []web.Scored }

func (p planSchedule) Ready(*ralph.State) []web.Scored { return p.ready }
func (p planSchedule) Iterations(*ralph.State) int     { return 25 }
func (p planSchedule) Why(_ *ralph.State, id ralph.TaskID, missing string) (view.Why, bool) {
	return view.Why{Words: "because of " + string(id) + missing, Waits: []string{"rain"}, Score: 7, Parts: []view.ScorePart{{Points: 7, Reason: "of its name"}}}, true
}

// planAt asks for an address of a dashboard of this state.
func planAt(t testing.TB, opt web.Options, s *ralph.State, address string) (int, string) {
	t.Helper()
	source := &planSource{state: s}
	if opt.Source == nil {
		opt.Source, opt.Backend = source, source
	}
	opt.Root = "shop"
	x := web.New(opt)
	defer x.Close()
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w.Code, html.UnescapeString(w.Body.String())
}

// planRaw is a page as it is sent.
func planRaw(t testing.TB, s *ralph.State, address string) string {
	t.Helper()
	source := &planSource{state: s}
	x := web.New(web.Options{Source: source, Backend: source})
	defer x.Close()
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w.Body.String()
}

func planTask(id, name string, status ralph.TaskStatus, deps ...ralph.TaskID) *ralph.Task {
	return &ralph.Task{ID: ralph.TaskID(id), Name: name, Status: status, Deps: deps}
}

// planState has a task of each kind.
func planState() *ralph.State {
	at := time.Date(2025, 3, 1, 11, 0, 0, 0, time.UTC)
	s := &ralph.State{Seq: 1}
	s.Plan.File = "specs/shop.md"
	s.Plan.Tasks = []*ralph.Task{
		planTask("t-done", "Lay the ground", ralph.TaskDone),
		planTask("t-merge", "Merge me", ralph.TaskDone),
		planTask("t-act", "Work on it", ralph.TaskActive),
		planTask("t-next", "Be the next", ralph.TaskPending, "t-done"),
		planTask("t-wait", "Wait for a merge", ralph.TaskPending, "t-merge", "t-act"),
		planTask("t-fail", "Break", ralph.TaskFailed),
		planTask("t-late", "A later phase", ralph.TaskPending),
		planTask("t-skip", "Leave it", ralph.TaskSkipped),
	}
	tasks := s.Plan.Tasks
	tasks[1].Run.Queue.State = ralph.MergeConflict
	tasks[2].Run = ralph.Run{Turns: ralph.Turns{Iterations: 2, Agent: "claude", Progress: 40, Note: "half of it", TurnAt: at, Usage: ralph.Usage{Cost: 1.25, Known: true}}, Attempt: ralph.Attempt{StartedAt: at}, Worktree: ralph.Worktree{Slot: 2}}
	tasks[3].Tags, tasks[3].Priority = []string{"critical"}, "high"
	tasks[5].Run.Reason = "the same error three times\nand more"
	tasks[6].Phase = "polish"
	s.Plan.Issues = []*ralph.Issue{{ID: "i-1", Desc: "the roof <leaks>"}}
	s.Plan.Rejects = []*ralph.Reject{{ID: "t-done", Reason: "not level"}}
	return s
}

// planColumn is the part of the board that has the key.
func planColumn(t *testing.T, page, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<section class="column" data-status="`+key+`"`)
	if !ok {
		t.Fatalf("no column %s in %s", key, page)
	}
	rest, _, _ = strings.Cut(rest, "</section>")
	return rest
}

func TestPlanBoard(t *testing.T) {
	t.Parallel()
	opt := web.Options{Schedule: planSchedule{[]web.Scored{{ID: "t-next", Score: 42}}}}
	code, page := planAt(t, opt, planState(), "/plan")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, page)
	}
	for key, wants := range map[string][]string{
		"waiting": {"t-wait", "after t-merge (merging), t-act (active)", "t-late", `when phase "" has ended`},
		"ready":   {"t-next", "next · score 42", "critical", "high"},
		"active":  {"t-act", "slot 2 · claude · iteration 3 of 25 · $1.25", `value="40"`, "half of it"},
		"merging": {"t-merge", "conflict"},
		"failed":  {"t-fail", "the same error three times"},
		"done":    {"t-done"},
		"skipped": {"t-skip"},
	} {
		column := planColumn(t, page, key)
		for _, want := range wants {
			if !strings.Contains(column, want) {
				t.Errorf("column %s has no %q: %s", key, want, column)
			}
		}
	}
	for _, want := range []string{"12 %", "1 done, 1 merging, 1 active, 1 failed, 1 skipped, 1 ready, 2 waiting", "the roof <leaks>", "not level"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "and more") {
		t.Error("a reason of several lines is not cut")
	}
}

// TestPlanPhases: a phase is a barrier: what is in a later one waits for it.
func TestPlanPhases(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	s.Plan.Tasks = []*ralph.Task{planTask("t-1", "one", ralph.TaskDone), planTask("t-2", "two", ralph.TaskPending), planTask("t-3", "three", ralph.TaskPending)}
	s.Plan.Tasks[0].Phase, s.Plan.Tasks[1].Phase, s.Plan.Tasks[2].Phase = "base", "polish", "base"
	_, page := planAt(t, web.Options{}, s, "/plan")
	if c := planColumn(t, page, "waiting"); !strings.Contains(c, "t-2") || !strings.Contains(c, `when phase "base" has ended`) {
		t.Errorf("a later phase does not wait: %s", c)
	}
	if c := planColumn(t, page, "ready"); !strings.Contains(c, "t-3") {
		t.Errorf("the open phase is not ready: %s", c)
	}
}

func TestPlanFilter(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"status=ready": "t-next", "status=failed": "t-fail", "phase=polish": "t-late", "tag=critical": "t-next", "q=WORK+on": "t-act",
		"q=t-skip": "t-skip", "status=pending&q=later": "t-late",
	} {
		for _, v := range []string{"", "&view=table"} {
			_, page := planAt(t, web.Options{}, planState(), "/plan?"+query+v)
			_, page, _ = strings.Cut(page, `id="plan-body"`)
			page, _, _ = strings.Cut(page, `id="plan-issues"`)
			var got []string
			for _, x := range planState().Plan.Tasks {
				if strings.Contains(page, `/task/`+string(x.ID)+`"`) {
					got = append(got, string(x.ID))
				}
			}
			if fmt.Sprint(got) != "["+want+"]" {
				t.Errorf("?%s%s shows %v, not %s", query, v, got, want)
			}
		}
	}
}

// planOfMany is a plan of n tasks that depend on each other.
func planOfMany(n int) *ralph.State {
	s := &ralph.State{}
	s.Plan.File = "specs/many.md"
	for i := range n {
		x := planTask(fmt.Sprintf("t-%04d", i), fmt.Sprintf("Task number %d with a name of some words", i), ralph.TaskPending)
		for _, back := range []int{1, 7, 30} {
			if i >= back {
				x.Deps = append(x.Deps, ralph.TaskID(fmt.Sprintf("t-%04d", i-back)))
			}
		}
		switch {
		case i < n/4:
			x.Status = ralph.TaskDone
		case i%3 == 0:
			x.Status, x.Run.Reason = ralph.TaskFailed, strings.Repeat("a long reason ", 40)
		case i%50 == 0:
			x.Status = ralph.TaskActive
		}
		x.Phase = fmt.Sprintf("phase %d", i*4/n)
		s.Plan.Tasks = append(s.Plan.Tasks, x)
	}
	return s
}

// TestPlanOfAThousand: a large plan makes pages of a bounded size, and says what it leaves out.
func TestPlanOfAThousand(t *testing.T) {
	t.Parallel()
	s := planOfMany(1000)
	for _, address := range []string{"/plan", "/plan?view=table", "/plan?view=table&page=5", "/plan?view=table&page=99&sort=name", "/plan?view=table&page=-1"} {
		code, page := planAt(t, web.Options{}, s, address)
		if code != http.StatusOK || len(page) > 400<<10 {
			t.Errorf("%s: %d, %d bytes", address, code, len(page))
		}
	}
	_, page := planAt(t, web.Options{}, s, "/plan")
	if c := planColumn(t, page, "done"); !strings.Contains(c, "and 190 more") || !strings.Contains(c, "/plan?status=done&view=table") {
		t.Errorf("a long column does not say what it leaves out: %.400s", c)
	}
	_, page = planAt(t, web.Options{}, s, "/plan?view=table&page=5")
	if !strings.Contains(page, "801 to 1000 of 1000") {
		t.Error("the last page of the table does not say where it is")
	}
}

func BenchmarkPlan(b *testing.B) {
	source := &planSource{state: planOfMany(1000)}
	x := web.New(web.Options{Source: source, Backend: source})
	defer x.Close()
	for _, address := range []string{"/plan", "/plan?view=table", "/plan/graph"} {
		b.Run(address, func(b *testing.B) {
			size := 0
			for b.Loop() {
				w := httptest.NewRecorder()
				x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
