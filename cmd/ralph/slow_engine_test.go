package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/fastpath"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// permits is a turn that lets npm publish, which the patterns hold, and nothing else.
type permits struct{ agentsock.Turn }

func (permits) Ask(_ context.Context, r ralph.Request) (ralph.Reply, error) {
	return ralph.Reply{Allow: r.Command == "npm publish", Text: "a person said no"}, nil
}

// ill stands before the engine's socket, and answers what asks for the word on a call in its own way;
// what else is said the engine hears.
type ill struct {
	answer func(*net.UnixConn) // of a call, of which only the first bytes were read
	seen   atomic.Int32
}

func (i *ill) put(t *testing.T, folder string) {
	t.Helper()
	socket, real := filepath.Join(folder, fastpath.Socket), filepath.Join(folder, "engine")
	if err := os.Rename(socket, real); err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := listener.AcceptUnix()
			if err != nil {
				return
			}
			open.Go(func() { defer conn.Close(); i.serve(t, real, conn) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); open.Wait() })
}

func (i *ill) serve(t *testing.T, real string, conn *net.UnixConn) {
	first := make([]byte, len(`{"op":"call"`))
	if _, err := io.ReadFull(conn, first); err != nil {
		t.Error("a caller that says nothing:", err)
		return
	}
	if string(first) == `{"op":"call"` {
		i.seen.Add(1)
		i.answer(conn)
		return
	}
	engine, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: real})
	if err != nil {
		t.Error(err)
		return
	}
	defer engine.Close()
	if _, err := engine.Write(first); err != nil {
		t.Error(err)
		return
	}
	go func() { _, _ = io.Copy(engine, conn) }()
	_, _ = io.Copy(conn, engine)
}

// Issue 17, 3: an engine that has no time, or is just ending, makes no call fail that passes, with its
// own exit code and all its output; and lets none pass that is held.
func TestShimWithAnIllEngine(t *testing.T) {
	t.Parallel()
	yes := fastpath.Yes + "/bin/true\"}\n"
	say := func(text string) func(*net.UnixConn) {
		return func(c *net.UnixConn) { _, _ = io.WriteString(c, text) }
	}
	wait := func(c *net.UnixConn) { _, _ = io.Copy(io.Discard, c) } // until the shim has left
	for name, answer := range map[string]func(*net.UnixConn){
		"says nothing": wait,
		"stops within its answer": func(c *net.UnixConn) {
			_, _ = io.WriteString(c, yes[:len(yes)-1])
			wait(c)
		},
		"ends within its answer": func(c *net.UnixConn) {
			_, _ = io.WriteString(c, strings.TrimSuffix(yes, "\"}\n"))
			_ = c.CloseWrite()
			wait(c)
		},
		"has half a name":           say(fastpath.Yes + "/bin/tr\n"),
		"ends at once":              func(*net.UnixConn) {}, // with what it has not read: the caller sees a reset
		"leaves when it has heard":  func(c *net.UnixConn) { _, _ = io.CopyN(io.Discard, c, 64) },
		"says what is no answer":    say("}}\n"),
		"says yes and an error":     say(strings.TrimSuffix(yes, "}\n") + ",\"error\":\"no\"}\n"),
		"names what is not there":   say(fastpath.Yes + "/nowhere/npm\"}\n"),
		"says yes and then no more": say(strings.TrimSuffix(yes, "\n")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "says nothing" || name == "stops within its answer" {
				ralphtest.NeedsTime(t) // the shim waits for it
			}
			s := newShimmedFor(t, permits{})
			i := &ill{answer: answer}
			i.put(t, s.line.Dir())
			s.judgesRight(t)
			if i.seen.Load() != 4 {
				t.Errorf("%d calls were asked about, want 4", i.seen.Load())
			}
		})
	}
}

// An engine that was stopped hears nobody, and who is in its queue fills it.
func TestShimWithAFullQueue(t *testing.T) {
	t.Parallel()
	s := newShimmedFor(t, permits{})
	socket := filepath.Join(s.line.Dir(), fastpath.Socket)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	at := &syscall.SockaddrUnix{Name: socket}
	caller := func() int {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		syscall.CloseOnExec(fd)
		t.Cleanup(func() { _ = syscall.Close(fd) })
		return fd
	}
	fd := caller()
	if err := errors.Join(syscall.Bind(fd, at), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; {
		one := caller()
		if err := syscall.SetNonblock(one, true); err != nil {
			t.Fatal(err)
		}
		switch err := syscall.Connect(one, at); {
		case errors.Is(err, syscall.EAGAIN):
			full = true
		case err != nil:
			t.Fatal(err)
		}
	}
	if said, why, code, _ := s.run(t, "npm", "fail", "7"); said != "npm|fail|7" || code != 7 || why != "" {
		t.Errorf("what passes: %q, exit %d, %s", said, code, why)
	}
	if said, why, code, _ := s.run(t, "rm", "-rf", s.home); said != "" || code != 126 || !strings.Contains(why, "nobody can be asked") {
		t.Errorf("what is held: %q, exit %d, %s", said, code, why)
	}
}

// A crowd of calls at once, more than an engine hears: each ends as it would alone.
func TestShimInACrowd(t *testing.T) {
	t.Parallel()
	s := newShimmedFor(t, permits{})
	for range 300 { // more than are heard
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(s.line.Dir(), fastpath.Socket)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	var all sync.WaitGroup
	for n := range 16 {
		all.Go(func() {
			code := strconv.Itoa(n)
			if said, why, got, _ := s.run(t, "npm", "fail", code); said != "npm|fail|"+code || got != n || why != "" {
				t.Errorf("npm fail %s: %q, exit %d, %s", code, said, got, why)
			}
		})
	}
	all.Wait()
	if said, why, code, _ := s.run(t, "rm", "-rf", s.home); said != "" || code != 126 || !strings.Contains(why, "held:") {
		t.Errorf("what is held: %q, exit %d, %s", said, code, why)
	}
}

// judgesRight makes four calls: of what passes, of what fails by itself, of what a person permits
// and of what nobody may.
func (s *shimmed) judgesRight(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		argv []string
		code int
		held string // what it says then; "": it runs
	}{
		{[]string{"npm", "ci"}, 0, ""},
		{[]string{"npm", "fail", "7"}, 7, ""},
		{[]string{"npm", "publish"}, 0, ""},
		{[]string{"rm", "-rf", s.home}, 126, "held:"},
	} {
		said, why, code, _ := s.run(t, c.argv...)
		ran := ""
		if c.held == "" {
			ran = strings.Join(c.argv, "|")
		}
		if said != ran || code != c.code || !strings.Contains(why, c.held) || c.held == "" && why != "" {
			t.Errorf("%q said %q, exit %d, %s", c.argv, said, code, why)
		}
	}
}
