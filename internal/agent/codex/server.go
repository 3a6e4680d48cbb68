package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// appServer is one process of `codex app-server`.
type appServer struct {
	driver *driver
	rpc    *wire.RPC
	env    []string // its environment
	stop   context.CancelFunc
	ready  chan struct{} // the handshake is over, well or not
	refuse error         // valid after ready: why there will be no turn
	dead   chan struct{} // the process is gone
	ended  proc.Result   // valid after dead
	err    error         // valid after dead: it did not start, or machinery

	mu     sync.Mutex
	errs   wire.Tail // stderr: log lines, also for things that are normal
	routes map[string]*turn
	totals map[string]int64  // tokens that a thread has used, as it said last
	marks  map[string]string // what marks the commands of a thread
	limits limits
}

// startServer starts a process and its handshake; both go on behind the caller.
// It outlives the turn that needed it first.
func (d *driver) startServer(ctx context.Context, in ralph.TurnInput, dir string) *appServer {
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	server, _ := divide(in.Env)
	s := &appServer{
		driver: d, env: server, stop: stop, ready: make(chan struct{}), dead: make(chan struct{}), errs: wire.Tail{Max: wire.MaxErrors},
		routes: map[string]*turn{}, totals: map[string]int64{}, marks: map[string]string{},
	}
	s.rpc = wire.NewRPC(s.heard)
	input, output := io.Pipe()
	go s.rpc.Pump(output)
	go func() {
		defer stop()
		s.ended, s.err = d.proc.Run(run, proc.Command{
			Args: d.command(), Dir: dir, Env: server,
			Stdin: input, Stdout: s.rpc, Stderr: s.log(), Grace: in.Grace, Tracked: true,
		})
		_ = input.Close() // ends the pump, which may wait for a reader
		close(s.dead)
		s.rpc.Fail(errors.New(s.obituary()))
	}()
	go s.shake(run)
	return s
}

func (s *appServer) log() io.Writer {
	return writerFunc(func(p []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs.Add(wire.Valid(p))
	})
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// shake does the handshake: nothing may be sent before it.
func (s *appServer) shake(ctx context.Context) {
	defer close(s.ready)
	ctx, stop := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("%s did not answer for %s", s.driver.command()[0], startLimit))
	defer stop()
	_, err := s.rpc.Call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]string{"name": "ralph", "title": "ralph", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true}, // for backgroundTerminals
	})
	if err != nil {
		s.refuse = fmt.Errorf("start codex app-server: %w", err)
		return
	}
	s.rpc.Notify("initialized")
}

func (s *appServer) gone() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// end ends the process: by the end of its input, on which it leaves within 70 ms, and
// by signals when it does not. It waits until it is gone.
func (s *appServer) end() {
	s.rpc.Finish()
	t := time.NewTimer(settle)
	defer t.Stop()
	select {
	case <-s.dead:
		return
	case <-t.C:
	}
	s.kill()
}

// answers reports whether the process answers at all, an error too. ctx is of the turn
// that was ended.
func (s *appServer) answers(ctx context.Context) bool {
	look, stop := context.WithTimeout(context.WithoutCancel(ctx), min(graceOf(ctx, 0), settle))
	defer stop()
	_, err := s.rpc.Call(look, "thread/loaded/list", struct{}{})
	refusal := (*wire.RPCError)(nil)
	return err == nil || errors.As(err, &refusal)
}

// kill ends the process by signals and waits until it is gone.
func (s *appServer) kill() {
	s.stop()
	<-s.dead
}

// obituary says how the process ended; valid after dead.
func (s *appServer) obituary() string {
	switch {
	case s.err != nil:
		return s.err.Error()
	case s.ended.Signal != "":
		return "codex app-server was ended by " + s.ended.Signal
	}
	return fmt.Sprintf("codex app-server ended with exit code %d", s.ended.Code)
}

// stderr is the end of what the process logged.
func (s *appServer) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text.Plain(s.errs.String())
}

// route sends what is heard of a thread to a turn; false when it has one already:
// codex would take a second one for words to the first.
func (s *appServer) route(thread string, t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.routes[thread]; old != nil && old != t {
		return false
	}
	s.routes[thread] = t
	return true
}

// unroute forgets the threads of a turn.
func (s *appServer) unroute(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for thread, of := range s.routes {
		if of == t {
			delete(s.routes, thread)
		}
	}
}

// threads are the threads of a turn, its own and its subagents'.
func (s *appServer) threads(t *turn) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for thread, of := range s.routes {
		if of == t {
			all = append(all, thread)
		}
	}
	return all
}

// mark is what marks the commands of a thread. It stays the same as long as the
// process lives: a thread that is loaded does not take a new environment.
func (s *appServer) mark(thread, fresh string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.marks[thread]; old != "" {
		return old
	}
	s.marks[thread] = fresh
	return fresh
}

// used takes how many tokens a thread has used in all; false when it said so before.
// codex repeats itself on resume, and at the begin of a compaction.
func (s *appServer) used(thread string, total int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.totals[thread]
	s.totals[thread] = total
	return total != old
}

// heard takes a notification or request. It runs on the goroutine that reads.
func (s *appServer) heard(m wire.RPCMessage) {
	p := readParams(m.Params)
	s.mu.Lock()
	t := s.routes[wire.Text(p.thread)]
	s.mu.Unlock()
	method := wire.Text(m.Method)
	switch {
	case t != nil:
		t.hear(method, m, p)
	case m.ID != nil:
		s.rpc.Answer(string(m.ID), nil, &wire.RPCError{Code: wire.ErrNoMethod, Message: "ralph has no turn that " + text.Cut(method, wire.MaxSaidTool) + " belongs to"})
	case method == "account/rateLimits/updated":
		s.mu.Lock()
		s.limits.merge(m.Params)
		s.mu.Unlock()
	case method == "thread/tokenUsage/updated":
		// Of a thread whose turn is over: a compaction or a replay. It is not paid for again.
		s.used(wire.Text(p.thread), readUsageTotals(p.usage).total)
	}
}

// limits is what the service said of its limits last. Most notifications say
// only some of it.
type limits struct {
	Primary, Secondary limit
}

type limit struct {
	Used   float64 `json:"usedPercent"`
	Window int64   `json:"windowDurationMins"`
	Resets int64   `json:"resetsAt"` // unix seconds
}

func (l *limits) merge(params []byte) {
	var p struct {
		Limits struct {
			Primary   *limit `json:"primary"`
			Secondary *limit `json:"secondary"`
		} `json:"rateLimits"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if p.Limits.Primary != nil {
		l.Primary = *p.Limits.Primary
	}
	if p.Limits.Secondary != nil {
		l.Secondary = *p.Limits.Secondary
	}
}

// reached is the limit that is used up and ends last; zero when none is.
func (l *limits) reached() (reset time.Time, name string) {
	for _, one := range []limit{l.Primary, l.Secondary} {
		at := time.Unix(one.Resets, 0).UTC()
		if one.Used < 100 || one.Resets == 0 || !at.After(reset) {
			continue
		}
		switch reset = at; one.Window {
		case 5 * 60:
			name = "five_hour"
		case 7 * 24 * 60:
			name = "seven_day"
		default:
			name = (time.Duration(one.Window) * time.Minute).String()
		}
	}
	return reset, name
}
