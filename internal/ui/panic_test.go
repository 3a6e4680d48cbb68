package ui

import (
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/tty"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// broken is something open that meets a mistake at the first key.
type broken struct {
	popup
	bad bool
}

func (x *broken) key(*Model, tea.KeyPressMsg) tea.Cmd { x.bad = true; return nil }

func (x *broken) body(*Model, int, int) (string, []draw.Line, string) {
	if x.bad {
		panic("a mistake")
	}
	return "", nil, ""
}

// written is what was written to a terminal; full is closed when there is a picture.
type written struct {
	mu   sync.Mutex
	b    strings.Builder
	full chan struct{}
	once sync.Once
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.b.Write(p)
	if strings.Contains(w.b.String(), "╭") {
		w.once.Do(func() { close(w.full) })
	}
	return n, err
}

// A mistake in the screen gives the terminal back, and says that the work goes on.
func TestMistakeGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	m := New(t.Context(), Options{Source: r, Env: workspace.Env{Dir: r.root}, Root: r.root, Theme: "dark"})
	out := &written{full: make(chan struct{})}
	p, program := newProgram(t.Context(), m, tty.New(nil, out, true, ""), tea.WithInput(nil), tea.WithOutput(out), tea.WithWindowSize(80, 24), tea.WithColorProfile(colorprofile.ANSI256), tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignals())
	m.popup = &broken{}
	go func() {
		<-out.full
		program.Send(press("x"))
	}()
	err := p.run(t.Context(), program)
	if err == nil || !strings.Contains(err.Error(), "a mistake in ralph itself") || !strings.Contains(err.Error(), "the work goes on") {
		t.Errorf("the error is %v", err)
	}
	words := out.b.String()
	if on, off := strings.LastIndex(words, "\x1b[?1049h"), strings.LastIndex(words, "\x1b[?1049l"); on < 0 || off < on {
		t.Errorf("the terminal is not given back: %q", words)
	}
}
