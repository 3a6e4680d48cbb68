// Package fleet owns the commands about other machines: workers, looking at them, specs handed to a
// coordinator elsewhere, and the flags --fleet and --repo of commands that can reach one. What they
// call is in fleetcmd; the fleet itself is internal/fleet, which only ralph-fleet has.
package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workers/match"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// usualFleet is --fleet without an address.
const usualFleet = "as the settings say"

// Flag adds --fleet to a command that starts an engine. Its RunE is there already.
func Flag(env workspace.Env, x *session.Session, cmd *cobra.Command, with []fleetcmd.Fleet) {
	var at string
	cmd.Flags().StringVar(&at, "fleet", "", "have the workers of a fleet work on the tasks; `HOST:PORT` of its Temporal server (also fleet.address; see docs/fleet.md)")
	cmd.Flags().Lookup("fleet").NoOptDefVal = usualFleet
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !cmd.Flags().Changed("fleet"):
			return run(cmd, args)
		case len(with) == 0:
			return fleetcmd.Become(env)
		case at == usualFleet:
			at = ""
		default:
			if _, _, err := net.SplitHostPort(at); err != nil {
				return flags.Errorf("--fleet=%s: give HOST:PORT of a Temporal server, as in --fleet=127.0.0.1:7233", at)
			}
		}
		x.OnFleet(with[0], at)
		return run(cmd, args)
	}
}

// onlyFleet runs a command in the program that can.
func onlyFleet(env workspace.Env, with []fleetcmd.Fleet, run func(f fleetcmd.Fleet, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(with) == 0 {
			return fleetcmd.Become(env)
		}
		return run(with[0], cmd, args)
	}
}

// settled is where the fleet is: as the command line says, else the settings of the repository
// that this is, else Temporal's variables. It also returns the remote by which all reach it.
func settled(env workspace.Env, at fleetcmd.At) (fleetcmd.At, string, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return at, "", nil //nolint:nilerr // this is no repository: then there are no settings
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return at, "", err
	}
	return at.Settled(c), c.Fleet.Remote, nil
}

// fleetAtFlags adds what says where the fleet is.
func fleetAtFlags(cmd *cobra.Command, at *fleetcmd.At) {
	f := cmd.Flags()
	f.StringVar(&at.Address, "fleet", "", "`HOST:PORT` of the Temporal server (default fleet.address, else TEMPORAL_ADDRESS, else 127.0.0.1:7233)")
	f.StringVar(&at.Namespace, "namespace", "", "its `namespace` (default fleet.namespace, else TEMPORAL_NAMESPACE, else default)")
	f.StringVar(&at.Queue, "queue", "", "how the `names` of its queues begin (default fleet.task_queue, else ralph)")
}

// Worker is `ralph worker`.
func Worker(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	var o fleetcmd.WorkerOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Carry out steps of tasks for a coordinator on another machine", Args: cobra.NoArgs,
		Long: `Takes steps of tasks (turns of agents, checks) from a Temporal server, and carries them out
here: with the agents that are installed here, as whoever runs this, in a clone of its own.
A coordinator, ` + "`ralph autopilot --fleet`" + `, merges what comes of it.

It works for the repositories that you name and no other. The first Ctrl+C or SIGTERM drains
it: it takes no more steps and ends those under way. The second ends at once; what was under
way is begun again on another worker.`,
		Example: "  ralph worker --repo git@host:team/app.git\n  ralph worker --repo /srv/git/app.git --fleet 10.0.0.5:7233 --slots 4\n  ralph worker --repo git@host:team/app.git --agent claude --name big-1 --label gpu",
	}
	fleetAtFlags(cmd, &o.At)
	f := cmd.Flags()
	f.StringArrayVar(&o.Repos, "repo", nil, "the `address` of a repository to work for, just as the coordinator has it; may be given several times")
	f.StringArrayVar(&o.Agents, "agent", nil, "an `agent` that can work here, as the settings call it; may be given several times (default: those that are installed)")
	f.StringArrayVar(&o.Labels, "label", nil, "a `label` that steps may ask for, a name or name=value such as gpu; may be given several times (os and arch are there by themselves)")
	f.StringVar(&o.Name, "name", "", "what the worker is `called` (default: the name of this machine)")
	f.StringVar(&o.Home, "home", "", "its `folder`: clones, worktrees (default: ralph/worker below the user's cache folder)")
	f.IntVar(&o.Slots, "slots", 2, "steps at the same time, `N` from 1 to 64")
	f.DurationVar(&o.Drain, "drain", 30*time.Minute, "how long steps under way may take once it is to end; then they go to another worker")
	cmd.RunE = onlyFleet(env, with, func(fleet fleetcmd.Fleet, cmd *cobra.Command, _ []string) error {
		if err := o.Fill(env); err != nil {
			return err
		}
		var err error
		if o.At, _, err = settled(env, o.At); err != nil {
			return err
		}
		ctx, hard, stop := fleetcmd.TwoSignals(cmd.Context())
		defer stop()
		o.Hard = hard
		return fleet.Worker(ctx, env, o)
	})
	return cmd
}

// Command is `ralph fleet`.
func Command(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	cmd := &cobra.Command{
		Use: "fleet", Short: "See and steer the machines that work together", Args: cobra.NoArgs,
		Example: "  ralph fleet status\n  ralph fleet workers --json\n  ralph fleet doctor\n  ralph fleet drain big-1",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFleetLook(env, with, "status", "Show the workers and the steps under way", fleetcmd.Show),
		newFleetLook(env, with, "workers", "List the workers", func(w io.Writer, v fleetcmd.View, now time.Time) { fleetcmd.ShowWorkers(w, v.Workers, now) }),
		newFleetDrain(env, with), newFleetDoctor(env, with))
	return cmd
}

func newFleetLook(env workspace.Env, with []fleetcmd.Fleet, use, short string, show func(io.Writer, fleetcmd.View, time.Time)) *cobra.Command {
	var at fleetcmd.At
	var asJSON bool
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, Example: "  ralph fleet " + use + "\n  ralph fleet " + use + " --fleet 10.0.0.5:7233 --json"}
	fleetAtFlags(cmd, &at)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = onlyFleet(env, with, func(f fleetcmd.Fleet, cmd *cobra.Command, _ []string) error {
		at, _, err := settled(env, at)
		if err != nil {
			return err
		}
		v, err := f.Look(cmd.Context(), env, at)
		switch {
		case err != nil:
			return err
		case asJSON:
			return json.NewEncoder(env.Stdout).Encode(v)
		}
		show(env.Stdout, v, time.Now())
		return nil
	})
	return cmd
}

func newFleetDrain(env workspace.Env, with []fleetcmd.Fleet) *cobra.Command {
	var at fleetcmd.At
	cmd := &cobra.Command{
		Use: "drain <worker>", Short: action.Named("drain").Short, Args: cobra.ExactArgs(1),
		Example: "  ralph fleet drain big-1",
	}
	fleetAtFlags(cmd, &at)
	cmd.RunE = onlyFleet(env, with, func(f fleetcmd.Fleet, cmd *cobra.Command, args []string) error {
		at, _, err := settled(env, at)
		if err != nil {
			return err
		}
		a, err := f.Ask(cmd.Context(), env, at, fleetcmd.Ask{Worker: args[0], Drain: true})
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "%s takes no more steps; %s\n", args[0], strings.Join(a.Words, ", "))
		return nil
	})
	return cmd
}

func newFleetDoctor(env workspace.Env, with []fleetcmd.Fleet) *cobra.Command {
	var at fleetcmd.At
	var remote string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Try each worker end to end, and say what is missing", Args: cobra.NoArgs,
		Long: `Asks each worker to push a commit of nothing to the remote of this repository, and to take it
away again: that needs the server, a slot, git, the remote and the right to push.`,
		Example: "  ralph fleet doctor\n  ralph fleet doctor --remote /srv/git/app.git",
	}
	fleetAtFlags(cmd, &at)
	cmd.Flags().StringVar(&remote, "remote", "", "the git `remote` that all machines reach: its name, or an address (default fleet.remote)")
	cmd.RunE = onlyFleet(env, with, func(f fleetcmd.Fleet, cmd *cobra.Command, _ []string) error {
		root, err := workspace.FindRoot(env)
		if err != nil {
			return err
		}
		at, usual, err := settled(env, at)
		if err != nil {
			return err
		}
		url, err := f.Remote(cmd.Context(), env, root, cmp.Or(remote, usual))
		if err != nil {
			return err
		}
		v, err := f.Look(cmd.Context(), env, at)
		if err != nil {
			return err
		}
		c, err := workspace.LoadConfig(env, root, nil)
		if err != nil {
			return err
		}
		return fleetcmd.Examine(cmd.Context(), f, env, at, v, match.Needs{Labels: labels.Union(c.Fleet.Labels), Repo: url})
	})
	return cmd
}
