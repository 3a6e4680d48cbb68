package web_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web"
)

// screen takes a stream until it has shown what was waited for.
type screen struct {
	head http.Header
	want []byte
	done context.CancelFunc
	n    int64
}

func (s *screen) Header() http.Header { return s.head }
func (s *screen) WriteHeader(int)     {}
func (s *screen) Flush()              {}

func (s *screen) SetWriteDeadline(time.Time) error { return nil }

func (s *screen) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	if bytes.Contains(p, s.want) {
		s.done()
	}
	return len(p), nil
}

// visit opens pages, many at a time, and closes each when it has its first picture.
func visit(t testing.TB, x *web.Server, from, to int) {
	t.Helper()
	var wait sync.WaitGroup
	pages := make(chan string)
	for range 16 {
		wait.Go(func() {
			for page := range pages {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				s := &screen{head: http.Header{}, want: []byte("event: patch"), done: cancel}
				x.ServeHTTP(s, httptest.NewRequest(http.MethodGet, "/live?view="+page, nil).WithContext(ctx))
				if ctx.Err() == context.DeadlineExceeded {
					t.Errorf("%s was never shown", page)
				}
				cancel()
			}
		})
	}
	for i := from; i < to; i++ {
		pages <- fmt.Sprintf("/plan%%3Fq%%3D%d", i)
	}
	close(pages)
	wait.Wait()
}

// heap is what is in use after all garbage is gone.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Pages that come and go leave nothing behind: no view, no goroutine, no memory.
func TestPagesLeaveNothingBehind(t *testing.T) {
	const first, all = 300, 1500
	k := newKept(t)
	facts := []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: []byte(`{}`)}, ralph.PlanStarted{File: "a.md"}}
	for i := range 10 {
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", i)), Name: "Add the form", Status: ralph.TaskPending}})
	}
	k.add("engine", facts...)
	x := k.server(web.Options{})
	visit(t, x, 0, first)
	routines, before := runtime.NumGoroutine(), heap()
	visit(t, x, first, all)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); runtime.NumGoroutine() > routines+2; {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%d goroutines, where there were %d", runtime.NumGoroutine(), routines)
		}
	}
	if each := (heap() - before) / (all - first); each > 200 {
		t.Errorf("each page that was closed has left %d bytes", each)
	}
}

// The stream of a page that was just made sends nothing that the page has already: to put
// a drawing of a thousand tasks in the place of the same one takes a browser a second.
func TestTheStreamKnowsWhatThePageHas(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	facts := []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: []byte(`{}`)}, ralph.PlanStarted{File: "a.md"}}
	for i := range 200 {
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", i)), Name: "Add the form", Status: ralph.TaskPending}})
	}
	k.add("engine", facts...)
	x := k.server(web.Options{})
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/plan/graph", nil))
	address := regexp.MustCompile(`sse-connect="([^"]*)"`).FindStringSubmatch(w.Body.String())
	if address == nil {
		t.Fatal("the page has no stream")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := &screen{head: http.Header{}, want: []byte("event: beat"), done: cancel}
	x.ServeHTTP(s, httptest.NewRequest(http.MethodGet, html.UnescapeString(address[1]), nil).WithContext(ctx))
	if page := int64(w.Body.Len()); s.n > page/4 { // the bar has a clock
		t.Errorf("the stream began with %d bytes, the page has %d", s.n, page)
	}
}

// BenchmarkMillionFacts is what a dashboard with open pages has in memory while facts
// come, after all garbage is gone; each session has 5,000 of them.
func BenchmarkMillionFacts(b *testing.B) {
	for b.Loop() {
		k := newKept(b)
		x := k.server(web.Options{})
		ctx, cancel := context.WithCancel(b.Context())
		var wait sync.WaitGroup
		pages := []string{"/", "/plan", "/gates", "/receipts", "/history", "/log"}
		for _, page := range pages {
			x.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, page, nil)) // begins to read the history
			wait.Go(func() {
				s := &screen{head: http.Header{}, want: []byte("\x00"), done: cancel}
				x.ServeHTTP(s, httptest.NewRequest(http.MethodGet, "/live?view="+page, nil).WithContext(ctx))
			})
		}
		n := int64(0)
		sizes := []int64{100_000, 500_000, 1_000_000}
		if testing.Short() {
			sizes = []int64{5_000, 10_000} // only that it runs
		}
		for _, at := range sizes {
			for ; n < at; n = k.State().Seq {
				k.add("engine", past(n)...)
			}
			caughtUp(b, x, at)
			b.ReportMetric(float64(heap())/(1<<20), fmt.Sprintf("MiB-at-%dk", at/1000))
		}
		cancel()
		wait.Wait()
	}
}

// caughtUp waits until the history has the newest session.
func caughtUp(b *testing.B, x *web.Server, facts int64) {
	b.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(5 * time.Minute); ; {
		w := httptest.NewRecorder()
		x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/history", nil))
		if bytes.Contains(w.Body.Bytes(), fmt.Appendf(nil, "s-%d<", facts/5000-1)) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			b.Fatal("the history is never read")
		}
	}
}

// past are a thousand facts of a history: a task with its turns and checks, again and again.
func past(n int64) []ralph.Fact {
	var facts []ralph.Fact
	if n%5000 == 0 {
		facts = append(facts, ralph.SessionStarted{ID: ralph.SessionID(fmt.Sprint("s-", n/5000)), Mode: "construct", Config: []byte(`{}`)}, ralph.PlanStarted{File: "a.md"})
	}
	for i := 0; len(facts) < 994; i++ {
		id := ralph.TaskID(fmt.Sprintf("t-%04d", i))
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "Add the login form", Accept: "a wrong password shows an error", Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
		for turn := 1; turn <= 2; turn++ {
			facts = append(facts,
				ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: turn}, Why: ralph.Why{Rule: "B-026", Text: "no signal yet"}},
				ralph.TurnEnded{
					Task: id, Stage: ralph.KindBuild, Agent: "claude", Iteration: turn, Exit: ralph.ExitOK, Session: "5c1a7e60-1f0e-4f3c-9d3c-0a1b2c3d4e5f",
					Usage: ralph.Usage{Input: 1200, Output: 800, Cost: 0.04, Known: true}, Changed: true, Tail: "The form is there, next the error message.", Took: time.Minute,
				})
		}
		facts = append(facts, ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Why: ralph.Why{Rule: "B-022", Text: "COMPLETE and the checks pass"}}, ralph.TaskRemoved{ID: id})
	}
	for len(facts) < 1000 {
		facts = append(facts, ralph.Noted{Text: "a word on the side"})
	}
	return facts
}

// A page of another repository, which was served at this address before, is told that it is gone, and nothing else.
func TestAPageOfAnotherRepository(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.add("engine", ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: []byte(`{}`)}, ralph.PlanStarted{File: "secret.md"})
	x := k.server(web.Options{})
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/plan", nil))
	of := regexp.MustCompile(`sse-connect="/live\?of=([0-9a-f]{16})&amp;view=`).FindStringSubmatch(w.Body.String())
	if of == nil {
		t.Fatal("the page does not say which repository it is of")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w = httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live?of="+strings.Repeat("0", 16)+"&view=/plan&have=&view=/&have=", nil).WithContext(ctx)) // it ends by itself
	if text := w.Body.String(); ctx.Err() != nil || !strings.Contains(text, "id: 0,1 ") || !strings.Contains(text, "event: gone\ndata: another repository") || strings.Contains(text, "secret.md") {
		t.Errorf("it is told %s", text)
	}
	s := &screen{head: http.Header{}, want: []byte("secret.md"), done: cancel}
	x.ServeHTTP(s, httptest.NewRequest(http.MethodGet, "/live?of="+of[1]+"&view=/plan&have=&view=/&have=", nil).WithContext(ctx))
	if ctx.Err() != context.Canceled {
		t.Error("its own pages are not told")
	}
}
