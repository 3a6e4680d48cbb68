package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/text"
)

// long is a prompt that keeps a model busy for a minute or more without any tool, so
// that there is a turn to end.
const long = "Without using any tool, write the whole numbers from 1 to 3000 in words, one on each line. Do not stop early and do not shorten the list.\n"

// Probes are the probes that run turns, in the order in which they are best run.
func Probes() []Probe {
	return []Probe{
		{Name: "echo", Proves: "the prompt arrives whole", Turns: 1, Plays: []Behaviour{Echo}, run: echo},
		{Name: "signal", Proves: "signals pass through on their own line", Turns: 1, Plays: []Behaviour{Complete}, run: signal},
		{Name: "exit code", Proves: "a non-zero exit fails with its error text", Plays: []Behaviour{Fail}, run: exitCode},
		{Name: "rate limit", Proves: "a rate limit is typed", Plays: []Behaviour{Limited}, run: rateLimit},
		{Name: "kill", Proves: "kill -9 of the agent is a crash", Turns: 1, Plays: []Behaviour{Crash}, run: crash},
		{Name: "time limit", Proves: "an agent that hangs is timed out", Turns: 1, Plays: []Behaviour{Hang}, run: timeLimit},
		{Name: "stop", Proves: "a person's stop ends the agent", Turns: 1, Plays: []Behaviour{HangHard}, run: stop},
		{Name: "flood", Proves: "100 MiB of output stay bounded in memory", Plays: []Behaviour{Flood}, run: flood},
		{Name: "deaf", Proves: "an agent may ignore its prompt", Plays: []Behaviour{Deaf}, run: deaf},
		{Name: "missing program", Proves: "a program that is not there is a typed error", Plays: []Behaviour{Missing}, run: missing},
		{Name: "leftovers", Proves: "what it leaves behind is ended", Turns: 1, Plays: []Behaviour{Background}, run: leftovers},
		{Name: "full disk", Proves: "output that cannot be kept ends the turn as an error of ours", Plays: []Behaviour{Complete}, run: fullDisk},
		{
			Name: "resume", Proves: "a turn goes on in the session of an earlier one", Turns: 2, Plays: []Behaviour{Remember},
			Needs: func(s agent.Supports) bool { return s.Resume }, Without: "it has no sessions to go on in", run: resume,
		},
		{
			Name: "usage", Proves: "it says what a turn used", Turns: 1, Plays: []Behaviour{Metered},
			Needs: func(s agent.Supports) bool { return s.Usage || s.Cost }, Without: "it reports neither tokens nor dollars", run: metered,
		},
		{
			Name: "structured", Proves: "it answers by a JSON Schema", Turns: 1, Plays: []Behaviour{Structured},
			Needs: func(s agent.Supports) bool { return s.Structured }, Without: "it has no structured answers; ralph reads JSON from its words", run: structured,
		},
		{
			Name: "approval", Proves: "a command that is approved runs", Turns: 1, Plays: []Behaviour{Asks},
			Needs: asks, Without: "it cannot ask in the middle of a turn", run: approval,
		},
		{
			Name: "denial", Proves: "a command that is denied does not run", Turns: 1, Plays: []Behaviour{Asks},
			Needs: asks, Without: "it cannot ask in the middle of a turn", run: denial,
		},
	}
}

func asks(s agent.Supports) bool { return s.Ask }

// echo gives fakes a prompt that no pipe takes at once; tokens of a model cost.
func echo(ctx context.Context, t *trial) {
	const line = "A line of a prompt, äöü, with \"quotes\" and a \\ in it.\n"
	prompt := strings.Repeat(line, 5000) + "The end."
	if t.s.Model {
		prompt = "Without using any tool, answer with exactly the two lines below and nothing else.\n\n" + line + "The end."
	}
	o := t.turn(ctx, Echo, prompt, nil, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitOK) {
		return
	}
	if t.s.Model {
		if !strings.Contains(o.res.Text, "äöü") || !strings.Contains(o.res.Text, "The end.") {
			t.fail("it should repeat two lines, and said %.300q", o.res.Text)
		}
		return
	}
	if strings.TrimSpace(o.res.Text) != prompt {
		t.fail("the final message is not the prompt: %d bytes of %d", len(o.res.Text), len(prompt))
	}
	if !strings.Contains(o.said, "The end.") || o.res.Events == 0 || o.res.Bytes < int64(len(prompt)) {
		t.fail("said %d bytes, events %d, bytes %d", len(o.said), o.res.Events, o.res.Bytes)
	}
}

func signal(ctx context.Context, t *trial) {
	prompt := "Without using any tool, answer with exactly these two lines:\n\nAll is done.\n<ralph>COMPLETE</ralph>\n"
	o := t.turn(ctx, Complete, prompt, nil, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitOK) {
		return
	}
	if !strings.Contains("\n"+o.res.Text+"\n", "\n<ralph>COMPLETE</ralph>\n") {
		t.fail("the final message has no line <ralph>COMPLETE</ralph>: %.300q", o.res.Text)
	}
	if !strings.Contains(o.said, "\n<ralph>COMPLETE</ralph>\n") {
		t.fail("what it said has no line <ralph>COMPLETE</ralph>: %.300q", o.said)
	}
}

func exitCode(ctx context.Context, t *trial) {
	o := t.turn(ctx, Fail, "Do it.\n", nil, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitFailed) {
		return
	}
	if e := o.res.Err; o.res.Code != 3 || e == nil || e.Class != ralph.ErrClassOther || !strings.Contains(e.Message, "it broke") {
		t.fail("code %d, error %+v; it should be 3 with %q", o.res.Code, e, "it broke")
	}
}

func rateLimit(ctx context.Context, t *trial) {
	o := t.turn(ctx, Limited, "Do it.\n", nil, ralph.TurnHooks{})
	if t.exit(o, ralph.ExitFailed) && (o.res.Err == nil || o.res.Err.Class != ralph.ErrClassLimit) {
		t.fail("error %+v is not of class %s", o.res.Err, ralph.ErrClassLimit)
	}
}

// crash kills an agent with a model once its process says anything.
func crash(ctx context.Context, t *trial) {
	if t.s.Kill == nil {
		t.exit(t.turn(ctx, Crash, "Do it.\n", nil, ralph.TurnHooks{}), ralph.ExitCrashed)
		return
	}
	var killed atomic.Int64
	once := begun(func() { killed.Store(int64(t.s.Kill())) })
	o := t.turn(ctx, Crash, long, nil, once.hooks())
	if once.late() {
		t.skip("it had ended its turn before it could be killed")
		return
	}
	if t.exit(o, ralph.ExitCrashed) {
		t.note("%d killed", killed.Load())
	}
}

func timeLimit(ctx context.Context, t *trial) {
	limit := 500 * time.Millisecond
	if t.s.Model {
		limit = 5 * time.Second
	}
	begin := time.Now()
	o := t.turn(ctx, Hang, long, func(in *ralph.TurnInput) { in.Timeout = limit }, ralph.TurnHooks{})
	if t.s.Model && o.over && o.res.Exit == ralph.ExitOK && time.Since(begin) < limit {
		t.skip("it had ended its turn within %s", limit)
		return
	}
	t.exit(o, ralph.ExitTimeout)
}

func stop(ctx context.Context, t *trial) {
	run, end := context.WithCancel(ctx)
	defer end()
	var on ralph.TurnHooks
	var once *starter
	if t.s.Model {
		once = begun(end)
		on = once.hooks()
	} else {
		on.Event = ralph.HearWords(func(w ralph.Words) {
			if strings.Contains(w.Text, "ready") {
				end()
			}
		})
	}
	o := t.turn(run, HangHard, long, func(in *ralph.TurnInput) { in.Grace = min(in.Grace, 2*time.Second) }, on)
	if once != nil && once.late() {
		t.skip("it had ended its turn before it could be stopped")
		return
	}
	t.exit(o, ralph.ExitUser)
}

// maxFlooded is how much memory a flood may hold, in bytes: less than it says.
const maxFlooded = 64 << 20

func flood(ctx context.Context, t *trial) {
	var said, peak uint64
	var mem runtime.MemStats
	n := 0
	runtime.GC()
	d, in, ok := t.open(Flood)
	if !ok {
		return
	}
	in.Prompt, in.Stage = "Do it.\n", ralph.KindBuild
	t.res.Turns++
	res, err := d.Turn(ctx, in, ralph.TurnHooks{Event: ralph.HearWords(func(w ralph.Words) {
		said += uint64(len(w.Text))
		if n++; n%200 == 0 {
			if runtime.ReadMemStats(&mem); mem.HeapAlloc > maxFlooded {
				runtime.GC() // what is garbage, of others in this process as well, is not held
				runtime.ReadMemStats(&mem)
			}
			peak = max(peak, mem.HeapAlloc)
		}
	})})
	if err != nil || res.Exit != ralph.ExitOK {
		t.fail("the turn ended with %s (%+v), %v", res.Exit, res.Err, err)
		return
	}
	if res.Bytes < FloodBytes || said < FloodBytes*9/10 {
		t.fail("%d bytes came, %d were said", res.Bytes, said)
	}
	if len(res.Text) > 1<<20 {
		t.fail("the final message has %d bytes", len(res.Text))
	}
	if peak > maxFlooded {
		t.fail("the heap reached %d MiB", peak>>20)
	}
	t.note("heap at most %d MiB", peak>>20)
}

func deaf(ctx context.Context, t *trial) {
	t.exit(t.turn(ctx, Deaf, strings.Repeat("unread\n", 1<<20), nil, ralph.TurnHooks{}), ralph.ExitOK)
}

func missing(ctx context.Context, t *trial) {
	o := t.turn(ctx, Missing, "Do it.\n", nil, ralph.TurnHooks{})
	if t.exit(o, ralph.ExitSpawn) && (o.res.Err == nil || o.res.Err.Class != ralph.ErrClassSpawn || o.res.Err.Message == "") {
		t.fail("error %+v is not of class %s with words", o.res.Err, ralph.ErrClassSpawn)
	}
}

func leftovers(ctx context.Context, t *trial) {
	prompt := "Run this shell command once, then answer with the single word OK: nohup sleep 300 >/dev/null 2>&1 &\n"
	yes := func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil }
	o := t.turn(ctx, Background, prompt, nil, ralph.TurnHooks{Ask: yes})
	switch {
	case !t.exit(o, ralph.ExitOK):
	case runtime.GOOS != "linux":
		t.skip("only Linux tells what left its process group")
	case o.res.Leftover == 0 && t.s.Model:
		t.skip("nothing was left: it did not run the command, or it ended it by itself")
	case o.res.Leftover == 0:
		t.fail("no leftover was found")
	default:
		t.note("%d ended", o.res.Leftover)
	}
}

func fullDisk(ctx context.Context, t *trial) {
	d, in, ok := t.open(Complete)
	if !ok {
		return
	}
	full := errors.New("disk full")
	in.Raw = sinkFunc(func([]byte) (int, error) { return 0, full })
	in.Timeout, in.Grace, in.Stage = t.patience(), 300*time.Millisecond, ralph.KindBuild
	t.res.Turns++
	if _, err := d.Turn(ctx, in, ralph.TurnHooks{}); !errors.Is(err, full) {
		t.fail("the turn's error is %v", err)
	}
}

func resume(ctx context.Context, t *trial) {
	o := t.turn(ctx, Remember, "Remember this word for later: "+Word+". Without using any tool, answer with the single word OK.\n", nil, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitOK) {
		return
	}
	if o.res.Session == "" {
		t.fail("the first turn names no session to go on in")
		return
	}
	session := o.res.Session
	t.close() // the second turn is one of another process, as after a restart of ralph
	o = t.turn(ctx, Remember, "Without using any tool, answer with the word that you were told to remember, and nothing else.\n",
		func(in *ralph.TurnInput) { in.Resume = session }, ralph.TurnHooks{})
	if t.exit(o, ralph.ExitOK) && !strings.Contains(strings.ToLower(o.res.Text), Word) {
		t.fail("the second turn does not know the word %s: %.300q", Word, o.res.Text)
	}
}

func metered(ctx context.Context, t *trial) {
	o := t.turn(ctx, Metered, "Without using any tool, answer with the single word OK.\n", nil, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitOK) {
		return
	}
	u := o.res.Usage
	if t.s.Supports.Usage && (u.Input+u.CacheRead+u.CacheWrite == 0 || u.Output == 0) {
		t.fail("the turn reports no tokens: %+v", u)
	}
	if t.s.Supports.Cost && !u.Known {
		t.fail("the turn reports no dollars: %+v", u)
	}
	t.note("%d tokens in, %d out, $%.4f", u.Input+u.CacheRead+u.CacheWrite, u.Output, u.Cost)
}

func structured(ctx context.Context, t *trial) {
	schema := json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`)
	o := t.turn(ctx, Structured, "Without using any other tool, answer by the schema; the word is "+Word+".\n",
		func(in *ralph.TurnInput) { in.Schema = schema }, ralph.TurnHooks{})
	if !t.exit(o, ralph.ExitOK) {
		return
	}
	var answer struct {
		Word string `json:"word"`
	}
	if err := json.Unmarshal(o.res.Answer, &answer); err != nil || answer.Word != Word {
		t.fail("the answer is %.300q, %v; it should have the word %s", o.res.Answer, err, Word)
	}
}

func approval(ctx context.Context, t *trial) {
	requests, made := askedTurn(ctx, t, true)
	switch {
	case t.res.Verdict == Fault:
	case requests == 0 && made && t.s.Model:
		t.skip("it ran the command without asking: its own settings allow it")
	case requests == 0:
		t.fail("it asked for nothing")
	case !made:
		t.fail("it asked %s, was allowed to, and the command did not run", text.Count(requests, "time"))
	}
}

func denial(ctx context.Context, t *trial) {
	requests, made := askedTurn(ctx, t, false)
	switch {
	case t.res.Verdict == Fault:
	case requests == 0 && t.s.Model:
		t.skip("it did not ask: its own settings allow the command, or it did not try")
	case requests == 0:
		t.fail("it asked for nothing")
	case made:
		t.fail("it was denied, and the command ran all the same")
	}
}

// askedTurn lets the agent make a file by a command that it has to ask about. It returns
// how often it asked, and whether there is the file.
func askedTurn(ctx context.Context, t *trial, allow bool) (requests int, made bool) {
	var mu sync.Mutex // requests may come at once
	var seen []ralph.Request
	file := ""
	o := t.turn(ctx, Asks, "Run this shell command once, and then end your turn, whatever comes of it: sh -c 'date > "+Made+"'\n",
		func(in *ralph.TurnInput) {
			file = filepath.Join(in.Dir, Made)
			_ = os.Remove(file) // of the probe before
		},
		ralph.TurnHooks{Ask: func(_ context.Context, r ralph.Request) (ralph.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r)
			if allow {
				return ralph.Reply{Allow: true}, nil
			}
			return ralph.Reply{Text: "this is a test of denials: do without it"}, nil
		}})
	mu.Lock()
	defer mu.Unlock()
	if allow {
		t.exit(o, ralph.ExitOK)
	} else if o.over && !slices.Contains([]ralph.ExitKind{ralph.ExitOK, ralph.ExitFailed}, o.res.Exit) { // some end their turn on a denial
		t.fail("after a denial the turn ended with %s", o.res.Exit)
	}
	for _, r := range seen {
		if r.Kind != ralph.RequestApproval || r.Text == "" {
			t.fail("it asked without saying what for: %+v", r)
		}
	}
	_, err := os.Stat(file)
	return len(seen), err == nil
}

// startedBy is after what time a turn of a model counts as under way.
const startedBy = 4 * time.Second

// starter does something once, when a turn of a model is under way: at its first word
// or event, or after some seconds, since not every agent says anything before it ends.
type starter struct {
	once  sync.Once
	do    func()
	timer *time.Timer
	mu    sync.Mutex
	done  bool
}

func begun(do func()) *starter {
	s := &starter{do: do}
	s.timer = time.AfterFunc(startedBy, s.now)
	return s
}

func (s *starter) now() {
	s.once.Do(func() {
		s.mu.Lock()
		s.done = true
		s.mu.Unlock()
		go s.do() // never under the turn's lock
	})
}

// late ends the wait, and reports whether the turn ended before anything was done.
func (s *starter) late() bool {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.done
}

func (s *starter) hooks() ralph.TurnHooks {
	return ralph.TurnHooks{
		Event: func(e ralph.StreamEvent) {
			if _, speaks := e.Words(); speaks || e.Kind == ralph.StreamDelta || e.Kind == ralph.StreamItem {
				s.now()
			}
		},
	}
}
