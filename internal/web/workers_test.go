package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workers"
)

// fleetSource is a repository with workers that can be drained.
type fleetSource struct {
	planSource

	drained []string
}

func (p *fleetSource) Drain(_ context.Context, worker string) (string, error) {
	p.drained = append(p.drained, worker)
	return worker + " takes no more steps", nil
}

func onFleet() *fleetSource {
	s := overviewState()
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	return &fleetSource{planSource: planSource{state: s, engine: status.Engine{Alive: true, Pid: 42, Fleet: &workers.Moment{
		Pid: 42, Workers: []workers.Worker{
			{Name: "east", State: workers.Draining, Agents: []string{"codex"}, Slots: 2, Busy: 1, Version: "v0.9.0", Heard: now},
			{Name: "north", State: workers.Ready, Agents: []string{"claude", "<b>"}, Labels: []string{"gpu"}, Slots: 4, Busy: 1, Version: "v0.9.0", Heard: now},
			{Name: "old", State: workers.Ready, Slots: 2, Version: "v0.8.0", Heard: now, Wrong: []string{"is another version of ralph"}},
			{Name: "south", State: workers.Lost, Agents: []string{"claude"}, Slots: 2, Version: "v0.9.0", Heard: now.Add(-90 * time.Second)},
		},
		Steps: []workers.Step{{Task: "t-c", Worker: "north"}, {Task: "t-d", Attempt: 2, Trouble: "no room on <disk>"}, {Task: "t-a", Missing: "no worker has the label <tpu>; start one"}},
	}}}}
}

// The overview says on which worker each agent is, and lists the workers: ready, draining, lost since when, what is wrong
// with one, and what waits for one. Only who takes steps can be drained.
func TestOverviewShowsWorkers(t *testing.T) {
	t.Parallel()
	source := onFleet()
	_, body := planAt(t, web.Options{Source: source, Backend: source}, source.state, "/")
	wantAll(t, body, "slot 1 · Claude · on north", `Workers <span class="count">4</span>`, "2 of 8 slots busy",
		`data-status="ok">ready</span> <strong class="mono">north</strong>`, "1 of 4 slots busy · claude, <b> · gpu · ralph v0.9.0", `data-status="held">draining</span> <strong class="mono">east</strong>`,
		`data-status="red">lost</span> <strong class="mono">south</strong>`, "not heard of since", `data-status="warn">gets no steps</span>`, "It is another version of ralph",
		"waits for a worker, attempt 2; before: no room on <disk>", "waits for a worker: no worker has the label <tpu>; start one", `action="/do/drain"`)
	if n := strings.Count(body, `action="/do/drain"`); n != 2 { // north and old
		t.Errorf("%d workers can be drained", n)
	}
	for name, none := range map[string]status.Engine{"without a fleet": {Alive: true}, "without an engine": {Fleet: source.engine.Fleet}} {
		other := &planSource{state: overviewState(), engine: none}
		_, body := planAt(t, web.Options{Source: other, Backend: other}, other.state, "/")
		if strings.Contains(body, "Workers <span") || strings.Contains(body, "on north") || strings.Contains(body, "/do/drain") {
			t.Errorf("%s the overview shows workers", name)
		}
	}
}

// The page of a task whose step no worker can take says why with the words of all others.
func TestTaskSaysWhatNoWorkerHas(t *testing.T) {
	t.Parallel()
	source := onFleet()
	opt := web.Options{Source: source, Backend: source, Schedule: planSchedule{}}
	_, body := planAt(t, opt, source.state, "/task/t-a")
	wantAll(t, body, "because of t-ano worker has the label <tpu>; start one")
	if _, body := planAt(t, opt, source.state, "/task/t-d"); strings.Contains(body, "tpu") {
		t.Error("what another task lacks is shown")
	}
}

// A worker is drained after a question, and never one that takes no steps.
func TestDrainFromTheOverview(t *testing.T) {
	t.Parallel()
	source := onFleet()
	x := web.New(web.Options{Source: source, Backend: source, Root: "shop"})
	defer x.Close()
	send := func(form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/do/drain", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		x.ServeHTTP(w, r)
		return w
	}
	if w := send(url.Values{"id": {"north"}}); !strings.Contains(w.Body.String(), "Have north take no more steps?") || len(source.drained) != 0 {
		t.Fatalf("it was not asked: %d %v", w.Code, source.drained)
	}
	if w := send(url.Values{"id": {"north"}, "sure": {"true"}}); w.Code != http.StatusSeeOther || len(source.drained) != 1 || source.drained[0] != "north" {
		t.Fatalf("drained: %d %v", w.Code, source.drained)
	}
	for _, name := range []string{"south", "east", "west", "--help"} {
		if w := send(url.Values{"id": {name}, "sure": {"true"}}); w.Code != http.StatusNotFound || len(source.drained) != 1 {
			t.Errorf("%s: %d %v", name, w.Code, source.drained)
		}
	}
}
