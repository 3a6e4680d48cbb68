package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
)

// handshakeLimit is how long an agent may take to answer its first request. The slowest
// seen took 6 s, and 20 s on a machine that was busy.
const handshakeLimit = time.Minute

// stopLimit is how long after its grace a stopped agent may take to be gone: KILL is certain, and not
// quick for a program that waits for a cold disk.
const stopLimit = 20 * time.Second

// Free are the probes that cost nothing: no turn is begun, no model is asked.
func Free() []Probe {
	return []Probe{
		{Name: "program", Proves: "its program is there", run: program},
		{Name: "version", Proves: "it says its version", run: version},
		{Name: "missing program", Proves: "a program that is not there is a typed error", Plays: []Behaviour{Missing}, run: missing},
		{Name: "handshake", Proves: "it starts, speaks its protocol, and ends", run: handshake},
		{Name: "login", Proves: "it is logged in", run: login},
		{Name: "stop of a start", Proves: "a person's stop ends it while it starts", run: stopStart},
	}
}

// free is an input for what costs nothing.
func (t *trial) free() (ralph.TurnInput, bool) {
	_, in, ok := t.open(Complete)
	if !ok {
		return in, false
	}
	in.Timeout, in.Grace = handshakeLimit, 5*time.Second
	return in, true
}

func program(_ context.Context, t *trial) {
	if len(t.s.Spec.Command) == 0 {
		t.skip("ralph plays it itself")
		return
	}
	in, ok := t.free()
	if !ok {
		return
	}
	path, err := proc.LookPath(t.s.Spec.Command[0], in.Dir, in.Env)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.fail("there is no program %s", t.s.Spec.Command[0])
	case err != nil:
		t.fail("%s", err)
	}
	t.note("%s", path)
}

func version(ctx context.Context, t *trial) {
	if t.s.Version == nil {
		t.skip("ralph does not know how to ask this program")
		return
	}
	v, err := t.s.Version(ctx)
	if err != nil {
		t.fail("%s", err)
		return
	}
	if tested := agent.Tested(t.s.Spec); tested != "" && !strings.Contains(tested, v) {
		t.note("%s; ralph was tested with %s", v, tested)
		return
	}
	t.note("%s", v)
}

// shake is the handshake; false when there is nothing to be said about it.
func shake(ctx context.Context, t *trial) (agent.Handshake, bool) {
	if t.s.Handshaker == nil {
		t.skip("its driver has no protocol to speak without a turn")
		return agent.Handshake{}, false
	}
	if t.s.told != nil {
		return *t.s.told, true
	}
	in, ok := t.free()
	if !ok {
		return agent.Handshake{}, false
	}
	h, err := t.s.Handshaker.Handshake(ctx, in)
	if err != nil {
		t.fail("%s", err)
		return h, false
	}
	t.s.told = &h
	return h, true
}

func handshake(ctx context.Context, t *trial) {
	h, ok := shake(ctx, t)
	if !ok {
		return
	}
	words := []string{h.Protocol}
	if h.Version != "" {
		words = append(words, "version "+h.Version)
	}
	if len(h.Models) > 0 {
		words = append(words, fmt.Sprintf("%d models", len(h.Models)))
	}
	if h.Words != "" {
		words = append(words, h.Words)
	}
	if h.Leftover > 0 {
		words = append(words, fmt.Sprintf("%d processes that it left behind were ended", h.Leftover))
	}
	t.note("%s", strings.Join(words, ", "))
}

func login(ctx context.Context, t *trial) {
	h, ok := shake(ctx, t)
	switch {
	case !ok:
	case h.LoggedIn == nil:
		t.skip("its protocol does not say")
	case !*h.LoggedIn:
		t.fail("it is not logged in: %s", agent.LoginFix(t.s.Spec))
	default:
		t.note("%s", h.Account)
	}
}

// stopStart ends the agent at its first output, in the middle of its handshake, or after
// some seconds, whichever comes first.
func stopStart(ctx context.Context, t *trial) {
	if t.s.Handshaker == nil {
		t.skip("its driver has no protocol to speak without a turn")
		return
	}
	in, ok := t.free()
	if !ok {
		return
	}
	run, end := context.WithCancel(ctx)
	defer end()
	var stopped time.Time
	stop := sync.OnceFunc(func() {
		stopped = time.Now()
		end()
	})
	late := time.AfterFunc(startedBy, stop)
	defer late.Stop()
	in.Raw = sinkFunc(func(p []byte) (int, error) {
		stop()
		return len(p), nil
	})
	h, err := t.s.Handshaker.Handshake(run, in)
	if run.Err() == nil {
		t.fail("it ended before it was stopped, and said nothing: %v", err)
		return
	}
	stop() // waits for the one that is under way
	took := time.Since(stopped)
	if took > in.Grace+stopLimit {
		t.fail("it took %s to end", took.Round(100*time.Millisecond))
	}
	words := fmt.Sprintf("ended within %s", took.Round(10*time.Millisecond))
	if h.Leftover > 0 {
		words += fmt.Sprintf(", and %d processes that it had started", h.Leftover)
	}
	t.note("%s", words)
}
