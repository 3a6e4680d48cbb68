// Package tty owns the terminal below the screen: what makes it one for pictures and keys, its
// size, what is written to it, and that it is given back as it was.
//
// It does NOT own what is drawn (ui), how keys are read (bubbletea), or differences between
// pictures (ui/draw).
package tty

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph/internal/text"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Below is the terminal below what rewrites words for it: its size is asked there.
func Below(out io.Writer) io.Writer {
	for {
		w, ok := out.(interface{ Unwrap() io.Writer })
		if !ok {
			return out
		}
		out = w.Unwrap()
	}
}

// Terminal is a terminal that can be taken and given back, as often as is needed. It is safe
// for concurrent use.
type Terminal struct {
	in    *os.File // nil: what is typed is nobody's here
	out   io.Writer
	mouse bool
	ask   string // written when it is taken, for the terminal to answer

	mu     sync.Mutex
	taken  bool
	before *term.State
	title  string
	atomic bool // it holds pictures back until they are whole
}

// New is a terminal that is not taken yet. What is in ask is written whenever it is taken.
func New(in *os.File, out io.Writer, mouse bool, ask string) *Terminal {
	return &Terminal{in: in, out: out, mouse: mouse, ask: ask}
}

// What is switched on and off: the second screen, the cursor, pasted text told from keys, and the
// mouse. The title is put on the terminal's stack; one without a stack loses it.
const (
	on       = "\x1b[22;2t\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[2J"
	off      = "\x1b[0m\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b]2;\a\x1b[23;2t"
	mouseOn  = "\x1b[?1002h\x1b[?1006h"
	mouseOff = "\x1b[?1006l\x1b[?1002l"
	holdOn   = "\x1b[?2026h"
	holdOff  = "\x1b[?2026l"
)

// Take makes it a terminal for pictures and keys. Nothing happens where it is already.
func (t *Terminal) Take() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return nil
	}
	if t.in != nil {
		before, err := term.MakeRaw(int(t.in.Fd()))
		if err != nil {
			return fmt.Errorf("take the terminal's keys: %w", err)
		}
		t.before = before
	}
	words := on
	if t.mouse {
		words += mouseOn
	}
	t.taken, t.title = true, ""
	return t.write(words + t.ask)
}

// Give gives it back as it was. Nothing happens where it was given back.
func (t *Terminal) Give() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	t.taken = false
	words := off
	if t.mouse {
		words = mouseOff + off
	}
	err := t.write(words)
	if t.before != nil {
		if back := term.Restore(int(t.in.Fd()), t.before); err == nil && back != nil {
			err = fmt.Errorf("give the terminal back: %w", back)
		}
	}
	return err
}

// Mend has the terminal's keys be as they were before it was taken: a program that had it meanwhile
// and was killed leaves its own ways.
func (t *Terminal) Mend() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken || t.before == nil {
		return nil
	}
	if err := term.Restore(int(t.in.Fd()), t.before); err != nil {
		return fmt.Errorf("mend the terminal: %w", err)
	}
	return nil
}

// Holds says that the terminal can hold a picture back until it is whole.
func (t *Terminal) Holds() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.atomic = true
}

// Show writes a picture, and what the window is called.
func (t *Terminal) Show(picture []byte, title string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	var b strings.Builder
	if title != t.title {
		t.title = title
		b.WriteString("\x1b]2;" + text.Visible(title) + "\a")
	}
	if len(picture) > 0 {
		if t.atomic {
			b.WriteString(holdOn)
		}
		b.Write(picture)
		if t.atomic {
			b.WriteString(holdOff)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return t.write(b.String())
}

// Clear empties it, as after what another program has written over it.
func (t *Terminal) Clear() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	return t.write("\x1b[0m\x1b[2J")
}

// Copy puts words into the clipboard of the person, where the terminal lets programs do that.
func (t *Terminal) Copy(words string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	return t.write("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(words)) + "\a")
}

// Size is how many columns and rows it has; zero where it does not say.
func (t *Terminal) Size() (columns, rows int) {
	f, ok := t.out.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

func (t *Terminal) write(words string) error {
	if _, err := io.WriteString(t.out, words); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}
