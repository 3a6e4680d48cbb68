package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// The services that progress is sent to: how they are, what waits, and what a person can do.

func newBreaker(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "breaker", Short: "The services that progress is sent to: their breakers, and what waits for them", Args: flags.NoSuchCommand,
		Long: `A service that fails is left alone for a while: its breaker opens, what is to be sent waits
in the journal, and after the time of reset one call is tried. A service at a limit is not
asked before its time. Numbers are under breakers in ralph/config.yaml.`,
		Example: "  ralph breaker list\n  ralph breaker retry github\n  ralph breaker reset jira\n  ralph breaker drop github",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use: "list", Short: "Each service: breaker, next try, and what waits with its reason", Args: cobra.NoArgs,
		Example: "  ralph breaker list\n  ralph breaker list --json",
	}
	asJSON := flags.JSON(list)
	list.RunE = func(*cobra.Command, []string) error {
		s, j, err := workspace.ReadState(env, false, false)
		if err != nil {
			return err
		}
		rows := services.Query(s, j.Now())
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, rows)
		}
		return listServices(env.Stdout, rows)
	}
	cmd.AddCommand(list)
	for _, name := range []string{"breaker-retry", "breaker-reset", "breaker-drop"} {
		c := saying(env, name, func(args []string) action.Input { return action.Input{ID: args[0]} })
		verb, _, _ := strings.Cut(action.Named(name).Command, " <")
		c.Args, c.Example = cobra.ExactArgs(1), "  ralph "+verb+" github"
		cmd.AddCommand(c)
	}
	return cmd
}

func listServices(w io.Writer, rows []services.Row) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was sent to a service yet. Switch one on under `sync` in ralph/config.yaml.")
		return err
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%-13s %s", r.Title, r.State)
		if r.Failures > 0 {
			fmt.Fprintf(w, " (%s)", text.Count(r.Failures, "failure"))
		}
		fmt.Fprintf(w, "; %d sent, %d waiting, %d parked\n", r.Sent, r.Waiting, r.Parked)
		if !r.Next.IsZero() {
			fmt.Fprintf(w, "  nothing is sent before %s: %s\n", r.Next.Local().Format("2006-01-02 15:04:05"), text.Visible(r.Why))
		}
		if r.Fix != "" {
			fmt.Fprintf(w, "  %s\n", r.Fix)
		}
		for _, e := range r.Entries {
			fmt.Fprintf(w, "  %s: %s\n", text.Visible(e.Item), entryWords(e))
			if e.Help != "" {
				fmt.Fprintf(w, "    %s has it tried again, when its reason is gone\n", e.Help)
			}
		}
	}
	return nil
}

func entryWords(e services.Entry) string {
	words := string(e.Kind)
	switch {
	case e.Parked:
		words += ", parked: " + text.Visible(text.OneLine(e.Problem))
	case e.Problem != "":
		words += ", waits: " + text.Visible(text.OneLine(e.Problem))
	default:
		words += ", waits"
	}
	if e.Kind == ralph.PushComment {
		words += fmt.Sprintf(" (%q)", text.OneLine(e.Text))
	}
	return words
}
