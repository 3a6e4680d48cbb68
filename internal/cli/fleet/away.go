package fleet

import (
	"context"

	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Away is a repository whose coordinator is on another machine.
type Away struct {
	fleet fleetcmd.Fleet
	at    fleetcmd.At
	Repo  string
}

type awayKey struct{}

// AwayOf is the repository that a command was given for from elsewhere.
func AwayOf(cmd *cobra.Command) (Away, bool) {
	a, ok := cmd.Context().Value(awayKey{}).(Away)
	return a, ok
}

// Act has the coordinator of that repository carry an action out.
func (a Away) Act(ctx context.Context, env workspace.Env, what fleetcmd.Act) (fleetcmd.Acted, error) {
	what.Repo = a.Repo
	return a.fleet.Act(ctx, env, a.at, what)
}

// Anywhere lets a command be given from any machine: with --repo the coordinator of that
// repository carries it out.
func Anywhere(env workspace.Env, with []fleetcmd.Fleet, cmd *cobra.Command) *cobra.Command {
	var there Away
	f := cmd.Flags()
	f.StringVar(&there.Repo, "repo", "", "of the repository with this `address`, by way of its coordinator on another machine (docs/fleet.md)")
	f.StringVar(&there.at.Address, "fleet", "", "with --repo: `HOST:PORT` of the Temporal server (default fleet.address, else TEMPORAL_ADDRESS)")
	run, looks := cmd.RunE, cmd.Name() == "status" || cmd.Name() == "log"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case there.Repo == "" && f.Changed("fleet"):
			return flags.Errorf("--fleet goes with --repo ADDRESS: which repository is it about?")
		case there.Repo == "":
			return run(cmd, args)
		case len(with) == 0:
			return fleetcmd.Become(env)
		}
		there.fleet = with[0]
		var err error
		if there.at, _, err = settled(env, there.at); err != nil {
			return err
		}
		if looks {
			return there.look(cmd, env, args)
		}
		cmd.SetContext(context.WithValue(cmd.Context(), awayKey{}, there))
		return run(cmd, args)
	}
	return cmd
}

// look prints what a command that only looks says at the coordinator.
func (a Away) look(cmd *cobra.Command, env workspace.Env, args []string) error {
	if w := cmd.Flags().Lookup("watch"); w != nil && w.Changed {
		return flags.Errorf("--watch is for the machine itself; from here `ralph log -f --repo %s` shows each change", a.Repo)
	}
	words, follow := given(cmd, args)
	return fleetcmd.Look(cmd.Context(), a.fleet, env, a.at, fleetcmd.Act{Repo: a.Repo, Look: words}, follow)
}

// given is a command line as the coordinator is to have it: without what says where that is, and
// without --follow, which is done here.
func given(cmd *cobra.Command, args []string) (words []string, follow bool) {
	words = []string{cmd.Name()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, many := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "repo" || f.Name == "fleet" || f.Name == "directory":
		case f.Name == "follow":
			follow = f.Value.String() == "true"
		case many:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name+"="+v)
			}
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	if len(args) > 0 {
		words = append(append(words, "--"), args...)
	}
	return words, follow
}
