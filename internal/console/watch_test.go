package console

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// glass is a terminal that notes what is drawn on it; a test waits for what it shall show.
type glass struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
	err  error
}

func newGlass() *glass { return &glass{more: make(chan struct{}, 1000)} }

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	g.text.Write(p)
	g.more <- struct{}{}
	return len(p), nil
}

// shows waits until what came since the last call has all of the words, and returns it.
func (g *glass) shows(t *testing.T, words ...string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		g.mu.Lock()
		got := g.text.String()
		missing := ""
		for _, w := range words {
			if !strings.Contains(got, w) {
				missing = w
			}
		}
		if missing == "" {
			g.text.Reset()
			g.mu.Unlock()
			return got
		}
		g.mu.Unlock()
		select {
		case <-g.more:
		case <-limit:
			t.Fatalf("waited in vain for %q in %q", missing, got)
		}
	}
}

// watched is a repository whose status is being watched.
type watched struct {
	root    string
	glass   *glass
	signals chan os.Signal
	shrink  func()       // makes the terminal smaller
	end     func() error // ends the watch and returns what it ended with
	done    chan error   // what it ended with by itself
}

// watchBox begins to watch a repository in which nothing has happened yet.
func watchBox(t *testing.T) *watched {
	t.Helper()
	rows := 24
	x := &watched{root: t.TempDir(), glass: newGlass(), signals: make(chan os.Signal)}
	if err := os.MkdirAll(filepath.Join(x.root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := workspace.Env{Terminal: true, Stdout: x.glass, Dir: x.root, Environ: []string{"NO_COLOR=1"}}
	j, err := workspace.OpenReader(env, true, true)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	s := &onTerminal{env: env, size: func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return 80, rows
	}}
	x.shrink = func() {
		mu.Lock()
		defer mu.Unlock()
		rows = 6
	}
	w := &watcher{journal: j, listener: observe.NewOutputTail(env, x.root), show: s.show, signals: x.signals, suspend: func() error { s.leave(); return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	x.done = make(chan error, 1)
	go func() {
		err := w.run(ctx)
		s.leave()
		x.done <- errors.Join(err, j.Close())
		close(x.done)
	}()
	x.end = func() error {
		cancel()
		return <-x.done
	}
	t.Cleanup(func() { _ = x.end() })
	return x
}

func (x *watched) engine(t *testing.T) *journal.File {
	t.Helper()
	j, err := journal.Open(journal.Options{Root: x.root, NewID: workspace.NewID, SegmentSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func record(t *testing.T, j *journal.File, facts ...ralph.Fact) {
	t.Helper()
	if err := j.Update(t.Context(), "cli", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
}

// The watch waits where there is no session yet, shows each change, lives through new
// segments of the journal, soon says that the engine is gone, and gives
// the terminal back with the last status on it.
func TestWatch(t *testing.T) {
	t.Parallel()
	x := watchBox(t)
	first := x.glass.shows(t, "Engine:  idle", "Ctrl+C ends this view, not the work")
	if !strings.HasPrefix(first, enterScreen) {
		t.Errorf("it begins with %q", first)
	}
	j := x.engine(t)
	record(t, j, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One", Status: ralph.TaskPending}})
	record(t, j, ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Pid: os.Getpid()})
	lock, _, err := j.Lock(journal.Owner{SessionID: "s-1", Pid: os.Getpid(), Host: "here", StartedAt: time.Now(), HeartbeatAt: time.Now()}, func(int, string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	record(t, j, ralph.TaskStarted{ID: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "demo", Iteration: 1}, DecidedAt: time.Now()})
	x.glass.shows(t, "running, pid", "t-1 One, iteration 1, demo")

	dir := filepath.Join(x.root, "ralph/.state/tasks/t-1/1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "output.log"), []byte("reading\nthe header\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.glass.shows(t, "> the header") // although no fact says so

	for range 60 { // new segments begin
		record(t, j, ralph.Noted{Text: strings.Repeat("x", 300)})
	}
	record(t, j, ralph.Asked{Approval: ralph.Approval{ID: "g-1a2b", Kind: "question", Task: "t-1", Text: "red or blue?"}})
	x.glass.shows(t, "Needs you:", "ralph answer g-1a2b", "waiting for you")

	x.shrink()
	x.signals <- syscall.SIGWINCH
	x.glass.shows(t, "more: ralph status")
	x.signals <- syscall.SIGTSTP
	back := x.glass.shows(t, leaveScreen, "Spec:    a.md")
	if strings.Contains(back, "more: ralph status") && !strings.HasSuffix(strings.Split(back, enterScreen)[0], "\n") {
		t.Errorf("put aside it leaves %q", back)
	}

	died := time.Now()
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	x.glass.shows(t, "no engine runs")
	if took := time.Since(died); took > time.Minute { // it looks each second; the rest is for a busy machine
		t.Errorf("it took %s to say that the engine is gone", took)
	}
	if err := x.end(); err != nil {
		t.Error(err)
	}
	if last := x.glass.shows(t, leaveScreen); !strings.HasSuffix(last, "\n") || !strings.Contains(last, "Cut:     t-1 One, was waiting for you when the engine died\n") {
		t.Errorf("at the end %q", last)
	}
}

// A reader that is gone ends the watch.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	x := watchBox(t)
	x.glass.shows(t, "Engine:  idle")
	x.glass.mu.Lock()
	x.glass.err = syscall.EPIPE
	x.glass.mu.Unlock()
	record(t, x.engine(t), ralph.SessionStarted{ID: "s-1", Mode: "agent"})
	if err := <-x.done; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a closed pipe: %v", err)
	}
}

// A block is news: for a clock that goes on there is none, for an engine that dies there is.
func TestBlocksAndObjects(t *testing.T) {
	t.Parallel()
	var text, lines bytes.Buffer
	b, o := &blocks{env: workspace.Env{Stdout: &text}}, &objects{out: &lines}
	s := &ralph.State{Seq: 1}
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	for _, l := range []frame{
		{s, status.Engine{}, now},
		{s, status.Engine{}, now.Add(time.Second)},
		{s, status.Engine{Alive: true, Pid: 4}, now.Add(2 * time.Second)},
		{&ralph.State{Seq: 2}, status.Engine{Alive: true, Pid: 4}, now.Add(3 * time.Second)},
	} {
		if err := errors.Join(b.show(l), o.show(l)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text.String(), "--- 2025-01-20 "); n != 2 {
		t.Errorf("%d blocks, want that of the beginning and that of the engine:\n%s", n, &text)
	}
	if n := strings.Count(lines.String(), "\n"); n != 3 || strings.Contains(lines.String(), "\x1b") {
		t.Errorf("%d objects, want one for each change:\n%s", n, &lines)
	}
}

// Row 41 of the messages: on a terminal of 20 columns and 4 rows the status fits: it is cut where the
// rows end, and the last row says so and where the rest is.
func TestWatchOnASmallTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &onTerminal{env: workspace.Env{Terminal: true, Stdout: &out, Environ: []string{"NO_COLOR=1"}}, size: func() (int, int) { return 20, 4 }}
	state := &ralph.State{}
	state.Inbox = []*ralph.Spec{{ID: "q-1", File: "a-long-name-of-a-spec.md", Status: ralph.SpecPending}}
	if err := s.show(frame{state: state, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`).ReplaceAllString(out.String(), "")
	lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "Engine:") || !strings.HasPrefix(lines[3], "... ") || !strings.Contains(lines[3], " more: ralph") {
		t.Errorf("%q", lines)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 20 {
			t.Errorf("%q does not fit", l)
		}
	}
}
