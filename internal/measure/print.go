package measure

import (
	"fmt"
	"io"

	"github.com/ralph-loop/ralph/internal/text"
)

// Print is the report for people.
func (r *Report) Print(w io.Writer) error {
	out := &lines{w: w}
	out.add("%s; load average %s before\n", r.Machine, r.Load)
	if r.Files > 0 { // else nobody has counted them
		out.add("%s in the repository\n", text.Count(r.Files, "file"))
	}
	out.add("\n")
	for _, f := range r.Figures {
		if f.Skipped != "" {
			out.add("%-58s  -  %s\n", f.What, text.Line(f.Skipped, 100))
			continue
		}
		out.add("%-58s %8.2f ms", f.What, f.Median)
		if f.Runs > 1 && f.Min != f.Max {
			out.add("  [%.2f to %.2f]", f.Min, f.Max)
		}
		out.add("\n")
	}
	if r.Task.InPlace > 0 || r.Task.Worktree > 0 {
		out.add("\nA task costs, beside its agent and its checks:\n")
		for _, t := range []struct {
			where string
			ms    float64
		}{{"in the checkout, with a commit", r.Task.InPlace}, {"in a worktree, merged", r.Task.Worktree}} {
			if t.ms > 0 {
				out.add("  %-30s %6.0f ms", t.where, t.ms)
				if r.Task.Floor > 0 {
					out.add("  (git alone, add and commit: %.0f ms)", r.Task.Floor)
				}
				out.add("\n")
			}
		}
	}
	if len(r.Advice) == 0 {
		out.add("\nNo setting would make much of a difference here.\n")
		return out.err
	}
	out.add("\nWhat would help here:\n")
	for _, a := range r.Advice {
		out.add("  %s\n    %s\n", a.Setting, a.Why)
	}
	return out.err
}

// lines writes one after the other, and keeps what went wrong first.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) add(format string, values ...any) {
	if _, err := fmt.Fprintf(l.w, format, values...); l.err == nil {
		l.err = err
	}
}
