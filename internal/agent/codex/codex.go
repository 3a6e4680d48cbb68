// Package codex is the driver of Codex: the protocol of `codex app-server`, one process for
// many threads, its approvals, plans, limits and errors.
//
// It does not own what ralph answers when codex asks (TurnHooks.Ask).
package codex

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// idleLimit is how long an app-server without a turn is kept. One that is
	// used again answers in 20 ms, a new one needs 200 (0.169.0).
	idleLimit = 5 * time.Minute
	// startLimit is how long the handshake may take. 0.2 to 0.4 s were seen.
	startLimit = 60 * time.Second
	// settle is how long what is done after a turn may take: milliseconds.
	settle = 5 * time.Second
)

// driver talks to `codex app-server` (0.169.0): one process for all turns of the
// agent, parallel ones too, each a thread of its own. It is started with the first
// turn, again when it died, and ended by Close or when it was idle for a while. Inside a
// sandbox of ralph's there is one for each place of work: what bounds a process bounds all
// of its turns, and each may write in its own work tree alone.
//
// The server gets the environment of the first turn, without what is the turn's alone:
// RALPH_*, git's variables. Those, and what differs, reach the commands of each turn
// through shell_environment_policy.set of its thread.
//
// What ralph needs of its settings it sets by -c, unless the agent's args set it:
// codexDefaults. sandbox_mode in args wins as well. Otherwise the sandbox is
// workspace-write, in which .git can only be read: commits are ralph's. Inside ralph's
// sandbox it is none (danger-full-access): codex's own cannot be made within Landlock, and
// would promise nothing more.
//
// The approval policy is untrusted where somebody answers, whatever gate.approvals and
// args say: on-request asks only about what the sandbox forbids, and with never nothing
// could be held. It is never where nobody answers.
type driver struct {
	spec ralph.AgentSpec
	proc *proc.Runner
	idle time.Duration
	asks bool // it only answers questions

	mu        sync.Mutex
	processes map[string]*process // by folder; "" is the one for all
	closed    bool

	sandbox     sync.Mutex // held while the sandbox is tried out
	sandboxSeen bool       // it works
}

// process is the one for the turns of one folder.
type process struct {
	server *appServer  // nil: none is needed yet
	at     os.FileInfo // its folder when it was started
	users  int         // turns that use it
	timer  *time.Timer // ends it when it is idle
}

// bounded reports whether ralph's own sandbox is around codex.
func (d *driver) bounded() bool { return d.spec.Sandbox != "" }

// processOf is the name of the process that a turn is of, and the folder where it starts. The
// sandbox is made for that folder. Without one it is not the turn's: a worktree goes with
// its task, the process stays.
func (d *driver) processOf(in ralph.TurnInput) (name, dir string) {
	if d.bounded() {
		return in.Dir, in.Dir
	}
	return "", cmp.Or(proc.Getenv(in.Env, "RALPH_ROOT"), in.Dir)
}

// Supports: it knows no dollars, only tokens.
func Supports(ralph.AgentSpec) wire.Supports {
	return wire.Supports{Structured: true, Resume: true, Usage: true, Tools: true, Context: true, Compact: true, Ask: true, Review: true}
}

// Open makes the driver of one agent. It never fails: without a command the program is codex.
func Open(spec ralph.AgentSpec, p *proc.Runner, _ string) (wire.Driver, error) {
	return &driver{spec: spec, proc: p, idle: idleLimit, processes: map[string]*process{}}, nil
}

// defaults are settings that ralph relies on. Without the first a turn never ends
// when there is no network; with goals codex would loop by itself; without those of
// request_user_input its model can ask nothing but in plan mode (0.169.0).
func defaults() []string {
	return []string{
		"features.unbounded_connection_retries=false", "features.goals=false",
		"tools.update_plan.enabled=true", "check_for_update_on_startup=false",
		"features.default_mode_request_user_input=true", "suppress_unstable_features_warning=true",
	}
}

// command is the program with all its arguments.
func (d *driver) command() []string {
	args := slices.Clone(d.spec.Command)
	if len(args) == 0 {
		args = []string{"codex", "app-server"}
	}
	preset := defaults()
	if d.asks {
		preset = questionDefaults()
	}
	for _, kv := range preset {
		key, _, _ := strings.Cut(kv, "=")
		if _, given := d.setting(key); !given {
			args = append(args, "-c", kv)
		}
	}
	return append(args, d.spec.Args...)
}

// setting returns the value that the agent's command or args give a key of codex's
// configuration, by -c or --config.
func (d *driver) setting(key string) (value string, given bool) {
	all := slices.Concat(d.spec.Command, d.spec.Args)
	for i, a := range all {
		kv := ""
		switch {
		case (a == "-c" || a == "--config") && i+1 < len(all):
			kv = all[i+1]
		case strings.HasPrefix(a, "--config="):
			kv = strings.TrimPrefix(a, "--config=")
		case strings.HasPrefix(a, "-c"):
			kv = strings.TrimPrefix(strings.TrimPrefix(a, "-c"), "=")
		}
		if k, v, ok := strings.Cut(kv, "="); ok && strings.TrimSpace(k) == key {
			value, given = strings.Trim(strings.TrimSpace(v), `"'`), true // the last one counts
		}
	}
	return value, given
}

// sandboxMode is what commands may do on the system.
func (d *driver) sandboxMode() string {
	if mode, ok := d.setting("sandbox_mode"); ok {
		return mode
	}
	if d.bounded() {
		return "danger-full-access"
	}
	return "workspace-write"
}

// approvalPolicy is what the agent asks about.
func approvalPolicy(asked bool) string {
	if asked {
		return "untrusted"
	}
	return "never"
}

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact && in.Resume == "" {
		return ralph.TurnResult{}, fmt.Errorf("compact a session of codex: there is none: %w", ralph.ErrUnsupported)
	}
	if ctx.Err() != nil {
		return ralph.TurnResult{Exit: ralph.ExitUser, Code: -1}, nil
	}
	if bad := d.trySandbox(ctx, in); bad != nil {
		return ralph.TurnResult{Exit: ralph.ExitSpawn, Code: -1, Err: bad}, nil
	}
	s, err := d.acquire(ctx, in)
	if err != nil {
		return ralph.TurnResult{}, err
	}
	name, _ := d.processOf(in)
	defer d.release(name)
	return newCodexTurn(s, in, on).run(ctx)
}

// acquire returns the server of the turn's folder, which it starts when there is none that
// lives. The server may still be on its way: its ready tells.
func (d *driver) acquire(ctx context.Context, in ralph.TurnInput) (*appServer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errors.New("run a turn of codex: its driver is closed")
	}
	name, dir := d.processOf(in)
	p := d.processes[name]
	if p == nil {
		p = &process{}
		d.processes[name] = p
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	at, _ := os.Stat(dir) // what is not there does not start
	if p.server != nil && d.bounded() && p.users == 0 && !os.SameFile(p.at, at) {
		p.server.end() // its sandbox is around a folder that is gone, by the same name
		p.server = nil
	}
	if p.server == nil || p.server.gone() {
		p.server, p.at = d.startServer(ctx, in, dir), at
	}
	p.users++
	return p.server, nil
}

// release ends a turn's use of its server. One in a sandbox of its own goes with a folder
// that is gone by then at the latest when it was idle.
func (d *driver) release(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.processes[name]
	if p.users--; p.users > 0 || p.server == nil || d.closed {
		return
	}
	s := p.server
	p.timer = time.AfterFunc(d.idle, func() {
		d.mu.Lock()
		unused := p.users == 0 && p.server == s
		if unused {
			p.server = nil
		}
		d.mu.Unlock()
		if unused {
			s.end()
		}
	})
}

// Close ends the servers, if there are any, and waits until they are gone.
func (d *driver) Close() error {
	d.mu.Lock()
	var running []*appServer
	d.closed = true
	for _, p := range d.processes {
		if p.timer != nil {
			p.timer.Stop()
		}
		if p.server != nil {
			running = append(running, p.server)
			p.server = nil
		}
	}
	d.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range running {
		all.Go(s.end)
	}
	all.Wait()
	return nil
}

// trySandbox looks once whether codex can make its sandbox here. Where it cannot,
// each command and patch fails without any error of the turn.
func (d *driver) trySandbox(ctx context.Context, in ralph.TurnInput) *ralph.AgentError {
	program := ownSandbox(d)
	if program == nil {
		return nil
	}
	d.sandbox.Lock()
	defer d.sandbox.Unlock()
	if d.sandboxSeen {
		return nil
	}
	works, bad := d.tryOwn(ctx, program, proc.Command{Dir: in.Dir, Env: in.Env, Timeout: startLimit, Grace: in.Grace, Tracked: true})
	d.sandboxSeen = works
	return bad
}

// ownSandbox is codex's program where it is to make a sandbox of its own, and nothing else.
func ownSandbox(d *driver) []string {
	program := []string{"codex"}
	if n := len(d.spec.Command); n > 0 {
		if d.spec.Command[n-1] != "app-server" {
			return nil // who knows what that is
		}
		program = d.spec.Command[:n-1]
	}
	if len(program) == 0 || d.sandboxMode() == "danger-full-access" {
		return nil
	}
	return program
}

// tryOwn runs nothing in codex's own sandbox. What does not know how to try is no answer: the
// start of the server says it better.
func (d *driver) tryOwn(ctx context.Context, program []string, c proc.Command) (works bool, bad *ralph.AgentError) {
	c.Args = append(slices.Clone(program), "sandbox", "--", "true")
	_, stderr, res, err := d.proc.Output(ctx, c)
	if err != nil || res.Code != 1 {
		return err == nil && res.Code == 0, nil
	}
	return false, &ralph.AgentError{Class: ralph.ErrClassSpawn, Lasting: true, Message: text.Cut(fmt.Sprintf(
		"codex cannot make its sandbox here (%s), so all its commands would fail: set sandbox.kind: auto (then ralph's own keeps it), or, "+
			"in a container that keeps the rest safe, agents.%s.args: [-c, 'sandbox_mode=\"danger-full-access\"']",
		text.Cut(text.OneLine(wire.Valid(stderr)), 120), d.spec.Name), wire.MaxMessage)}
}

// TryOwnSandbox says why an agent that keeps its commands in a sandbox of its own cannot make
// one here, as its first turn would: for `ralph doctor`.
func TryOwnSandbox(ctx context.Context, p *proc.Runner, spec ralph.AgentSpec, dir string, env []string, limit time.Duration) error {
	if spec.Driver != "codex" {
		return nil
	}
	d := &driver{spec: spec, proc: p}
	if program := ownSandbox(d); program != nil {
		if _, bad := d.tryOwn(ctx, program, proc.Command{Dir: dir, Env: env, Timeout: limit}); bad != nil {
			return errors.New(bad.Message)
		}
	}
	return nil
}

// divide divides an environment in what the server gets and what is one turn's alone. A
// PATH that begins with the turn's shims is the turn's.
func divide(env []string) (server, turn []string) {
	shims := proc.Getenv(env, "RALPH_SHIMS")
	for _, kv := range env {
		shimmed := shims != "" && strings.HasPrefix(kv, "PATH="+shims+string(filepath.ListSeparator))
		switch {
		case strings.HasPrefix(kv, "RALPH_ROOT="): // the same in all turns: a sandbox is made by it
			server = append(server, kv)
		case shimmed || strings.HasPrefix(kv, "RALPH") || strings.HasPrefix(kv, "GIT_"):
			turn = append(turn, kv)
		default:
			server = append(server, kv)
		}
	}
	return server, turn
}

// commandEnv is what the commands of a turn get besides the server's environment. What
// the server has and the turn does not is blank: it cannot be taken away.
func commandEnv(server, env []string) map[string]string {
	set := map[string]string{}
	for _, kv := range server {
		if k, _, _ := strings.Cut(kv, "="); !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, k+"=") }) {
			set[k] = ""
		}
	}
	for _, kv := range env {
		k, v, ok := strings.Cut(kv, "=")
		if ok && k != proc.NonceVar && (strings.HasPrefix(k, "RALPH") || !slices.Contains(server, kv)) {
			set[k] = v
		}
	}
	return set
}

// markVar marks the commands of a thread, so that what they leave behind can be told
// from what the server needs.
const markVar = "RALPH_THREAD"

func newMark() string { return rand.Text() }
