package fleet

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Submit is `ralph submit`.
func Submit(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	var at fleetcmd.At
	var repo, name string
	var priority int
	cmd := &cobra.Command{
		Use: "submit <spec.md>", Short: "Queue a spec at the coordinator of a repository, from any machine", Args: cobra.ExactArgs(1),
		Long: `Hands a spec to the coordinator of a repository, which writes it into ralph/specs and queues
it: ` + "`ralph agent --fleet --watch`" + ` works on it next. Where no coordinator is at work the spec
waits at the Temporal server until one is. The same spec twice, while the first waits, is one.`,
		Example: "  ralph submit feature-x.md --repo git@host:team/app.git\n  ralph submit urgent.md --repo /srv/git/app.git --fleet 10.0.0.5:7233 --priority 5\n  ralph submit - --name hello.md --repo git@host:team/app.git <hello.md",
	}
	fleetAtFlags(cmd, &at)
	f := cmd.Flags()
	f.StringVar(&repo, "repo", "", "the `address` of the repository, just as its coordinator has it (default: the remote of this one)")
	f.StringVar(&name, "name", "", "the `file` to write in ralph/specs (default: its own name)")
	f.IntVar(&priority, "priority", 0, "a whole `number`: a higher one is worked on first (default: what the spec says, else 0)")
	cmd.RunE = onlyFleet(env, with, func(fleet fleetcmd.Fleet, cmd *cobra.Command, args []string) error {
		in, err := fleetcmd.Submitted(env, args[0], name)
		if err != nil {
			return err
		}
		if f.Changed("priority") {
			p := strconv.Itoa(priority)
			in.Priority = &p
		}
		there := Away{fleet: fleet, Repo: repo}
		var remote string
		if there.at, remote, err = settled(env, at); err != nil {
			return err
		}
		if there.Repo == "" {
			root, err := workspace.FindRoot(env)
			if err != nil {
				return errors.Join(flags.Errorf("say for which repository the spec is: --repo ADDRESS"), err)
			}
			if there.Repo, err = fleet.Remote(cmd.Context(), env, root, remote); err != nil {
				return err
			}
		}
		done, err := there.Act(cmd.Context(), env, fleetcmd.Act{Action: "queue", Input: in, Stays: true})
		switch {
		case err != nil:
			return err
		case done.Waiting:
			fmt.Fprintf(env.Stdout, "Submitted; no coordinator of %s is at work now: the next one queues it\n", there.Repo)
		default:
			fmt.Fprintln(env.Stdout, done.Result.Said)
		}
		return nil
	})
	return cmd
}
