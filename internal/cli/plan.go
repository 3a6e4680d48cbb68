package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/specs"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newPlan(env workspace.Env) *cobra.Command {
	var force, checklist bool
	x := &session.Session{Env: env, Mode: "plan"}
	cmd := &cobra.Command{
		Use: "plan <spec>", Short: "Have an agent make tasks from a spec",
		Long: `Has an agent write tasks for a spec into ralph/plan.jsonl. With --from-checklist the
unticked items of the spec's own checklist become the tasks, without an agent.`,
		Example: "  ralph plan feature-x.md\n  ralph plan feature-x.md --from-checklist\n  ralph plan feature-x.md --web\n  ralph query tasks",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := workspace.SpecThere(env, args[0])
			if err != nil {
				return err
			}
			if err := confirmDrop(env, file, force); err != nil {
				return err
			}
			if checklist {
				return planFromChecklist(cmd, env, file)
			}
			x.Only = file
			return x.Run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "drop an unfinished plan without asking (that of another spec is kept in ralph/.state/plans)")
	webFlag(x, cmd)
	unattendedFlag(x, cmd)
	cmd.Flags().BoolVar(&checklist, "from-checklist", false, "take the spec's own checklist, without an agent")
	return cmd
}

// confirmDrop asks before an unfinished plan makes room; without a terminal it
// refuses, since nobody can be asked.
func confirmDrop(env workspace.Env, file string, force bool) error {
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return err
	}
	left := s.Plan.Unfinished()
	if force || left == 0 {
		return nil
	}
	question := "the plan, which is of no spec, has " + report.Unfinished(left)
	if s.Plan.File != "" {
		question = fmt.Sprintf("the plan of %s has %s", s.Plan.File, report.Unfinished(left))
	}
	if !env.Terminal {
		return &ralph.Refusal{Why: question + leftWords(s), Hint: waysOn(s.Plan.File, file), Kind: ralph.ErrUsage}
	}
	fmt.Fprintf(env.Stdout, "%s%s. Drop it and plan %s? [y/N] ", strings.ToUpper(question[:1]), question[1:], file)
	answer, _ := bufio.NewReader(env.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return &ralph.Refusal{Why: "nothing was changed", Kind: ralph.ErrUsage}
	}
	return nil
}

// leftWords names what an unfinished plan still holds, for whoever does not know of it: a
// start before this one was interrupted.
func leftWords(s *ralph.State) string {
	var names []string
	for _, t := range s.Plan.Tasks {
		if t.Status != ralph.TaskDone && !t.LeftOut() {
			names = append(names, string(t.ID)+" "+text.OneLine(t.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", from an earlier start: " + text.List(names, 3)
}

// waysOn are the three ways to go on with an unfinished plan.
func waysOn(old, file string) string {
	shelve := "shelve it, and plan " + file + ": `ralph plan " + file + " --force` (it is kept in ralph/.state/plans)"
	if old == file { // a new plan of the same spec takes the place of the old one
		shelve = "begin it anew: `ralph plan " + file + " --force`"
	}
	return "finish it: `ralph construct`, or with several agents `ralph autopilot`\n" +
		"or " + shelve + "\n" +
		"or take its tasks over: `ralph query tasks` lists them, `ralph task edit`, `add`, `skip` change them"
}

func planFromChecklist(cmd *cobra.Command, env workspace.Env, file string) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	text, err := specs.Read(root, file)
	if err != nil {
		return err
	}
	items := prompt.Checklist(text)
	if len(items) == 0 {
		return &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s has no unticked checklist item (`- [ ] ...`)", file), Hint: "add some, or let an agent plan it: ralph plan " + file, Kind: ralph.ErrUsage}
	}
	j, err := workspace.OpenJournal(env, false, true)
	if err != nil {
		return err
	}
	defer j.Close()
	if owner := j.Holder(); owner != nil {
		return &ralph.Refusal{Why: fmt.Sprintf("an engine is at work here (pid %d)", owner.Pid), Hint: "stop it first: ralph stop", Kind: ralph.ErrActive}
	}
	err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		ids := workspace.NewTaskIDs(&ralph.State{}, len(items)) // the old plan makes room
		return s.SetPlan(file, prompt.NewTasks(items, file, "", ids)), nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "PLAN: %s from the checklist of %s\n", report.Tasks(len(items)), file)
	return nil
}
