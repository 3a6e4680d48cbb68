package setup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/measure"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/trust"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Bench is `ralph bench`.
func Bench(env workspace.Env) *cobra.Command {
	var asJSON bool
	var within time.Duration
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure this machine and repository: git, worktrees, the disk, starts; what a task costs here", Args: cobra.NoArgs,
		Long: `Measures, in less than a minute and without a model, what ralph has to do with here: starts
of processes, of git and of the agents, the sandbox, writing to the disk, git and worktrees
in a repository of this size, and whole tasks of ralph with an agent that only appends
a line. It says what a task costs beside its agent and its checks, and which settings would help.

The repository is not changed: all happens in a copy in a temporary folder that shares its
objects. Close what keeps the machine busy; figures of a busy one say little. On a slow machine
some figures find no time, which is said in their place: --within gives them more.`,
		Example: "  ralph bench\n  ralph bench --within 5m            # a large repository, a slow disk\n  ralph bench --json > before.json   # and once more after a change of settings",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if within <= 0 {
				return fmt.Errorf("--within is %s: give a time such as 5m", within)
			}
			return runBench(cmd.Context(), env, within, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&within, "within", time.Minute, "how long to measure at most, about")
	return cmd
}

func runBench(ctx context.Context, env workspace.Env, within time.Duration, asJSON bool) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	defer doctor.WithoutState(root)()
	settings, err := workspace.SettingsOf(env)
	if err != nil {
		return err
	}
	parts := &bootstrap.Parts{Root: root, Config: settings, Procs: proc.NewRunner("")}
	p := measure.Subject{
		Root: root, Self: env.Self, Path: proc.Getenv(env.Environ, "PATH"), Now: time.Now, Say: progress(env), Within: within,
		Settings: measure.Settings{Kind: settings.Sandbox.Kind, Sandbox: "off", Slots: workspace.SlotsOf(settings), Delay: settings.Task.Delay},
	}
	if err := parts.OpenSandbox(env); err != nil {
		return err
	}
	if parts.Sandbox != nil {
		p.Settings.Sandbox, p.Boxed = parts.Sandbox.Kind, parts.Around(parts.Procs)
	}
	// what a repository brings along names programs: none of them starts before somebody has said yes
	if items, _, err := trust.Untrusted(ctx, env, root, settings, nil); err == nil && len(items) == 0 {
		p.Agents = startable(env, root, settings, parts.Procs)
	}
	report, err := measure.Measure(ctx, p)
	p.Say("")
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, report)
	}
	return report.Print(env.Stdout)
}

// progress tells on a terminal what is measured, in one line that is written over.
func progress(env workspace.Env) func(string) {
	return func(what string) {
		switch {
		case env.Terminal && what == "":
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		case env.Terminal:
			fmt.Fprintf(env.Stderr, "\r\x1b[K%s ...", text.Clip(what, 70))
		}
	}
}

// startable are the agents in use whose program is there, and can say its version.
func startable(env workspace.Env, root string, c config.Config, procs *proc.Runner) []measure.Agent {
	var out []measure.Agent
	for _, name := range c.Chain() {
		spec, ok := c.AgentSpec(name)
		if !ok || len(spec.Command) == 0 || !agent.CanTellVersion(spec) {
			continue
		}
		environ := slices.Concat(env.OfPerson(workspace.BaseEnv(env.Environ)), workspace.AgentEnv(spec, env.Environ))
		if _, err := proc.LookPath(spec.Command[0], root, environ); err != nil {
			continue
		}
		out = append(out, measure.Agent{Name: name, Start: func(ctx context.Context) error {
			_, err := agent.Version(ctx, procs, spec, root, environ, agentStart)
			return err
		}})
	}
	return out
}

// agentStart is how long an agent's program may take to say its version.
const agentStart = 10 * time.Second
