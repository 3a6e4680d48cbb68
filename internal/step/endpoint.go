package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxLearnedLine = 2 << 10 // bytes of one line that an agent learns
	maxSignal      = 8 << 10 // bytes of a signal's words
)

// Interceptor is what stands between the processes that an agent starts and the world:
// command shims, git hooks. Put places it into dir, the folder of the turn's line, and
// returns env with what leads there.
type Interceptor interface {
	Put(ctx context.Context, dir string, env []string, turn InterceptedTurn) ([]string, error)
}

// InterceptedTurn is the turn that something is put below.
type InterceptedTurn struct {
	Work string // where its agent works
	// Asks is true of an agent that asks ralph itself before it runs a command.
	Asks bool
	// Report is the file in which the agent's git tells what it does.
	Report string
}

// AgentGit is what agents did with git themselves, as their git told it: only that may
// be rewritten, and only where no one else's commit stands on it.
type AgentGit struct {
	Commits []string // that they made
	Rewrote []string // of others, that they amended or rebased
	On      string   // the branch, or the commit of a detached HEAD, of their newest switch
	Ops     []string // operations that they began, as rebase or merge
}

// errHalted is the cause with which a turn ends because nobody answered what a process
// of its agent had asked.
var errHalted = errors.New("what the agent asked ends its turn")

// turnEndpoint is the turn's end of the line to the processes that its agent starts
// (internal/agentsock). Without an agentsock.Server nobody can speak.
type turnEndpoint struct {
	*agentsock.Server
	asks *asker
	task *ralph.Task
	info agentsock.Info
	stop context.CancelCauseFunc // of the turn

	agentAsks bool // the agent asks ralph itself: only the never list is held here

	mu  sync.Mutex
	ask func(context.Context, ralph.Request) (ralph.Reply, error) // the driver's way, once it is known
}

// openLine begins the line of a turn, and returns the environment of its agent: what
// leads its processes to the line, and what stands below them. The line has to be closed.
func (x *Executor) openLine(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Turn, agent ConfiguredAgent, asks *asker, rec *record, stop context.CancelCauseFunc) (*turnEndpoint, []string, error) {
	l := &turnEndpoint{agentAsks: agent.Asks, asks: asks, task: t, stop: stop, ask: asks.hook(), info: agentsock.Info{
		Task: t.ID, Name: t.Name, Notes: t.Notes, Accept: t.Accept, Spec: s.Job.File, Stage: step.Stage, Iteration: step.Iteration,
	}}
	env := x.environment(s, t, step, agent)
	if x.Journal == nil || x.Listen == nil {
		return l, env, nil
	}
	if parent := s.Task(t.Parent); t.Kind == ralph.KindResolve && parent != nil {
		l.info.Task, l.info.Name, l.info.Notes, l.info.Accept = parent.ID, parent.Name, parent.Notes, parent.Accept
	}
	var err error
	if l.Server, err = x.Listen(ctx, l); err != nil {
		return nil, nil, err
	}
	env = append(env, l.Env()...)
	if x.Interceptor == nil {
		return l, env, nil
	}
	if env, err = x.Interceptor.Put(ctx, l.Dir(), env, InterceptedTurn{Work: x.dir(t), Asks: agent.Asks, Report: x.gitReport(rec.dir)}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("put shims and hooks below the agent: %w", err), l.close())
	}
	return l, env, nil
}

// through is TurnHooks.Asking.
func (l *turnEndpoint) through(ask func(context.Context, ralph.Request) (ralph.Reply, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask = ask
}

// close ends the line: whoever waits for an answer hears that the turn is over.
func (l *turnEndpoint) close() error {
	if l.Server == nil {
		return nil
	}
	return l.Server.Close()
}

// Ask implements agentsock.Turn. What a person has allowed the agent to run a moment ago
// is not asked again of the program that it then starts.
func (l *turnEndpoint) Ask(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
	if gate, ok := l.asks.allowed(q); ok {
		f := ralph.RequestAnswered{Task: l.asks.task, Agent: l.asks.agent, Request: short(redact.Value(l.asks.x.Redact, q)), Verdict: ralph.Approved, Rule: "approved with " + string(gate)}
		return ralph.Reply{Allow: true}, l.asks.write(ctx, f)
	}
	l.mu.Lock()
	ask := l.ask
	l.mu.Unlock()
	reply, err := ask(ctx, q)
	if err == nil && reply.Stop {
		l.stop(errHalted)
	}
	return reply, err
}

// Signal implements agentsock.Turn.
func (l *turnEndpoint) Signal(ctx context.Context, s ralph.Signal, via string) error {
	switch s.Kind {
	case ralph.SignalComplete, ralph.SignalBlocked, ralph.SignalHuman, ralph.SignalProgress:
	default:
		return fmt.Errorf("%q is no signal; there are COMPLETE, BLOCKED, NEEDS_HUMAN and PROGRESS", s.Kind)
	}
	if !l.task.TakesSlot() {
		return fmt.Errorf("the stage %s ends with its answer, not with a signal", l.info.Stage)
	}
	if s.Percent < 0 || s.Percent > 100 {
		return fmt.Errorf("progress is a percentage from 0 to 100, not %d", s.Percent)
	}
	s.Text = cutText(strings.TrimSpace(l.asks.x.Redact.String(s.Text)), maxSignal)
	return l.asks.write(ctx, ralph.Signalled{Task: l.task.ID, Signal: s, Via: via})
}

// Learn implements agentsock.Turn: a line more in ralph/progress.md of the work tree, as an
// agent would append it.
func (l *turnEndpoint) Learn(_ context.Context, s string) error {
	if err := regular.AppendLine(l.asks.x.dir(l.task), progressFile, "- "+cutText(text.OneLine(s), maxLearnedLine)); err != nil {
		return fmt.Errorf("keep what was learned: %w", err)
	}
	return nil
}

// Push implements agentsock.Turn. What was typed is judged here once more, whatever the shim
// says; then what it comes to is, by the commits that the remote has: a push by force is one
// whatever it is called.
func (l *turnEndpoint) Push(ctx context.Context, dir string, argv []string) (agentsock.Pushed, error) {
	if l.asks.x.Push == nil {
		return agentsock.Pushed{}, errors.New("nobody pushes for this turn")
	}
	seen := false
	allow := func(ctx context.Context, argv []string) error {
		q := operation.Words(argv, dir)
		q.Tool, q.Text = "git", "run "+q.Command
		word, _ := l.asks.disk.Clear(q, l.asks.x.Config.Approval(), nil)
		switch {
		case word.Verdict == ralph.Denied:
			return errors.New(cmp.Or(word.Text, word.Rule))
		case word.Gate != ralph.ApprovalOperation || !word.Never && l.agentAsks:
			return nil
		case seen: // a person has seen that it is one of these
			return nil
		}
		reply, err := l.Ask(ctx, q)
		switch {
		case err != nil:
			return err
		case !reply.Allow:
			return errors.New(cmp.Or(reply.Text, word.Rule))
		}
		seen = word.Never
		return nil
	}
	if err := allow(ctx, argv); err != nil {
		return agentsock.Pushed{Code: heldCode, Said: "ralph: held: " + err.Error() + "\n"}, ctx.Err()
	}
	said, code, err := l.asks.x.Push(ctx, dir, argv, allow)
	if err != nil {
		return agentsock.Pushed{Code: max(code, 1), Said: said + "ralph: " + err.Error() + "\n"}, ctx.Err()
	}
	return agentsock.Pushed{Code: code, Said: said}, nil
}

// heldCode is what a program ends with that was not run, as a shell has it.
const heldCode = 126

// Info implements agentsock.Turn.
func (l *turnEndpoint) Info() agentsock.Info {
	info := l.info
	info.Learned = readTail(l.asks.x.dir(l.task), progressFile, maxLearned)
	return info
}

// allowed is the gate at which a person has approved, in this turn, a command of which q
// is one of the simple commands, word for word. What is on the never list was approved
// for that very reason, in that folder unless the command itself goes elsewhere, and as
// often as the command says it: a person decides each time.
func (a *asker) allowed(q ralph.Request) (ralph.ApprovalID, bool) {
	if q.Op != ralph.OpCommand || q.Command == "" {
		return "", false
	}
	call := approval.SimpleCommands(q.Command)
	if len(call) != 1 {
		return "", false
	}
	held, _ := a.disk.Clear(q, a.x.Config.Approval(), nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.asks {
		x := &a.asks[i]
		if x.Gate == "" || x.Verdict != ralph.Approved || x.Request.Op != ralph.OpCommand {
			continue
		}
		parts := approval.SimpleCommands(x.Request.Command)
		same := func(p []string) bool { return slices.Equal(p, call[0]) }
		if !slices.ContainsFunc(parts, same) {
			continue
		}
		if held.Never {
			left := -x.passed[q.Command]
			for _, p := range parts {
				if same(p) {
					left++
				}
			}
			moves := slices.ContainsFunc(parts, func(p []string) bool { return p[0] == "cd" })
			if x.Rule != cutText(held.Rule, maxRecord) || left <= 0 || !moves && a.folder(q) != a.folder(x.Request) {
				continue
			}
			if x.passed == nil {
				x.passed = map[string]int{}
			}
			x.passed[q.Command]++
		}
		return x.Gate, true
	}
	return "", false
}

// folder is where a command would run.
func (a *asker) folder(q ralph.Request) string {
	if !filepath.IsAbs(q.Dir) {
		return lookup.Real(filepath.Join(a.disk.Work, q.Dir))
	}
	return lookup.Real(q.Dir)
}
