// Package agentcheck owns the probes that say whether an agent does what the engine
// relies on, whichever agent it is, and their verdicts. The drivers' tests
// (internal/agent/agenttest) and `ralph agent-check` run the same probes.
//
// It owns no driver, no agent and no table for people: who runs it opens the driver
// and prints the results.
package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/text"
)

// Behaviour is what the agent of a turn shall do. Fakes play it; an agent with a model
// is asked for it in the prompt, which every probe writes.
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

	Remember   Behaviour = "remember"   // says Word in a turn that goes on in a session
	Metered    Behaviour = "metered"    // says what it used: tokens, and dollars where its driver reports them
	Structured Behaviour = "structured" // answers {"word": Word} by the schema
	Asks       Behaviour = "asks"       // asks before it makes the file Made by a command, exit 0 also when denied
)

// Word is what Remember and Structured are about; Made is the file of Asks.
const (
	Word = "pelican"
	Made = "made-by-agent-check"
)

// FloodBytes is what Flood says at the least.
const FloodBytes = 100 << 20

// Subject is the agent under test.
type Subject struct {
	Spec     ralph.AgentSpec
	Supports agent.Supports
	// Open returns a driver whose agent behaves so, and the input to run it with:
	// Agent, Dir, Env and Scratch set. The probe fills in the rest.
	Open func(b Behaviour) (agent.Driver, ralph.TurnInput, error)
	// Plays reports whether the agent can behave so; nil: it plays all.
	Plays func(b Behaviour) bool
	// Model says that a model is behind the agent: its turns cost money and are asked
	// for in words, and what it does with them is its own choice.
	Model bool
	// Kill ends what runs for the agent by KILL and returns how many that were; nil for
	// fakes, which crash by themselves.
	Kill func() int
	// Handshaker speaks the agent's protocol without a turn; nil where there is none.
	Handshaker agent.Handshaker
	// Version asks the program for its version; nil where it is not to be started.
	Version func(ctx context.Context) (string, error)

	told *agent.Handshake // of the probe that came first
}

// Verdict is what a probe found.
type Verdict string

// The verdicts.
const (
	Pass  Verdict = "pass"
	Fault Verdict = "fail"
	Skip  Verdict = "skip" // it does not apply, or could not be judged; the words say why
)

// Result is what came of one probe.
type Result struct {
	Probe   string        `json:"probe"`
	Proves  string        `json:"proves"`
	Verdict Verdict       `json:"verdict"`
	Words   string        `json:"words,omitempty"` // what was seen, or why not
	Turns   int           `json:"turns"`           // turns that were run
	Usage   ralph.Usage   `json:"usage"`
	Took    time.Duration `json:"took"`
}

// Probe is one thing to be proved.
type Probe struct {
	Name    string
	Proves  string      // what is so when it passes, for people
	Turns   int         // turns that it runs on an agent with a model; 0: it costs nothing
	Plays   []Behaviour // what the agent has to be able to do
	Needs   func(agent.Supports) bool
	Without string // what the agent lacks when Needs says no
	run     func(ctx context.Context, t *trial)
}

// Skipped reports why the probe does not apply to s; "" when it does.
func (p Probe) Skipped(s *Subject) string {
	if p.Needs != nil && !p.Needs(s.Supports) {
		return p.Without
	}
	for _, b := range p.Plays {
		if s.Plays != nil && !s.Plays(b) {
			if s.Model {
				return "no model does this when it is asked; the driver's own tests prove it"
			}
			return "this agent does not play " + string(b)
		}
	}
	return ""
}

// Turns is how many turns of a model the probes will run on s.
func Turns(s *Subject, probes []Probe) int {
	n := 0
	for _, p := range probes {
		if s.Model && p.Skipped(s) == "" {
			n += p.Turns
		}
	}
	return n
}

// Run runs one probe. It returns when everything that the probe started has ended.
func Run(ctx context.Context, s *Subject, p Probe) Result {
	t := &trial{s: s, res: Result{Probe: p.Name, Proves: p.Proves, Verdict: Pass}}
	begin := time.Now()
	switch why := p.Skipped(s); {
	case why != "":
		t.skip("%s", why)
	case ctx.Err() != nil:
		t.skip("stopped")
	default:
		p.run(ctx, t)
		t.close()
		if ctx.Err() != nil {
			t.res.Verdict, t.res.Words = Skip, "stopped" // what it saw is the person's doing
		}
	}
	t.res.Took = time.Since(begin)
	return t.res
}

// trial is one run of a probe.
type trial struct {
	s      *Subject
	res    Result
	opened []agent.Driver
}

// open opens a driver that is closed when the probe is over.
func (t *trial) open(b Behaviour) (agent.Driver, ralph.TurnInput, bool) {
	d, in, err := t.s.Open(b)
	if err != nil {
		t.fail("%s", err)
		return nil, in, false
	}
	t.opened = append(t.opened, d)
	return d, in, true
}

// close ends what drivers keep between turns.
func (t *trial) close() {
	if err := agent.Close(t.opened...); err != nil {
		t.fail("end what the driver keeps: %s", err)
	}
	t.opened = nil
}

// fail keeps the first thing that was wrong, and that it was.
func (t *trial) fail(format string, args ...any) {
	if t.res.Verdict == Fault {
		t.res.Words += "; " + fmt.Sprintf(format, args...)
		return
	}
	t.res.Verdict, t.res.Words = Fault, fmt.Sprintf(format, args...)
}

func (t *trial) skip(format string, args ...any) {
	if t.res.Verdict != Fault {
		t.res.Verdict, t.res.Words = Skip, fmt.Sprintf(format, args...)
	}
}

// note says what was seen, where nothing is wrong.
func (t *trial) note(format string, args ...any) {
	if t.res.Verdict == Pass {
		t.res.Words = fmt.Sprintf(format, args...)
	}
}

// outcome is a turn with all that was said, each line with its end.
type outcome struct {
	res  ralph.TurnResult
	said string
	raw  int64
	over bool // the turn could be run
}

// exit says how the turn should have ended; false when it did not.
func (t *trial) exit(o outcome, want ralph.ExitKind) bool {
	if !o.over {
		return false
	}
	if o.res.Exit != want {
		why := ""
		if o.res.Err != nil {
			why = fmt.Sprintf(" (%s: %s)", o.res.Err.Class, text.OneLine(o.res.Err.Message))
		}
		t.fail("the turn ended with %s, code %d%s; it should with %s; said %.300q", o.res.Exit, o.res.Code, why, want, o.said)
		return false
	}
	if o.raw != o.res.Bytes {
		t.fail("the output that is kept has %d bytes, %d came", o.raw, o.res.Bytes)
	}
	return true
}

type sinkFunc func([]byte) (int, error)

func (f sinkFunc) Write(p []byte) (int, error) { return f(p) }

// patience is the time limit of a turn that has to end by itself. Models take their time.
func (t *trial) patience() time.Duration {
	if t.s.Model {
		return 3 * time.Minute
	}
	return 2 * time.Minute
}

// turn runs one turn of an agent that behaves like b. edit changes the input, on what
// is listened to besides what was said.
func (t *trial) turn(ctx context.Context, b Behaviour, prompt string, edit func(*ralph.TurnInput), on ralph.TurnHooks) outcome {
	d, in, ok := t.open(b)
	if !ok {
		return outcome{}
	}
	in.Prompt, in.Timeout, in.Grace, in.Stage = prompt, t.patience(), 300*time.Millisecond, ralph.KindBuild
	if t.s.Model {
		in.Grace = 5 * time.Second
	}
	if edit != nil {
		edit(&in)
	}
	var out outcome
	in.Raw = sinkFunc(func(p []byte) (int, error) { out.raw += int64(len(p)); return len(p), nil })
	var said strings.Builder
	said.WriteString("\n")
	told := on.Event
	on.Event = func(e ralph.StreamEvent) {
		if w, ok := e.Words(); ok {
			said.WriteString(w.Text)
			if !w.More {
				said.WriteString("\n")
			}
		}
		if told != nil {
			told(e)
		}
	}
	if b != Missing {
		t.res.Turns++
	}
	var err error
	out.res, err = d.Turn(ctx, in, on)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.fail("run a turn: %s", err)
		return out
	}
	t.res.Usage = t.res.Usage.Add(out.res.Usage)
	out.said, out.over = said.String(), true
	return out
}
