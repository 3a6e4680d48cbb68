package web_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// broken is a repository at which ralph makes mistakes.
type broken struct {
	*planSource
	engine atomic.Bool           // it panics
	wait   atomic.Pointer[error] // what cannot be read
}

func (b *broken) Engine(s *ralph.State) status.Engine {
	if b.engine.Load() {
		panic("no engine")
	}
	return b.planSource.Engine(s)
}

func (b *broken) Wait(ctx context.Context, seq int64) error {
	if err := b.wait.Load(); err != nil {
		return *err
	}
	return b.planSource.Wait(ctx, seq)
}

type panicking struct{}

func (panicking) List() ([]web.SpecFile, error)             { panic("no spec") }
func (panicking) Read(string) (web.SpecFile, []byte, error) { panic("no spec") }

func serveBroken(t *testing.T, b *broken) (base string, said chan string) {
	t.Helper()
	b.planSource = &planSource{state: overviewState()}
	said = make(chan string, 100)
	x := web.New(web.Options{Source: b, Backend: b, Specs: panicking{}, Root: "/repo", Version: "test", Log: func(text string) { said <- text }})
	t.Cleanup(x.Close)
	server := httptest.NewServer(x)
	t.Cleanup(server.CloseClientConnections)
	return server.URL, said
}

// reply is an answer, of which one reads as much as one wants.
type reply struct {
	status int
	kind   string
	body   func(until string) string
}

func asked(t *testing.T, url string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return reply{answer.StatusCode, answer.Header.Get("Content-Type"), func(until string) string {
		var b strings.Builder
		for lines.Scan() {
			b.WriteString(lines.Text() + "\n")
			if until != "" && strings.Contains(lines.Text(), until) {
				break
			}
		}
		return b.String()
	}}
}

// A page that ralph makes a mistake on says so, in its stream too, and the dashboard goes
// on: an engine may be at work in the same process.
func TestBrokenPage(t *testing.T) {
	t.Parallel()
	b := &broken{}
	base, said := serveBroken(t, b)
	got := asked(t, base+"/specs")
	if text := got.body(""); got.status != http.StatusInternalServerError || !strings.Contains(text, "mistake in ralph") || !strings.Contains(text, `class="nav"`) {
		t.Errorf("%d %.300s", got.status, text)
	}
	if text := <-said; !strings.Contains(text, "no spec") || !strings.Contains(text, "panics_test.go") {
		t.Errorf("the log has %.200s", text)
	}
	if got := asked(t, base+"/live?view=/specs"); !strings.Contains(got.body(""), "event: gone\ndata: this page broke") {
		t.Error("its stream does not end with a word")
	}
	<-said
	b.engine.Store(true) // now the frame of every page is broken
	if got := asked(t, base+"/plan"); got.status != http.StatusInternalServerError || !strings.Contains(got.body(""), "mistake in ralph") {
		t.Errorf("without a frame: %d", got.status)
	}
	if got := asked(t, base+"/api/v1/status"); got.status != http.StatusInternalServerError || got.kind != "application/problem+json" || !strings.Contains(got.body(""), `"detail":"this page broke`) {
		t.Errorf("the API: %d %s", got.status, got.kind)
	}
	b.engine.Store(false)
	if got := asked(t, base+"/plan"); got.status != http.StatusOK {
		t.Errorf("afterwards: %d", got.status)
	}
}

// Trouble with the journal ends streams with a word, and no dashboard: when it is over,
// pages go on.
func TestTroubleEnds(t *testing.T) {
	t.Parallel()
	b := &broken{}
	base, _ := serveBroken(t, b)
	trouble := errors.New("ralph/.state/journal.jsonl, line 7: no fact")
	b.wait.Store(&trouble)
	if got := asked(t, base+"/live?view=/plan"); !strings.Contains(got.body(""), "event: trouble\ndata: "+trouble.Error()) {
		t.Error("a page is not told")
	}
	b.wait.Store(nil)
	for { // it looks again every second
		got := asked(t, base+"/live?view=/plan")
		if !strings.Contains(got.body("id:"), "event: trouble") {
			return
		}
	}
}
