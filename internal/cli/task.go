package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
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
		Args: noSuchCommand,
		RunE: func(*cobra.Command, []string) error { return runTaskList(env, false) },
	}
	cmd.AddCommand(newTaskList(env), newTaskShow(env), newTaskAdd(env), newTaskEdit(env))
	cmd.AddCommand(newTaskVerbs(env)...)
	cmd.AddCommand(newTaskExtend(env), newTaskDivide(env), newTaskRollback(env), newTaskCleanup(env))
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
	cmd := &cobra.Command{
		Use: "add <name or JSON>", Short: "Add a task to the plan", Args: cobra.ExactArgs(1),
		Example: "  ralph task add \"Write the README\"\n  ralph task add '{\"name\":\"Ship it\",\"accept\":\"the tests pass\",\"priority\":\"high\"}'",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runTaskAdd(cmd, env, args[0], *asJSON) }
	return cmd
}

// taskJSON is what people may say of a task.
type taskJSON struct {
	Name          string         `json:"name"`
	Notes         string         `json:"notes"`
	Accept        string         `json:"accept"`
	Deps          []ralph.TaskID `json:"deps"`
	Tags          []string       `json:"tags"`
	Priority      string         `json:"priority"`
	Phase         string         `json:"phase"`
	Parent        ralph.TaskID   `json:"parent"`
	MaxIterations int            `json:"max_iterations"`
}

func (t taskJSON) task(id ralph.TaskID) ralph.Task {
	return ralph.Task{
		ID: id, Name: strings.TrimSpace(t.Name), Notes: t.Notes, Accept: t.Accept, Deps: t.Deps, Tags: t.Tags,
		Priority: t.Priority, Phase: t.Phase, Parent: t.Parent, MaxIterations: t.MaxIterations,
	}
}

func decodeTask(text string, into *taskJSON) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &ralph.Refusal{
			Why: fmt.Sprintf("the task is no valid JSON object: %v", err), Kind: ralph.ErrUsage,
			Hint: `it may have name, notes, accept, deps, tags, priority, phase, parent, max_iterations`,
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &ralph.Refusal{Why: "there is something behind the JSON object of the task", Kind: ralph.ErrUsage}
	}
	return nil
}

func runTaskAdd(cmd *cobra.Command, env workspace.Env, text string, asJSON bool) error {
	spec := taskJSON{Name: text}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		spec.Name = ""
		if err := decodeTask(text, &spec); err != nil {
			return err
		}
	}
	return updatePlan(cmd, env, asJSON, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
		id := workspace.NewTaskID(s)
		facts, err := s.AddTask(spec.task(id))
		return facts, id, err
	})
}

func newTaskEdit(env workspace.Env) *cobra.Command {
	var t taskJSON
	var deps []string
	cmd := &cobra.Command{
		Use: "edit <id> [JSON]", Short: "Change a task's name, notes, acceptance criteria, deps, ... (key e)",
		Example: "  ralph task edit t-1a2b --name \"Write the README\" --accept \"it has the two commands\"\n" +
			"  ralph task edit t-1a2b '{\"deps\":[]}'",
		Args: cobra.RangeArgs(1, 2),
	}
	asJSON := jsonFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&t.Name, "name", "", "what to do, one line")
	f.StringVar(&t.Notes, "notes", "", "anything that helps")
	f.StringVar(&t.Accept, "accept", "", "when it is done")
	f.StringSliceVar(&deps, "deps", nil, "tasks that come first")
	f.StringSliceVar(&t.Tags, "tags", nil, "critical, quick-win, ...")
	f.StringVar(&t.Priority, "priority", "", "high, medium or low")
	f.StringVar(&t.Phase, "phase", "", "tasks of a phase end before the next phase begins")
	f.IntVar(&t.MaxIterations, "max-iterations", 0, "instead of task.max_iterations; 0 for that")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, d := range deps {
			t.Deps = append(t.Deps, ralph.TaskID(d))
		}
		if len(args) == 1 && !changesTask(cmd) {
			return &ralph.Refusal{Why: "nothing to change", Hint: "see `ralph task edit --help`", Kind: ralph.ErrUsage}
		}
		return runTaskEdit(cmd, env, args, t, *asJSON)
	}
	return cmd
}

func runTaskEdit(cmd *cobra.Command, env workspace.Env, args []string, flags taskJSON, asJSON bool) error {
	changed := cmd.Flags().Changed
	return updatePlan(cmd, env, asJSON, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
		id := ralph.TaskID(args[0])
		old := s.Task(id)
		if old == nil || !old.IsBuild() {
			return nil, id, &ralph.Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`ralph query tasks` lists them", Kind: ralph.ErrNotFound}
		}
		now := taskJSON{old.Name, old.Notes, old.Accept, old.Deps, old.Tags, old.Priority, old.Phase, old.Parent, old.MaxIterations}
		if len(args) == 2 {
			if err := decodeTask(args[1], &now); err != nil {
				return nil, id, err
			}
		}
		set := func(name string, dst *string, value string) {
			if changed(name) {
				*dst = value
			}
		}
		set("name", &now.Name, flags.Name)
		set("notes", &now.Notes, flags.Notes)
		set("accept", &now.Accept, flags.Accept)
		set("priority", &now.Priority, flags.Priority)
		set("phase", &now.Phase, flags.Phase)
		if changed("deps") {
			now.Deps = flags.Deps
		}
		if changed("tags") {
			now.Tags = flags.Tags
		}
		if changed("max-iterations") {
			now.MaxIterations = flags.MaxIterations
		}
		edited := now.task(id)
		edited.Kind, edited.Extra, edited.Timeout = old.Kind, old.Extra, old.Timeout
		facts, err := s.EditTask(edited)
		return facts, id, err
	})
}

// changesTask reports whether a flag of `task edit` says something to change.
func changesTask(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"name", "notes", "accept", "deps", "tags", "priority", "phase", "max-iterations"}, cmd.Flags().Changed)
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
