package report

import (
	"fmt"
	"strings"
)

// Table is a part of a report as rows of plain text: markdown and HTML escape it,
// each in its own way. What is left out is in the JSON.
type Table struct {
	Title string
	Note  string
	Head  []string // a "#" before a name: the column holds numbers
	Rows  [][]string
}

// MarkdownTable writes a table as markdown; one without rows is left out.
func MarkdownTable(b *strings.Builder, t Table) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Title != "" {
		fmt.Fprintf(b, "\n## %s\n\n", t.Title)
	}
	if t.Note != "" {
		fmt.Fprintf(b, "%s\n\n", t.Note)
	}
	rule := ""
	for _, name := range t.Head {
		column, numeric := strings.CutPrefix(name, "#")
		fmt.Fprintf(b, "| %s ", column)
		if numeric {
			rule += "| ---: "
		} else {
			rule += "| --- "
		}
	}
	fmt.Fprintf(b, "|\n%s|\n", rule)
	for _, row := range t.Rows {
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", Markdown(cell))
		}
		b.WriteString("|\n")
	}
}

// Markdown writes untrusted text into markdown: no markup, no link, no image, no HTML.
// An address stays text too, since nothing is fetched and nobody is called by it.
func Markdown(s string) string {
	var b strings.Builder
	for _, r := range OneLine(s) {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '|', '~', '#':
			b.WriteByte('\\')
		case '<':
			b.WriteString("&lt;")
			continue
		case '>':
			b.WriteString("&gt;")
			continue
		case '&':
			b.WriteString("&amp;")
			continue
		case '@': // a name after it would be called
			b.WriteString("@\u2060")
			continue
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "://", ":\u2060//")
}

// MarkdownCode writes untrusted text as code, with a fence longer than any in it.
func MarkdownCode(s string) string {
	s = OneLine(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// Add adds a row; most is how many there may be.
func (t *Table) Add(most int, cells ...string) {
	if len(t.Rows) < most {
		t.Rows = append(t.Rows, cells)
		return
	}
	t.Note = fmt.Sprintf("The first %d; the JSON has all of them.", most)
}
