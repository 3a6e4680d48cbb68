// Package inspect owns the commands that only look: where the work stands, what happened, why,
// what was decided and whether that holds. They write no fact; what they show is made by
// status, report, screen, whatif and verify.
package inspect

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Status is `ralph status`.
func Status(env workspace.Env) *cobra.Command {
	var asJSON, watch bool
	var at string
	cmd := &cobra.Command{
		Use: "status", Short: "Where the work stands", Args: cobra.NoArgs,
		Long: `Says where the work stands: what waits for you first, then the engine, the plan, what
each agent is at and said last, budgets, and limits with the time they end.

With --watch it stays and shows each change, until Ctrl+C; that ends the view, not the
work. Without a terminal it prints a block for each change, with --json one object a line.

With --at it says where the work stood then: after the fact with that number
(` + "`ralph log --json`" + ` and ` + "`ralph receipts`" + ` have them), or at a time.`,
		Example: "  ralph status\n  ralph status --watch\n  ralph status --json | jq .current_step\n  ralph status --at 120\n  ralph status --at 22:30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := workspace.FindRoot(env)
			if err == nil {
				err = workspace.NeedsSetup(root)
			}
			if err != nil {
				return err
			}
			if at != "" {
				return runStatusAt(env, at, asJSON)
			}
			if watch {
				return console.Watch(cmd.Context(), env, asJSON)
			}
			return runStatus(env, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/status.md says what is in it)")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "stay, and show each change")
	atFlag(cmd, &at)
	cmd.MarkFlagsMutuallyExclusive("watch", "at")
	return cmd
}

// atFlag adds --at.
func atFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "at", "", "as it was then: after fact `N`, or at a time: "+flags.SinceForms)
}

// runStatusAt is the status as it was, with the clock of that fact.
func runStatusAt(env workspace.Env, at string, asJSON bool) error {
	s, newest, err := stateAt(env, at)
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.All(s, status.Then(s), s.At))
	}
	head := fmt.Sprintf("As it was after fact %d of %d, %s\n\n", s.Seq, newest, s.At.Local().Format("2006-01-02 15:04:05"))
	return printDressed(env, head+status.Text(s, status.Then(s), s.At))
}

// stateAt is the state after a fact, or at a time; newest is how many facts there are.
func stateAt(env workspace.Env, text string) (s *ralph.State, newest int64, err error) {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return nil, 0, err
	}
	newest = j.State().Seq
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil {
		s, err = j.At(seq)
		return s, newest, err
	}
	when, err := flags.ParseSince(text, time.Now()) // with the person's zone
	if err != nil {
		return nil, 0, flags.Errorf("--at %q: give the number of a fact, or a time: %s", text, flags.SinceForms)
	}
	s, err = j.AtTime(when.From(j.State()))
	if err == nil && s.Seq == 0 {
		err = &ralph.Refusal{Why: "there is no fact before " + when.From(j.State()).Local().Format("2006-01-02 15:04:05"), Hint: "`ralph log` shows when the first was", Kind: ralph.ErrNotFound}
	}
	return s, newest, err
}

// lastOf is the fact that --at asks for; without it all there are.
func lastOf(env workspace.Env, at string) (int64, error) {
	if at == "" {
		return math.MaxInt64, nil
	}
	s, _, err := stateAt(env, at)
	if err != nil {
		return 0, err
	}
	return s.Seq, nil
}

// eachUpTo visits the journal up to a fact.
func eachUpTo(j *journal.File, last int64, visit func(ralph.Event) error) error {
	enough := errors.New("what came later")
	err := j.Each(0, func(e ralph.Event) error {
		if e.Seq > last {
			return enough
		}
		return visit(e)
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

func runStatus(env workspace.Env, asJSON bool) error {
	s, j, err := workspace.ReadState(env, true, true)
	if err != nil {
		return err
	}
	engine, now := observe.Engine(j), j.Now()
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.All(s, engine, now))
	}
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	engine.Words = observe.NewOutputTail(env, root).Words(s, engine)
	return printDressed(env, status.Text(s, engine, now))
}

// Query is `ralph query`.
func Query(env workspace.Env) *cobra.Command {
	what := []string{"tasks", "issues", "inbox", "stage", "next", "gates", "stats"}
	var at string
	cmd := &cobra.Command{
		Use: "query [tasks|issues|inbox|stage|next|gates|stats]", Short: "The state as JSON, for scripts",
		Example:   "  ralph query inbox | jq length\n  ralph query tasks | jq '.[] | select(.status == \"pending\") | .name'\n  ralph query tasks --at 120     as they were after fact 120",
		ValidArgs: what,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"stage"}
			}
			return runQuery(env, args[0], at)
		},
	}
	atFlag(cmd, &at)
	return cmd
}

func runQuery(env workspace.Env, what, at string) error {
	if at != "" {
		s, _, err := stateAt(env, at)
		if err != nil {
			return err
		}
		return answerQuery(env, what, s, s.At)
	}
	// Only what is asked for is read: a corrupt inbox does not hide the tasks.
	s, j, err := workspace.ReadState(env, what == "inbox" || what == "stats", what != "inbox")
	if err != nil {
		return err
	}
	return answerQuery(env, what, s, j.Now())
}

func answerQuery(env workspace.Env, what string, s *ralph.State, now time.Time) (err error) {
	var result any
	switch what {
	case "tasks":
		result = status.QueryTasks(s)
	case "issues":
		result = status.QueryIssues(s)
	case "inbox":
		result = status.QueryInbox(s)
	case "stage":
		result = status.QueryStage(s)
	case "gates":
		result = status.QueryGates(s)
	case "stats":
		result = status.QueryStats(s, now)
	case "next":
		if result, err = queryNext(env, s); err != nil {
			return err
		}
	}
	return workspace.PrintJSON(env.Stdout, result)
}

func queryNext(env workspace.Env, s *ralph.State) (any, error) {
	c, err := workspace.ScheduleConfig(env, s)
	if err != nil {
		return nil, err
	}
	if list := screen.ReadyList(s, c); len(list) > 0 {
		return list, nil
	}
	return nil, nil // null
}
