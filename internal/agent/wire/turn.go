package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Turn is one process at work for one turn. Both output streams come together
// here under one lock, so that what parses them and the caller's hooks never
// run twice at once.
type Turn struct {
	In      ralph.TurnInput
	Context func(ralph.ContextUse)
	Event   func(ralph.StreamEvent)
	Stop    context.CancelCauseFunc // ends the process early

	Mu     sync.Mutex
	Bytes  int64
	RawErr error
}

// ErrOverTime is the cause with which a driver ends a turn that is over its time
// limit, where it keeps that itself because the clock stands still for requests.
var ErrOverTime = errors.New("the turn is over its time limit")

// ErrEnough is the cause with which a driver itself ends a process whose turn
// is over; it is neither a failure nor a person's wish.
var ErrEnough = errors.New("the turn is over")

// NewTurn begins a turn; hooks that are nil are not called.
func NewTurn(in ralph.TurnInput, on ralph.TurnHooks) *Turn {
	t := &Turn{In: in, Context: on.Context, Event: on.Event}
	if t.Event == nil {
		t.Event = func(ralph.StreamEvent) {}
	}
	if t.Context == nil {
		t.Context = func(ralph.ContextUse) {}
	}
	return t
}

// Launch is what a driver wants run.
type Launch struct {
	Args           []string
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr func([]byte) // called under the turn's lock; must not keep p
	Interrupt      bool         // it ends better by INT than by TERM
}

// Run carries out the process and fills Exit, Code, Leftover and Bytes, and Err
// where it did not start. over reports that the process was ended with ErrEnough.
func (t *Turn) Run(ctx context.Context, p *proc.Runner, l Launch) (res ralph.TurnResult, over bool, err error) {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t.Stop = stop
	ended, err := p.Run(run, proc.Command{
		Args: l.Args, Dir: t.In.Dir, Env: l.Env, Stdin: l.Stdin,
		Stdout: &stream{t: t, parse: l.Stdout}, Stderr: &stream{t: t, parse: l.Stderr},
		Timeout: t.In.Timeout, Grace: t.In.Grace, Interrupt: l.Interrupt, Tracked: true,
	})
	t.Mu.Lock() // a writer may be late when its pipe had to be closed
	defer t.Mu.Unlock()
	res = ralph.TurnResult{Code: ended.Code, Leftover: ended.Leftover, Bytes: t.Bytes}
	if t.RawErr != nil {
		return res, false, fmt.Errorf("keep the agent's output: %w", t.RawErr)
	}
	if start := (*proc.StartError)(nil); errors.As(err, &start) {
		res.Exit = ralph.ExitSpawn
		res.Err = &ralph.AgentError{Class: ralph.ErrClassSpawn, Message: start.Error(), Lasting: start.Lasting()}
		return res, false, nil
	}
	over = errors.Is(context.Cause(run), ErrEnough)
	switch {
	case errors.Is(context.Cause(run), ErrOverTime):
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
	t     *Turn
	parse func([]byte)
	raw   ralph.RawSink // its own of t.in.Raw; nil before the first byte
}

func (s *stream) Write(p []byte) (int, error) {
	t := s.t
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.RawErr != nil {
		return len(p), nil // the process is on its way out; do not block it
	}
	t.Bytes += int64(len(p))
	if s.raw == nil {
		s.raw = t.In.Raw
		if apart, ok := s.raw.(ralph.RawStreams); ok {
			s.raw = apart.Stream()
		}
	}
	if s.raw != nil {
		if _, err := s.raw.Write(p); err != nil {
			t.RawErr = err
			t.Stop(err)
			return len(p), nil
		}
	}
	s.parse(p)
	return len(p), nil
}
