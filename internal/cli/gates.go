package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
)

// What waits for a person: gates, and the words that open them.

func newGates(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "gates [id]", Short: "What waits for you, oldest first; with an id all there is to decide by", Args: cobra.MaximumNArgs(1),
		Long: `Lists all that waits for a person, whoever asks:

  start      a session that is not to begin without you
  step       the next task, in mode step
  question   an agent wants to know something
  approval   an agent wants to do something that the settings leave to you
  operation  an agent wants to do something that gate.patterns or the never list holds
  test       work whose checks stay red, or whose diff needs your eye
  merge      finished work that cannot be merged without you

The first answer wins, from whichever terminal. docs/approvals.md says what --json prints.`,
		Example: "  ralph gates\n  ralph gates g-1a2b\n  ralph gates --json | jq '.[] | {id, kind, text, deadline}'",
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, j, err := readState(env, false, true)
		if err != nil {
			return err
		}
		engine, now := j.Holder() != nil, j.Now()
		s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *ralph.Gate) bool { return !g.Heard(engine, now) })
		if len(args) == 1 {
			root, err := findRoot(env)
			if err != nil {
				return err
			}
			return showGate(cmd.Context(), env, j, s, ralph.GateID(args[0]), root, *asJSON)
		}
		if *asJSON {
			return printJSON(env.Stdout, gatesOf(s))
		}
		return listGates(env.Stdout, s, now)
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
	how := []string{fmt.Sprintf("ralph approve %s", g.ID), fmt.Sprintf("ralph deny %s --reason \"...\"", g.ID)}
	if g.Request != nil && !g.Never && !g.Request.Cut {
		how = append(how, "with --always for each time the same is asked")
	}
	return how
}

func listGates(w io.Writer, s *ralph.State, now time.Time) error {
	if len(s.Gates) == 0 {
		_, err := fmt.Fprintln(w, "Nothing waits for you.")
		return err
	}
	width := len(ralph.GateQuestion)
	for _, g := range s.Gates {
		width = max(width, len(g.Kind))
	}
	for _, g := range s.Gates {
		about := g.Task
		if g.About != "" {
			about = g.About
		}
		fmt.Fprintf(w, "%s  %-*s  %s  %s\n", g.ID, width, g.Kind, about, report.Visible(beginning(g.Text)))
		if len(g.Options) > 0 {
			fmt.Fprintf(w, "      %s\n", report.OptionWords(g.Options))
		}
		if !g.Deadline.IsZero() {
			fmt.Fprintf(w, "      %s\n", untilWords(g, now))
		}
		if holder := heldBy(g); holder != "" {
			fmt.Fprintf(w, "      %s\n", report.Visible(firstLine(holder)))
		}
		for _, how := range gateHow(g) {
			fmt.Fprintf(w, "      %s\n", how)
		}
	}
	_, err := fmt.Fprintln(w, "`ralph gates <id>` shows what there is to decide by.")
	return err
}

// untilWords is how long a gate waits.
func untilWords(g *ralph.Gate, now time.Time) string {
	return fmt.Sprintf("%s, until %s; nobody's answer is no approval", report.LeftWords(g.Deadline, now), g.Deadline.Local().Format("2006-01-02 15:04:05"))
}

// heldBy is which rule holds what waits at a gate, "" where it is a plain wish or question.
func heldBy(g *ralph.Gate) string {
	held := ""
	if g.Rule != "" && (g.Kind == ralph.GateOperation || g.Kind == ralph.GateTest || g.Never) {
		held = "Held by: " + g.Rule
	}
	if g.Never {
		held += " (never approved by a rule)"
	}
	return strings.TrimSpace(held)
}

// mostChanged files are shown; --json has all.
const mostChanged = 30

// gateDetail is a gate with everything to decide by.
type gateDetail struct {
	ralph.Gate
	Task      string               `json:"about_name,omitempty"`
	Branch    string               `json:"branch,omitempty"`
	Findings  []ralph.Finding      `json:"findings,omitempty"` // tests that the diff removes, skips or weakens
	Conflicts []ralph.ConflictFile `json:"conflicts,omitempty"`
	Red       []ralph.GateResult   `json:"red,omitempty"`     // checks that failed on the merged tree
	Changes   []fileChange         `json:"changes,omitempty"` // that the task has made, by its last turn's end
	Patch     string               `json:"patch,omitempty"`   // the file that has them whole
	Folder    string               `json:"folder,omitempty"`  // where the task works, absolute
	Changed   []string             `json:"changed,omitempty"` // files that are not committed there now
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
	if d.Changes = patchChanges(root, t.ID); len(d.Changes) > 0 {
		d.Patch = patchFile(t.ID)
	}
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

// lookAround adds what is changed in the task's work tree by now: in the middle of a turn
// no patch has it. Where git does not tell, a person still has the rest to decide by.
func (d *gateDetail) lookAround(ctx context.Context, env Env, s *ralph.State, root string) {
	t := s.Task(d.Gate.Task)
	if t == nil || t.Status != ralph.TaskActive || d.Kind == ralph.GateMerge {
		return
	}
	repo, err := git.Open(ctx, proc.NewRunner(""), root, env.Environ)
	if err == nil && t.Run.Place.Dir != "" {
		repo, err = repo.Tree(filepath.Join(root, t.Run.Place.Dir))
	}
	if err != nil {
		return
	}
	if d.Changed, err = repo.Dirty(ctx); err == nil {
		d.Folder = repo.Root()
	}
}

func showGate(ctx context.Context, env Env, j *journal.File, s *ralph.State, id ralph.GateID, root string, asJSON bool) error {
	for _, g := range s.Gates {
		if g.ID != id {
			continue
		}
		d := detailOf(s, g, root)
		d.lookAround(ctx, env, s, root)
		if asJSON {
			return printJSON(env.Stdout, d)
		}
		_, err := io.WriteString(env.Stdout, report.Visible(d.text(j.Now())))
		return err
	}
	return notOpen(j, id)
}

func (d gateDetail) text(now time.Time) string {
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
	if holder := heldBy(&d.Gate); holder != "" {
		fmt.Fprintf(&b, "\n%s\n", holder)
	}
	if d.InTurn && d.By == "" {
		b.WriteString("\nThe agent waits for the answer in the middle of its turn; its time limit stands still.\n")
	}
	if !d.Deadline.IsZero() {
		fmt.Fprintf(&b, "Time:    %s\n", untilWords(&d.Gate, now))
	}
	for i, o := range d.Options {
		if i == 0 {
			b.WriteString("\nAnswers to choose from:\n")
		}
		fmt.Fprintf(&b, "  %d  %s\n", i+1, o)
	}
	if len(d.Changes) > 0 {
		what := "Changed"
		if d.Kind == ralph.GateMerge {
			what = "Committed"
		}
		fmt.Fprintf(&b, "\n%s by the task (%s):\n", what, d.Patch)
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "  +%-5d -%-5d %s\n", c.Added, c.Removed, c.Path)
		}
	}
	for i, path := range d.beside() {
		if i == 0 {
			fmt.Fprintf(&b, "\nChanged by now, not committed (git -C %s diff):\n", d.Folder)
		}
		if i == mostChanged {
			fmt.Fprintf(&b, "  ... and %d more\n", len(d.Changed)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", path)
	}
	d.evidence(&b)
	b.WriteString("\nDecide:\n")
	for _, how := range d.How {
		fmt.Fprintf(&b, "  %s\n", how)
	}
	return b.String()
}

// beside are the files that are changed by now. Between two turns the patch has them, unless
// something else has changed since.
func (d gateDetail) beside() []string {
	if d.InTurn {
		return d.Changed
	}
	for _, path := range d.Changed {
		if !slices.ContainsFunc(d.Changes, func(c fileChange) bool { return c.Path == path }) {
			return d.Changed
		}
	}
	return nil
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
