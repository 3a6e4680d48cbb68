package inspect

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

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
		return answerQuery(env, what, s, status.Engine{Alive: true}, s.At) // as of that fact
	}
	// Only what is asked for is read: a corrupt inbox does not hide the tasks.
	s, j, err := workspace.ReadState(env, what == "inbox" || what == "stats", what != "inbox")
	if err != nil {
		return err
	}
	return answerQuery(env, what, s, status.Engine{Alive: j.Holder() != nil}, j.Now())
}

func answerQuery(env workspace.Env, what string, s *ralph.State, engine status.Engine, now time.Time) (err error) {
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
		result = status.QueryStats(s, engine, now)
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
