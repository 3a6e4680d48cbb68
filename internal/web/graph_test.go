package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web"
)

func TestPlanGraph(t *testing.T) {
	t.Parallel()
	s := planState()
	s.Plan.Tasks[0].Name = `</title><script>alert("x")</script>`
	code, page := planAt(t, web.Options{}, s, "/plan/graph")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, page)
	}
	for _, want := range []string{
		`href="/task/t-wait"`, "after t-merge (merging), t-act (active)", `data-status="ready"`, `data-e="0 3"`, "polish", `href="/plan/graph?zoom=200"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the graph has no %q", want)
		}
	}
	if n := strings.Count(page, `data-n=`); n != len(s.Plan.Tasks) {
		t.Errorf("%d of %d tasks are drawn", n, len(s.Plan.Tasks))
	}
	raw := planRaw(t, s, "/plan/graph")
	if strings.Contains(raw, "<script>alert") || strings.Contains(raw, "style=") {
		t.Error("a name leaves its element, or there is inline style")
	}
	if code, page := planAt(t, web.Options{}, &ralph.State{}, "/plan/graph"); code != http.StatusOK || !strings.Contains(page, "nothing to draw") {
		t.Errorf("an empty plan: %d", code)
	}
}

// TestPlanGraphFocus shows only what hangs together with one task, over all phases.
func TestPlanGraphFocus(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	s.Plan.Tasks = []*ralph.Task{
		planTask("t-a", "a", ralph.TaskDone), planTask("t-b", "b", ralph.TaskPending, "t-a", "t-none"), planTask("t-c", "c", ralph.TaskPending, "t-b"),
		planTask("t-d", "d", ralph.TaskPending, "t-a"), planTask("t-e", "e", ralph.TaskPending),
	}
	for address, want := range map[string]string{
		"?focus=t-b": "t-a t-b t-c", "?focus=t-a": "t-a t-b t-c t-d", "?focus=t-e": "t-e", "?focus=../x": "t-a t-b t-c t-d t-e", "?zoom=-7&phase=": "t-a t-b t-c t-d t-e",
	} {
		_, page := planAt(t, web.Options{}, s, "/plan/graph"+address)
		var got []string
		for _, x := range s.Plan.Tasks {
			if strings.Contains(page, `href="/task/`+string(x.ID)+`"`) {
				got = append(got, string(x.ID))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s draws %v, not %s", address, got, want)
		}
	}
}

// TestPlanGraphOfAThousand: tasks that wait for each other in circles too, and a page that
// stays small.
func TestPlanGraphOfAThousand(t *testing.T) {
	t.Parallel()
	s := planOfMany(1000)
	s.Plan.Tasks[10].Deps = append(s.Plan.Tasks[10].Deps, "t-0020")
	code, page := planAt(t, web.Options{}, s, "/plan/graph")
	if code != http.StatusOK || len(page) > 400_000 {
		t.Errorf("%d, %d bytes", code, len(page))
	}
	if n := strings.Count(page, `data-n=`); n != 1000 {
		t.Errorf("%d of 1000 tasks are drawn", n)
	}
	if !strings.Contains(page, "drawn small") || !strings.Contains(page, "/plan/graph?phase=phase+2") || !strings.Contains(page, `class="back"`) {
		t.Error("a large graph does not say how to see less of it, or does not show the circle")
	}
	if _, page = planAt(t, web.Options{}, s, "/plan/graph?phase=phase+2"); strings.Count(page, `data-n=`) != 250 || strings.Contains(page, "drawn small") {
		t.Error("a phase is not drawn alone")
	}
}
