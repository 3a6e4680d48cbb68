package agentsock_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
)

// told is a turn that says yes to ls, and waits for ever with all else.
type told struct {
	signal  chan ralph.Signal
	waiting chan struct{}
	left    chan struct{}
}

func (f *told) Ask(ctx context.Context, r ralph.Request) (ralph.Reply, error) {
	if r.Command == "ls" {
		return ralph.Reply{Allow: true, Text: "do"}, nil
	}
	close(f.waiting)
	<-ctx.Done()
	close(f.left)
	return ralph.Reply{}, ctx.Err()
}

func (f *told) Signal(_ context.Context, s ralph.Signal, _ string) error { f.signal <- s; return nil }

func (f *told) Learn(_ context.Context, text string) error { return errors.New("no: " + text) }

func (f *told) Push(_ context.Context, dir string, argv []string) (agentsock.Pushed, error) {
	return agentsock.Pushed{Code: len(argv), Said: dir}, nil
}

func (f *told) Info() agentsock.Info { return agentsock.Info{Task: "t-1"} }

func begin(t *testing.T) (*told, *agentsock.Server, *agentsock.Client) {
	t.Helper()
	f := &told{signal: make(chan ralph.Signal, 1), waiting: make(chan struct{}), left: make(chan struct{})}
	line, err := agentsock.Listen(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = line.Close() })
	c, err := agentsock.Find(line.Env())
	if err != nil {
		t.Fatal(err)
	}
	return f, line, c
}

func TestLine(t *testing.T) {
	t.Parallel()
	f, _, c := begin(t)
	if r, err := c.Ask(t.Context(), ralph.Request{Command: "ls"}); err != nil || !r.Allow || r.Text != "do" {
		t.Errorf("%+v %v", r, err)
	}
	want := ralph.Signal{Kind: ralph.SignalBlocked, Text: "no key"}
	if err := c.Signal(t.Context(), want, "command"); err != nil || <-f.signal != want {
		t.Error(err)
	}
	if info, err := c.Info(t.Context()); err != nil || info.Task != "t-1" {
		t.Errorf("%+v %v", info, err)
	}
	if p, err := c.Push(t.Context(), "/d", []string{"git", "push"}); err != nil || p.Code != 2 || p.Said != "/d" {
		t.Errorf("%+v %v", p, err)
	}
	if err := c.Learn(t.Context(), "x"); err == nil || err.Error() != "no: x" {
		t.Error(err)
	}
	if err := c.Learn(t.Context(), strings.Repeat("x", 2<<20)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
}

// Who leaves does not wait, and a turn that ends answers nobody: that is no yes.
func TestEnds(t *testing.T) {
	t.Parallel()
	f, _, c := begin(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-f.waiting; cancel() }()
	if r, err := c.Ask(ctx, ralph.Request{Command: "rm"}); !errors.Is(err, context.Canceled) || r.Allow {
		t.Errorf("%+v %v", r, err)
	}
	<-f.left

	f, line, c := begin(t)
	closed := make(chan error, 1)
	go func() { <-f.waiting; closed <- line.Close() }()
	if r, err := c.Ask(t.Context(), ralph.Request{Command: "rm"}); err == nil || r.Allow {
		t.Errorf("%+v %v", r, err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(line.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket is left", err)
	}
	if _, err := c.Info(t.Context()); err == nil {
		t.Error("a turn that has ended is heard")
	}
}

// Callers that say nothing neither take the engine's files nor keep a turn from ending.
func TestCrowd(t *testing.T) {
	t.Parallel()
	_, line, c := begin(t)
	socket := strings.TrimPrefix(line.Env()[0], agentsock.EnvSocket+"=")
	var crowd []net.Conn
	defer func() {
		for _, conn := range crowd {
			_ = conn.Close()
		}
	}()
	turnedAway := make(chan struct{}, 600)
	for range 600 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, conn)
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			turnedAway <- struct{}{}
		}()
	}
	for range 600 - 256 { // these hear an end while the others stay
		<-turnedAway
	}
	if r, err := c.Ask(t.Context(), ralph.Request{Command: "ls"}); err == nil || r.Allow {
		t.Errorf("one too many is heard: %+v", r)
	}
	if err := line.Close(); err != nil {
		t.Error(err)
	}
	for range 256 {
		<-turnedAway
	}
}

// What an engine that was killed has left goes; lines of others, and what is no line, stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	temp, err := os.MkdirTemp("/tmp", "sweep") // short: a socket's path has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	now := time.Now()
	hour := now.Add(-time.Hour)
	folder := func(name string, socket, old bool) *net.UnixListener {
		dir := filepath.Join(temp, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var l *net.UnixListener
		if socket {
			var err error
			if l, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"}); err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
		}
		for ; old && dir != temp; dir = filepath.Dir(dir) {
			if err := os.Chtimes(dir, hour, hour); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	dead, live, young := folder("ralph-1", true, true), folder("ralph-2", true, true), folder("ralph-3", true, false)
	folder("ralph-4", false, true)
	other := folder("other-5", true, true)
	// of a session with several slots
	gone, stays, one := folder("ralph-6/1", true, true), folder("ralph-7/1", true, false), folder("ralph-7/2", true, true)
	defer live.Close()
	defer one.Close()
	for _, l := range []*net.UnixListener{dead, young, other, gone, stays} {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	agentsock.Sweep(temp, now)
	for name, want := range map[string]bool{"ralph-1": false, "ralph-2": true, "ralph-3": true, "ralph-4": true, "other-5": true, "ralph-6": false, "ralph-7": true} {
		if _, err := os.Stat(filepath.Join(temp, name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
}

// A process of another turn, or of none, is not heard.
func TestNonce(t *testing.T) {
	t.Parallel()
	_, line, _ := begin(t)
	c, err := agentsock.Find([]string{line.Env()[0], agentsock.EnvNonce + "=guess"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Ask(t.Context(), ralph.Request{Command: "ls"}); err == nil || r.Allow {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := agentsock.Find(os.Environ()[:0]); !errors.Is(err, agentsock.ErrNoTurn) {
		t.Error(err)
	}
}

// What is no signal gets a word that says so, and the turn does not hear it.
func TestSignalWords(t *testing.T) {
	t.Parallel()
	f, _, c := begin(t)
	for _, bad := range []struct {
		s   ralph.Signal
		why string
	}{
		{ralph.Signal{Kind: "DONE"}, "no signal \"DONE\""},
		{ralph.Signal{Kind: ralph.SignalComplete, Text: "but one test"}, "takes no words"},
		{ralph.Signal{Kind: ralph.SignalBlocked, Text: " \n"}, "needs the reason"},
		{ralph.Signal{Kind: ralph.SignalHuman}, "needs the question"},
		{ralph.Signal{Kind: ralph.SignalProgress, Percent: 101}, "from 0 to 100"},
		{ralph.Signal{Kind: ralph.SignalComplete, Percent: 1}, "only PROGRESS"},
		{ralph.Signal{Kind: ralph.SignalBlocked, Text: strings.Repeat("x", 5000)}, "too long"},
	} {
		if err := c.Signal(t.Context(), bad.s, "command"); err == nil || !strings.Contains(err.Error(), bad.why) {
			t.Errorf("%+v: %v, want %q", bad.s, err, bad.why)
		}
	}
	if err := c.Signal(t.Context(), ralph.Signal{Kind: ralph.SignalBlocked, Text: " no key\n"}, "mcp"); err != nil {
		t.Fatal(err)
	}
	if s := <-f.signal; s != (ralph.Signal{Kind: ralph.SignalBlocked, Text: "no key"}) {
		t.Errorf("%+v", s)
	}
}
