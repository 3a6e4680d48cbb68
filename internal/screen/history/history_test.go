package history_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// A page of the history goes back so many whole days, today counted.
func TestSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 3, 10, 15, 30, 0, 0, time.Local)
	for days, want := range map[string]time.Time{
		"7": time.Date(2025, 3, 4, 0, 0, 0, 0, time.Local), "": time.Date(2025, 2, 9, 0, 0, 0, 0, time.Local),
		"30": time.Date(2025, 2, 9, 0, 0, 0, 0, time.Local), "nonsense": time.Date(2025, 2, 9, 0, 0, 0, 0, time.Local), "all": {},
	} {
		if have := history.Since(page.Look{Now: now}, url.Values{"days": {days}}); !have.Equal(want) {
			t.Errorf("%q: since %s, want %s", days, have, want)
		}
	}
}

// How a session ended: by its own word, and where it has none by who works now.
func TestEndOf(t *testing.T) {
	t.Parallel()
	now := &ralph.State{Session: ralph.Session{ID: "s-2"}}
	for _, tt := range []struct {
		id    ralph.SessionID
		ended ralph.Reason
		alive bool
		want  string
	}{
		{"s-2", "", true, "running running"},
		{"s-2", "", false, "paused interrupted"},
		{"s-1", "", true, "failed cut off"},
		{"s-1", "", false, "failed cut off"},
		{"s-1", ralph.ReasonComplete, true, "done complete"},
		{"s-1", ralph.ReasonEmpty, true, "done inbox empty"},
		{"s-1", ralph.ReasonFailed, true, "failed failed"},
		{"s-1", ralph.ReasonError, true, "failed error"},
		{"s-1", ralph.ReasonAborted, true, "failed aborted"},
		{"s-2", ralph.ReasonInterrupted, true, "paused interrupted"},
		{"s-1", "max_cost", true, "timeout max_cost"},
	} {
		state, words := history.EndOf(&index.Session{ID: tt.id, Ended: tt.ended}, page.Look{State: now, Engine: status.Engine{Alive: tt.alive}})
		if have := state + " " + words; have != tt.want {
			t.Errorf("%s %q, alive %t: %s, want %s", tt.id, tt.ended, tt.alive, have, tt.want)
		}
	}
}

// The sessions beside one, of those that are the newest first: its report ends where the next one begins.
func TestAround(t *testing.T) {
	t.Parallel()
	all := []index.Session{{ID: "s-4", First: 40, Last: 49}, {ID: "s-3", First: 30, Last: 39}, {ID: "s-2", First: 20, Last: 29}, {ID: "s-1", First: 10, Last: 19}}
	for i, want := range []string{"s-3  49", "s-2 s-4 40", "s-1 s-3 30", " s-2 20"} {
		older, newer, last := history.Around(&all[i], all)
		if have := fmt.Sprintf("%s %s %d", older, newer, last); have != want {
			t.Errorf("around %s: %q, want %q", all[i].ID, have, want)
		}
	}
}

// How far the history was read never goes past what is shown, and what went wrong is told.
func TestReadingOf(t *testing.T) {
	t.Parallel()
	have := history.ReadingOf(&ralph.State{Seq: 10}, index.Progress{Read: 12, Caught: true, Err: errors.New("no disk")})
	if want := (history.Reading{Read: 10, Of: 10, Done: true, Trouble: "no disk"}); have != want {
		t.Errorf("it is %+v, want %+v", have, want)
	}
}

// journal is one in memory; it counts what is read of it.
type journal struct {
	events []ralph.Event
	read   int
}

func (j *journal) Each(after int64, visit func(ralph.Event) error) error {
	for _, e := range j.events {
		if e.Seq > after {
			j.read++
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Decisions are the newest first, a hundred a page; a filter holds on each page, an older page begins where
// this one ends, and none reads more than its window.
func TestReceiptsOf(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	for i := range 3000 {
		x.Receipt([]ralph.TaskID{"t-0001", "t-0002"}[i%2], ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: i + 1}, ralph.Why{Rule: "B-026", Text: fmt.Sprintf("why-%d-so", i)})
		x.Add(ralph.Noted{Text: "a word"})
	}
	j := &journal{events: x.Events}
	known := index.New(index.Options{})
	q := url.Values{"task": {"t-0002"}}
	var seen []int64
	pages := 0
	for before := ""; ; pages++ {
		if before != "" {
			q.Set("before", before)
		}
		j.read = 0
		m, err := history.ReceiptsOf(x.S, known, j, q)
		if err != nil {
			t.Fatal(err)
		}
		if j.read > page.Window+page.AfterWindow+1 {
			t.Fatalf("page %d reads %d facts", pages, j.read)
		}
		for _, row := range m.Rows {
			if row.Task != "t-0002" {
				t.Fatalf("page %d has a decision about %s", pages, row.Task)
			}
			seen = append(seen, row.Seq)
		}
		if (m.Newest != "") != (before != "") {
			t.Errorf("page %d leads to the newest by %q", pages, m.Newest)
		}
		if m.Older == "" {
			break
		}
		u, err := url.Parse(m.Older)
		if err != nil || u.Query().Get("task") != "t-0002" || len(m.Rows) > 100 || pages > 40 {
			t.Fatalf("page %d with %d decisions leads to %q: %v", pages, len(m.Rows), m.Older, err)
		}
		before = u.Query().Get("before")
	}
	if len(seen) != 1500 || !slices.IsSortedFunc(seen, func(a, b int64) int { return int(b - a) }) {
		t.Errorf("%d decisions on %d pages, want 1500 the newest first", len(seen), pages+1)
	}
	m, err := history.ReceiptsOf(x.S, known, &journal{events: x.Events}, url.Values{"q": {" why-2999-so turn "}})
	if err != nil || len(m.Rows) != 1 || m.Text != "why-2999-so turn" {
		t.Errorf("a search finds %d decisions by %q: %v", len(m.Rows), m.Text, err)
	}
}

// What came of a decision, nothing while it is under way.
func TestCame(t *testing.T) {
	t.Parallel()
	if have := history.Came(&receipts.Receipt{}); have != "" {
		t.Errorf("under way it is %q", have)
	}
	if have := history.Came(&receipts.Receipt{Outcome: &receipts.Outcome{Words: "a turn"}}); have != "a turn" {
		t.Errorf("it is %q", have)
	}
}
