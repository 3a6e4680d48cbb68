package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// Handshaker speaks the beginning of an agent's protocol and no more: nothing is asked
// of a model, so it costs nothing.
//
// Of the input it uses Agent, Dir, Env, Timeout (of all of it), Grace and Raw. What has
// been learned is also returned with an error.
type Handshaker interface {
	Handshake(ctx context.Context, in ralph.TurnInput) (Handshake, error)
}

// Handshake is what an agent says of itself before any turn.
type Handshake struct {
	Protocol string   // what was spoken: "stream-json", "app-server", "ACP 1"
	Version  string   // "" where the protocol does not say
	LoggedIn *bool    // nil where the protocol does not say
	Account  string   // how it is logged in, in the agent's words; never a name or a key
	Models   []string // "" entries never; empty where the protocol does not say
	Words    string   // what else is good to know, in one line
	Leftover int      // processes that it left behind; they were ended
}

// NewHandshaker returns what speaks a protocol: args is the command line that starts the
// agent, and say is what is said.
func NewHandshaker(p *proc.Runner, args func(ralph.AgentSpec) []string, say func(*Dialogue, *Handshake) error) Handshaker {
	return handshaker{p, args, say}
}

type handshaker struct {
	proc *proc.Runner
	args func(ralph.AgentSpec) []string
	say  func(*Dialogue, *Handshake) error
}

// ArgvOf is an agent's command with its args.
func ArgvOf(spec ralph.AgentSpec) []string {
	return append(append([]string(nil), spec.Command...), spec.Args...)
}

// errTold is the cause with which an agent that stays after its stdin was closed is
// ended: all was said.
var errTold = errors.New("the handshake is over")

// Handshake starts the agent, talks, closes its stdin, and waits until it has ended.
func (h handshaker) Handshake(ctx context.Context, in ralph.TurnInput) (Handshake, error) {
	run, end := context.WithCancelCause(ctx)
	defer end(nil)
	theirs, w := io.Pipe()
	r, out := io.Pipe()
	errs := &Tail{Max: MaxErrors}
	var one sync.Mutex // both streams write to the sink
	d := &Dialogue{w: w, r: bufio.NewReaderSize(r, 64<<10)}
	var res proc.Result
	var runErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, runErr = h.proc.Run(run, proc.Command{
			Args: h.args(in.Agent), Dir: in.Dir, Env: in.Env, Stdin: theirs, Stdout: &kept{&one, in.Raw, out}, Stderr: &kept{&one, in.Raw, &tailWriter{errs}},
			Timeout: in.Timeout, Grace: in.Grace, Tracked: true,
		})
		theirs.CloseWithError(io.ErrClosedPipe)
		out.CloseWithError(io.EOF)
	}()
	var told Handshake
	err := h.say(d, &told)
	_ = w.Close() // of a pipe in memory
	go func() { _, _ = io.Copy(io.Discard, r) }()
	late := time.AfterFunc(max(in.Grace, time.Second), func() { end(errTold) })
	<-done
	late.Stop()
	told.Leftover = res.Leftover
	var start *proc.StartError
	switch {
	case errors.As(runErr, &start):
		return told, start
	case ctx.Err() != nil:
		return told, fmt.Errorf("stopped: %w", ctx.Err())
	case err != nil && res.Ended == proc.EndedTimeout:
		return told, fmt.Errorf("it did not answer within %s", in.Timeout)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrClosedPipe):
		words := text.Cut(Flatten(errs.String()), 300)
		if words == "" {
			words = "it said nothing on stderr"
		}
		return told, fmt.Errorf("it ended with code %d before it answered: %s", res.Code, words)
	case err != nil:
		return told, err
	case runErr != nil && !errors.Is(context.Cause(run), errTold):
		return told, fmt.Errorf("run the agent: %w", runErr)
	}
	return told, nil
}

// kept writes to a sink first, which may be nil, and then to another writer.
type kept struct {
	mu  *sync.Mutex
	raw ralph.RawSink
	to  io.Writer
}

func (k *kept) Write(p []byte) (int, error) {
	if k.raw != nil {
		k.mu.Lock()
		_, err := k.raw.Write(p)
		k.mu.Unlock()
		if err != nil {
			return 0, fmt.Errorf("keep the agent's output: %w", err)
		}
	}
	if _, err := k.to.Write(p); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return 0, err
	}
	return len(p), nil
}

type tailWriter struct{ t *Tail }

func (w *tailWriter) Write(p []byte) (int, error) {
	w.t.Add(Valid(p))
	return len(p), nil
}

// Dialogue is one JSON message per line, both ways.
type Dialogue struct {
	w io.Writer
	r *bufio.Reader
	n int // requests
}

// Send writes one message.
func (d *Dialogue) Send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a request: %w", err)
	}
	_, err = d.w.Write(append(b, '\n'))
	return err
}

// Read returns the next line that is a JSON object. What else is printed is passed over.
func (d *Dialogue) Read() (json.RawMessage, error) {
	for {
		line, err := d.r.ReadSlice('\n')
		whole := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = d.r.ReadSlice('\n')
			if whole = append(whole, line...); len(whole) > maxEvent {
				return nil, fmt.Errorf("it sent a line of more than %d MiB", maxEvent>>20)
			}
		}
		if json.Valid(whole) && len(whole) > 1 && whole[0] == '{' {
			return whole, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Call sends a JSON-RPC request and reads on until its answer. Notifications are passed
// over; so are requests of the agent, since none needs an answer for it to go on yet.
func (d *Dialogue) Call(method string, params, result any) error {
	d.n++
	id := strconv.Itoa(d.n)
	err := d.Send(map[string]any{"jsonrpc": "2.0", "id": d.n, "method": method, "params": params})
	for err == nil {
		var line json.RawMessage
		if line, err = d.Read(); err != nil {
			break
		}
		m, ok := ReadRPC(line)
		if !ok || m.Method != nil || string(m.ID) != id {
			continue
		}
		if refused := refusalOf(m.Err); refused != nil {
			return fmt.Errorf("%s: %s (%d)", method, Flatten(refused.Message), refused.Code)
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return fmt.Errorf("%s: the answer is not what the protocol says: %w", method, err)
		}
		return nil
	}
	return err
}
