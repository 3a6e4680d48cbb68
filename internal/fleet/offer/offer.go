// Package offer finds out which agents a machine has, and their versions.
//
// It does NOT own what an agent is (internal/agent), nor how that is announced (internal/fleet).
package offer

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// tellVersion is how long the program of an agent may take to tell its version.
const tellVersion = 10 * time.Second

// Names are the agents that ralph knows by itself and that need a program.
func Names() []string {
	c := config.Defaults()
	var names []string
	for _, name := range c.AgentNames() {
		if spec, ok := c.AgentSpec(name); ok && len(spec.Command) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Versions are those of the agents, where their programs tell one.
func Versions(ctx context.Context, env workspace.Env, home string, names []string) map[string]string {
	c, out := config.Defaults(), map[string]string{}
	for _, name := range names {
		spec, ok := c.AgentSpec(name)
		if !ok || len(spec.Command) == 0 || !agent.CanTellVersion(spec) {
			continue
		}
		environ := append(env.OfPerson(workspace.BaseEnv(env.Environ)), workspace.AgentEnv(spec, env.Environ)...)
		if v, err := agent.Version(ctx, proc.NewRunner(filepath.Join(home, "procs")), spec, home, environ, tellVersion); err == nil {
			out[name] = v
		}
	}
	return out
}

// Here are those of them whose program is here.
func Here(env workspace.Env) []string {
	c := config.Defaults()
	return slices.DeleteFunc(Names(), func(name string) bool {
		spec, _ := c.AgentSpec(name)
		_, err := proc.LookPath(spec.Command[0], env.Dir, env.Environ)
		return err != nil
	})
}
