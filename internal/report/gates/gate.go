// Package gates owns what a person is asked, in words: all that is known to decide by, what
// becomes of a yes and a no, how long it waits, and how it ended. It does not own the rules
// that answer without a person (internal/approval).
package gates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// What a person decides by at a gate.

// FileChange is how much of a file a patch changes, in lines.
type FileChange struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// How is what a person types to decide a gate.
func How(g *ralph.Approval) []string {
	switch {
	case !g.Decidable() && len(g.Options) > 0:
		return []string{action.Commands(fmt.Sprintf("[[answer %s 1]]   (or the number of another one; or other words: \"...\")", g.ID))}
	case !g.Decidable():
		return []string{action.Commands(fmt.Sprintf("[[answer %s \"...\"]]", g.ID))}
	}
	how := []string{action.Commands(fmt.Sprintf("[[approve %s]]", g.ID)), action.Commands(fmt.Sprintf("[[deny %s --reason \"...\"]]", g.ID))}
	if g.Request != nil && !g.Never && !g.Request.Cut {
		how = append(how, "with --always for each time the same is asked")
	}
	return how
}

// UntilWords is how long a gate waits.
func UntilWords(g *ralph.Approval, now time.Time) string {
	return fmt.Sprintf("%s, until %s; nobody's answer is no approval", report.LeftWords(g.Deadline, now), g.Deadline.Local().Format("2006-01-02 15:04:05"))
}

// HeldBy is which rule holds what waits at a gate, "" where it is a plain wish or question.
func HeldBy(g *ralph.Approval) string {
	held := ""
	if g.Rule != "" && (g.Kind == ralph.ApprovalOperation || g.Kind == ralph.ApprovalTest || g.Never) {
		held = "Held by: " + g.Rule
	}
	if g.Never {
		held += " (never approved by a rule)"
	}
	return strings.TrimSpace(held)
}

// maxChanged files are shown; --json has all.
const maxChanged = 30

// Detail is a gate with everything to decide by.
type Detail struct {
	ralph.Approval
	Name      string               `json:"about_name,omitempty"` // of the task that it is about
	Branch    string               `json:"branch,omitempty"`
	Findings  []ralph.Finding      `json:"findings,omitempty"` // tests that the diff removes, skips or weakens
	Conflicts []ralph.ConflictFile `json:"conflicts,omitempty"`
	Red       []ralph.CheckResult  `json:"red,omitempty"`     // checks that failed on the merged tree
	Changes   []FileChange         `json:"changes,omitempty"` // that the task has made, by its last turn's end
	Patch     string               `json:"patch,omitempty"`   // the file that has them whole
	Diff      string               `json:"-"`                 // what that file holds, its beginning; only for the dashboard
	DiffCut   int64                `json:"-"`                 // bytes left out of it
	Folder    string               `json:"folder,omitempty"`  // where the task works, absolute
	Changed   []string             `json:"changed,omitempty"` // files that are not committed there now
	How       []string             `json:"how"`
	ByHand    []string             `json:"-"` // commands that resolve its conflict, before the yes
	back      bool                 // a no sends the work back to its agent
	QA        []ralph.QA           `json:"answered_before,omitempty"`
}

// Of is the task that the gate is about.
func (d Detail) Of() ralph.TaskID { return cmp.Or(d.About, d.Approval.Task) }

// DetailOf is what the state says of a gate. What git and the kept patch know is added by
// who can read them.
func DetailOf(s *ralph.State, g *ralph.Approval) Detail {
	d := Detail{Approval: *g, How: How(g)}
	t := s.Task(d.Of())
	if t == nil {
		return d
	}
	d = d.With(t)
	if x := s.Plan.Integration; x != nil && len(d.Conflicts) > 0 && d.About != "" {
		folder := "../" + string(d.About)
		d.ByHand = []string{"git worktree add -f " + folder + " " + d.Branch, "git -C " + folder + " merge " + x.Branch + "   (it conflicts: mend the files in " + folder + ")", "git -C " + folder + " commit -a", "git worktree remove " + folder}
	}
	return d
}

// Comes says what comes of a yes and of a no, in whole sentences; nothing of an agent's question,
// which has no such answers. A yes resolves no conflict: it has the merge tried again.
func (d Detail) Comes() (yes, no string) {
	base := d.Kind == ralph.ApprovalMerge && d.About == ""
	for _, x := range []struct {
		is      bool
		yes, no string
	}{
		{d.Kind == ralph.ApprovalRequest || d.Kind == ralph.ApprovalOperation, "It is done at once.", "It is not done; the agent reads your reason and goes on."},
		{d.Kind == ralph.ApprovalTest, "The work counts as it is, on exactly this tree.", "The work goes back to its agent with your reason."},
		{base && len(d.Conflicts) > 0, "The merge is tried again, with both branches as they are then.", "What was done does not land on the base branch."},
		{base, "The base branch's commits are taken as they are.", "What was done does not land on the base branch."},
		{d.Kind == ralph.ApprovalMerge && d.back, "The work is merged as it is.", "The work goes back to its agent with your reason."},
		{d.Kind == ralph.ApprovalMerge, "The merge is tried again, with " + cmp.Or(d.Branch, "its branch") + " as it is then.", "The task fails; its branch is kept."},
		{d.Kind == ralph.ApprovalCommit && d.Detail != "", "The commit is made, with exactly these settings.", "There is no commit: the work is put away."},
		{d.Kind == ralph.ApprovalCommit, "The commit goes on what is checked out then.", "There is no commit: the work is put away."},
		{d.Kind == ralph.ApprovalPush, "The branch is pushed.", "The branch stays here, with its commit."},
		{d.Kind == ralph.ApprovalStart, "The session begins.", "The session ends."},
		{d.GoesOn(), "The thread goes on; other words are told to its agent, and it goes on too.", "The thread stops; its work stays, and it can go on later."},
		{d.Kind == ralph.ApprovalStep, "The task is worked on.", "The task is skipped."},
	} {
		if x.is {
			return x.yes, x.no
		}
	}
	return "", ""
}

// With is the detail with what the task has to say: for one whose outputs were read whole.
func (d Detail) With(t *ralph.Task) Detail {
	d.Name, d.Branch, d.QA = t.Name, t.Run.Worktree.Branch, t.Run.Answers
	if d.Kind != ralph.ApprovalMerge {
		return d
	}
	d.Red = nil
	d.back = t.Run.Queue.State == ralph.MergeWaiting
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

// Words is the detail for people.
func (d Detail) Words(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n%s\n", d.ID, d.Kind, strings.TrimSpace(d.Text))
	if d.Name != "" {
		id := string(d.Of()) + " "
		if strings.Contains(id, ":") {
			id = "" // of a stage: nobody types it
		}
		fmt.Fprintf(&b, "\nTask:    %s%s\n", id, d.Name)
	}
	if d.Branch != "" {
		fmt.Fprintf(&b, "Branch:  %s\n", d.Branch)
	}
	shown := len(d.Findings)+len(d.Conflicts)+len(d.Red) > 0 // what the gate has as one text
	if detail := strings.TrimSpace(d.Detail); detail != "" && !shown {
		fmt.Fprintf(&b, "\n%s\n", detail)
	}
	if holder := HeldBy(&d.Approval); holder != "" {
		fmt.Fprintf(&b, "\n%s\n", holder)
	}
	if d.InTurn && d.By == "" {
		b.WriteString("\nThe agent waits for the answer in the middle of its turn; its time limit stands still.\n")
	}
	if !d.Deadline.IsZero() {
		fmt.Fprintf(&b, "Time:    %s\n", UntilWords(&d.Approval, now))
	}
	for i, o := range d.Options {
		if i == 0 {
			b.WriteString("\nAnswers to choose from:\n")
		}
		fmt.Fprintf(&b, "  %d  %s\n", i+1, o)
	}
	if len(d.Changes) > 0 {
		what := "Changed"
		if d.Kind == ralph.ApprovalMerge {
			what = "Committed"
		}
		fmt.Fprintf(&b, "\n%s by the task (%s):\n", what, d.Patch)
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "  +%-5d -%-5d %s\n", c.Added, c.Removed, c.Path)
		}
	}
	for i, path := range d.Beside() {
		if i == 0 {
			fmt.Fprintf(&b, "\nChanged by now, not committed (git -C %s diff):\n", d.Folder)
		}
		if i == maxChanged {
			fmt.Fprintf(&b, "  ... and %d more\n", len(d.Changed)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", path)
	}
	if yes, no := d.Comes(); yes != "" {
		fmt.Fprintf(&b, "\nYes:     %s\nNo:      %s\n", yes, no)
	}
	if len(d.ByHand) > 0 {
		fmt.Fprintf(&b, "\nTo resolve it by hand, before the yes:\n  %s\n", strings.Join(d.ByHand, "\n  "))
	}
	d.evidence(&b)
	b.WriteString("\nDecide:\n")
	for _, how := range d.How {
		fmt.Fprintf(&b, "  %s\n", how)
	}
	return b.String()
}

// Beside are the files that are changed by now. Between two turns the patch has them, unless
// something else has changed since.
func (d Detail) Beside() []string {
	if d.InTurn {
		return d.Changed
	}
	for _, path := range d.Changed {
		if !slices.ContainsFunc(d.Changes, func(c FileChange) bool { return c.Path == path }) {
			return d.Changed
		}
	}
	return nil
}

// evidence is what speaks against the merge.
func (d Detail) evidence(b *strings.Builder) {
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
			b.WriteString(text.Indent(strings.TrimRight(f.Marked, "\n")) + "\n")
		}
	}
	for _, r := range d.Red {
		fmt.Fprintf(b, "\nRed after the merge: %s\n", r.Name)
		if out := strings.TrimSpace(report.HeadlineAbove(r) + text.Plain(r.Output)); out != "" {
			b.WriteString(text.Indent(out) + "\n")
		}
	}
}

// Beginning is the first line of a text, with a sign where there are more: what is to be
// allowed may stand in them.
func Beginning(s string) string {
	if line := text.FirstLine(s); line != strings.TrimSpace(s) {
		return line + " ..."
	}
	return text.FirstLine(s)
}
