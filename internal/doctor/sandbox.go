package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/codex"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// proveSandbox tries the sandbox out: a child in it writes in its own folder, and beside it;
// and each agent in use says its version in it. What a kind should do is no proof that it
// does so on this system.
func (x *examination) proveSandbox(ctx context.Context, env workspace.Env, root string, c config.Config) {
	p := &bootstrap.Parts{Root: root, Config: c, Procs: proc.NewRunner("")}
	if workspace.NeedsSetup(root) != nil || p.OpenSandbox(env) != nil {
		return // a finding says so already, or there is nothing yet to keep
	}
	if p.Sandbox == nil {
		x.ownSandboxes(ctx, env, root, c)
		return
	}
	procs := p.Around(p.Procs)
	if err := TryWrites(ctx, procs, env.Environ); err != nil {
		x.problem("sandbox", fmt.Sprintf("%s does not hold: %v", p.Sandbox.Kind, err), "set sandbox.kind to another kind, or to off; then gate.approvals: auto is ask")
		return
	}
	x.ok("sandbox", "tried: a write outside is refused by %s, one inside works", p.Sandbox.Kind)
	x.proveHidden(ctx, procs, p.Sandbox.Logins(env.Environ), env.Environ)
	for _, name := range x.mayRun(c) {
		spec, ok := c.AgentSpec(name)
		environ := append(env.OfPerson(workspace.BaseEnv(env.Environ)), workspace.AgentEnv(spec, env.Environ)...)
		if !ok || len(spec.Command) == 0 || !agent.CanTellVersion(spec) {
			continue
		}
		if _, err := proc.LookPath(spec.Command[0], root, environ); err != nil {
			continue
		}
		if _, err := agent.Version(ctx, procs, spec, root, environ, doctorLimit); err != nil {
			if _, outside := agent.Version(ctx, p.Procs, spec, root, environ, doctorLimit); outside == nil {
				x.problem("sandbox", fmt.Sprintf("agent %s does not start in it: %v", name, err), "add the folder that it has to write to sandbox.extra_write, or set sandbox.kind to another kind")
			}
			continue
		}
		x.ok("sandbox", "agent %s starts in it", name)
	}
}

// proveHidden tries to read what is hidden, from inside: what the settings say is no proof
// that it is so. A file that can be read is tried beside it, so that a child that reads
// nothing at all proves nothing.
func (x *examination) proveHidden(ctx context.Context, procs *proc.Runner, hidden, environ []string) {
	var tried []string
	for _, p := range hidden {
		if file := someFile(p); file != "" && len(tried) < maxTried {
			tried = append(tried, file)
		}
	}
	if len(tried) == 0 {
		return
	}
	// Each that can be read is named; its first byte never leaves the child.
	const read = `for f do if [ "$(head -c 1 "$f" 2>/dev/null | wc -c)" -gt 0 ]; then printf '%s\n' "$f"; fi; done`
	out, _, res, err := procs.Output(ctx, proc.Command{
		Args: append([]string{"sh", "-c", read, "sh", "/proc/self/status"}, tried...), Dir: os.TempDir(), Env: environ, Timeout: doctorLimit, Tracked: true,
	})
	seen := strings.Split(strings.TrimSpace(string(out)), "\n")
	switch {
	case err != nil || res.Code != 0 || seen[0] != "/proc/self/status":
		x.note("sandbox", "whether what is hidden can be read could not be tried: a process in it reads nothing at all", "")
	case len(seen) > 1:
		x.problem("sandbox", "an agent can read "+text.List(seen[1:], 3)+", which the settings hide", "set sandbox.kind to another kind")
	case len(tried) == 1:
		x.ok("sandbox", "tried: 1 path that is hidden cannot be read (`sandbox.show` shows one)")
	default:
		x.ok("sandbox", "tried: %d paths that are hidden cannot be read (`sandbox.show` shows one)", len(tried))
	}
}

// maxTried is how many hidden paths are tried to be read: they are arguments of a program.
const maxTried = 500

// someFile is a path that has something to read, or the first such file in a folder and
// those in it; "" for none.
func someFile(path string) string {
	found, looked := "", 0
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if looked++; err != nil || looked > maxTried {
			return fs.SkipDir
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			found = p
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// mayRun are the agents in use, none where nobody has said yes to what the repository brings along.
func (x *examination) mayRun(c config.Config) []string {
	if x.Strange {
		return nil
	}
	return c.Chain()
}

// ownSandboxes tries out those that agents make for themselves where ralph makes none.
func (x *examination) ownSandboxes(ctx context.Context, env workspace.Env, root string, c config.Config) {
	for _, name := range x.mayRun(c) {
		spec, ok := c.AgentSpec(name)
		if !ok || len(spec.Command) == 0 {
			continue
		}
		environ := append(env.OfPerson(workspace.BaseEnv(env.Environ)), workspace.AgentEnv(spec, env.Environ)...)
		if _, err := proc.LookPath(spec.Command[0], root, environ); err != nil {
			continue
		}
		if err := codex.TryOwnSandbox(ctx, proc.NewRunner(""), spec, root, environ, doctorLimit); err != nil {
			x.problem("sandbox", err.Error(), "sandbox.kind: auto, and bubblewrap or a kernel with Landlock")
		}
	}
}

// inSandbox is where the doctor runs what an agent may have written: in the sandbox, where
// there is one.
func inSandbox(env workspace.Env, root string, c config.Config) *bootstrap.Parts {
	p := &bootstrap.Parts{Root: root, Config: c, Procs: proc.NewRunner("")}
	if workspace.NeedsSetup(root) == nil {
		_ = p.OpenSandbox(env) // where it fails there is none, and a finding says why
	}
	return p
}

// WithoutState takes away what a sandbox has made in the state of a repository that had none:
// a look at it leaves nothing behind.
func WithoutState(root string) (clean func()) {
	state := workspace.StateDir(root)
	if _, err := os.Lstat(state); err == nil {
		return func() {}
	}
	return func() {
		made := []string{"sandbox/nothing", "sandbox/none", "sandbox", filepath.Base(step.StateGit), ""}
		if info, err := os.Stat(filepath.Join(state, guard.FileName)); err == nil && info.Size() == 0 {
			made = append([]string{guard.FileName}, made...)
		}
		for _, name := range made {
			_ = os.Remove(filepath.Join(state, name)) // a folder with anything else in it stays
		}
	}
}

// TryWrites runs a child in the sandbox, in a folder of its own that is all it may write.
func TryWrites(ctx context.Context, procs *proc.Runner, environ []string) (err error) {
	base, err := os.MkdirTemp("", "ralph-doctor-")
	if err != nil {
		return fmt.Errorf("make a folder to try it in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	inside, outside := filepath.Join(base, "inside"), filepath.Join(base, "outside")
	for _, dir := range []string{inside, outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("make a folder to try it in: %w", err)
		}
	}
	env := slices.DeleteFunc(workspace.BaseEnv(environ), func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
	_, stderr, res, err := procs.Output(ctx, proc.Command{
		Args: []string{"/bin/sh", "-c", `echo x > "$1/file"; echo x > file`, "sh", outside}, Dir: inside, Env: append(env, "TMPDIR="+inside), Timeout: doctorLimit,
	})
	said := text.OneLine(string(stderr))
	switch _, in := os.Stat(filepath.Join(inside, "file")); {
	case err != nil:
		return err
	case in != nil:
		return fmt.Errorf("a process in it cannot write in its own folder (exit code %d): %s", res.Code, said)
	}
	if _, out := os.Stat(filepath.Join(outside, "file")); out == nil {
		return errors.New("a process in it has written outside")
	}
	return nil
}
