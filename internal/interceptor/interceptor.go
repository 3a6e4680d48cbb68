// Package interceptor owns what stands between a program that an agent starts and its running:
// the shims before programs, the git hook before a push, and the word on each call.
//
// It does NOT own how a shim is written or found (shim), or which calls are held (policy).
package interceptor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/claudehook"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/shim"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// Interceptor is what stands below every agent of a run (step.Interceptor).
type Interceptor struct {
	Self     string
	Programs []string
	Policy   policy.Config
	Pushes   bool
	Plain    *PlainCalls
	Lookups  *shim.Lookups
}

// shimRules is what a shim judges by. It asks the engine only about what is held, so
// that an ordinary call costs nothing but its own start, and the never list holds
// without an engine.
type shimRules struct {
	Config approval.Settings `json:"config"`
	Work   string            `json:"work"`
	// Home is the home folder that the agent began with. A script that gives HOME another
	// value can remove this one all the same.
	Home string `json:"home,omitempty"`
	// Pushes: the engine pushes for the turn.
	Pushes bool `json:"pushes,omitempty"`
	// Never: only what is on the never list is held, since the agent has asked for the
	// rest itself before it ran the command.
	Never bool `json:"never,omitempty"`
}

// Put implements step.Interceptor.
func (b Interceptor) Put(_ context.Context, dir string, env []string, turn step.InterceptedTurn) ([]string, error) {
	what := shimRules{Config: b.Policy.Approval(), Work: turn.Work, Home: lookup.At(turn.Work, env).Home, Never: turn.Asks, Pushes: b.Pushes}
	rules, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("write the rules of the shims: %w", err)
	}
	set := shim.Set{Self: b.Self, Programs: b.Programs, Rules: rules, Report: turn.Report, Lookups: b.Lookups}
	set.Plain = b.Plain.of(what, b.Programs)
	return set.Put(dir, env)
}

// Reported is step.Executor.Reported.
func Reported(files []string, to *step.AgentGit) error {
	r := shim.Report(*to)
	for _, name := range files {
		if err := r.ReadFile(name); err != nil {
			return err
		}
	}
	*to = step.AgentGit(r)
	return nil
}

// RunShim becomes the program, or ends with shim.ExitHeld.
func RunShim(ctx context.Context, env workspace.Env, dir string, argv []string) error {
	path, err := shim.Real(argv[0], dir, env.Environ)
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph:", err)
		return exit.Error{Code: shim.ExitHeld + 1} // as a shell has it for one that is not there
	}
	environ := env.Environ
	if argv[0] == "git" {
		if pushed, err := pushFor(ctx, env, dir, argv); pushed {
			return err
		}
	}
	if why := letPass(ctx, env, dir, argv); why != "" {
		fmt.Fprintln(env.Stderr, "ralph: held: "+why)
		return exit.Error{Code: shim.ExitHeld}
	}
	if argv[0] == "git" {
		shim.TellGit(dir, argv[1:])
	}
	if err := syscall.Exec(path, argv, environ); err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}

// pushFor has the engine push: it has the person's credentials, which no process of the turn
// has, and judges what the push comes to. False: there is no engine, or it is no push.
func pushFor(ctx context.Context, env workspace.Env, dir string, argv []string) (bool, error) {
	if _, _, ok := shim.PushCall(argv, env.Dir); !ok {
		return false, nil
	}
	client, err := agentsock.Find(env.Environ)
	if err != nil {
		return false, nil
	}
	if rules, err := readShimRules(dir); err != nil || !rules.Pushes {
		return false, nil
	}
	p, err := client.Push(ctx, env.Dir, argv)
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph: the push is not done:", err)
		return true, exit.Error{Code: shim.ExitHeld}
	}
	fmt.Fprint(env.Stderr, p.Said)
	if p.Code != 0 {
		return true, exit.Error{Code: p.Code}
	}
	return true, nil
}

// Listen begins the line of a turn, agentsock.Listen, with the word on calls of programs: most
// then pass without a start of ralph (fastpath).
func Listen(ctx context.Context, t agentsock.Turn) (*agentsock.Server, error) {
	return ListenOn(nil)(ctx, t)
}

// ListenOn is Listen on one of the lines of a session.
func ListenOn(lines *agentsock.Lines) func(context.Context, agentsock.Turn) (*agentsock.Server, error) {
	return func(ctx context.Context, t agentsock.Turn) (*agentsock.Server, error) {
		return lines.Listen(ctx, &judged{Turn: t})
	}
}

// letPass says why a call does not pass, "" when it does.
func letPass(ctx context.Context, env workspace.Env, dir string, argv []string) (why string) {
	rules, err := readShimRules(dir)
	if err != nil { // the turn is over, and its folder gone: the never list stands all the same
		rules.Config.Approvals = "never"
	}
	q, word, held := rules.judge(argv, env.Dir, worktree.Disk(cmp.Or(rules.Work, env.Dir), env.Environ))
	if !held {
		return ""
	}
	client, err := agentsock.Find(env.Environ)
	if err != nil {
		return word.Rule + "; nobody can be asked: " + err.Error()
	}
	reply, err := client.Ask(ctx, q)
	switch {
	case err != nil:
		return word.Rule + "; nobody can be asked: " + err.Error()
	case !reply.Allow:
		return cmp.Or(reply.Text, word.Rule)
	}
	return ""
}

// judge is the word on a call, and whether it is held; also with the home folder that the
// agent began with.
func (r shimRules) judge(argv []string, dir string, disk lookup.Disk) (ralph.Request, approval.Ruling, bool) {
	q := operation.Words(argv, dir)
	q.Tool, q.Text = argv[0], "run "+q.Command
	word, _ := disk.Clear(q, r.Config, nil)
	if r.Home != "" && r.Home != disk.Home && !r.holds(word) {
		disk.Home = r.Home
		word, _ = disk.Clear(q, r.Config, nil)
	}
	return q, word, r.holds(word)
}

// holds reports whether a call with such a word does not run at once.
func (r shimRules) holds(w approval.Ruling) bool {
	return w.Verdict == ralph.Denied || w.Gate == ralph.ApprovalOperation && (w.Never || !r.Never)
}

func readShimRules(dir string) (shimRules, error) {
	var r shimRules
	b, err := shim.Rules(dir)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// RunPrePush asks about what a push would do, however it was called: git tells what
// becomes of each reference. What its environment says of itself lets nothing pass.
func RunPrePush(ctx context.Context, env workspace.Env, dir, remote string) error {
	text, err := io.ReadAll(io.LimitReader(env.Stdin, claudehook.MaxHookInput))
	if err != nil {
		return fmt.Errorf("read what git pushes: %w", err)
	}
	pushes, err := shim.Pushes(string(text))
	if err != nil {
		return err
	}
	for _, p := range pushes {
		forced, err := loses(ctx, env, dir, p)
		if err != nil {
			return err
		}
		if why := letPass(ctx, env, dir, p.Argv(remote, forced)); why != "" {
			fmt.Fprintln(env.Stderr, "ralph: held: "+why)
			return exit.Error{Code: exit.Failures}
		}
	}
	return nil
}

// loses reports a push after which the remote would not have any more what it has. What
// the repository does not know may be lost.
func loses(ctx context.Context, env workspace.Env, dir string, p shim.Push) (bool, error) {
	if p.Deletes() || p.Creates() {
		return false, nil
	}
	git, err := shim.Real("git", dir, env.Environ)
	if err != nil {
		return false, err
	}
	_, _, res, err := proc.NewRunner("").Output(ctx, proc.Command{
		Args: []string{git, "merge-base", "--is-ancestor", p.RemoteID, p.LocalID}, Dir: env.Dir, Env: env.Environ,
	})
	if err != nil {
		return false, fmt.Errorf("compare what is pushed: %w", err)
	}
	if res.Ended != proc.EndedSelf {
		return false, errors.New("compare what is pushed: git did not end by itself")
	}
	return res.Code != 0, nil
}
