package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// heap is what is in use after a collection.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// work writes the facts of a spec with tasks, as an engine does, and says how long that took.
func work(t *testing.T, j *journal.File, tasks int) time.Duration {
	t.Helper()
	write := func(facts ...ralph.Fact) {
		if err := j.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	write(ralph.SessionStarted{ID: "s", Mode: "agent"}, ralph.JobStarted{Job: "j", File: "a.md"}, ralph.PlanStarted{File: "a.md"})
	for i := range tasks {
		id := ralph.TaskID(fmt.Sprintf("t-%03d", i))
		write(ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Kind: ralph.KindBuild}}, ralph.TaskStarted{ID: id})
		write(ralph.TaskEnded{ID: id, Status: ralph.TaskDone})
	}
	write(ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: ralph.ReasonEmpty})
	return time.Since(began)
}

// C-010, C-071: a service that answers at once is told of five tasks in one round of calls, not in
// five, and of what is left when the session ends.
func TestFiveTasksAreOneRound(t *testing.T) {
	t.Parallel()
	for _, service := range ralph.Services() {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			j, err := journal.Open(journal.Options{Root: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = j.Close() }()
			s := trackertest.Start(t, service)
			s.Add(trackertest.Item{Key: keyOf(itemsOf(service)[0])})
			x := optionsOf(j, service, s.Access())
			x.Items = func(string) []string { return itemsOf(service)[:1] }
			writes := func() int { return len(s.Calls(http.MethodPost, http.MethodPatch, http.MethodPut)) }
			// told says how many calls that write facts come to, when all that they come to is sent before the next ones.
			told := func(facts ...ralph.Fact) int {
				before := writes()
				o, err := outbox.Start(x)
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if left := o.Close(ctx); left > 0 {
					t.Errorf("%d are left", left)
				}
				return writes() - before
			}
			if n := told(ralph.SessionStarted{ID: "s", Mode: "agent"}, ralph.JobStarted{Job: "j", File: "a.md"}, ralph.PlanStarted{File: "a.md"}); n != 2 {
				t.Errorf("%d calls at the start, want a comment and the status", n)
			}
			for i := 1; i <= 12; i++ {
				id, want := ralph.TaskID(fmt.Sprintf("t-%03d", i)), 0
				if i%5 == 0 {
					want = 1
				}
				if n := told(ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Kind: ralph.KindBuild}}, ralph.TaskStarted{ID: id}, ralph.TaskEnded{ID: id, Status: ralph.TaskDone}); n != want {
					t.Errorf("%d calls after task %d, want %d", n, i, want)
				}
			}
			if n := told(ralph.SessionEnded{Reason: ralph.ReasonInterrupted}); n != 1 {
				t.Errorf("%d calls at the end, want the status", n)
			}
		})
	}
}

// C-072: one session of 200 tasks with three services is told in rounds: at most one write for five tasks and item,
// beside the comments of the start and the end. No writer of the journal waits for a service: while none of
// them answers, all 200 tasks end.
func TestBatches(t *testing.T) {
	t.Parallel()
	const tasks = 200
	j, err := journal.Open(journal.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d tasks, nobody is told: the facts took %s", tasks, work(t, j, tasks).Round(time.Millisecond))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprintf("hang=%v", hang), func(t *testing.T) {
			before := heap()
			j, err := journal.Open(journal.Options{Root: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = j.Close() }()
			goOn := make(chan struct{})
			servers, items := map[ralph.Service]*trackertest.Server{}, []string{}
			x := optionsOf(j, "", "")
			x.Services = map[ralph.Service]outbox.Service{}
			for _, service := range ralph.Services() {
				s := trackertest.Start(t, service)
				servers[service], items = s, append(items, itemsOf(service)[0])
				s.Add(trackertest.Item{Key: keyOf(itemsOf(service)[0])})
				if hang {
					s.Slow(func() time.Duration { <-goOn; return 0 })
				}
				x.Services[service] = optionsOf(j, service, s.Access()).Services[service]
			}
			x.Items = func(string) []string { return items }
			loaded := heap()
			o, err := outbox.Start(x)
			if err != nil {
				t.Fatal(err)
			}
			took := work(t, j, tasks)
			close(goOn)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if left := o.Close(ctx); left > 0 {
				t.Errorf("%d are left", left)
			}
			t.Logf("%d tasks: the facts took %s; heap %d kB, of it the services and their documents %d kB", tasks, took.Round(time.Millisecond), (heap()-before)>>10, (loaded-before)>>10)
			for service, s := range servers {
				writes := len(s.Calls(http.MethodPost, http.MethodPatch, http.MethodPut))
				t.Logf("%s: %d calls, %d of them write", service, len(s.Calls()), writes)
				comments := s.Item(keyOf(itemsOf(service)[0])).Comments
				if len(comments) != 3 || writes > tasks/5+4 {
					for _, c := range comments {
						t.Logf("%.300q", c.Text)
					}
					t.Errorf("%s: %d comments, %d writes", service, len(comments), writes)
				}
			}
		})
	}
}
