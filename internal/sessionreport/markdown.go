package sessionreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// Markdown writes the report for a pull request or a wiki: GitHub's dialect.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	at := r.clock()
	r.markdownHead(&b)
	report.MarkdownTable(&b, r.taskTable())
	r.markdownWhy(&b, at)
	for _, t := range r.tables(at) {
		report.MarkdownTable(&b, t)
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
	fmt.Fprintf(b, "# ralph %s: %s\n\n%s, **%s**", h.Mode, report.Markdown(title), report.Markdown(when), report.Markdown(end))
	if h.Branch != "" {
		fmt.Fprintf(b, ", merged on %s for %s", report.Markdown(h.Branch), report.Markdown(report.BaseWords(h.Base)))
	}
	b.WriteString("\n\n")
	figures := report.Table{Head: []string{"", "", ""}}
	for _, f := range r.keyFigures() {
		figures.Add(maxRows, f.Name, f.Value, f.Note)
	}
	report.MarkdownTable(b, figures)
	if len(r.Needs) == 0 {
		return
	}
	b.WriteString("\n## Needs you\n\n")
	for _, n := range r.Needs {
		fmt.Fprintf(b, "- %s\n  %s\n", report.Markdown(n.What), report.MarkdownCode(n.Command))
	}
}

// taskTable is a row for each task.
func (r *Result) taskTable() report.Table {
	t := report.Table{Title: "Tasks", Head: []string{"task", "name", "status", "#iterations", "#retries", "#work", "#cost", "merge", "commit"}}
	for i := range r.Tasks {
		x := &r.Tasks[i]
		commit := x.MergeCommit
		if commit == "" {
			commit = x.Commit
		}
		t.Rows = append(t.Rows, []string{
			string(x.ID), report.Clip(x.Name, 100), x.word(string(x.Status)), number(x.Iterations), number(x.Retries), workWords(x.WorkSeconds),
			moneyWords(x.Cost), x.stateWords(), text.ShortHash(commit),
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
		fmt.Fprintf(b, "- **%s %s**: %s%s\n", report.Markdown(string(t.ID)), report.Markdown(report.Clip(t.Name, 100)), report.Markdown(report.Clip(t.Why, why)), ruleWords(t.Rule))
		events, skipped := t.told(len(list))
		for _, e := range events {
			fmt.Fprintf(b, "  - %s %s%s\n", at.at(e.At), report.Markdown(report.Clip(e.Text, line)), ruleWords(e.Rule))
		}
		if skipped > 0 {
			fmt.Fprintf(b, "  - %d more in the JSON\n", skipped)
		}
		for _, x := range t.Findings[:min(5, len(t.Findings))] {
			fmt.Fprintf(b, "  - test taken away: %s\n", report.Markdown(report.Clip(report.FindingWords(x), 200)))
		}
	}
}

// smoothWords tells of the n tasks that need no explanation.
func (r *Result) smoothWords(n int) string {
	words := fmt.Sprintf("%s done", text.Plural(n, "other task was", "other tasks were"))
	if len(r.Merges) > 0 {
		words += " and merged"
	}
	return words + " without trouble"
}

func ruleWords(rule string) string {
	if rule == "" {
		return ""
	}
	return " _(" + report.Markdown(rule) + ")_"
}
