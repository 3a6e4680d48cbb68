package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Answers of people that hold from now on.

func newRules(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules", Short: "Your answers that hold from now on (--always); revoke ends one", Args: cobra.NoArgs,
		Long: `An answer with --always is a rule: whoever asks the very same later gets it at once. The
same is: the same command in the same folder, the same files by the same tool, a question
in the same words with the same choices; of other tools, the same input. Paths count from
the top of the work tree, so that a rule holds in every slot.

A rule that denies beats one that approves; otherwise the newest decides. No rule decides
what is on the never list. Each answer that a rule gives is in ` + "`ralph log`" + `.`,
		Example: "  ralph approve g-1a2b --always\n  ralph rules\n  ralph rules revoke r-5f0c --reason \"it deploys by now\"",
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		s, j, err := workspace.ReadState(env, false, false)
		if err != nil {
			return err
		}
		rows := status.QueryRules(s, j.Now())
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, rows)
		}
		return listRules(env.Stdout, rows)
	}
	cmd.AddCommand(newRulesRevoke(env))
	return cmd
}

func listRules(w io.Writer, rows []status.RuleRecord) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "No answer holds from now on. `ralph approve <id> --always` makes a rule of one.")
		return err
	}
	for _, r := range rows {
		expired := ""
		if r.Expired != "" {
			expired = strings.ToUpper(r.Expired) + ": "
		}
		fmt.Fprintf(w, "%s  %s%s\n", r.ID, expired, text.Visible(r.What))
		if r.Request.Dir != "" {
			fmt.Fprintf(w, "        in %s\n", text.Visible(r.Request.Dir))
		}
		fmt.Fprintf(w, "        %s; from %s by %s at %s\n", report.RuleReach(&r.AnswerRule), r.From, r.By, r.At.Local().Format("2006-01-02 15:04:05"))
	}
	_, err := fmt.Fprintln(w, "`ralph rules revoke <id>` ends one.")
	return err
}

func newRulesRevoke(env workspace.Env) *cobra.Command {
	var reason string
	cmd := commandOf("revoke")
	cmd.Args, cmd.Example = cobra.ExactArgs(1), "  ralph rules revoke r-5f0c"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, _, err := perform(cmd, env, "revoke", action.Input{ID: args[0], Text: reason})
		if err == nil {
			_, err = fmt.Fprintf(env.Stdout, "Revoked: %s\n", args[0])
		}
		return err
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	return cmd
}
