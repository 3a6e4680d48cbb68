package step

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxHandover = 4 << 10   // bytes of a summary
	maxPlanned  = 10        // steps of the agent's own plan
	maxStat     = 30        // files that it names
	maxStatDiff = 256 << 10 // bytes of a patch that are read for it
	maxLine     = 300       // bytes of a question, an answer, an error
)

// handover tells a new session of the agent what the one before it did: all that
// is known without asking an agent. The task itself, its red checks with their
// output, and the spec stand in every prompt; here they are only named, since
// people read this too. At most 4 KiB.
func (x *Executor) handover(ctx context.Context, s *ralph.State, t *ralph.Task) string {
	r := t.Run
	var b strings.Builder
	fmt.Fprintf(&b, "Task: %s\nTurns so far: %d", cutText(text.OneLine(t.Name), maxLine), r.Iterations)
	if r.Progress > 0 || r.Note != "" {
		fmt.Fprintf(&b, "\nReported progress: %d%% %s", r.Progress, cutText(text.OneLine(r.Note), maxLine))
	}
	if last := r.Last; last != nil {
		if last.Signal.Kind != ralph.SignalNone {
			fmt.Fprintf(&b, "\nThe last turn's signal: %s %s", last.Signal.Kind, cutText(text.OneLine(last.Signal.Text), maxLine))
		}
		if last.Err != nil {
			fmt.Fprintf(&b, "\nThe last turn's error: %s: %s", last.Err.Class, cutText(text.OneLine(last.Err.Message), maxLine))
		}
		if last.Tail != "" {
			fmt.Fprintf(&b, "\nThe last turn's last words:\n%s", text.Indent(last.Tail))
		}
	}
	if th := r.Thread; th != nil {
		if th.Said != "" && (r.Last == nil || r.Last.Tail != th.Said) {
			fmt.Fprintf(&b, "\nThe words of its newest turn that did not fail:\n%s", text.Indent(th.Said))
		}
		for _, p := range th.Plan[:min(len(th.Plan), maxPlanned)] {
			fmt.Fprintf(&b, "\nPlanned (%s): %s", p.Status, cutText(text.OneLine(p.Text), maxLine))
		}
	}
	if r.Red != nil {
		b.WriteString("\nChecks that failed:")
		for _, c := range r.Red.Results {
			if !c.Pass {
				fmt.Fprintf(&b, "\n  %s (exit code %d)", cutText(text.OneLine(c.Command), maxLine), c.Exit)
			}
		}
	}
	for _, qa := range r.Answers {
		fmt.Fprintf(&b, "\nAsked: %s\n  Answer: %s", cutText(text.OneLine(qa.Question), maxLine), cutText(text.OneLine(qa.Answer), maxLine))
	}
	for _, words := range r.Words {
		fmt.Fprintf(&b, "\nA person said: %s", cutText(text.OneLine(words), maxLine))
	}
	b.WriteString(x.changedSince(ctx, s, t))
	return cutText(b.String(), maxHandover)
}

// changedSince lists the files that differ from where the work began. In the user's
// checkout that is where the spec began: earlier tasks of it have changed files too.
func (x *Executor) changedSince(ctx context.Context, s *ralph.State, t *ralph.Task) string {
	from, since := s.Job.Base, "since the spec began"
	if t.Run.Worktree.Dir != "" {
		from, since = t.Run.Worktree.Base, "in this task"
	}
	if from == "" || t.Run.Tree == "" {
		return ""
	}
	trees, err := x.trees(x.dir(t))
	if err != nil {
		return "" // the agent has the files themselves
	}
	patch, err := trees.Diff(ctx, from, t.Run.Tree, maxStatDiff)
	if err != nil {
		return ""
	}
	lines := diffStat(patch)
	if len(lines) == 0 {
		return "\nFiles changed " + since + ": none"
	}
	if more := len(lines) - maxStat; more > 0 {
		lines = append(lines[:maxStat], fmt.Sprintf("and %d more", more))
	}
	if len(patch) >= maxStatDiff-maxLine {
		lines = append(lines, "and more: the whole of it is too large to list")
	}
	return "\nFiles changed " + since + ":\n" + text.Indent(strings.Join(lines, "\n"))
}

// diffStat is a line for each file of a patch. A patch that was cut tells of the
// files before the cut.
func diffStat(patch []byte) []string {
	files, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil && len(files) == 0 {
		return nil
	}
	var lines []string
	for _, f := range files {
		name, what := f.NewName, ""
		switch {
		case f.IsDelete:
			name, what = f.OldName, " deleted"
		case f.IsNew:
			what = " new"
		}
		added, deleted := changedLines(f)
		lines = append(lines, fmt.Sprintf("%s%s +%d -%d", cutText(text.OneLine(name), maxLine), what, added, deleted))
	}
	slices.Sort(lines)
	return lines
}

// changedLines counts what a file of a patch gains and loses.
func changedLines(f *gitdiff.File) (added, deleted int64) {
	for _, h := range f.TextFragments {
		added, deleted = added+h.LinesAdded, deleted+h.LinesDeleted
	}
	return added, deleted
}

// diffSummary is a patch in numbers; nil for none, and for one that is not to be read.
func diffSummary(patch []byte, by string) *ralph.DiffSummary {
	files, _, err := gitdiff.Parse(bytes.NewReader(patch))
	if err != nil || len(files) == 0 {
		return nil
	}
	sum := ralph.DiffSummary{Files: len(files), By: by}
	for _, f := range files {
		added, deleted := changedLines(f)
		sum.Added, sum.Deleted = sum.Added+added, sum.Deleted+deleted
	}
	return &sum
}

// cutText is the begin of a text, at most n bytes, marked when something is missing.
func cutText(s string, n int) string { return text.Cut(s, n-len(text.Mark)) }
