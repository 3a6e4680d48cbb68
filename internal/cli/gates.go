package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// What waits for a person: gates, and the words that open them.

func newGates(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "gates [id]", Short: "What waits for you, oldest first; with an id all there is to decide by", Args: cobra.MaximumNArgs(1),
		Long: `Lists all that waits for a person, whoever asks:

  start      a session that is not to begin without you
  step       the next task, in mode step
  question   an agent wants to know something
  approval   an agent wants to do something that the settings leave to you
  operation  an agent wants to do something that gate.patterns or the never list holds
  test       work whose checks stay red, or whose diff needs your eye
  merge      finished work that cannot be merged without you

The first answer wins, from whichever terminal. docs/approvals.md says what --json prints.`,
		Example: "  ralph gates\n  ralph gates g-1a2b\n  ralph gates --json | jq '.[] | {id, kind, text, deadline}'",
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, j, err := workspace.ReadState(env, false, true)
		if err != nil {
			return err
		}
		engine, now := j.Holder() != nil, j.Now()
		s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *ralph.Approval) bool { return !g.Answerable(engine, now) })
		if len(args) == 1 {
			root, err := workspace.FindRoot(env)
			if err != nil {
				return err
			}
			return showGate(cmd.Context(), env, j, s, ralph.ApprovalID(args[0]), root, *asJSON)
		}
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, status.QueryGates(s))
		}
		return listGates(env.Stdout, s, now)
	}
	return cmd
}

func listGates(w io.Writer, s *ralph.State, now time.Time) error {
	if len(s.Approvals) == 0 {
		_, err := fmt.Fprintln(w, "Nothing waits for you.")
		return err
	}
	width := len(ralph.ApprovalQuestion)
	for _, g := range s.Approvals {
		width = max(width, len(g.Kind))
	}
	for _, g := range s.Approvals {
		about := g.Task
		if g.About != "" {
			about = g.About
		}
		fmt.Fprintf(w, "%s  %-*s  %s  %s\n", g.ID, width, g.Kind, about, text.Visible(gates.Beginning(g.Text)))
		if len(g.Options) > 0 {
			fmt.Fprintf(w, "      %s\n", report.OptionWords(g.Options))
		}
		if !g.Deadline.IsZero() {
			fmt.Fprintf(w, "      %s\n", gates.UntilWords(g, now))
		}
		if holder := gates.HeldBy(g); holder != "" {
			fmt.Fprintf(w, "      %s\n", text.Visible(text.FirstLine(holder)))
		}
		for _, how := range gates.How(g) {
			fmt.Fprintf(w, "      %s\n", how)
		}
	}
	_, err := fmt.Fprintln(w, "`ralph gates <id>` shows what there is to decide by.")
	return err
}

func showGate(ctx context.Context, env workspace.Env, j *journal.File, s *ralph.State, id ralph.ApprovalID, root string, asJSON bool) error {
	for _, g := range s.Approvals {
		if g.ID != id {
			continue
		}
		d := observe.GateDetail(ctx, env, s, g, root)
		if asJSON {
			return workspace.PrintJSON(env.Stdout, d)
		}
		_, err := io.WriteString(env.Stdout, text.Visible(d.Words(j.Now())))
		return err
	}
	return gates.NotOpen(id, j.Each)
}
