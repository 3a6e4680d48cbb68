package cli

import (
	"encoding/json"
	"fmt"
	"syscall"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/shim"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newSandboxExec(env workspace.Env) *cobra.Command {
	return &cobra.Command{
		Use: "sandbox-exec <box> <program> <argv ...>", Short: "Become a program inside landlock", Hidden: true,
		Example: `  ralph sandbox-exec '{"write": ["/tmp"]}' /bin/sh sh -c 'echo > /tmp/x'`, Args: cobra.MinimumNArgs(3), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return runSandboxExec(env, args) },
	}
}

// runSandboxExec becomes the program, or fails: never does it run without the sandbox.
func runSandboxExec(env workspace.Env, args []string) error {
	var box sandbox.Box
	if err := json.Unmarshal([]byte(args[0]), &box); err != nil {
		return fmt.Errorf("sandbox-exec: what may be written: %w", err)
	}
	if err := sandbox.Restrict(box); err != nil {
		return err
	}
	if err := syscall.Exec(args[1], args[2:], env.Environ); err != nil {
		return fmt.Errorf("run %s in the sandbox: %w", args[1], err)
	}
	return nil
}

// below says what stands between agents and the world, and what could.
func (x *examination) below(env workspace.Env, c config.Config) {
	var there []string
	for _, name := range c.Gate.Shims {
		if _, err := shim.Real(name, "", env.Environ); err == nil {
			there = append(there, name)
		}
	}
	switch {
	case len(there) > 0:
		x.ok("below", "shims before %s; a git hook before each push", report.Few(there, 6, ", "))
	case len(c.Gate.Shims) > 0:
		x.ok("below", "none of gate.shims is installed; a git hook before each push")
	default:
		x.note("below", "no shims: what an exec agent's programs do is not held", "set gate.shims, or take its line out")
	}
	if c.Sandbox.Kind == sandbox.Off {
		x.note("sandbox", "off (sandbox.kind): agents, and the checks that run what they wrote, can do whatever you can", "sandbox.kind: auto")
		return
	}
	o := profile.Offers(env.Environ)
	switch kind, err := o.Choose(c.Sandbox.Kind); {
	case err != nil:
		x.refused("sandbox", err)
	case kind == sandbox.Off:
		x.note("sandbox", "off: "+o.Words()+"; agents, and the checks that run what they wrote, can do whatever you can", "install bubblewrap")
	case kind == sandbox.Landlock && c.Isolation == "none":
		x.note("sandbox", profile.LandlockInPlace, "isolation: auto, or install bubblewrap")
	default:
		x.ok("sandbox", "%s: agents, checks and hooks write in their work tree, temporary folders and sandbox.write alone", kind)
	}
}
