package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Markdown writes the report for a pull request or a wiki: GitHub's dialect.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	at := r.clock()
	r.markdownHead(&b)
	markdownTable(&b, r.taskTable())
	r.markdownWhy(&b, at)
	for _, t := range r.tables(at) {
		markdownTable(&b, t)
	}
	fmt.Fprintf(&b, "\nFolded from facts %d to %d of the journal; the last one's hash is `%.16s`.\n", r.Facts.First, r.Facts.Last, r.Facts.Hash)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: write markdown: %w", err)
	}
	return nil
}

func (r *Result) markdownHead(b *strings.Builder) {
	title, when, end := r.headline()
	h := r.Sessions[len(r.Sessions)-1]
	fmt.Fprintf(b, "# ralph %s: %s\n\n%s, **%s**", h.Mode, md(title), md(when), md(end))
	if h.Branch != "" {
		fmt.Fprintf(b, ", merged on %s for %s", md(h.Branch), md(baseWords(h.Base)))
	}
	b.WriteString("\n\n")
	figures := table{Head: []string{"", "", ""}}
	for _, f := range r.keyFigures() {
		figures.add(mostRows, f.Name, f.Value, f.Note)
	}
	markdownTable(b, figures)
	if len(r.Needs) == 0 {
		return
	}
	b.WriteString("\n## Needs you\n\n")
	for _, n := range r.Needs {
		fmt.Fprintf(b, "- %s\n  %s\n", md(n.What), mdCode(n.Command))
	}
}

// taskTable is a row for each task.
func (r *Result) taskTable() table {
	t := table{Title: "Tasks", Head: []string{"task", "name", "status", "#iterations", "#retries", "#work", "#cost", "merge", "commit"}}
	for i := range r.Tasks {
		x := &r.Tasks[i]
		commit := x.MergeCommit
		if commit == "" {
			commit = x.Commit
		}
		t.Rows = append(t.Rows, []string{
			string(x.ID), clip(x.Name, 100), x.word(string(x.Status)), number(x.Iterations), number(x.Retries), workWords(x.WorkSeconds),
			moneyWords(x.Cost), x.stateWords(), short(commit),
		})
	}
	return t
}

// number writes a count, nothing for none: tables are easier to read with gaps.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func workWords(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return lasted(seconds)
}

func moneyWords(cost float64) string {
	if cost == 0 {
		return ""
	}
	return ralph.Dollars(cost)
}

func (r *Result) markdownWhy(b *strings.Builder, at clockFormat) {
	list := r.troubled()
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Why each task is as it is\n\n")
	if n := len(r.Tasks) - len(list); n > 0 {
		fmt.Fprintf(b, "%s.\n\n", r.smoothWords(n))
	}
	why, line := room(len(list))
	for i := range list {
		t := &list[i]
		fmt.Fprintf(b, "- **%s %s**: %s%s\n", md(string(t.ID)), md(clip(t.Name, 100)), md(clip(t.Why, why)), ruleWords(t.Rule))
		events, skipped := t.told(len(list))
		for _, e := range events {
			fmt.Fprintf(b, "  - %s %s%s\n", at.at(e.At), md(clip(e.Text, line)), ruleWords(e.Rule))
		}
		if skipped > 0 {
			fmt.Fprintf(b, "  - %d more in the JSON\n", skipped)
		}
		for _, x := range t.Findings[:min(5, len(t.Findings))] {
			fmt.Fprintf(b, "  - test taken away: %s\n", md(clip(findingWords(x), 200)))
		}
	}
}

// smoothWords tells of the n tasks that need no explanation.
func (r *Result) smoothWords(n int) string {
	words := fmt.Sprintf("%s done", plural(n, "other task was", "other tasks were"))
	if len(r.Merges) > 0 {
		words += " and merged"
	}
	return words + " without trouble"
}

func ruleWords(rule string) string {
	if rule == "" {
		return ""
	}
	return " _(" + md(rule) + ")_"
}
