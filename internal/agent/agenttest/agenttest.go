// Package agenttest owns the conformance suite that every driver passes: what
// the engine relies on whichever agent it runs. It is for tests only; it owns no
// driver and no agent.
package agenttest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
)

// Behaviour is what the agent under test shall do.
type Behaviour string

// The behaviours.
const (
	Echo       Behaviour = "echo"       // repeats its prompt as its final message, exit 0
	Complete   Behaviour = "complete"   // words, then <ralph>COMPLETE</ralph> on a line of its own
	Fail       Behaviour = "fail"       // "it broke" on stderr, exit 3
	Limited    Behaviour = "limited"    // a rate limit error, exit 1
	Crash      Behaviour = "crash"      // says something, then kill -9 of itself
	Hang       Behaviour = "hang"       // says "ready" and does not end; TERM ends it
	HangHard   Behaviour = "hang-hard"  // the same, but TERM does not end it
	Flood      Behaviour = "flood"      // says FloodBytes and more, exit 0
	Deaf       Behaviour = "deaf"       // ends at once without reading its prompt, exit 0
	Missing    Behaviour = "missing"    // a program that is not there
	Background Behaviour = "background" // leaves a process in a session of its own, exit 0
)

// FloodBytes is what Flood says at the least.
const FloodBytes = 100 << 20

// Open returns a driver whose agent behaves so, and the input to run it with:
// Agent, Dir, Env and Scratch set. Run fills in the rest.
type Open func(t *testing.T, b Behaviour) (agent.Driver, ralph.TurnInput)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	t.Run("the prompt arrives whole (B-006)", func(t *testing.T) {
		prompt := strings.Repeat("A line of a prompt, äöü, with \"quotes\" and a \\ in it.\n", 5000) + "The end."
		out := turn(t, open, Echo, func(in *ralph.TurnInput) { in.Prompt = prompt })
		out.exit(t, ralph.ExitOK)
		if strings.TrimSpace(out.res.Text) != prompt {
			t.Errorf("Text is not the prompt: %d bytes of %d", len(out.res.Text), len(prompt))
		}
		if !strings.Contains(out.said, "The end.") || out.res.Events == 0 || out.res.Bytes < int64(len(prompt)) {
			t.Errorf("said %d bytes, events %d, bytes %d", len(out.said), out.res.Events, out.res.Bytes)
		}
	})
	t.Run("signals pass through on their own line (A-127)", func(t *testing.T) {
		out := turn(t, open, Complete, nil)
		out.exit(t, ralph.ExitOK)
		if !strings.Contains("\n"+out.res.Text+"\n", "\n<ralph>COMPLETE</ralph>\n") {
			t.Errorf("Text %q has no signal line", out.res.Text)
		}
		if !strings.Contains(out.said, "\n<ralph>COMPLETE</ralph>\n") {
			t.Errorf("said %q has no signal line", out.said)
		}
	})
	t.Run("a non-zero exit fails with its error text (B-073)", func(t *testing.T) {
		out := turn(t, open, Fail, nil)
		out.exit(t, ralph.ExitFailed)
		if out.res.Code != 3 || out.res.Err == nil || out.res.Err.Class != ralph.ErrClassOther || !strings.Contains(out.res.Err.Message, "it broke") {
			t.Errorf("code %d, error %+v", out.res.Code, out.res.Err)
		}
	})
	t.Run("a rate limit is typed (A-006, X-53)", func(t *testing.T) {
		out := turn(t, open, Limited, nil)
		out.exit(t, ralph.ExitFailed)
		if out.res.Err == nil || out.res.Err.Class != ralph.ErrClassLimit {
			t.Errorf("error %+v", out.res.Err)
		}
	})
	t.Run("kill -9 is a crash (B-075)", func(t *testing.T) {
		turn(t, open, Crash, nil).exit(t, ralph.ExitCrashed)
	})
	t.Run("an agent that hangs is timed out (B-029)", func(t *testing.T) {
		out := turn(t, open, Hang, func(in *ralph.TurnInput) { in.Timeout = 500 * time.Millisecond })
		out.exit(t, ralph.ExitTimeout)
	})
	t.Run("a stop ends an agent that ignores TERM (B-074)", func(t *testing.T) { interrupt(t, open) })
	t.Run("a flood stays bounded", func(t *testing.T) { flood(t, open) })
	t.Run("an agent may ignore its prompt", func(t *testing.T) {
		out := turn(t, open, Deaf, func(in *ralph.TurnInput) { in.Prompt = strings.Repeat("unread\n", 1<<20) })
		out.exit(t, ralph.ExitOK)
	})
	t.Run("a missing program is a spawn error (B-097, X-52)", func(t *testing.T) {
		out := turn(t, open, Missing, nil)
		out.exit(t, ralph.ExitSpawn)
		if out.res.Err == nil || out.res.Err.Class != ralph.ErrClassSpawn || out.res.Err.Message == "" {
			t.Errorf("error %+v", out.res.Err)
		}
	})
	t.Run("what it leaves behind is ended", func(t *testing.T) {
		out := turn(t, open, Background, nil)
		out.exit(t, ralph.ExitOK)
		if runtime.GOOS == "linux" && out.res.Leftover == 0 {
			t.Error("no leftover was found")
		}
	})
	t.Run("a sink that fails is an error of ours", func(t *testing.T) {
		d, in := open(t, Complete)
		full := errors.New("disk full")
		in.Raw = sinkFunc(func([]byte) (int, error) { return 0, full })
		if _, err := d.Turn(t.Context(), in, ralph.TurnHooks{}); !errors.Is(err, full) {
			t.Errorf("error %v", err)
		}
	})
}

// outcome is a turn with all that was said, each line with its end.
type outcome struct {
	res  ralph.TurnResult
	said string
	raw  int64
}

func (o outcome) exit(t *testing.T, want ralph.ExitKind) {
	t.Helper()
	if o.res.Exit != want {
		t.Fatalf("Exit %s (code %d, %+v), want %s; said %.300q", o.res.Exit, o.res.Code, o.res.Err, want, o.said)
	}
	if o.raw != o.res.Bytes {
		t.Errorf("the sink got %d bytes of %d", o.raw, o.res.Bytes)
	}
}

type sinkFunc func([]byte) (int, error)

func (f sinkFunc) Write(p []byte) (int, error) { return f(p) }

func turn(t *testing.T, open Open, b Behaviour, edit func(*ralph.TurnInput)) outcome {
	t.Helper()
	d, in := open(t, b)
	in.Prompt, in.Timeout, in.Grace = "Do it.\n", 30*time.Second, 300*time.Millisecond
	if edit != nil {
		edit(&in)
	}
	var out outcome
	in.Raw = sinkFunc(func(p []byte) (int, error) { out.raw += int64(len(p)); return len(p), nil })
	var said strings.Builder
	said.WriteString("\n")
	var err error
	out.res, err = d.Turn(t.Context(), in, ralph.TurnHooks{Said: func(s ralph.Said) {
		said.WriteString(s.Text)
		if !s.More {
			said.WriteString("\n")
		}
	}})
	if err != nil {
		t.Fatalf("Turn: %v", err)
	}
	out.said = said.String()
	return out
}

func interrupt(t *testing.T, open Open) {
	d, in := open(t, HangHard)
	in.Prompt, in.Grace = "Do it.\n", 200*time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	res, err := d.Turn(ctx, in, ralph.TurnHooks{Said: func(s ralph.Said) {
		if strings.Contains(s.Text, "ready") {
			stop()
		}
	}})
	if err != nil || res.Exit != ralph.ExitUser {
		t.Fatalf("Exit %s, %v", res.Exit, err)
	}
}

func flood(t *testing.T, open Open) {
	d, in := open(t, Flood)
	in.Prompt = "Do it.\n"
	var said, peak uint64
	var mem runtime.MemStats
	n := 0
	runtime.GC()
	res, err := d.Turn(t.Context(), in, ralph.TurnHooks{Said: func(s ralph.Said) {
		said += uint64(len(s.Text))
		if n++; n%200 == 0 {
			runtime.ReadMemStats(&mem)
			peak = max(peak, mem.HeapAlloc)
		}
	}})
	if err != nil || res.Exit != ralph.ExitOK {
		t.Fatalf("Exit %s (%+v), %v", res.Exit, res.Err, err)
	}
	if res.Bytes < FloodBytes || said < FloodBytes*9/10 {
		t.Errorf("%d bytes came, %d were said", res.Bytes, said)
	}
	if len(res.Text) > 1<<20 {
		t.Errorf("Text has %d bytes", len(res.Text))
	}
	if peak > 64<<20 {
		t.Errorf("heap reached %d MiB", peak>>20)
	}
}
