package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/rules"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Why is `ralph why`.
func Why(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "why [task]", Short: "Why a task is not running, or was chosen, with each part of its score",
		Long: `Says of a task whether it is chosen, its rank among the ready ones, each part of its
score, and what it waits for; of one that has ended, by which rule. Without a task:
the ready tasks in the order in which they start.`,
		Example: "  ralph why t-1a2b\n  ralph why", Args: cobra.MaximumNArgs(1),
	}
	asJSON := flags.JSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, j, err := workspace.ReadState(env, false, true)
		if err != nil {
			return err
		}
		c, err := workspace.ScheduleConfig(env, s)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return whyAll(env.Stdout, s, c, *asJSON)
		}
		x := policy.Explain(s, ralph.TaskID(args[0]), c, j.Now())
		if x == nil {
			return &ralph.Refusal{Why: fmt.Sprintf("no task %s in the plan", args[0]), Hint: "`ralph query tasks` lists them", Kind: ralph.ErrNotFound}
		}
		full := explained{Explanation: x}
		x.Lacks(s.Task(x.Task), observe.Engine(j).Fleet.Missing(x.Task))
		if full.End, err = endOf(j.Each, x.Task, x.Status); err != nil {
			return err
		}
		if *asJSON {
			return workspace.PrintJSON(env.Stdout, full)
		}
		_, err = io.WriteString(env.Stdout, full.text(c.Scoring))
		return err
	}
	return cmd
}

// explained is an explanation with the decision that ended the task.
type explained struct {
	*policy.Explanation
	End *taskEnd `json:"end,omitempty"`
}

// taskEnd is the newest end of a task: when, and by which rule.
type taskEnd struct {
	At   time.Time `json:"at"`
	Rule string    `json:"rule,omitempty"`
	Why  string    `json:"why"`
}

// endOf finds how a task ended in the journal.
func endOf(each func(int64, func(ralph.Event) error) error, id ralph.TaskID, status ralph.TaskStatus) (*taskEnd, error) {
	if !status.Ended() {
		return nil, nil
	}
	var end *taskEnd
	err := each(0, func(e ralph.Event) error {
		if f, ok := e.Fact.(ralph.TaskEnded); ok && f.ID == id {
			end = &taskEnd{At: e.At, Rule: f.Why.Rule, Why: f.Why.Text}
		}
		return nil
	})
	return end, err
}

func (x explained) text(w policy.Scoring) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s: %s\n", x.Task, x.Name, x.Status, x.Words)
	if x.End != nil && x.End.Rule != "" {
		fmt.Fprintf(&b, "\nEnded:   %s, by rule %s: %s\n", x.End.At.Local().Format("2006-01-02 15:04:05"), x.End.Rule, x.End.Why)
		if s := rules.Sentence(x.End.Rule); s != "" {
			fmt.Fprintf(&b, "         (%s)\n", s)
		}
	}
	if len(x.Waits) > 0 {
		b.WriteString("\nWaits for:\n")
		for _, w := range x.Waits {
			fmt.Fprintf(&b, "  %s\n", text.FirstLine(w))
		}
	}
	if x.Ready {
		fmt.Fprintf(&b, "\nRank:    %d of the ready ones (`ralph why` lists them)\n", x.Rank)
	}
	fmt.Fprintf(&b, "\nScore:   %d\n", x.Score)
	for _, p := range screen.ScoreParts(x.Parts, w) {
		fmt.Fprintf(&b, "  %+5d  %s\n", p.Points, p.Reason)
	}
	return b.String()
}

// whyAll lists the ready tasks, best first.
func whyAll(w io.Writer, s *ralph.State, c policy.Config, asJSON bool) error {
	list := screen.ReadyList(s, c)
	if asJSON {
		if list == nil {
			list = []screen.Ready{}
		}
		return workspace.PrintJSON(w, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No task is ready. `ralph task list` shows the plan, `ralph why <task>` what one waits for.")
		return err
	}
	for n, x := range list {
		p := x.Parts
		fmt.Fprintf(w, "%2d. %s  %5d  %s  (unblocks %d, critical %d, quick-win %d, near-complete %d, retry %d)\n",
			n+1, x.Task.ID, x.Score, x.Task.Name, p.Unblocks, p.Critical, p.QuickWin, p.NearComplete, p.Retry)
	}
	_, err := fmt.Fprintln(w, "The first goes first; with equal scores priority, then plan order decides.")
	return err
}
