package plumbing

import (
	"encoding/json"
	"fmt"
	"syscall"

	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// SandboxExec is `ralph sandbox-exec`.
func SandboxExec(env workspace.Env) *cobra.Command {
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
