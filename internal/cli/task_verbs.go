package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// taskVerb is a command that says what becomes of one task: its id, then words.
type taskVerb struct {
	use, short, long string
	example          string
	least, most      int // arguments, the id included
	decide           func(s *ralph.State, id ralph.TaskID, words string) ([]ralph.Fact, error)
}

func newTaskVerbs(env workspace.Env) []*cobra.Command {
	verbs := append(reviewVerbs(), recoveryVerbs()...)
	cmds := make([]*cobra.Command, len(verbs))
	for i, v := range verbs {
		cmd := &cobra.Command{
			Use: v.use, Short: v.short, Long: v.long, Example: "  ralph task " + v.example, Args: cobra.RangeArgs(v.least, v.most),
		}
		asJSON := jsonFlag(cmd)
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			id, words := ralph.TaskID(args[0]), strings.Join(args[1:], " ")
			return updatePlan(cmd, env, *asJSON, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
				facts, err := v.decide(s, id, words)
				return facts, id, err
			})
		}
		cmds[i] = cmd
	}
	return cmds
}

// reviewVerbs are a person's words on work and its order.
func reviewVerbs() []taskVerb {
	return []taskVerb{
		{
			use: "done <id>", short: "Mark a task done by hand", example: "done t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) {
				return s.EndTask(id, ralph.TaskDone, "by hand")
			},
		},
		{
			use: "accept <id>", short: "Accept a task that is done", example: "accept t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) { return s.AcceptTask(id) },
		},
		{
			use: "reject <id> <reason>", short: "Send a task back, with the reason for the agent's next prompt",
			example: `reject t-1a2b "the usage text is missing"`, least: 2, most: 2, decide: (*ralph.State).RejectTask,
		},
		{
			use: "prioritize <id>", short: "Put a task first", example: "prioritize t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) { return s.PrioritizeTask(id) },
		},
		{
			use: "assign <id>", short: "Choose the task that is worked on next",
			long: `Chooses a pending task to be worked on next, before all that score higher. In
` + "`ralph autopilot --semi`" + ` nothing starts but what is assigned. A task that has to
wait for others starts when they are done and merged.`,
			example: "assign t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) { return s.AssignTask(id) },
		},
	}
}

// recoveryVerbs are for tasks that ended badly (B-065, B-076).
func recoveryVerbs() []taskVerb {
	return []taskVerb{
		{
			use: "retry <id>", short: "Give a task that ended badly another try (key r)",
			long: `Makes a failed, timed-out, blocked or skipped task pending again. Its iterations are
counted from 1, its worktree and branch stay as they are, and what the agent learnt
(red checks, answers, rejections) goes into its next prompt.`,
			example: "retry t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) { return s.RetryTask(id) },
		},
		{
			use: "unblock <id>", short: "Make a blocked task pending again (key r)", example: "unblock t-1a2b", least: 1, most: 1,
			decide: func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) { return s.UnblockTask(id) },
		},
		{
			use: "skip <id> [reason]", short: "Leave a task out; one at work is left out at the end of its iteration",
			example: `skip t-1a2b "not needed after all"`, least: 1, most: 2, decide: (*ralph.State).SkipTask,
		},
	}
}

func newTaskExtend(env workspace.Env) *cobra.Command {
	var more ralph.Allowance
	cmd := &cobra.Command{
		Use: "extend <id>", Short: "Give one task more iterations or more time (key +)",
		Long: `Gives one task what you say; with nothing said as much time again when it ran out of
time, else half as many iterations again. Other tasks keep task.max_iterations and task.timeout. A task that has ended needs
` + "`ralph task retry`" + ` as well, which counts both from the start.`,
		Example: "  ralph task extend t-1a2b && ralph task retry t-1a2b\n  ralph task extend t-1a2b --to 100\n  ralph task extend t-1a2b --time 30m", Args: cobra.ExactArgs(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.Flags().IntVar(&more.Iterations, "to", 0, "the new number of `iterations`")
	cmd.Flags().DurationVar(&more.Time, "time", 0, "`time` that it gets on top, such as 30m")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("to") && more.Iterations < 1 {
			return usage("--to %d: give a whole number from 1 up", more.Iterations)
		}
		if cmd.Flags().Changed("time") && more.Time <= 0 {
			return usage("--time %s: say how much time it gets on top, such as 30m", more.Time)
		}
		c, err := workspace.SettingsOf(env)
		if err != nil {
			return err
		}
		words := ""
		err = updatePlan(cmd, env, *asJSON, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
			id := ralph.TaskID(args[0])
			facts, err := s.ExtendTask(id, more, ralph.Allowance{Iterations: c.Task.MaxIterations, Time: c.Task.Timeout})
			if err == nil {
				words = facts[0].(ralph.TaskExtended).Words()
			}
			return facts, id, err
		})
		if err == nil && !*asJSON {
			fmt.Fprintf(env.Stdout, "it may take %s now\n", words)
		}
		return err
	}
	return cmd
}

func newTaskDivide(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "divide <id> <name> <name> ...", Short: "Put smaller tasks in the place of one that was too much (key e)",
		Long: `Adds the smaller tasks with the notes, deps and tags of the one they come from, lets
what waited for it wait for all of them, and closes it as skipped.`,
		Example: `  ralph task divide t-1a2b "Parse the file" "Write the report"`, Args: cobra.MinimumNArgs(3),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return updatePlan(cmd, env, *asJSON, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
			id, names := ralph.TaskID(args[0]), args[1:]
			facts, err := s.DivideTask(id, workspace.NewTaskIDs(s, len(names)), names)
			return facts, id, err
		})
	}
	return cmd
}

// jsonFlag gives a command --json.
func jsonFlag(cmd *cobra.Command) *bool {
	asJSON := new(bool)
	cmd.Flags().BoolVar(asJSON, "json", false, "print JSON")
	return asJSON
}

// updatePlan runs decide on the plan and prints the task that it names.
func updatePlan(cmd *cobra.Command, env workspace.Env, asJSON bool, decide func(*ralph.State) ([]ralph.Fact, ralph.TaskID, error)) error {
	j, err := workspace.OpenJournal(env, false, true)
	if err != nil {
		return err
	}
	var id ralph.TaskID
	err = j.Update(cmd.Context(), "cli", func(s *ralph.State) (facts []ralph.Fact, err error) {
		facts, id, err = decide(s)
		return facts, err
	})
	s := j.State()
	if err := errors.Join(err, j.Close()); err != nil {
		return err
	}
	return printTask(env, s, id, asJSON)
}

// printTask shows a task after it was changed: one line, or its record.
func printTask(env workspace.Env, s *ralph.State, id ralph.TaskID, asJSON bool) error {
	t := s.Task(id)
	switch {
	case t == nil:
		return nil
	case asJSON:
		return workspace.PrintJSON(env.Stdout, status.QueryTask(t))
	}
	more := ""
	switch {
	case t.Status == ralph.TaskActive && t.Run.Skip != "":
		more = " (is skipped at the end of its iteration)"
	case t.Status == ralph.TaskPending && t.Run.Assigned:
		more = " (is next)"
	}
	_, err := fmt.Fprintf(env.Stdout, "%s %s %s%s\n", t.ID, t.Status, t.Name, more)
	return err
}
