package cli

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newStatus(env workspace.Env) *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use: "status", Short: "Where the work stands", Args: cobra.NoArgs,
		Long: `Says where the work stands: what waits for you first, then the engine, the plan, what
each agent is at and said last, budgets, and limits with the time they end.

With --watch it stays and shows each change, until Ctrl+C; that ends the view, not the
work. Without a terminal it prints a block for each change, with --json one object a line.`,
		Example: "  ralph status\n  ralph status --watch\n  ralph status --json | jq .current_step",
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := workspace.FindRoot(env)
			if err == nil {
				err = workspace.NeedsSetup(root)
			}
			if err != nil {
				return err
			}
			if watch {
				return console.Watch(cmd.Context(), env, asJSON)
			}
			return runStatus(env, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (docs/status.md says what is in it)")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "stay, and show each change")
	return cmd
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

func newQuery(env workspace.Env) *cobra.Command {
	what := []string{"tasks", "issues", "inbox", "stage", "next", "gates", "stats"}
	return &cobra.Command{
		Use: "query [tasks|issues|inbox|stage|next|gates|stats]", Short: "The state as JSON, for scripts",
		Example:   "  ralph query inbox | jq length\n  ralph query tasks | jq '.[] | select(.status == \"pending\") | .name'",
		ValidArgs: what,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"stage"}
			}
			return runQuery(env, args[0])
		},
	}
}

func runQuery(env workspace.Env, what string) error {
	// Only what is asked for is read: a corrupt inbox does not hide the tasks.
	s, j, err := workspace.ReadState(env, what == "inbox" || what == "stats", what != "inbox")
	if err != nil {
		return err
	}
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
		result = status.QueryStats(s, j.Now())
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
	return nil, nil // null (B-040)
}
