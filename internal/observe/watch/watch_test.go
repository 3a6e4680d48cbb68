package watch

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
)

// A page is made anew for what it shows and for nothing else: the words of agents are news
// five times a second.
func TestPagesAreMadeAnewForWhatTheyShow(t *testing.T) {
	t.Parallel()
	state := &ralph.State{Seq: 7}
	for _, id := range []ralph.TaskID{"t-1", "t-2"} {
		state.Plan.Tasks = append(state.Plan.Tasks, &ralph.Task{ID: id, Status: ralph.TaskActive})
	}
	at := func(s *ralph.State, one, two string, size int64) *Look {
		words := map[ralph.TaskID]string{"t-1": one, "t-2": two}
		return &Look{Look: page.Look{State: s, Engine: status.Engine{Alive: true, Words: words}}, grown: map[ralph.TaskID]int64{"t-1": size, "t-2": 5}}
	}
	later := *state
	later.Seq++
	for _, c := range []struct {
		name  string
		now   *Look
		anew  bool
		new   bool // there is a version
		pages string
	}{
		{"nothing", at(state, "a", "b", 1), false, false, ""},
		{"other words of one", at(state, "c", "b", 2), false, true, "/ /plan /plan?view=table /task/t-1 /task/t-1/live"},
		{"one has said more, and the last words are the same", at(state, "a", "b", 2), false, true, "/task/t-1 /task/t-1/live"},
		{"a fact", at(&later, "a", "b", 1), false, true, "/ /plan /plan?view=table /plan/graph /task/t-1 /task/t-1/live /task/t-2 /gates"},
		{"the time", at(state, "a", "b", 1), true, true, "/ /plan /plan?view=table /plan/graph /task/t-1 /task/t-1/live /task/t-2 /gates"},
		{"a look that was taken before", at(&ralph.State{Seq: 6}, "a", "b", 1), false, false, ""},
	} {
		w := &Watcher{moved: make(chan struct{})}
		w.publish(at(state, "a", "b", 1), false)
		before := w.version
		w.publish(c.now, c.anew)
		if w.version > before != c.new {
			t.Errorf("%s: version %d after %d", c.name, w.version, before)
		}
		got := ""
		for _, page := range []string{"/", "/plan", "/plan?view=table", "/plan/graph", "/task/t-1", "/task/t-1/live", "/task/t-2", "/gates"} {
			if !w.Unchanged(page, before) {
				got += " " + page
			}
			if !w.Unchanged(page, w.version) {
				t.Errorf("%s: %s is made anew again and again", c.name, page)
			}
		}
		if want := c.pages; got != "" && got[1:] != want || got == "" && want != "" {
			t.Errorf("%s: made anew %q, want %q", c.name, got, want)
		}
	}
}
