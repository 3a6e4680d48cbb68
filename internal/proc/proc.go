// Package proc starts processes and sees to it that they end. It owns process
// groups, time limits, streams, and the hunt for what a process left behind,
// also after an engine that was killed (Runner.Sweep). It is the only importer
// of os/exec. It does not own what is run, what the output means, or where an
// environment comes from: nothing is inherited from this process.
package proc

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// NonceVar marks every tracked process and all that it starts.
const NonceVar = "RALPH_PROC"

const (
	defaultGrace = 5 * time.Second
	// pipeGrace is how long streams may stay open after the main process
	// ended, for the last words of `cmd | tee` and the like.
	pipeGrace = 200 * time.Millisecond
	// leftoverGrace is the most a leftover gets between TERM and KILL: its
	// parent is gone, nobody waits for its work any more.
	leftoverGrace = time.Second
	// outputLimit bounds what Output keeps of each stream.
	outputLimit = 64 << 20
)

// ErrTooMuch is why Output ended a process that wrote more than 64 MiB.
var ErrTooMuch = errors.New("more output than can be kept")

// Command is one process to run.
type Command struct {
	Args []string // Args[0] is looked up in PATH of Env, relative to Dir when it has a slash
	Dir  string   // "": that of this process
	Env  []string // the complete environment, K=V; nothing is inherited

	// Stdin is fed to the process; nil: no input. A process that ends before
	// it has read everything is no error. Run does not wait for a Read that
	// blocks, so a reader like io.Pipe has to be closed by its owner.
	Stdin io.Reader
	// Stdout and Stderr take what the process writes; nil: dropped. Each is
	// called from one goroutine of its own and must not keep the bytes. A
	// writer that blocks slows the process down; one that fails ends it, and
	// Run returns the writer's error.
	Stdout, Stderr io.Writer

	Timeout time.Duration // 0: none
	Grace   time.Duration // between TERM and KILL; 0: 5 s
	// Interrupt is for programs that end better by INT than by TERM: it is sent
	// in its place.
	Interrupt bool
	// Tracked is for agents and gates: registered on disk, killed with this
	// process, and everything they leave behind is ended, daemons included.
	// Untracked processes (git) may leave daemons of their own.
	Tracked bool
	// Inner is for a program that starts another one in a space of processes of its own
	// and ends with it (bubblewrap): what asks to end is sent to that one, since the space
	// dies at once with the program around it. What it leaves behind dies with the space
	// too, and is not counted. An end by a signal that programs do not choose by
	// themselves is told as one, not as the exit code that it has become.
	Inner bool
	// Refused is why it is not started at all: what was to be made around it cannot be.
	Refused error
	// Tied is for what changes a repository (git): it gets TERM when this
	// process dies, on which git takes its locks away, so that it never works
	// on beside the engine that comes next. On systems without such a signal it
	// goes on. It may leave daemons of its own.
	Tied bool
}

// Ended is who ended a process.
type Ended string

// The ways to end. A process that dies by somebody else's signal counts as
// EndedSelf, with Result.Signal set.
const (
	EndedSelf      Ended = "self"
	EndedTimeout   Ended = "timeout"
	EndedCancelled Ended = "cancelled"
)

// Result is how a process ended.
type Result struct {
	Code     int    // exit code; -1 when it was ended by a signal
	Signal   string // "SIGKILL", ... when it was ended by a signal, else ""
	Ended    Ended
	Took     time.Duration // of the main process
	Leftover int           // processes that outlived the main one and were ended by us
}

// Runner starts processes. It is safe for concurrent use; one per program is
// meant, since all its tracked processes share a thread and a registry.
type Runner struct {
	registry registry
	starter  starter
	ready    func() error // what tracking needs, once
	bufs     buffers

	pipes time.Duration // pipeGrace, but for tests of what a slow machine would tell apart

	of   *Runner // of a wrapped one: the runner that does the work; all above is then unused
	wrap func(Command) Command

	mu      sync.Mutex
	running map[int]bool // main processes that are not yet reaped
}

// NewRunner returns a runner that registers tracked processes in the folder
// dir, which is made when it is first needed. "" means no registry.
func NewRunner(dir string) *Runner {
	r := &Runner{registry: registry{dir: dir}, pipes: pipeGrace, running: map[int]bool{}}
	r.ready = sync.OnceValue(func() error {
		if err := adoptOrphans(); err != nil {
			return fmt.Errorf("become the parent of orphaned processes: %w", err)
		}
		return r.registry.open()
	})
	return r
}

// Wrapped returns a runner that starts every command as wrap changes it, say inside a
// sandbox. All else, the registry and Kill included, is r's.
func (r *Runner) Wrapped(wrap func(Command) Command) *Runner { return &Runner{of: r, wrap: wrap} }

// Run starts c and returns when it, its streams and (tracked) everything it
// started have ended. A non-zero exit is a Result. An error is a *StartError,
// a reader or writer of c that failed, or machinery. A ctx that is cancelled,
// also before the start, gives EndedCancelled and no error.
func (r *Runner) Run(ctx context.Context, c Command) (Result, error) {
	if r.of != nil {
		return r.of.Run(ctx, r.wrap(c))
	}
	none := Result{Code: -1}
	if ctx.Err() != nil {
		return Result{Code: -1, Ended: EndedCancelled}, nil
	}
	if c.Refused != nil {
		return none, c.Refused
	}
	if len(c.Args) == 0 {
		return none, &StartError{Err: errors.New("no command given")}
	}
	path, err := LookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return none, err
	}
	p := &process{runner: r, c: c, cmd: &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, SysProcAttr: attributes(c)}}
	p.cmd.Env = append(make([]string, 0, len(c.Env)+1), c.Env...) // never nil, which would inherit
	if c.Tracked {
		p.nonce = rand.Text()
		p.cmd.Env = withNonce(c.Env, p.nonce)
		if err := r.ready(); err != nil {
			return none, err
		}
	}
	if err := p.start(); err != nil {
		return none, err
	}
	return p.finish(ctx)
}

// withNonce replaces the nonce of an outer engine, if there is one.
func withNonce(env []string, nonce string) []string {
	marked := append(make([]string, 0, len(env)+1), NonceVar+"="+nonce)
	for _, kv := range env {
		if !strings.HasPrefix(kv, NonceVar+"=") {
			marked = append(marked, kv)
		}
	}
	return marked
}

// Output runs c and returns what it wrote, at most 64 MiB of each stream: past
// that the process is ended and the error is ErrTooMuch. It replaces c.Stdout
// and c.Stderr.
func (r *Runner) Output(ctx context.Context, c Command) (stdout, stderr []byte, res Result, err error) {
	out, errs := &bounded{left: outputLimit}, &bounded{left: outputLimit}
	c.Stdout, c.Stderr = out, errs
	res, err = r.Run(ctx, c)
	return out.buf.Bytes(), errs.buf.Bytes(), res, err
}

// bounded is a buffer that refuses what passes its limit.
type bounded struct {
	buf  bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, ErrTooMuch
	}
	b.left -= len(p)
	return b.buf.Write(p)
}

// process is one process from start to end.
type process struct {
	runner *Runner
	c      Command
	cmd    *exec.Cmd
	nonce  string // of a tracked process
	io     *streams
	began  time.Time
	reap   func() error // collects the exit status, once; frees the pid
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// start starts the process, registers it and begins to move its streams.
func (p *process) start() error {
	var err error
	if p.io, err = openStreams(p.c, p.cmd, &p.runner.bufs); err != nil {
		return err
	}
	if p.c.Tracked {
		if err := p.runner.registry.announce(p.nonce, p.c.Args[0]); err != nil {
			p.io.started()
			p.io.abandon()
			return err
		}
	}
	p.began = time.Now()
	if p.c.Tracked || p.c.Tied {
		p.runner.starter.hold()
		err = p.runner.starter.do(p.cmd.Start)
	} else {
		err = p.cmd.Start()
	}
	p.io.started()
	if err != nil {
		p.io.abandon()
		p.release()
		if p.c.Tracked {
			p.runner.registry.remove(p.nonce)
		}
		return explainStart(p.cmd.Path, p.c, err)
	}
	p.reap = sync.OnceValue(func() error {
		p.runner.note(p.pid(), false) // before its pid can be used again
		return p.cmd.Wait()
	})
	p.runner.note(p.pid(), true)
	if !p.c.Tracked {
		p.io.move()
		return nil
	}
	if err := p.runner.registry.add(p.pid(), p.nonce, p.c.Args[0]); err != nil {
		p.signalGroup(syscall.SIGKILL)
		p.io.abandon()
		_ = p.reap() // its status says only that it was killed
		p.release()
		return err
	}
	p.io.move()
	return nil
}

func (p *process) release() {
	if p.c.Tracked || p.c.Tied {
		p.runner.starter.letGo()
	}
}

func (r *Runner) note(pid int, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if running {
		r.running[pid] = true
	} else {
		delete(r.running, pid)
	}
}

// Kill ends by KILL every process that r runs, with its group, as a stranger would: Run
// reports that it died by a signal. It returns how many there were.
func (r *Runner) Kill() int {
	if r.of != nil {
		return r.of.Kill()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.running { // not yet reaped, so no stranger has its number
		_ = syscall.Kill(-pid, syscall.SIGKILL) // ESRCH: it is gone, which is what was wanted
	}
	return len(r.running)
}

func (r *Runner) isRunning(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[pid]
}

// finish waits for the end and cleans up behind the process. Its pid stays
// taken (unreaped) until nothing is signalled any more, so that no signal can
// reach a stranger who got the same number.
func (p *process) finish(ctx context.Context) (Result, error) {
	exited := make(chan struct{})
	go func() {
		p.waitExit()
		close(exited)
	}()
	res := Result{Ended: p.await(ctx, exited)}
	res.Took = time.Since(p.began)
	if res.Ended == EndedSelf {
		p.io.settle(p.runner.pipes)
	}
	gone := true
	switch {
	case p.c.Tracked:
		res.Leftover, gone = p.hunt(min(p.grace(ctx), leftoverGrace))
	case res.Ended != EndedSelf:
		p.signalGroup(syscall.SIGKILL)
	}
	ioErr := p.io.close()
	waitErr := p.reap()
	if p.c.Tracked && gone { // what could not be ended stays registered for Sweep
		p.runner.registry.remove(p.nonce)
	}
	p.release()
	if exit := (*exec.ExitError)(nil); waitErr != nil && !errors.As(waitErr, &exit) {
		return res, fmt.Errorf("wait for %s: %w", p.c.Args[0], waitErr)
	}
	res.Code, res.Signal = exitOf(p.cmd)
	if p.c.Inner {
		res = innerEnd(res)
	}
	if ioErr != nil {
		return res, fmt.Errorf("run %s: %w", p.c.Args[0], ioErr)
	}
	return res, nil
}

func exitOf(cmd *exec.Cmd) (code int, signal string) {
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, signalName(status.Signal())
	}
	return cmd.ProcessState.ExitCode(), ""
}

// graceful is a cause of cancellation that says how long processes may take to
// end by themselves: a person who stops everything at once does not wait 5 s.
type graceful interface{ Grace() time.Duration }

func (p *process) grace(ctx context.Context) time.Duration {
	var g graceful
	if errors.As(context.Cause(ctx), &g) {
		return g.Grace()
	}
	if p.c.Grace > 0 {
		return p.c.Grace
	}
	return defaultGrace
}

// await returns when the main process has ended, and ends it when it has to:
// on cancellation, over time, or when a stream's writer failed.
func (p *process) await(ctx context.Context, exited <-chan struct{}) Ended {
	var limit <-chan time.Time
	if p.c.Timeout > 0 {
		t := time.NewTimer(p.c.Timeout)
		defer t.Stop()
		limit = t.C
	}
	var ended Ended
	select {
	case <-exited:
		return EndedSelf
	case <-ctx.Done():
		ended = EndedCancelled
	case <-p.io.failed:
		ended = EndedCancelled
	case <-limit:
		ended = EndedTimeout
	}
	select {
	case <-exited: // both at once: it did end by itself
		return EndedSelf
	default:
	}
	first := syscall.SIGTERM
	if p.c.Interrupt {
		first = syscall.SIGINT
	}
	p.ask(first)
	grace := time.NewTimer(p.grace(ctx))
	defer grace.Stop()
	select {
	case <-exited:
	case <-grace.C:
		p.signalGroup(syscall.SIGKILL)
		<-exited
	}
	return ended
}

// ask asks the process to end.
func (p *process) ask(sig syscall.Signal) {
	if p.c.Inner {
		if group := innerGroup(p.pid()); group > 0 {
			_ = syscall.Kill(-group, sig) // ESRCH: nobody left, which is what was wanted
			return
		}
	}
	p.signalGroup(sig)
}

// innerEnd makes a signal of the exit code that a program around another one has for it.
func innerEnd(res Result) Result {
	switch sig := syscall.Signal(res.Code - 128); sig {
	case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGTERM:
		res.Code, res.Signal = -1, signalName(sig)
	}
	res.Leftover = 0
	return res
}

// signalGroup signals the process and its group. The group can be empty.
func (p *process) signalGroup(sig syscall.Signal) {
	_ = syscall.Kill(-p.pid(), sig) // ESRCH: nobody left, which is what was wanted
}
