package step

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// maxRefusals bounds what one turn tells of its sandbox.
const maxRefusals = 20

// refusals tells people what the sandbox kept an agent from: the agent sees an error
// of the system, and nobody else would see anything. It reads what the agent's tools gave
// back, and of an agent that only prints what it prints.
type refusals struct {
	ctx  context.Context
	asks *asker // where the facts go; nil: nobody is told

	mu   sync.Mutex
	told map[string]bool
	rest sync.WaitGroup // writing
}

func newRefusals(ctx context.Context, asks *asker) *refusals {
	r := &refusals{ctx: ctx, told: map[string]bool{}}
	if asks.x.Journal != nil && asks.x.Config.Sandbox != "" {
		r.asks = asks
	}
	return r
}

// heard takes an event of the agent's turn.
func (r *refusals) heard(e ralph.StreamEvent) {
	switch {
	case r.asks != nil && e.Kind == ralph.StreamOutput:
		r.look(e.Delta, "")
	case r.asks == nil || e.Kind != ralph.StreamItemDone || e.Item.Kind == ralph.ItemMessage || e.Item.Kind == ralph.ItemReasoning:
	case e.Item.Kind == ralph.ItemEdit && e.Item.Status == ralph.ItemFailed && len(e.Item.Files) > 0 &&
		(e.Item.Output == "" || len(policy.RefusedPaths(e.Item.Output)) > 0):
		// Codex says no more of it, and Claude Code names a file that it would have renamed.
		r.tell(e.Item.Files, e.Item.Text)
	default:
		r.look(e.Item.Output, e.Item.Text)
	}
}

func (r *refusals) look(output, call string) { r.tell(policy.RefusedPaths(output), call) }

// tell notes which of the paths that could not be written the sandbox refused.
func (r *refusals) tell(paths []string, call string) {
	for _, path := range paths {
		full, refused := r.outside(path)
		if !refused {
			continue
		}
		r.mu.Lock()
		first := !r.told[full] && len(r.told) < maxRefusals
		r.told[full] = true
		r.mu.Unlock()
		if !first {
			continue
		}
		f := ralph.SandboxRefused{
			Task: r.asks.task, Agent: r.asks.agent, Sandbox: r.asks.x.Config.Sandbox,
			Path: cutText(full, maxPart), Call: cutText(call, maxPart), Allowed: r.asks.passed(call),
		}
		// Behind the back of who reads the agent: an error is the journal's, and the turn's end meets it too.
		r.rest.Go(func() { _ = r.asks.write(r.ctx, f) })
	}
}

// close waits until all is written.
func (r *refusals) close() { r.rest.Wait() }

// outside reports whether it was the sandbox that refused a path: it lies where agents may
// not write, and ralph, which is not in it, might.
func (r *refusals) outside(path string) (full string, refused bool) {
	disk := r.asks.disk
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(disk.Home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(disk.Work, path)
	}
	full = filepath.Clean(path)
	return full, !disk.Writable(r.asks.x.Config.Approval(), "", full) && mayWrite(full)
}

// mayWrite reports whether this process could write a file, or make it.
func mayWrite(path string) bool {
	for {
		if _, err := os.Lstat(path); err == nil {
			return unix.Access(path, unix.W_OK) == nil
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// passed is by which gate or rule a command had been let pass in this turn, "" for none.
func (a *asker) passed(command string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.asks) - 1; i >= 0; i-- {
		if x := a.asks[i]; command != "" && x.Verdict == ralph.Approved && (x.Request.Command == command || x.Request.Text == command) {
			if x.Gate != "" {
				return string(x.Gate)
			}
			return x.Rule
		}
	}
	return ""
}
