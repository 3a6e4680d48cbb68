package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// What waits for a person: gates, and the words that open them.

func newGates(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "gates [id]", Short: "What waits for you: starts, steps, questions, approvals and merges; with an id all there is to decide by",
		Example: "  ralph gates\n  ralph gates g-1a2b", Args: cobra.MaximumNArgs(1),
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, j, err := readState(env, false, true)
		if err != nil {
			return err
		}
		if j.Holder() == nil {
			s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *ralph.Gate) bool { return g.InTurn }) // who asked is gone
		}
		if len(args) == 1 {
			root, err := findRoot(env)
			if err != nil {
				return err
			}
			return showGate(env, s, ralph.GateID(args[0]), root, *asJSON)
		}
		if *asJSON {
			return printJSON(env.Stdout, gatesOf(s))
		}
		return listGates(env.Stdout, s)
	}
	return cmd
}

// gateHow is what a person types to decide a gate.
func gateHow(g *ralph.Gate) []string {
	switch {
	case !g.Decidable() && len(g.Options) > 0:
		return []string{fmt.Sprintf("ralph answer %s 1   (or the number of another one; or other words: \"...\")", g.ID)}
	case !g.Decidable():
		return []string{fmt.Sprintf("ralph answer %s \"...\"", g.ID)}
	}
	return []string{fmt.Sprintf("ralph approve %s", g.ID), fmt.Sprintf("ralph deny %s --reason \"...\"", g.ID)}
}

func listGates(w io.Writer, s *ralph.State) error {
	if len(s.Gates) == 0 {
		_, err := fmt.Fprintln(w, "Nothing waits for you.")
		return err
	}
	for _, g := range s.Gates {
		about := g.Task
		if g.About != "" {
			about = g.About
		}
		fmt.Fprintf(w, "%s  %-8s  %s  %s\n", g.ID, g.Kind, about, report.Visible(beginning(g.Text)))
		if len(g.Options) > 0 {
			fmt.Fprintf(w, "      %s\n", report.OptionWords(g.Options))
		}
		if !g.Deadline.IsZero() {
			fmt.Fprintf(w, "      until %s; nobody's answer is no approval\n", g.Deadline.Local().Format("2006-01-02 15:04:05"))
		}
		for _, how := range gateHow(g) {
			fmt.Fprintf(w, "      %s\n", how)
		}
	}
	_, err := fmt.Fprintln(w, "`ralph gates <id>` shows what there is to decide by.")
	return err
}

// gateDetail is a gate with everything to decide by.
type gateDetail struct {
	ralph.Gate
	Task      string               `json:"about_name,omitempty"`
	Branch    string               `json:"branch,omitempty"`
	Findings  []ralph.Finding      `json:"findings,omitempty"` // tests that the diff removes, skips or weakens
	Conflicts []ralph.ConflictFile `json:"conflicts,omitempty"`
	Red       []ralph.GateResult   `json:"red,omitempty"` // checks that failed on the merged tree
	Changes   []fileChange         `json:"changes,omitempty"`
	How       []string             `json:"how"`
	QA        []ralph.QA           `json:"answered_before,omitempty"`
}

func detailOf(s *ralph.State, g *ralph.Gate, root string) gateDetail {
	d := gateDetail{Gate: *g, How: gateHow(g)}
	id := g.About
	if id == "" {
		id = g.Task
	}
	t := s.Task(id)
	if t == nil {
		return d
	}
	d.Task, d.Branch, d.QA = t.Name, t.Run.Place.Branch, t.Run.Answers
	d.Changes = patchChanges(root, t.ID)
	if g.Kind != ralph.GateMerge {
		return d
	}
	d.Findings = t.Run.Queue.Weakened
	if m := t.Run.Queue.Merged; m != nil && m.Conflict != nil {
		d.Conflicts = m.Conflict.Files
	}
	if red := t.Run.Red; red != nil && t.Run.Queue.State == ralph.MergeRed {
		for _, r := range red.Results {
			if !r.Pass {
				d.Red = append(d.Red, r)
			}
		}
	}
	return d
}

func showGate(env Env, s *ralph.State, id ralph.GateID, root string, asJSON bool) error {
	for _, g := range s.Gates {
		if g.ID != id {
			continue
		}
		d := detailOf(s, g, root)
		if asJSON {
			return printJSON(env.Stdout, d)
		}
		_, err := io.WriteString(env.Stdout, report.Visible(d.text()))
		return err
	}
	return &ralph.Refusal{Why: fmt.Sprintf("no open gate %s", id), Hint: "`ralph gates` lists what waits", Kind: ralph.ErrNotFound}
}

func (d gateDetail) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s\n", d.ID, d.Kind, strings.TrimSpace(d.Text))
	if d.Task != "" {
		id := d.About
		if id == "" {
			id = d.Gate.Task
		}
		fmt.Fprintf(&b, "\nTask:    %s %s\n", id, d.Task)
	}
	if d.Branch != "" {
		fmt.Fprintf(&b, "Branch:  %s\n", d.Branch)
	}
	shown := len(d.Findings)+len(d.Conflicts)+len(d.Red) > 0 // what the gate has as one text
	if detail := strings.TrimSpace(d.Detail); detail != "" && !shown {
		fmt.Fprintf(&b, "\n%s\n", detail)
	}
	if d.InTurn {
		b.WriteString("\nThe agent waits for the answer in the middle of its turn; its time limit stands still.\n")
	}
	if !d.Deadline.IsZero() {
		fmt.Fprintf(&b, "Until:   %s; nobody's answer is no approval\n", d.Deadline.Local().Format("2006-01-02 15:04:05"))
	}
	for i, o := range d.Options {
		if i == 0 {
			b.WriteString("\nAnswers to choose from:\n")
		}
		fmt.Fprintf(&b, "  %d  %s\n", i+1, o)
	}
	if len(d.Changes) > 0 {
		b.WriteString("\nChanges:\n")
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "  +%-5d -%-5d %s\n", c.Added, c.Removed, c.Path)
		}
	}
	d.evidence(&b)
	b.WriteString("\nDecide:\n")
	for _, how := range d.How {
		fmt.Fprintf(&b, "  %s\n", how)
	}
	return b.String()
}

// evidence is what speaks against the merge.
func (d gateDetail) evidence(b *strings.Builder) {
	if len(d.Findings) > 0 {
		b.WriteString("\nTests that the diff removes, skips or weakens:\n")
		for _, f := range d.Findings {
			at := f.Path
			if f.Line > 0 {
				at = fmt.Sprintf("%s:%d", f.Path, f.Line)
			}
			fmt.Fprintf(b, "  %-9s %s  %s\n", f.Kind, at, f.What)
		}
	}
	for _, f := range d.Conflicts {
		fmt.Fprintf(b, "\nConflict in %s (%s):\n", f.Path, f.Kind)
		if f.Marked != "" {
			b.WriteString(indent(strings.TrimRight(f.Marked, "\n")))
		}
	}
	for _, r := range d.Red {
		fmt.Fprintf(b, "\nRed after the merge: %s\n", r.Name)
		if out := strings.TrimSpace(r.Output); out != "" {
			b.WriteString(indent(out))
		}
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// beginning is the first line of a text, with a sign where there are more: what is to be
// allowed may stand in them.
func beginning(text string) string {
	if line := firstLine(text); line != strings.TrimSpace(text) {
		return line + " ..."
	}
	return firstLine(text)
}

func newApprove(env Env) *cobra.Command {
	return gateVerb(env, &cobra.Command{
		Use: "approve <id>", Short: "Let pass what waits at a gate: a start, a step, an agent's wish, a merge", Args: cobra.ExactArgs(1),
		Long: `What an agent asks in the middle of its turn (a command, a change of files, a tool) is
done as soon as you approve it: the agent waits for you. ` + "`ralph gates <id>`" + ` shows all
there is to decide by. gate.timeout says how long it waits; nobody's answer is no
approval. With gate.approvals: policy what only reads, and changes inside the work tree,
need nobody; gate.allow lists more.`,
		Example: "  ralph gates\n  ralph gates g-1a2b\n  ralph approve g-1a2b",
	}, "Approved", func(s *ralph.State, id ralph.GateID, _ []string) ([]ralph.Fact, error) { return s.ApproveGate(id) })
}

func newDeny(env Env) *cobra.Command {
	var reason string
	cmd := gateVerb(env, &cobra.Command{
		Use: "deny <id>", Short: "Refuse what waits at a gate: a start, a step, an agent's wish, a merge", Args: cobra.ExactArgs(1),
		Long: `A start that is denied ends the session, with exit code 1. The task of a step is skipped.
A merge is not made: where its tests were in doubt, the task goes back to its agent with
the reason; otherwise it ends as failed, its branch and worktree kept. What an agent
asked in the middle of its turn is not done: it reads the reason and goes on.`,
		Example: "  ralph deny g-1a2b --reason \"the removed test is still needed\"",
	}, "Denied", func(s *ralph.State, id ralph.GateID, _ []string) ([]ralph.Fact, error) { return s.DenyGate(id, reason) })
	cmd.Flags().StringVar(&reason, "reason", "", "why; of a merge or an agent's wish, in words for the agent")
	return cmd
}

func newAnswer(env Env) *cobra.Command {
	return gateVerb(env, &cobra.Command{
		Use: "answer <id> <text>", Short: "Answer an agent's question, in words or by the number of an option",
		Long: `An agent that asks in the middle of its turn gets the answer at once; otherwise its next
prompt holds it.`,
		Example: "  ralph gates\n  ralph answer g-1a2b \"Use the second design\"\n  ralph answer g-1a2b 2", Args: cobra.MinimumNArgs(2),
	}, "Answered", func(s *ralph.State, id ralph.GateID, words []string) ([]ralph.Fact, error) {
		return s.AnswerGate(id, strings.Join(words, " "))
	})
}

// gateVerb makes cmd say one thing about a gate. The first word wins.
func gateVerb(env Env, cmd *cobra.Command, said string, decide func(*ralph.State, ralph.GateID, []string) ([]ralph.Fact, error)) *cobra.Command {
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		j, err := openJournal(env, false, false)
		if err != nil {
			return err
		}
		defer j.Close()
		id := ralph.GateID(args[0])
		if err := heardBy(j.State(), id, j.Holder() != nil); err != nil {
			return err
		}
		err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return decide(s, id, args[1:]) })
		switch {
		case err != nil:
			return err
		case *asJSON:
			return printJSON(env.Stdout, map[string]any{"gate": id, "said": strings.ToLower(said)})
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: %s\n", said, id)
		return err
	}
	return cmd
}

// heardBy refuses an answer to an agent that is gone with its engine.
func heardBy(s *ralph.State, id ralph.GateID, engine bool) error {
	i := slices.IndexFunc(s.Gates, func(g *ralph.Gate) bool { return g.ID == id })
	if engine || i < 0 || !s.Gates[i].InTurn {
		return nil
	}
	return &ralph.Refusal{
		Why: fmt.Sprintf("the agent that asked %s is gone: its engine died", id), Kind: ralph.ErrNotFound,
		Hint: fmt.Sprintf("`ralph %s` runs its turn again, and the agent asks anew", orWord(s.Session.Mode, "agent")),
	}
}

func newMode(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "mode [manual, step, semi or autopilot]", Short: "Switch the mode of the running engine; what is at work goes on",
		Long: `manual     at full speed to the first error: no pause, no retry, no other agent
step       each task waits for your approval: ` + "`ralph approve <gate>`" + `
semi       nothing new starts but what you choose: ` + "`ralph task assign <id>`" + `
autopilot  on its own: retries, other agents when one is at its limit, pause and resume

Without a word it prints the mode. ` + "`mode`" + ` in ralph/config.yaml, or --mode, is what a start
begins with.`,
		Example: "  ralph mode\n  ralph mode step\n  ralph mode autopilot",
		Args:    cobra.MaximumNArgs(1), ValidArgs: []string{"manual", "step", "semi", "autopilot"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showMode(env)
			}
			if !slices.Contains(ralph.Autonomies(), ralph.Autonomy(args[0])) {
				return usage("there is no mode %q: use manual, step, semi or autopilot", args[0])
			}
			return tellEngine(cmd, env, "mode "+args[0], func(s *ralph.State) ([]ralph.Fact, error) { return s.SetMode(ralph.Autonomy(args[0])) })
		},
	}
}

// showMode prints the mode of the running session, else the one that a start begins with.
func showMode(env Env) error {
	s, j, err := readState(env, false, false)
	if err != nil {
		return err
	}
	mode := string(s.Session.Auto)
	if j.Holder() == nil {
		c, err := settingsOf(env)
		if err != nil {
			return err
		}
		mode = c.Mode
	}
	_, err = fmt.Fprintln(env.Stdout, mode)
	return err
}
