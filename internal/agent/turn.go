package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// turn is one process at work for one turn. Both output streams come together
// here under one lock, so that what parses them and the caller's hooks never
// run twice at once.
type turn struct {
	in      ralph.TurnInput
	said    func(ralph.Said)
	context func(ralph.ContextUse)
	event   func(ralph.StreamEvent) // may be nil
	stop    context.CancelCauseFunc // ends the process early

	mu     sync.Mutex
	bytes  int64
	rawErr error
}

// errOverTime is the cause with which a driver ends a turn that is over its time
// limit, where it keeps that itself because the clock stands still for requests.
var errOverTime = errors.New("the turn is over its time limit")

// errEnough is the cause with which a driver itself ends a process whose turn
// is over; it is neither a failure nor a person's wish.
var errEnough = errors.New("the turn is over")

func newTurn(in ralph.TurnInput, on ralph.TurnHooks) *turn {
	t := &turn{in: in, said: on.Said, context: on.Context, event: on.Event}
	if t.said == nil {
		t.said = func(ralph.Said) {}
	}
	if t.context == nil {
		t.context = func(ralph.ContextUse) {}
	}
	return t
}

// launch is what a driver wants run.
type launch struct {
	args           []string
	env            []string
	stdin          io.Reader
	stdout, stderr func([]byte) // called under the turn's lock; must not keep p
	interrupt      bool         // it ends better by INT than by TERM
}

// run carries out the process and fills Exit, Code, Leftover and Bytes, and Err
// where it did not start. over reports that the process was ended with errEnough.
func (t *turn) run(ctx context.Context, p *proc.Runner, l launch) (res ralph.TurnResult, over bool, err error) {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t.stop = stop
	ended, err := p.Run(run, proc.Command{
		Args: l.args, Dir: t.in.Dir, Env: l.env, Stdin: l.stdin,
		Stdout: &stream{t: t, parse: l.stdout}, Stderr: &stream{t: t, parse: l.stderr},
		Timeout: t.in.Timeout, Grace: t.in.Grace, Interrupt: l.interrupt, Tracked: true,
	})
	t.mu.Lock() // a writer may be late when its pipe had to be closed
	defer t.mu.Unlock()
	res = ralph.TurnResult{Code: ended.Code, Leftover: ended.Leftover, Bytes: t.bytes}
	if t.rawErr != nil {
		return res, false, fmt.Errorf("keep the agent's output: %w", t.rawErr)
	}
	if start := (*proc.StartError)(nil); errors.As(err, &start) {
		res.Exit = ralph.ExitSpawn
		res.Err = &ralph.AgentError{Class: ralph.ErrClassSpawn, Message: start.Error(), Lasting: start.Lasting()}
		return res, false, nil
	}
	over = errors.Is(context.Cause(run), errEnough)
	switch {
	case errors.Is(context.Cause(run), errOverTime):
		res.Exit = ralph.ExitTimeout
		return res, false, nil
	case err != nil && run.Err() == nil:
		return res, false, fmt.Errorf("run the agent: %w", err)
	case err != nil, ended.Ended == "cancelled":
		res.Exit = ralph.ExitUser
	case ended.Ended == "timeout":
		res.Exit = ralph.ExitTimeout
	case ended.Signal != "":
		res.Exit = ralph.ExitCrashed
	case ended.Code != 0:
		res.Exit = ralph.ExitFailed
	default:
		res.Exit = ralph.ExitOK
	}
	return res, over && res.Exit == ralph.ExitUser, nil
}

// stream is the process's stdout or stderr: raw bytes to the sink first, then
// to the driver's parser.
type stream struct {
	t     *turn
	parse func([]byte)
	raw   ralph.RawSink // its own of t.in.Raw; nil before the first byte
}

func (s *stream) Write(p []byte) (int, error) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rawErr != nil {
		return len(p), nil // the process is on its way out; do not block it
	}
	t.bytes += int64(len(p))
	if s.raw == nil {
		s.raw = t.in.Raw
		if apart, ok := s.raw.(ralph.RawStreams); ok {
			s.raw = apart.Stream()
		}
	}
	if s.raw != nil {
		if _, err := s.raw.Write(p); err != nil {
			t.rawErr = err
			t.stop(err)
			return len(p), nil
		}
	}
	s.parse(p)
	return len(p), nil
}
