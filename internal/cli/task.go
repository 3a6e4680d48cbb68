package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/report"
)

func newTask(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "task", Short: "Work on the tasks of the plan by hand",
		Example: "  ralph task add \"Write the README\"\n  ralph task add '{\"name\":\"Ship it\",\"deps\":[\"t-1a2b\"],\"tags\":[\"critical\"]}'\n" +
			"  ralph task reject t-1a2b \"the usage text is missing\"",
		Args: noSuchCommand,
		RunE: func(*cobra.Command, []string) error { return runTaskList(env) },
	}
	var asJSON bool
	show := &cobra.Command{
		Use: "show <id>", Short: "One task with what happened to it", Args: cobra.ExactArgs(1),
		Example: "  ralph task show t-1a2b",
		RunE:    func(_ *cobra.Command, args []string) error { return runTaskShow(env, args[0], asJSON) },
	}
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "The tasks of the plan, in order (`ralph query tasks` is the same as JSON)", Args: cobra.NoArgs,
			Example: "  ralph task list",
			RunE:    func(*cobra.Command, []string) error { return runTaskList(env) },
		},
		&cobra.Command{
			Use: "add <name or JSON>", Short: "Add a task to the plan", Args: cobra.ExactArgs(1),
			Example: "  ralph task add \"Write the README\"\n  ralph task add '{\"name\":\"Ship it\",\"accept\":\"the tests pass\",\"priority\":\"high\"}'",
			RunE:    func(cmd *cobra.Command, args []string) error { return runTaskAdd(cmd, env, args[0]) },
		},
		newTaskEdit(env),
		taskVerb(env, "done <id>", "Mark a task done by hand", 1, func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) {
			return s.EndTask(id, ralph.TaskDone, "by hand")
		}),
		taskVerb(env, "accept <id>", "Accept a task that is done", 1, func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) {
			return s.AcceptTask(id)
		}),
		taskVerb(env, "reject <id> <reason>", "Send a task back, with the reason for the agent's next prompt", 2, (*ralph.State).RejectTask),
		taskVerb(env, "prioritize <id>", "Put a task first", 1, func(s *ralph.State, id ralph.TaskID, _ string) ([]ralph.Fact, error) {
			return s.PrioritizeTask(id)
		}),
		show,
	)
	return cmd
}

// taskVerb is a command that turns a task id into facts.
func taskVerb(env Env, use, short string, args int, decide func(*ralph.State, ralph.TaskID, string) ([]ralph.Fact, error)) *cobra.Command {
	example := "  ralph task " + strings.NewReplacer("<id>", "t-1a2b", "<reason>", `"the usage text is missing"`).Replace(use)
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(args), Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, rest := ralph.TaskID(args[0]), strings.Join(args[1:], " ")
			return updatePlan(cmd, env, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
				facts, err := decide(s, id, rest)
				return facts, id, err
			})
		},
	}
}

// updatePlan runs decide on the plan and prints the task's line.
func updatePlan(cmd *cobra.Command, env Env, decide func(*ralph.State) ([]ralph.Fact, ralph.TaskID, error)) error {
	j, err := openJournal(env, false, true)
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
	if t := s.Task(id); t != nil {
		fmt.Fprintf(env.Stdout, "%s %s %s\n", t.ID, t.Status, t.Name)
	}
	return nil
}

// taskJSON is what people may say of a task (product.md 2).
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

func runTaskAdd(cmd *cobra.Command, env Env, text string) error {
	spec := taskJSON{Name: text}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		spec.Name = ""
		if err := decodeTask(text, &spec); err != nil {
			return err
		}
	}
	return updatePlan(cmd, env, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
		id := newTaskID(s)
		facts, err := s.AddTask(spec.task(id))
		return facts, id, err
	})
}

func newTaskEdit(env Env) *cobra.Command {
	var t taskJSON
	var deps []string
	cmd := &cobra.Command{
		Use: "edit <id> [JSON]", Short: "Change a task's name, notes, acceptance criteria, deps, ...",
		Example: "  ralph task edit t-1a2b --name \"Write the README\" --accept \"it has the two commands\"\n" +
			"  ralph task edit t-1a2b '{\"deps\":[]}'",
		Args: cobra.RangeArgs(1, 2),
	}
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
		if cmd.Flags().NFlag() == 0 && len(args) == 1 {
			return &ralph.Refusal{Why: "nothing to change", Hint: "see `ralph task edit --help`", Kind: ralph.ErrUsage}
		}
		return runTaskEdit(cmd, env, args, t)
	}
	return cmd
}

func runTaskEdit(cmd *cobra.Command, env Env, args []string, flags taskJSON) error {
	changed := cmd.Flags().Changed
	return updatePlan(cmd, env, func(s *ralph.State) ([]ralph.Fact, ralph.TaskID, error) {
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
		edited.Kind, edited.Extra = old.Kind, old.Extra
		facts, err := s.EditTask(edited)
		return facts, id, err
	})
}

func runTaskList(env Env) error {
	s, _, err := readState(env, false, true)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Stdout, report.TaskList(s))
	return err
}

func runTaskShow(env Env, id string, asJSON bool) error {
	s, j, err := readState(env, false, true)
	if err != nil {
		return err
	}
	t := s.Task(ralph.TaskID(id))
	if t == nil {
		return &ralph.Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`ralph query tasks` lists them", Kind: ralph.ErrNotFound}
	}
	if asJSON {
		return printJSON(env.Stdout, report.QueryTask(t))
	}
	history, err := taskHistory(j, t.ID)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Stdout, report.Task(t, history))
	return err
}

// taskHistory is what the log says of one task.
func taskHistory(j *journal.File, id ralph.TaskID) ([]string, error) {
	var lines []string
	s := &ralph.State{}
	err := j.Each(0, func(e ralph.Event) error {
		s.Apply(e)
		if report.About(e.Fact) == id {
			for _, l := range report.Lines(e, s) {
				lines = append(lines, e.At.Local().Format("2006-01-02 15:04:05")+"  "+l)
			}
		}
		return nil
	})
	return lines, err
}
