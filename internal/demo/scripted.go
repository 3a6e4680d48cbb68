package demo

import (
	"context"

	"github.com/ralph-loop/ralph/internal/agent/scripted"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Scenario plays the agent of the demo, and returns its exit code.
func Scenario(ctx context.Context, env workspace.Env, scenario string) int {
	return scripted.Play(ctx, env.Stdin, env.Stdout, env.Stderr, env.Environ, env.Dir, scenario)
}
