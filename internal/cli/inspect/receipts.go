package inspect

import (
	"fmt"
	"io"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/termtext"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Receipts is `ralph receipts`.
func Receipts(env workspace.Env) *cobra.Command {
	var ask receipts.Receipts
	var session, at string
	cmd := &cobra.Command{
		Use: "receipts [task or number]", Short: "Every decision with what it was decided on, why, and what came of it",
		Long: `Each step that ralph takes for a task is written down before it is carried out: what
was decided, by which rule, on which state and at which time. This lists these
receipts, of everything or of one task with its merges, and what came of each.

With the number of one it shows that receipt whole: the facts of the state that it saw,
the settings, the outcome, and whether it comes out the same when decided once more.`,
		Example: "  ralph receipts -n 20\n  ralph receipts t-1a2b\n  ralph receipts 128\n  ralph receipts --at 22:30 -n 5\n  ralph receipts --json | jq -r '.[].rule' | sort | uniq -c",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := flags.JSON(cmd)
	cmd.Flags().IntVarP(&ask.Most, "lines", "n", 0, "only the newest N (0: all)")
	cmd.Flags().StringVar(&session, "session", "", "only of this `session`")
	atFlag(cmd, &at)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		last, err := lastOf(env, at)
		if err != nil {
			return err
		}
		ask.Session = ralph.SessionID(session)
		if ask.Most < 0 {
			return flags.Errorf("-n %d: a number of receipts, 0 for all", ask.Most)
		}
		if len(args) == 1 {
			if seq, err := strconv.ParseInt(args[0], 10, 64); err == nil {
				if seq > last {
					return flags.Errorf("receipt %d came after the moment of --at, which is fact %d", seq, last)
				}
				return showReceipt(env, seq, *asJSON)
			}
			ask.Task = ralph.TaskID(args[0])
		}
		return listReceipts(env, &ask, last, *asJSON)
	}
	return cmd
}

func listReceipts(env workspace.Env, ask *receipts.Receipts, last int64, asJSON bool) error {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	s, known := &ralph.State{}, false
	err = eachUpTo(j, last, func(e ralph.Event) error {
		ask.Add(e, s)
		s.Apply(e)
		known = known || ask.Task != "" && s.Task(ask.Task) != nil
		return nil
	})
	switch {
	case err != nil:
		return err
	case ask.Session != "" && ask.Sessions == 0:
		return &ralph.Refusal{Why: fmt.Sprintf("no session %s in the journal", ask.Session), Hint: "`ralph log` shows the ids (Session new: ...)", Kind: ralph.ErrNotFound}
	case ask.Task != "" && !known:
		return &ralph.Refusal{Why: fmt.Sprintf("no task %s in the journal", ask.Task), Hint: "`ralph task list` has the ids of the plan, `ralph receipts` those of all decisions", Kind: ralph.ErrNotFound}
	}
	list := ask.List()
	if asJSON {
		return workspace.PrintJSON(env.Stdout, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "No decisions yet.")
		return err
	}
	return printDressed(env, receipts.ReceiptList(list))
}

// showReceipt is one receipt with what it saw, decided once more.
func showReceipt(env workspace.Env, seq int64, asJSON bool) error {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	x, err := observe.Evidence(j, &ralph.State{}, seq, nil)
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, x)
	}
	return printDressed(env, x.Text())
}

// printDressed prints a text, on a terminal so that it fits.
func printDressed(env workspace.Env, text string) error {
	if env.Terminal {
		text = termtext.Fit(text, env.Environ)
	}
	_, err := io.WriteString(env.Stdout, text)
	return err
}
