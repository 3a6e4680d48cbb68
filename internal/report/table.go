package report

import (
	"fmt"
	"strings"
)

// table is a part of a report as rows of plain text: markdown and HTML escape it,
// each in its own way. What is left out is in the JSON.
type table struct {
	Title string
	Note  string
	Head  []string // a "#" before a name: the column holds numbers
	Rows  [][]string
}

func markdownTable(b *strings.Builder, t table) {
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
			fmt.Fprintf(b, "| %s ", md(cell))
		}
		b.WriteString("|\n")
	}
}

// md writes untrusted text into markdown: no markup, no link, no image, no HTML.
// An address stays text too, since nothing is fetched and nobody is called by it.
func md(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
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

// mdCode writes untrusted text as code, with a fence longer than any in it.
func mdCode(s string) string {
	s = oneLine(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence != "`" {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// add adds a row; most is how many there may be.
func (t *table) add(most int, cells ...string) {
	if len(t.Rows) < most {
		t.Rows = append(t.Rows, cells)
		return
	}
	t.Note = fmt.Sprintf("The first %d; the JSON has all of them.", most)
}
