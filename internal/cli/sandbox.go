package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/shim"
	"github.com/ralph-loop/ralph/internal/web/guard"
)

// offered is what this system has to keep agents from writing.
type offered struct {
	abi   int    // of Landlock, 0 for none
	bwrap string // the program, "" for none
}

func offers(environ []string) offered {
	o := offered{abi: sandbox.ABI()}
	o.bwrap, _ = proc.LookPath("bwrap", "", environ) // not there is an answer
	return o
}

// words is the offer for people.
func (o offered) words() string {
	switch {
	case o.abi > 0 && o.bwrap != "":
		return fmt.Sprintf("landlock (ABI %d) and bubblewrap are there", o.abi)
	case o.abi > 0:
		return fmt.Sprintf("landlock (ABI %d) is there", o.abi)
	case o.bwrap != "":
		return "bubblewrap is there"
	}
	return "this system has neither landlock nor bubblewrap"
}

// choose is the sandbox that the settings ask for. What is asked for by name and not
// there is a refusal; auto is off then.
func (o offered) choose(kind string) (string, error) {
	there := map[string]bool{sandbox.Landlock: o.abi > 0, sandbox.Bubblewrap: o.bwrap != ""}
	switch {
	case kind == sandbox.Off || there[kind]:
		return kind, nil
	case kind == sandbox.Auto && there[sandbox.Landlock]:
		return sandbox.Landlock, nil
	case kind == sandbox.Auto && there[sandbox.Bubblewrap]:
		return sandbox.Bubblewrap, nil
	case kind == sandbox.Auto:
		return sandbox.Off, nil
	}
	return "", &ralph.Refusal{
		Why:  "sandbox.kind is " + kind + ", which is not here: " + o.words(),
		Hint: "set sandbox.kind: auto (what there is) or off in ralph/config.yaml", Kind: ralph.ErrUsage,
	}
}

// sandboxed is the runner of agents: inside the sandbox that the settings ask for.
func (p *parts) sandboxed(env Env) (*proc.Runner, error) {
	o := offers(env.Environ)
	kind, err := o.choose(p.config.Sandbox.Kind)
	if err != nil {
		return nil, err
	}
	if kind == sandbox.Off {
		if p.config.Sandbox.Kind == sandbox.Auto {
			p.notices = append(p.notices, "no sandbox: "+o.words()+"; agents can write wherever you can")
		}
		return p.procs, nil
	}
	return p.procs.Wrapped(func(c proc.Command) proc.Command { return inSandbox(c, kind, o, env.Self, p.config.Sandbox) }), nil
}

// inSandbox is the command as it is started inside a sandbox. One that cannot be found
// stays as it is, so that its own name is in the error.
func inSandbox(c proc.Command, kind string, o offered, self string, set config.Sandbox) proc.Command {
	path, err := proc.LookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return c
	}
	write := slices.Concat(sandbox.Tree(c.Dir), sandbox.Temp(proc.Getenv(c.Env, "TMPDIR")), sandbox.Home(set.Write, proc.Getenv(c.Env, "HOME")))
	if dir := proc.Getenv(c.Env, "RALPH_ASK_DIR"); dir != "" {
		write = append(write, dir) // where the scripted agent makes the pipes it is answered by
	}
	if kind == sandbox.Bubblewrap {
		var hide []string // Landlock cannot take out of what it lets be read
		if root := proc.Getenv(c.Env, "RALPH_ROOT"); root != "" {
			hide = append(hide, filepath.Join(stateDir(root), guard.FileName)) // who reads it acts as the person
		}
		c.Args = sandbox.Bwrap(o.bwrap, write, hide, append([]string{path}, c.Args[1:]...))
		return c
	}
	args := append([]string{self, "sandbox-exec", strconv.Itoa(len(write))}, write...)
	c.Args = append(append(args, path), c.Args...)
	return c
}

func newSandboxExec(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "sandbox-exec <n> [path ...] <program> <argv ...>", Short: "Become a program that can write n paths only", Hidden: true,
		Example: "  ralph sandbox-exec 1 /tmp /bin/sh sh -c 'echo > /tmp/x'", Args: cobra.MinimumNArgs(3), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return runSandboxExec(env, args) },
	}
}

// runSandboxExec becomes the program, or fails: never does it run without the sandbox.
func runSandboxExec(env Env, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || len(args) < n+3 {
		return errors.New("sandbox-exec: the number of paths, the paths, the program and its arguments are needed")
	}
	if err := sandbox.Restrict(args[1 : n+1]); err != nil {
		return err
	}
	if err := syscall.Exec(args[n+1], args[n+2:], env.Environ); err != nil {
		return fmt.Errorf("run %s in the sandbox: %w", args[n+1], err)
	}
	return nil
}

// below says what stands between agents and the world, and what could.
func (x *examination) below(env Env, c config.Config) {
	var there []string
	for _, name := range c.Gate.Shims {
		if _, err := shim.Real(name, "", env.Environ); err == nil {
			there = append(there, name)
		}
	}
	switch {
	case len(there) > 0:
		x.ok("below", "shims before %s; a git hook before each push", few(there, 6, ", "))
	case len(c.Gate.Shims) > 0:
		x.ok("below", "none of gate.shims is installed; a git hook before each push")
	default:
		x.note("below", "no shims: what an exec agent's programs do is not held", "set gate.shims, or take its line out")
	}
	o := offers(env.Environ)
	switch kind, err := o.choose(c.Sandbox.Kind); {
	case err != nil:
		x.refused("sandbox", err)
	case kind != sandbox.Off:
		x.ok("sandbox", "%s: agents write in their work tree, temporary folders and sandbox.write alone", kind)
	case c.Sandbox.Kind == sandbox.Auto:
		x.note("sandbox", "off: "+o.words(), "")
	default:
		x.ok("sandbox", "off; %s (sandbox.kind)", o.words())
	}
}
