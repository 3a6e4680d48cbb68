package specdoc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// The marks around what ralph writes of a page: what people write outside of them stays.
const (
	pageBegin = "<!-- ralph:begin: what is between this line and ralph:end is written by ralph -->"
	pageEnd   = "<!-- ralph:end -->"
	beginMark = "<!-- ralph:begin"
	pageMark  = "<!-- ralph:page "
)

// IndexFile is the index of the pages, in their folder.
const IndexFile = "README.md"

// Entry is a page in the index. It stands in the page itself, so that the index can be made
// from the pages that are there.
type Entry struct {
	File  string `json:"file"` // of the page, relative to the folder
	Title string `json:"title"`
	Date  string `json:"date,omitempty"`
	Words string `json:"words,omitempty"`
}

// PageFile is where the page of a spec is, relative to the folder of the pages. A spec cannot take
// the place of the index.
func PageFile(spec string) string {
	name := path.Clean(spec)
	if strings.EqualFold(name, IndexFile) {
		return "readme-spec.md"
	}
	return name
}

// Entry is what the index says of the work.
func (w Work) Entry() Entry {
	e := Entry{File: PageFile(w.File), Title: w.Title, Words: w.summary()}
	if at := w.when(); !at.IsZero() {
		e.Date = at.UTC().Format("2006-01-02")
	}
	return e
}

// Page is the page of a spec, made of the one that is there ("" for none).
func (w Work) Page(before string) string {
	mark, err := json.Marshal(w.Entry()) // escapes < and >, so that it ends no comment
	if err != nil {
		mark = []byte("{}")
	}
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, "\n## %s\n\n", title) }
	fmt.Fprintf(&b, "%s%s -->\n\n%s.\n", pageMark, strings.ReplaceAll(string(mark), "--", `-\u002d`), w.summary())
	section("What was asked")
	fmt.Fprintf(&b, "The spec is `ralph/specs/%s`", text.SafeLine(strings.ReplaceAll(w.File, "`", "'")))
	if from := cmp.Or(strings.Join(w.Head.Items(), ", "), w.Head.Source); from != "" {
		fmt.Fprintf(&b, ", from %s", code(from))
	}
	b.WriteString(".\n\n")
	b.WriteString(w.quoted(w.Asked, maxAsked))
	section("Tasks")
	b.WriteString(w.taskTable())
	section("Decisions")
	bullets(&b, w.decisions(), "Nobody was asked, and nothing was sent back.")
	section("Checks")
	b.WriteString(w.checkTable())
	if list := w.letPass(); len(list) > 0 {
		b.WriteString("\nLet pass:\n\n")
		bullets(&b, list, "")
	}
	section("Commits")
	if w.Spec != "" {
		fmt.Fprintf(&b, "This page came with the commit of the spec: `git log --grep 'Ralph-Spec: %s'` finds it.\n", w.Spec)
	}
	var commits []string
	for _, t := range w.Tasks {
		if c := t.Run.Commit; c != "" {
			commits = append(commits, fmt.Sprintf("`%s` %s", text.ShortHash(c), said(text.Clip(text.SafeLine(t.Name), maxName))))
		}
	}
	if len(commits) > 0 {
		b.WriteString("\nIt was made of these, of one task each:\n\n")
		bullets(&b, commits, "")
	}
	section("Cost")
	b.WriteString(w.cost() + ".\n")
	return between(before, "# "+said(w.Title)+"\n", b.String())
}

// when is the day of the work: when its newest task ended.
func (w Work) when() (at time.Time) {
	for _, t := range w.Tasks {
		if t.Run.EndedAt.After(at) {
			at = t.Run.EndedAt
		}
	}
	return at
}

// between puts a part that is generated between its marks. What stands before and after them in
// the page that is there stays; a page without marks gets them at its end. top is what a new page
// begins with.
func between(before, top, part string) string {
	begin := strings.Index(before, beginMark)
	end := -1
	if begin >= 0 {
		end = strings.LastIndex(before, pageEnd)
	}
	switch {
	case strings.TrimSpace(before) == "":
		return top + "\n" + pageBegin + "\n" + part + pageEnd + "\n"
	case begin >= 0 && end > begin:
		return before[:begin] + pageBegin + "\n" + part + pageEnd + before[end+len(pageEnd):]
	}
	return strings.TrimRight(before, "\n") + "\n\n" + pageBegin + "\n" + part + pageEnd + "\n"
}

// ReadEntry is the entry that a page has in itself; ok is false for a page that ralph did not
// write.
func ReadEntry(file, page string) (Entry, bool) {
	_, rest, ok := strings.Cut(page, pageMark)
	line, _, closed := strings.Cut(rest, " -->")
	var e Entry
	if !ok || !closed || json.Unmarshal([]byte(line), &e) != nil {
		return Entry{}, false
	}
	e.File = file
	return e, true
}

// Index is the index of the pages, made of the one that is there.
func Index(before string, entries []Entry) string {
	list := slices.Clone(entries)
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(strings.Compare(b.Date, a.Date), strings.Compare(a.File, b.File))
	})
	var b strings.Builder
	b.WriteString("\n| spec | day | what came of it |\n| --- | --- | --- |\n")
	for _, e := range list {
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s |\n", said(e.Title), link(e.File), said(e.Date), strings.ReplaceAll(e.Words, "|", "\\|"))
	}
	if len(list) == 0 {
		return between(before, "# Work of ralph\n", "\nNo spec is done yet.\n")
	}
	return between(before, "# Work of ralph\n", b.String())
}

// link is a file as the target of a link.
func link(file string) string {
	var b strings.Builder
	for _, c := range []byte(file) {
		switch {
		case c == '/' || c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
