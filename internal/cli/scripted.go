package cli

import (
	"context"

	"github.com/ralph-loop/ralph/internal/agent/scripted"
)

func playScenario(ctx context.Context, env Env, scenario string) int {
	return scripted.Play(ctx, env.Stdin, env.Stdout, env.Stderr, env.Environ, env.Dir, scenario)
}
