package ui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/ui/watch"
	"github.com/ralph-loop/ralph/internal/workers"
	"github.com/ralph-loop/ralph/internal/workspace"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // pictures have times of day
	os.Exit(m.Run())
}

// repository is a journal in memory with a folder for what turns left.
type repository struct {
	mu    sync.Mutex
	story *storytest.Story
	root  string
	alive bool
	did   []string // what was asked of it beyond facts
	keys  action.Keys
	moved chan struct{}
	words map[ralph.TaskID]string
	fleet *workers.Moment
}

func (r *repository) State() *ralph.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.story.S.Clone()
}

func (r *repository) Engine(*ralph.State) status.Engine {
	r.mu.Lock()
	defer r.mu.Unlock()
	return status.Engine{Alive: r.alive, Pid: 42, Words: r.words, Fleet: r.fleet}
}
func (r *repository) Trouble() string { return "" }
func (r *repository) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.story.Now
}

func (r *repository) Wait(ctx context.Context, seq int64) error {
	for {
		r.mu.Lock()
		at, moved := r.story.Seq, r.moved
		r.mu.Unlock()
		if at > seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}

func (r *repository) Each(after int64, visit func(ralph.Event) error) error {
	r.mu.Lock()
	events := r.story.Events
	r.mu.Unlock()
	for _, e := range events {
		if e.Seq > after {
			if err := visit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *repository) At(seq int64) (*ralph.State, error) {
	s := &ralph.State{}
	return s, r.Each(0, func(e ralph.Event) error {
		if e.Seq <= seq {
			s.Apply(e)
		}
		return nil
	})
}

func (r *repository) AtTime(at time.Time) (*ralph.State, error) {
	s := &ralph.State{}
	return s, r.Each(0, func(e ralph.Event) error {
		if !e.At.After(at) {
			s.Apply(e)
		}
		return nil
	})
}

func (r *repository) Context() action.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	return action.Context{Keys: r.keys, Engine: r.alive, Now: r.story.Now, Specs: []string{"feature-x.md"}, Workers: r.fleet.Drainable(), By: "ui", ID: func(prefix string) string {
		n++
		return prefix + "-new" + string(rune('a'+n))
	}}
}

func (r *repository) Update(_ context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	r.mu.Lock()
	s := r.story.S.Clone()
	r.mu.Unlock()
	facts, err := decide(s)
	if err != nil {
		return err
	}
	r.add(facts...)
	return nil
}

func (r *repository) add(facts ...ralph.Fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.story.Add(facts...)
	close(r.moved)
	r.moved = make(chan struct{})
}

func (r *repository) done(what string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, what)
	return what, nil
}

func (r *repository) Start(_ context.Context, s action.Start) (string, error) {
	words := "start " + s.Mode
	if s.Resume {
		words += " resumed"
	}
	if s.Fresh {
		words += " fresh"
	}
	return r.done(words)
}

func (r *repository) RollBack(_ context.Context, id ralph.TaskID) (string, error) {
	return r.done("rollback " + string(id))
}

func (r *repository) CleanUp(_ context.Context, id ralph.TaskID) (string, error) {
	return r.done("cleanup " + string(id))
}
func (r *repository) SpecFile(name, _ string) (string, error) { return name, nil }
func (r *repository) Closed(ralph.ApprovalID) error           { return errors.New("it is decided already") }

// atWork is a session in the middle: one agent works, one waits for a person in its turn, one
// task failed, one is in the merge queue.
func atWork(t testing.TB) *repository {
	t.Helper()
	x := storytest.New()
	x.Begin(
		ralph.Task{ID: "t-0001", Name: "Read the header", Tags: []string{"critical"}, Accept: "the header is read"},
		ralph.Task{ID: "t-0002", Name: "Write the body"},
		ralph.Task{ID: "t-0003", Name: "Parse dates"},
		ralph.Task{ID: "t-0004", Name: "Ask for the colour 界 and a name that is longer than the list is wide"},
		ralph.Task{ID: "t-0005", Name: "Docs", Deps: []ralph.TaskID{"t-0004"}},
	)
	x.Start("t-0001", 1)
	x.Turn("t-0001", 40*time.Second, storytest.Complete)
	x.Checks("t-0001", true)
	x.Done("t-0001")
	x.Clean("t-0001")
	x.Land()
	x.Start("t-0002", 1)
	x.Turn("t-0002", 70*time.Second, nil)
	x.Receipt("t-0002", ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 2}, ralph.Why{Rule: "B-011", Text: "the task goes on"})
	x.Start("t-0003", 2)
	x.Turn("t-0003", 60*time.Second, nil)
	x.End("t-0003", ralph.TaskFailed, "B-073", "2 retries after: 503 from upstream", false)
	x.Start("t-0004", 3)
	x.Receipt("t-0004", ralph.Turn{Stage: ralph.KindBuild, Agent: "codex", Iteration: 1}, ralph.Why{Rule: "B-011", Text: "the task begins"})
	x.Add(ralph.Asked{Approval: ralph.Approval{
		ID: "g-1a2b", Kind: ralph.ApprovalOperation, Task: "t-0004", Text: "run git push --force origin main", Detail: "Command: git push --force origin main\nFolder: ralph/.state/worktrees/a",
		AskedAt: x.Now, InTurn: true, Rule: "git push", Request: &ralph.Request{ID: "r1", Kind: "command", Command: "git push --force origin main"},
	}})
	x.Pass(12 * time.Second)
	r := &repository{story: x, root: t.TempDir(), alive: true, moved: make(chan struct{}), words: map[ralph.TaskID]string{"t-0002": "I read body.go first."}}
	write(t, r.root, "t-0002/2/output.log", "\x1b[32mok\x1b[0m  body.go\nI read body.go first.\n\x1b]0;evil\a\x1b[2Jdone \u202eevil\n")
	write(t, r.root, "t-0002/diff.patch", "diff --git a/body.go b/body.go\n--- a/body.go\n+++ b/body.go\n@@ -1,2 +1,3 @@\n package body\n-var a = 1\n+var a = 2\n+var b = 3\n")
	return r
}

func write(t testing.TB, root, name, words string) {
	t.Helper()
	path := filepath.Join(root, "ralph/.state/tasks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(words), 0o600); err != nil {
		t.Fatal(err)
	}
}

// player plays a person before the screen, without a terminal.
type player struct {
	t testing.TB
	m *Model
	r *repository
}

func play(t testing.TB, r *repository, columns, rows int) *player {
	t.Helper()
	m := New(t.Context(), Options{Source: r, Env: workspace.Env{Dir: r.root}, Root: r.root, Theme: "dark"})
	m.later = func(time.Duration) tea.Cmd { return nil }
	p := &player{t, m, r}
	p.send(tea.WindowSizeMsg{Width: columns, Height: rows})
	p.look()
	return p
}

// look shows the screen what the repository is now.
func (p *player) look() {
	p.t.Helper()
	w := watch.Watcher{Source: p.r}
	l, news := w.Look(time.Now())
	if !news || l.Broken != "" {
		p.t.Fatalf("nothing to see: %s", l.Broken)
	}
	p.send(lookMsg(l))
}

// send gives the screen a message, and all that comes of it.
func (p *player) send(msg tea.Msg) {
	cmd := p.m.Update(msg)
	p.run(cmd)
}

func (p *player) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	default:
		more := p.m.Update(msg)
		p.run(more)
	}
}

// press presses keys, each as its name or as one sign.
func (p *player) press(keys ...string) *player {
	p.t.Helper()
	for _, k := range keys {
		p.send(press(k))
	}
	return p
}

func press(k string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "space": {Code: ' ', Text: " "}, "backspace": {Code: tea.KeyBackspace},
		"ctrl+s": {Code: 's', Mod: tea.ModCtrl}, "ctrl+p": {Code: 'p', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't', Mod: tea.ModCtrl}, "pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	}
	if x, ok := special[k]; ok {
		return x
	}
	r := []rune(k)
	return tea.KeyPressMsg{Code: r[0], Text: k}
}

// typed types words.
func (p *player) typed(words string) *player {
	for _, r := range words {
		p.press(map[bool]string{true: "space", false: string(r)}[r == ' '])
	}
	return p
}

// text is the picture without colours.
func (p *player) text() string {
	var b strings.Builder
	for _, l := range p.m.frame() {
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return b.String()
}

func (p *player) want(words ...string) *player {
	p.t.Helper()
	have := p.text()
	for _, w := range words {
		if !strings.Contains(have, w) {
			p.t.Fatalf("the screen does not have %q:\n%s", w, have)
		}
	}
	return p
}

func (p *player) wantNot(words ...string) {
	p.t.Helper()
	have := p.text()
	for _, w := range words {
		if strings.Contains(have, w) {
			p.t.Fatalf("the screen has %q:\n%s", w, have)
		}
	}
}
