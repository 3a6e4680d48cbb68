package setup

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/trust"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// checkVersionLimit is how long a program may take to say its version: on a busy machine some need
// seconds, and the first start after an installation reads 200 MB from the disk.
const checkVersionLimit = time.Minute

// agentCheckFlags is what a person asks of `ralph agent-check`.
type agentCheckFlags struct {
	command          string
	prompt           string
	turns, yes, json bool
	only             []string // names of probes; empty: all
}

// AgentCheck is `ralph agent-check`.
func AgentCheck(env workspace.Env) *cobra.Command {
	var f agentCheckFlags
	cmd := &cobra.Command{
		Use: "agent-check [<name>]", Short: "Prove what an agent can do: its program, its protocol, and with --turns whole turns",
		Long: `Runs the probes that ralph's own drivers are tested with on an agent, and says what
it supports and what of that was proved. The work happens in a new temporary
repository, never in yours.

By default nothing is asked of a model, so it costs nothing: is the program there,
which version, does it start, speak its protocol, say that it is logged in, and end
when it is told to. --turns runs short turns with the agent's own model; ralph says
how many and asks first. A scripted agent costs nothing and is always proved whole.

With --command an agent is tried before it is configured, as the exec driver would
run it. Exit code 1 when a probe failed.`,
		Example: "  ralph agent-check claude\n  ralph agent-check claude --turns\n  ralph agent-check --command './my-agent --print' --turns --yes",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, root, err := agentToCheck(env, f, args)
			if err != nil {
				return err
			}
			if err := trust.Required(cmd.Context(), env, root); err != nil {
				return err
			}
			return runAgentCheck(cmd.Context(), env, spec, root, f)
		},
	}
	cmd.Flags().BoolVar(&f.turns, "turns", false, "also run real turns, which cost what the agent's model costs")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before real turns")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run only these `probes`, by name, such as echo,resume")
	cmd.Flags().StringVar(&f.command, "command", "", "check this `command` as an exec agent")
	cmd.Flags().StringVar(&f.prompt, "prompt", "stdin", "how --command gets its prompt: `stdin`, arg ({prompt}) or file ({prompt_file})")
	return cmd
}

// agentToCheck finds the agent, and the folder that its command is relative to.
func agentToCheck(env workspace.Env, f agentCheckFlags, args []string) (ralph.AgentSpec, string, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		root = env.Dir // agents can be checked anywhere; the built-in ones are known then
	}
	if f.command != "" {
		if len(args) > 0 {
			return ralph.AgentSpec{}, "", &ralph.Refusal{Why: "both an agent and --command are given", Hint: "name one of them", Kind: ralph.ErrUsage}
		}
		words := strings.Fields(f.command)
		if len(words) == 0 {
			return ralph.AgentSpec{}, "", &ralph.Refusal{Why: "--command is empty", Hint: "like --command './my-agent --print'", Kind: ralph.ErrUsage}
		}
		return ralph.AgentSpec{Name: filepath.Base(words[0]), Driver: "exec", Command: words, Prompt: f.prompt}, env.Dir, nil
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return ralph.AgentSpec{}, "", err
	}
	name := c.Agent.Primary
	if len(args) > 0 {
		name = args[0]
	}
	spec, ok := c.AgentSpec(name)
	if !ok {
		return spec, "", noSuchAgent(name, c)
	}
	return spec, root, nil
}

func noSuchAgent(name string, c config.Config) error {
	names := c.AgentNames()
	hint := "there are " + strings.Join(names, ", ") + "; add others under `agents:` in ralph/config.yaml, or try one with --command"
	if near := ralph.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	return &ralph.Refusal{Why: "no agent " + name + " is configured", Hint: hint, Kind: ralph.ErrUsage}
}

func runAgentCheck(ctx context.Context, env workspace.Env, spec ralph.AgentSpec, root string, f agentCheckFlags) error {
	supports, built := agent.Of(spec)
	if !built && !handshakes(spec.Driver) {
		return &ralph.Refusal{Why: fmt.Sprintf("agent %s: driver %s is not built in", spec.Name, spec.Driver), Hint: "`ralph doctor` shows which agents are", Kind: ralph.ErrUsage}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	stand, err := newStand(ctx, env, spec, root)
	if err != nil {
		return err
	}
	defer stand.remove()
	s := stand.subject(supports)
	probes, err := probesFor(s, f)
	if err != nil {
		return err
	}
	if n := agentcheck.Turns(s, probes); n > 0 {
		if err := agreeToTurns(env, spec, n, f); err != nil {
			return err
		}
	}
	r := checkReport{Agent: spec.Name, Driver: spec.Driver, Command: append(spec.Command, spec.Args...), Supports: supports, Model: s.Model}
	r.run(ctx, env, s, probes, f)
	if ctx.Err() != nil {
		fmt.Fprintln(env.Stderr, "ralph: stopped; everything that was started has ended")
		return exit.Error{Code: exit.Interrupted}
	}
	if r.Failed > 0 {
		return exit.Error{Code: exit.Failures}
	}
	return nil
}

func handshakes(driver string) bool {
	_, ok := agent.HandshakerOf(driver, nil)
	return ok
}

// probesFor are the probes that a person wants of this agent.
func probesFor(s *agentcheck.Subject, f agentCheckFlags) ([]agentcheck.Probe, error) {
	probes := agentcheck.Free()
	switch {
	case !s.Model:
		probes = agentcheck.Probes()
	case f.turns:
		probes = append(probes, withTurns(agentcheck.Probes())...)
	}
	if len(f.only) == 0 {
		return probes, nil
	}
	var names []string
	for _, p := range probes {
		names = append(names, p.Name)
	}
	for _, name := range f.only {
		if !slices.Contains(names, name) {
			return nil, &ralph.Refusal{Why: fmt.Sprintf("no probe %q is among those that would run", name), Hint: "there are " + strings.Join(names, ", ") + "; most need --turns", Kind: ralph.ErrUsage}
		}
	}
	return slices.DeleteFunc(probes, func(p agentcheck.Probe) bool { return !slices.Contains(f.only, p.Name) }), nil
}

// withTurns are the probes that run turns of a model. The others are what no model does
// when it is asked, such as to end with code 3; the driver's own tests prove those.
func withTurns(probes []agentcheck.Probe) []agentcheck.Probe {
	return slices.DeleteFunc(probes, func(p agentcheck.Probe) bool { return p.Turns == 0 })
}

// agreeToTurns says what real turns mean, and goes on only when a person agrees.
func agreeToTurns(env workspace.Env, spec ralph.AgentSpec, n int, f agentCheckFlags) error {
	if f.yes {
		return nil
	}
	what := fmt.Sprintf("this runs %s of %s with its own model, at its price", shortTurns(n), spec.Name)
	if !env.Terminal || f.json {
		return &ralph.Refusal{Why: what, Hint: "say --yes to agree, or leave out --turns for what costs nothing", Kind: ralph.ErrUsage}
	}
	fmt.Fprintf(env.Stdout, "%s%s. Go on? [y/N] ", strings.ToUpper(what[:1]), what[1:])
	line, err := bufio.NewReader(env.Stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	return &ralph.Refusal{Why: "not run", Hint: "without --turns nothing is spent", Kind: ralph.ErrUsage}
}

func shortTurns(n int) string {
	if n == 1 {
		return "1 short turn"
	}
	return fmt.Sprintf("%d short turns", n)
}
