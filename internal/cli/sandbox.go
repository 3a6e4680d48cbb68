package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/shim"
)

// offered is what this system has to keep agents from writing.
type offered struct {
	abi   int    // of Landlock, 0 for none
	bwrap string // the program, "" for none
	// broken is why bubblewrap, which is installed, does not work here: containers and
	// some settings of the system forbid it.
	broken string
}

// offers looks what there is, and tries bubblewrap out.
func offers(environ []string) offered {
	o := offered{abi: sandbox.ABI()}
	bwrap, err := proc.LookPath("bwrap", "", environ)
	if err != nil {
		return o // not there is an answer
	}
	program, err := proc.LookPath("true", "", environ)
	if err != nil {
		return o
	}
	_, stderr, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{
		Args: sandbox.Bwrap(bwrap, sandbox.Box{}, []string{program}), Dir: "/", Env: environ, Timeout: 10 * time.Second,
	})
	switch {
	case err != nil:
		o.broken = err.Error()
	case res.Code != 0 || res.Ended != proc.EndedSelf:
		o.broken = cmp.Or(strings.TrimSpace(string(stderr)), "exit code "+strconv.Itoa(res.Code))
	default:
		o.bwrap = bwrap
	}
	return o
}

// words is the offer for people.
func (o offered) words() string {
	words := "this system has neither landlock nor bubblewrap"
	switch {
	case o.abi > 0 && o.bwrap != "":
		words = fmt.Sprintf("bubblewrap and landlock (ABI %d) are there", o.abi)
	case o.abi > 0:
		words = fmt.Sprintf("landlock (ABI %d) is there", o.abi)
	case o.bwrap != "":
		words = "bubblewrap is there"
	}
	if o.broken != "" {
		words += "; bubblewrap does not work here: " + o.broken
	}
	return words
}

// choose is the sandbox that the settings ask for. What is asked for by name and not
// there is a refusal; auto is off then. Of both auto takes bubblewrap: it can hide files,
// and keep what lies in the work tree.
func (o offered) choose(kind string) (string, error) {
	there := map[string]bool{sandbox.Landlock: o.abi > 0, sandbox.Bubblewrap: o.bwrap != ""}
	switch {
	case kind == sandbox.Off || there[kind]:
		return kind, nil
	case kind == sandbox.Auto && there[sandbox.Bubblewrap]:
		return sandbox.Bubblewrap, nil
	case kind == sandbox.Auto && there[sandbox.Landlock]:
		return sandbox.Landlock, nil
	case kind == sandbox.Auto:
		return sandbox.Off, nil
	}
	return "", &ralph.Refusal{
		Why:  "sandbox.kind is " + kind + ", which is not here: " + o.words(),
		Hint: "set sandbox.kind: auto (what there is) or off in ralph/config.yaml", Kind: ralph.ErrUsage,
	}
}

func newSandboxExec(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "sandbox-exec <box> <program> <argv ...>", Short: "Become a program inside landlock", Hidden: true,
		Example: `  ralph sandbox-exec '{"write": ["/tmp"]}' /bin/sh sh -c 'echo > /tmp/x'`, Args: cobra.MinimumNArgs(3), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return runSandboxExec(env, args) },
	}
}

// runSandboxExec becomes the program, or fails: never does it run without the sandbox.
func runSandboxExec(env Env, args []string) error {
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
	if c.Sandbox.Kind == sandbox.Off {
		x.note("sandbox", "off (sandbox.kind): agents, and the checks that run what they wrote, can do whatever you can", "sandbox.kind: auto")
		return
	}
	o := offers(env.Environ)
	switch kind, err := o.choose(c.Sandbox.Kind); {
	case err != nil:
		x.refused("sandbox", err)
	case kind == sandbox.Off:
		x.note("sandbox", "off: "+o.words()+"; agents, and the checks that run what they wrote, can do whatever you can", "install bubblewrap")
	case kind == sandbox.Landlock && c.Isolation == "none":
		x.note("sandbox", landlockInPlace, "isolation: auto, or install bubblewrap")
	default:
		x.ok("sandbox", "%s: agents, checks and hooks write in their work tree, temporary folders and sandbox.write alone", kind)
	}
}
