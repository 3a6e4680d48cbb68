package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newTask(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "Work on the tasks of the plan by hand",
		Long: `Work on the tasks of the plan by hand: list them, change them, and say what becomes of
those that ended badly. The letter behind a command is its key in the user interfaces.`,
		Example: "  ralph task add \"Write the README\"\n  ralph task add '{\"name\":\"Ship it\",\"deps\":[\"t-1a2b\"],\"tags\":[\"critical\"]}'\n" +
			"  ralph task retry t-1a2b\n  ralph task reject t-1a2b \"the usage text is missing\"",
		Args: flags.NoSuchCommand,
		RunE: func(*cobra.Command, []string) error { return runTaskList(env, false) },
	}
	cmd.AddCommand(newTaskList(env), newTaskShow(env), newTaskAdd(env), newTaskEdit(env))
	cmd.AddCommand(newTaskVerbs(env)...)
	cmd.AddCommand(newTaskExtend(env), newTaskDivide(env), newTaskRollback(env), newTaskCleanup(env), newTaskOrder(env))
	return cmd
}

func newTaskList(env workspace.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "The tasks of the plan, in order", Args: cobra.NoArgs,
		Example: "  ralph task list\n  ralph task list --json",
		RunE:    func(*cobra.Command, []string) error { return runTaskList(env, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as ralph query tasks does")
	return cmd
}

func newTaskShow(env workspace.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show <id>", Short: "One task with what happened to it", Args: cobra.ExactArgs(1),
		Example: "  ralph task show t-1a2b",
		RunE:    func(_ *cobra.Command, args []string) error { return runTaskShow(env, args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newTaskAdd(env workspace.Env) *cobra.Command {
	cmd := commandOf("add")
	cmd.Args = cobra.ExactArgs(1)
	cmd.Example = "  ralph task add \"Write the README\"\n  ralph task add \"Train the model\" --worker gpu\n  ralph task add '{\"name\":\"Ship it\",\"accept\":\"the tests pass\",\"priority\":\"high\"}'"
	asJSON := flags.JSON(cmd)
	worker := cmd.Flags().StringSlice("worker", nil, "labels that a worker of a fleet must have for it, beside those of its spec, such as gpu")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		said := taskJSON{Name: &args[0]}
		if strings.HasPrefix(strings.TrimSpace(args[0]), "{") {
			said = taskJSON{}
			if err := decodeTask(args[0], &said); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("worker") {
			said.Worker = *worker
		}
		_, err := actOnTask(cmd, env, "add", said.input(""), *asJSON)
		return err
	}
	return cmd
}

// taskJSON is what people may say of a task; what is not said stays as it is.
type taskJSON struct {
	Name          *string  `json:"name"`
	Notes         *string  `json:"notes"`
	Accept        *string  `json:"accept"`
	Deps          []string `json:"deps"`
	Tags          []string `json:"tags"`
	Worker        []string `json:"worker"`
	Priority      *string  `json:"priority"`
	Phase         *string  `json:"phase"`
	Parent        *string  `json:"parent"`
	MaxIterations *int     `json:"max_iterations"`
}

func (t taskJSON) input(id string) action.Input {
	return action.Input{
		ID: id, Name: t.Name, Notes: t.Notes, Accept: t.Accept, Deps: t.Deps, Tags: t.Tags, Worker: t.Worker,
		Priority: t.Priority, Phase: t.Phase, Parent: t.Parent, MaxIterations: t.MaxIterations,
	}
}

func decodeTask(text string, into *taskJSON) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &ralph.Refusal{
			Why: fmt.Sprintf("the task is no valid JSON object: %v", err), Kind: ralph.ErrUsage,
			Hint: `it may have name, notes, accept, deps, tags, worker, priority, phase, parent, max_iterations`,
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &ralph.Refusal{Why: "there is something behind the JSON object of the task", Kind: ralph.ErrUsage}
	}
	return nil
}

func newTaskEdit(env workspace.Env) *cobra.Command {
	cmd := commandOf("edit")
	cmd.Args = cobra.RangeArgs(1, 2)
	cmd.Example = "  ralph task edit t-1a2b --name \"Write the README\" --accept \"it has the two commands\"\n" +
		"  ralph task edit t-1a2b '{\"deps\":[]}'"
	asJSON := flags.JSON(cmd)
	flags := taskFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && !changesTask(cmd) {
			return &ralph.Refusal{Why: "nothing to change", Hint: "see `ralph task edit --help`", Kind: ralph.ErrUsage}
		}
		var said taskJSON
		if len(args) == 2 {
			if err := decodeTask(args[1], &said); err != nil {
				return err
			}
		}
		flags(&said)
		_, err := actOnTask(cmd, env, "edit", said.input(args[0]), *asJSON)
		return err
	}
	return cmd
}

// taskFlags gives a command a flag for each field of a task. What it returns writes those that
// were given over what was said otherwise.
func taskFlags(cmd *cobra.Command) func(*taskJSON) {
	var name, notes, accept, priority, phase string
	var deps, tags, worker []string
	var most int
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "what to do, one line")
	f.StringVar(&notes, "notes", "", "anything that helps")
	f.StringVar(&accept, "accept", "", "when it is done")
	f.StringSliceVar(&deps, "deps", nil, "tasks that come first")
	f.StringSliceVar(&tags, "tags", nil, "critical, quick-win, ...")
	f.StringSliceVar(&worker, "worker", nil, "labels that a worker of a fleet must have for it, beside those of its spec, such as gpu")
	f.StringVar(&priority, "priority", "", "high, medium or low")
	f.StringVar(&phase, "phase", "", "tasks of a phase end before the next phase begins")
	f.IntVar(&most, "max-iterations", 0, "instead of task.max_iterations; 0 for that")
	return func(t *taskJSON) {
		for flag, x := range map[string]struct {
			into  **string
			value *string
		}{"name": {&t.Name, &name}, "notes": {&t.Notes, &notes}, "accept": {&t.Accept, &accept}, "priority": {&t.Priority, &priority}, "phase": {&t.Phase, &phase}} {
			if f.Changed(flag) {
				*x.into = x.value
			}
		}
		if f.Changed("deps") {
			t.Deps = append([]string{}, deps...)
		}
		if f.Changed("tags") {
			t.Tags = append([]string{}, tags...)
		}
		if f.Changed("worker") {
			t.Worker = append([]string{}, worker...)
		}
		if f.Changed("max-iterations") {
			t.MaxIterations = &most
		}
	}
}

// changesTask reports whether a flag of `task edit` says something to change.
func changesTask(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"name", "notes", "accept", "deps", "tags", "worker", "priority", "phase", "max-iterations"}, cmd.Flags().Changed)
}

func runTaskList(env workspace.Env, asJSON bool) error {
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.QueryTasks(s))
	}
	_, err = io.WriteString(env.Stdout, report.TaskList(s))
	return err
}

func runTaskShow(env workspace.Env, id string, asJSON bool) error {
	s, j, err := workspace.ReadState(env, false, true)
	if err != nil {
		return err
	}
	t := s.Task(ralph.TaskID(id))
	if t == nil {
		return &ralph.Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`ralph query tasks` lists them", Kind: ralph.ErrNotFound}
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, status.QueryTask(t))
	}
	history, err := taskHistory(j, t.ID)
	if err != nil {
		return err
	}
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Stdout, report.Task(records.Task(root, t), history))
	return err
}

// taskHistory is what the log says of one task.
func taskHistory(j *journal.File, id ralph.TaskID) ([]string, error) {
	var lines []string
	s := &ralph.State{}
	var log report.Log
	err := j.Each(0, func(e ralph.Event) error {
		s.Apply(e)
		said := log.Lines(e, s)
		if report.Concerns(e, s, id) {
			for _, l := range said {
				lines = append(lines, e.At.Local().Format("2006-01-02 15:04:05")+"  "+l)
			}
		}
		return nil
	})
	return lines, err
}
