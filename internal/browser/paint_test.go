//go:build e2e

package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// BenchmarkFirstPaint is how long after a click something is to be seen, over 100,000
// facts and a plan of 1,000 tasks:
//
//	go test -tags e2e -run '^$' -bench FirstPaint -benchtime 1x ./internal/browser
func BenchmarkFirstPaint(b *testing.B) {
	p := newPlace(b, held)
	longHistory(b, p, 100_000, 1000)
	x := enter(b, newBrowser(b), p.serve("127.0.0.1:0"))
	for b.Loop() {
		for _, page := range []string{"/", "/plan", "/plan?view=table", "/plan/graph", "/task/t-1500", "/gates", "/receipts", "/history", "/settings", "/log"} {
			var painted []float64
			for range 9 {
				painted = append(painted, x.paint(page))
			}
			first := painted[0]
			slices.Sort(painted)
			name := strings.Trim(strings.NewReplacer("/", "-", "?view=", "-").Replace(page), "-")
			if name == "" {
				name = "overview"
			}
			b.ReportMetric(painted[len(painted)/2], name+"-ms")
			b.Logf("%-18s first %.0f ms, median %.0f ms, most %.0f ms", page, first, painted[len(painted)/2], painted[len(painted)-1])
		}
	}
}

// paint opens a page, and answers how many milliseconds later its first content was seen.
func (x *tab) paint(page string) float64 {
	x.t.Helper()
	x.open(page)
	const seen = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime`
	x.until("the first paint of "+page, seen+" > 0")
	at, err := chromedp.Run(x.ctx, chromedp.Evaluate[float64](seen))
	if err != nil {
		x.t.Fatal(err)
	}
	return at
}

// longHistory writes facts and, at their end, a plan in five phases.
func longHistory(b *testing.B, p *place, facts, tasks int) {
	b.Helper()
	j, err := journal.Open(journal.Options{Root: p.dir, Inbox: true, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	id := func(i int) ralph.TaskID { return ralph.TaskID(fmt.Sprintf("t-%d", 1000+i)) }
	add := func(list []ralph.Fact) {
		if err := j.Update(b.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return list, nil }); err != nil {
			b.Fatal(err)
		}
	}
	plan := []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: []byte("{}")}, ralph.PlanStarted{File: "a.md"}}
	for i := range tasks {
		t := ralph.Task{ID: id(i), Spec: "a.md", Name: fmt.Sprintf("Add the form number %d to the page", i), Status: ralph.TaskPending, Phase: fmt.Sprintf("Phase %d", 1+i*5/tasks)}
		if i >= 13 && i%3 > 0 {
			t.Deps = []ralph.TaskID{id(i - 7), id(i - 13)}
		}
		plan = append(plan, ralph.TaskAdded{Task: t})
	}
	add(plan)
	for n := tasks; n < facts; {
		var list []ralph.Fact
		for range 200 {
			task := id(n / 5 % tasks)
			list = append(list,
				ralph.StepStarted{Task: task, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}, Why: ralph.Why{Rule: "B-026", Text: "no signal yet"}},
				ralph.TurnEnded{Task: task, Stage: ralph.KindBuild, Agent: "me", Iteration: 1, Exit: ralph.ExitOK, Tail: "The form is there, next the message.", Took: time.Minute},
				ralph.StepStarted{Task: task, Step: ralph.Check{}, Why: ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"}},
				ralph.ChecksRan{Task: task, Pass: true, Took: time.Second, Results: []ralph.CheckResult{{Name: "true", Command: "true", Pass: true}}},
				ralph.Noted{Task: task, Text: "a word on the side"},
			)
			n += 5
		}
		add(list)
	}
	add([]ralph.Fact{ralph.SessionEnded{Reason: ralph.ReasonEmpty}})
}
