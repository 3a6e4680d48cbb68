package agentcheck_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentcheck"
)

// played is an agent without a process: how it answers a prompt is a function.
type played func(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult

func (p played) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	return p(ctx, in, on), nil
}

// all is a driver that can do everything.
func all() agent.Supports {
	return agent.Supports{Structured: true, Resume: true, Cost: true, Usage: true, Tools: true, Context: true, Compact: true, Ask: true}
}

func subject(dir string, p played) *agentcheck.Subject {
	return &agentcheck.Subject{
		Supports: all(), Model: true, Kill: func() int { return 1 },
		Open: func(agentcheck.Behaviour) (agent.Driver, ralph.TurnInput, error) {
			return p, ralph.TurnInput{Dir: dir}, nil
		},
	}
}

func probe(t *testing.T, name string) agentcheck.Probe {
	t.Helper()
	all := append(agentcheck.Probes(), agentcheck.Free()...)
	i := slices.IndexFunc(all, func(p agentcheck.Probe) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no probe %q", name)
	}
	return all[i]
}

func says(text string) played {
	return func(_ context.Context, _ ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult {
		on.Event(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{Kind: ralph.ItemMessage, Text: text}})
		return ralph.TurnResult{Exit: ralph.ExitOK, Text: text, Events: 1}
	}
}

// asks makes the file of the approval probes by its own rules.
func asks(dir string, ask, obey bool) played {
	return func(ctx context.Context, _ ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult {
		allowed := !ask
		if ask {
			r, err := on.Ask(ctx, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Text: "run date"})
			allowed = err == nil && r.Allow
		}
		if allowed || !obey {
			_ = os.WriteFile(filepath.Join(dir, agentcheck.Made), nil, 0o600)
		}
		return ralph.TurnResult{Exit: ralph.ExitOK, Text: "done"}
	}
}

// Every probe tells an agent that does what it proves from one that does not.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	failing := func(context.Context, ralph.TurnInput, ralph.TurnHooks) ralph.TurnResult {
		return ralph.TurnResult{Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassAuth, Message: "no\nkey"}}
	}
	dir := t.TempDir()
	ok := ralph.TurnResult{Exit: ralph.ExitOK, Text: "OK", Session: "s"}
	result := func(edit func(*ralph.TurnResult)) played {
		return func(context.Context, ralph.TurnInput, ralph.TurnHooks) ralph.TurnResult {
			r := ok
			edit(&r)
			return r
		}
	}
	resumes := func(knows bool) played {
		return func(_ context.Context, in ralph.TurnInput, _ ralph.TurnHooks) ralph.TurnResult {
			r := ok
			if in.Resume == "s" && knows {
				r.Text = "It was Pelican."
			}
			return r
		}
	}
	for _, c := range []struct {
		probe string
		agent played
		want  agentcheck.Verdict
		words string
	}{
		{"echo", says("A line of a prompt, äöü.\nThe end."), agentcheck.Pass, ""},
		{"echo", says("A line of a prompt, Ã¤.\nThe end."), agentcheck.Fault, "it should repeat two lines"},
		{"echo", failing, agentcheck.Fault, "(authentication: no key)"},
		{"signal", says("All is done.\n<ralph>COMPLETE</ralph>"), agentcheck.Pass, ""},
		{"signal", says("I am done: <ralph>COMPLETE</ralph>"), agentcheck.Fault, "no line <ralph>COMPLETE</ralph>"},
		{"leftovers", result(func(r *ralph.TurnResult) { r.Leftover = 2 }), agentcheck.Pass, "2 ended"},
		{"leftovers", says("OK"), agentcheck.Skip, "nothing was left"},
		{"resume", resumes(true), agentcheck.Pass, ""},
		{"resume", resumes(false), agentcheck.Fault, "does not know the word pelican"},
		{"resume", says("OK"), agentcheck.Fault, "names no session"},
		{"usage", result(func(r *ralph.TurnResult) { r.Usage = ralph.Usage{Input: 100, Output: 5, Cost: 0.02, Known: true} }), agentcheck.Pass, "100 tokens in, 5 out, $0.0200"},
		{"usage", result(func(r *ralph.TurnResult) { r.Usage = ralph.Usage{Input: 100, Output: 5} }), agentcheck.Fault, "no dollars"},
		{"usage", says("OK"), agentcheck.Fault, "no tokens"},
		{"structured", result(func(r *ralph.TurnResult) { r.Answer = json.RawMessage(`{"word":"pelican"}`) }), agentcheck.Pass, ""},
		{"structured", says(`{"word":"pelican"}`), agentcheck.Fault, "it should have the word pelican"},
		{"approval", asks(dir, true, true), agentcheck.Pass, ""},
		{"approval", asks(dir, false, true), agentcheck.Skip, "without asking"},
		{"denial", asks(dir, true, true), agentcheck.Pass, ""},
		{"denial", asks(dir, true, false), agentcheck.Fault, "ran all the same"},
		{"denial", asks(dir, false, true), agentcheck.Skip, "did not ask"},
		{"missing program", says("OK"), agentcheck.Fault, "it should with spawn"},
	} {
		r := agentcheck.Run(t.Context(), subject(dir, c.agent), probe(t, c.probe))
		if r.Verdict != c.want || !strings.Contains(r.Words, c.words) {
			t.Errorf("%s: %s, %q; want %s, %q", c.probe, r.Verdict, r.Words, c.want, c.words)
		}
	}
}

// endless is an agent whose turn goes on until it is ended, by what it reports.
func endless(killed <-chan struct{}) played {
	return func(ctx context.Context, in ralph.TurnInput, _ ralph.TurnHooks) ralph.TurnResult {
		select {
		case <-ctx.Done():
			return ralph.TurnResult{Exit: ralph.ExitUser}
		case <-killed:
			return ralph.TurnResult{Exit: ralph.ExitCrashed}
		case <-time.After(in.Timeout):
			return ralph.TurnResult{Exit: ralph.ExitTimeout}
		}
	}
}

// Turns of a model are stopped, timed out and killed also when the agent says nothing
// before its end; and one that has ended before proves nothing (B-029, B-074, B-075).
func TestEndsOfAModelsTurns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kill", "time limit", "stop"} {
		synctest.Test(t, func(t *testing.T) {
			killed := make(chan struct{})
			s := subject(t.TempDir(), endless(killed))
			s.Kill = func() int { close(killed); return 1 }
			if r := agentcheck.Run(t.Context(), s, probe(t, name)); r.Verdict != agentcheck.Pass || r.Turns != 1 {
				t.Errorf("%s: %+v", name, r)
			}
			quick := subject(t.TempDir(), func(context.Context, ralph.TurnInput, ralph.TurnHooks) ralph.TurnResult {
				return ralph.TurnResult{Exit: ralph.ExitOK}
			})
			if r := agentcheck.Run(t.Context(), quick, probe(t, name)); r.Verdict != agentcheck.Skip {
				t.Errorf("%s of an agent that has ended: %+v", name, r)
			}
			deaf := subject(t.TempDir(), func(context.Context, ralph.TurnInput, ralph.TurnHooks) ralph.TurnResult {
				time.Sleep(time.Hour) // in the bubble's time
				return ralph.TurnResult{Exit: ralph.ExitOK}
			})
			if r := agentcheck.Run(t.Context(), deaf, probe(t, name)); r.Verdict != agentcheck.Fault {
				t.Errorf("%s of an agent that cannot be ended: %+v", name, r)
			}
		})
	}
}

// What a probe needs decides whether it applies, and how many turns will be paid for.
func TestWhatApplies(t *testing.T) {
	t.Parallel()
	s := subject(t.TempDir(), says("OK"))
	s.Supports = agent.Supports{Usage: true}
	s.Plays = func(b agentcheck.Behaviour) bool { return b != agentcheck.Background }
	sum := 0
	for _, p := range agentcheck.Probes() {
		why := p.Skipped(s)
		if want := slices.Contains([]string{"leftovers", "resume", "structured", "approval", "denial"}, p.Name); (why != "") != want {
			t.Errorf("%s: %q", p.Name, why)
		}
		if why == "" {
			sum += p.Turns
		}
	}
	if n := agentcheck.Turns(s, agentcheck.Probes()); n != sum || n == 0 {
		t.Errorf("%d turns, want %d", n, sum)
	}
	s.Model = false
	if n := agentcheck.Turns(s, agentcheck.Probes()); n != 0 {
		t.Errorf("%d turns of an agent without a model", n)
	}
	if n := agentcheck.Turns(s, agentcheck.Free()); n != 0 {
		t.Errorf("what is free costs %d turns", n)
	}
}

// shaken is a protocol that was spoken.
type shaken struct {
	told agent.Handshake
	err  error
	n    *int
}

func (s shaken) Handshake(ctx context.Context, in ralph.TurnInput) (agent.Handshake, error) {
	*s.n++
	if in.Raw != nil {
		_, _ = in.Raw.Write([]byte("{"))
		<-ctx.Done()
		return agent.Handshake{}, ctx.Err()
	}
	return s.told, s.err
}

// The free probes run no turn; the login is told from the one handshake.
func TestFreeProbes(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		told agent.Handshake
		err  error
		want map[string]agentcheck.Verdict
	}{
		{agent.Handshake{Protocol: "ACP 1", LoggedIn: &yes}, nil, map[string]agentcheck.Verdict{"handshake": agentcheck.Pass, "login": agentcheck.Pass, "stop of a start": agentcheck.Pass}},
		{agent.Handshake{Protocol: "ACP 1", LoggedIn: &no}, nil, map[string]agentcheck.Verdict{"handshake": agentcheck.Pass, "login": agentcheck.Fault}},
		{agent.Handshake{Protocol: "ACP 1"}, nil, map[string]agentcheck.Verdict{"handshake": agentcheck.Pass, "login": agentcheck.Skip}},
		{agent.Handshake{}, errors.New("it did not answer"), map[string]agentcheck.Verdict{"handshake": agentcheck.Fault, "login": agentcheck.Fault}},
	} {
		n := 0
		s := subject(t.TempDir(), says("OK"))
		s.Handshaker = shaken{c.told, c.err, &n}
		for _, p := range agentcheck.Free() {
			want, ok := c.want[p.Name]
			if !ok {
				continue
			}
			if r := agentcheck.Run(t.Context(), s, p); r.Verdict != want || r.Turns != 0 {
				t.Errorf("%+v: %s: %+v, want %s", c.told, p.Name, r, want)
			}
		}
		if c.err == nil && n > 2 { // and one that is stopped
			t.Errorf("%d handshakes", n)
		}
	}
}

// A person's stop ends the probe that runs, and is nobody's failure.
func TestStoppedByAPerson(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	s := subject(t.TempDir(), func(ctx context.Context, _ ralph.TurnInput, _ ralph.TurnHooks) ralph.TurnResult {
		stop()
		<-ctx.Done()
		return ralph.TurnResult{Exit: ralph.ExitUser}
	})
	if r := agentcheck.Run(ctx, s, probe(t, "echo")); r.Verdict != agentcheck.Skip || r.Words != "stopped" {
		t.Errorf("%+v", r)
	}
	if r := agentcheck.Run(ctx, s, probe(t, "signal")); r.Verdict != agentcheck.Skip || r.Turns != 0 {
		t.Errorf("the next one: %+v", r)
	}
}
