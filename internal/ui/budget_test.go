package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/ui/tty"
	"github.com/ralph-loop/ralph/internal/ui/watch"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// pictures counts what is written to a terminal.
type pictures struct{ n, bytes int }

func (w *pictures) Write(b []byte) (int, error) {
	w.n++
	w.bytes += len(b)
	return len(b), nil
}

// loop is a screen on a terminal that counts, without a process around it.
type loop struct {
	p    *program
	msgs chan tea.Msg
}

// send hands a message over, and starts what comes of it.
func (x *loop) send(msg tea.Msg) {
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			x.start(cmd)
		}
		return
	}
	_, cmd := x.p.Update(msg)
	x.start(cmd)
}

func (x *loop) start(cmd tea.Cmd) {
	if cmd != nil {
		go func() { x.msgs <- cmd() }()
	}
}

// pass lets time go by, and what comes meanwhile be taken in.
func (x *loop) pass(d time.Duration) {
	for end := time.After(d); ; {
		select {
		case msg := <-x.msgs:
			x.send(msg)
		case <-end:
			synctest.Wait()
			return
		}
	}
}

// A screen over 32 agents that each print 100 lines a second writes no more than a dozen pictures a
// second, of little more than what has changed; a key has its picture at once; and where nothing has
// changed, nothing at all is written.
func TestPicturesHaveABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := crowd(t, 32)
		out := &pictures{}
		m := New(t.Context(), Options{Source: r, Env: workspace.Env{Dir: r.root}, Root: r.root, Theme: "dark"})
		x := &loop{&program{m: m, terminal: tty.New(nil, out, false, "")}, make(chan tea.Msg, 4096)}
		if err := x.p.terminal.Take(); err != nil {
			t.Fatal(err)
		}
		w := watch.Watcher{Source: r}
		look := func() {
			if l, news := w.Look(time.Now()); news {
				x.send(lookMsg(l))
			}
		}
		x.send(tea.WindowSizeMsg{Width: 200, Height: 60})
		look()
		x.pass(2 * time.Second)
		if out.bytes < 200*60 {
			t.Fatalf("the first pictures are %d bytes", out.bytes)
		}

		f, err := os.OpenFile(filepath.Join(r.root, "ralph/.state/tasks/t-aa/1/output.log"), os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		const seconds = 2
		*out = pictures{}
		for i := range seconds * 100 {
			fmt.Fprintf(f, "line %d of an agent with some words in it\n", i)
			for id := range r.words {
				r.words[id] = fmt.Sprintf("I look at file %d", i)
			}
			r.story.Pass(10 * time.Millisecond)
			r.add(ralph.Noted{Text: "something happened"})
			look()
			x.pass(10 * time.Millisecond)
		}
		_ = f.Close()
		if most := int(seconds*time.Second/paintEvery) + 1; out.n > most || out.n < seconds*5 {
			t.Errorf("%d pictures in %d seconds, at most %d", out.n, seconds, most)
		}
		if each := out.bytes / max(1, out.n); each > 4<<10 {
			t.Errorf("a picture is %d bytes where each agent says another line", each)
		}
		x.pass(time.Second)

		r.add(ralph.Noted{Text: "something happened"})
		look()
		*out = pictures{}
		x.pass(time.Millisecond)
		x.send(press("2"))
		if out.n != 1 {
			t.Errorf("a key has %d pictures at once, just after what came by itself had one", out.n)
		}
		x.pass(time.Second)

		*out = pictures{}
		for range 50 {
			x.send(lookMsg(m.now))
			x.pass(100 * time.Millisecond)
		}
		if out.n != 0 {
			t.Errorf("%d pictures of %d bytes were written, and nothing has changed", out.n, out.bytes)
		}
		m.now = panes.Look{} // no more looks at the output
		x.pass(time.Second)
	})
}
