package markup

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ralph-loop/ralph/internal/text"
)

// Patch is a patch as a page shows it.
type Patch struct {
	Files   []File
	Added   int
	Removed int
	Notes   []string // what is not shown
}

// File is what a patch does to one file. Its names may be shown, and are no HTML.
type File struct {
	ID      string // of its element
	Old     string // its name before; "" when it is new
	New     string // its name after; "" when it is gone
	Change  string // added, removed, renamed, copied, changed
	Mode    string // how its mode changed, or that of a new file if it is unusual
	Binary  bool
	Added   int
	Removed int
	Hunks   []Hunk
	Text    string   // in place of hunks, when they cannot be read; no HTML
	Notes   []string // what is not shown
}

// Name is what the file is called.
func (f File) Name() string {
	if f.New == "" {
		return f.Old
	}
	return f.New
}

// Hunk is one place of a file.
type Hunk struct {
	Header string // where it is; no HTML
	Lines  []Line
}

// Line is one line of a hunk.
type Line struct {
	Kind byte // ' ', '+' or '-'
	Old  int  // its number before, 0 for none
	New  int  // its number after, 0 for none
	HTML string
	NoLF bool // the file ends here, without a line break
}

// patchBytes and fileLines are how much of a patch, and of a file, is shown unless told:
// each line becomes some five times as long as HTML.
const (
	patchBytes = 128 << 10
	fileLines  = 400
)

// budget is what is left for a whole patch, in bytes: to be shown, and to be coloured.
type budget struct{ show, colour int }

// ParsePatch reads a patch as git writes it. What cannot be read is shown as text, and
// what is beyond the limits is counted and said.
func ParsePatch(patch []byte, l Limits) Patch {
	if l.Lines <= 0 {
		l.Lines = fileLines
	}
	if l.Bytes <= 0 {
		l.Bytes = patchBytes
	}
	l = l.orDefault()
	var out Patch
	left := budget{l.Bytes, maxPatterns}
	ids := map[string]int{}
	hidden := 0
	for _, section := range sections(patch) {
		added, removed := count(section)
		out.Added += added
		out.Removed += removed
		if len(out.Files) == l.Files {
			hidden++
			continue
		}
		f := fileOf(section, &left, l)
		f.Added, f.Removed = added, removed
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(f.Name()))
		f.ID = fmt.Sprintf("diff-%08x", sum.Sum32())
		if ids[f.ID]++; ids[f.ID] > 1 {
			f.ID = fmt.Sprintf("%s-%d", f.ID, ids[f.ID])
		}
		out.Files = append(out.Files, f)
	}
	if hidden > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d more files are not shown", hidden))
	}
	return out
}

// sections are the parts of a patch that speak of one file each. Lines of files have a
// sign before them, so that none of them begins like this.
func sections(patch []byte) [][]byte {
	start := []byte("diff --git ")
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil
	}
	var out [][]byte
	if !bytes.HasPrefix(patch, start) {
		i := bytes.Index(patch, append([]byte("\n"), start...))
		if i < 0 {
			return [][]byte{patch}
		}
		patch = patch[i+1:]
	}
	for {
		i := bytes.Index(patch, append([]byte("\n"), start...))
		if i < 0 {
			return append(out, patch)
		}
		out = append(out, patch[:i+1])
		patch = patch[i+1:]
	}
}

// count is how many lines a section adds and removes.
func count(section []byte) (added, removed int) {
	in := false
	for line := range bytes.Lines(section) {
		switch {
		case bytes.HasPrefix(line, []byte("@@ ")):
			in = true
		case in && line[0] == '+':
			added++
		case in && line[0] == '-':
			removed++
		}
	}
	return added, removed
}

// fileOf is one section.
func fileOf(section []byte, b *budget, l Limits) File {
	whole := section
	if len(section) > b.show { // its head is always worth its bytes
		if i := bytes.Index(section, []byte("\n@@ ")); i >= 0 {
			section = section[:i+1]
		}
		section = text.Head(section, 64<<10)
	} else {
		b.show -= len(section)
	}
	files, _, err := gitdiff.Parse(bytes.NewReader(section))
	if err != nil || len(files) != 1 {
		return asText(section, len(whole), l)
	}
	f := described(files[0])
	if len(section) < len(whole) {
		f.Notes = append(f.Notes, fmt.Sprintf("%s of changes are too much to show", size(len(whole))))
	}
	left, over := l.Lines, 0
	for _, h := range files[0].TextFragments {
		if n := len(h.Lines) - left; n > 0 {
			over += n
			h.Lines = h.Lines[:left]
		}
		if left -= len(h.Lines); len(h.Lines) > 0 {
			f.Hunks = append(f.Hunks, hunkOf(h, f.Name(), b, l))
		}
	}
	if over > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d more lines are not shown", over))
	}
	return f
}

// asText is a section that cannot be read.
func asText(section []byte, whole int, l Limits) File {
	first, _, _ := bytes.Cut(section, []byte("\n"))
	name := strings.TrimPrefix(string(first), "diff --git ")
	if _, after, ok := strings.Cut(name, " b/"); ok {
		name = after
	}
	f := File{New: text.Visible(name), Change: "changed", Notes: []string{"This part of the patch cannot be read; it is shown as it is."}}
	shown := text.Head(section, 64<<10)
	if over := lineCount(shown) - l.Lines; over > 0 {
		at := 0
		for range l.Lines {
			at += bytes.IndexByte(shown[at:], '\n') + 1
		}
		shown = shown[:at]
	}
	if gone := whole - len(shown); gone > 0 {
		f.Notes = append(f.Notes, size(gone)+" more are not shown")
	}
	f.Text = text.Visible(string(shown))
	return f
}

// described is what the head of a section says.
func described(g *gitdiff.File) File {
	f := File{Old: text.Visible(g.OldName), New: text.Visible(g.NewName), Change: "changed", Binary: g.IsBinary}
	switch {
	case g.IsNew:
		f.Change, f.Old = "added", ""
		if g.NewMode != 0 && g.NewMode.Perm() != 0o644 || g.NewMode&^fs.ModePerm&^0o100000 != 0 {
			f.Mode = mode(g.NewMode)
		}
	case g.IsDelete:
		f.Change, f.New = "removed", ""
	case g.IsRename:
		f.Change = "renamed"
	case g.IsCopy:
		f.Change = "copied"
	}
	if g.OldMode != 0 && g.NewMode != 0 && g.OldMode != g.NewMode {
		f.Mode = mode(g.OldMode) + " → " + mode(g.NewMode)
	}
	return f
}

// mode writes a mode as git does.
func mode(m fs.FileMode) string {
	switch m &^ fs.ModePerm &^ 0o100000 {
	case fs.ModeSymlink, 0o120000 &^ 0o100000:
		return "link"
	case 0o160000 &^ 0o100000:
		return "submodule"
	}
	return fmt.Sprintf("%03o", m.Perm())
}

// hunkOf colours a hunk: what was before and what is after are each read as code.
func hunkOf(h *gitdiff.TextFragment, name string, room *budget, l Limits) Hunk {
	out := Hunk{Header: text.Visible(h.Header()), Lines: make([]Line, len(h.Lines))}
	texts := make([]string, len(h.Lines))
	returns := 0
	for _, line := range h.Lines {
		if strings.HasSuffix(line.Line, "\r\n") {
			returns++
		}
	}
	var before, after strings.Builder
	was, is := int(h.OldPosition), int(h.NewPosition)
	for i, line := range h.Lines {
		s := strings.TrimSuffix(line.Line, "\n")
		if returns == len(h.Lines) { // a file of such lines; otherwise it is the change
			s = strings.TrimSuffix(s, "\r")
		}
		if len(s) > l.LineBytes {
			s = string(text.Head([]byte(s), l.LineBytes)) + " …"
		}
		s = text.Visible(s)
		texts[i] = s
		x := Line{Kind: ' ', NoLF: line.NoEOL()}
		switch line.Op {
		case gitdiff.OpAdd:
			x.Kind = '+'
		case gitdiff.OpDelete:
			x.Kind = '-'
		}
		if line.Old() {
			x.Old = was
			was++
			before.WriteString(s + "\n")
		}
		if line.New() {
			x.New = is
			is++
			after.WriteString(s + "\n")
		}
		out.Lines[i] = x
	}
	language := languageOf(name)
	if language != "go" {
		if room.colour -= before.Len() + after.Len(); room.colour < 0 {
			language = ""
		}
	}
	old, now := pieceLines(language, before.String()), pieceLines(language, after.String())
	marks := changed(out.Lines, texts)
	a, b := 0, 0
	for i := range out.Lines {
		var pieces []piece
		if out.Lines[i].Old > 0 || out.Lines[i].Kind == '-' {
			pieces = old[a]
			a++
		}
		if out.Lines[i].Kind != '-' {
			pieces = now[b]
			b++
		}
		out.Lines[i].HTML = marked(pieces, marks[i])
	}
	return out
}

// changed is which part of each line differs from the line that it stands for, from and
// to, where as many lines were added as removed at a place.
func changed(lines []Line, texts []string) [][2]int {
	out := make([][2]int, len(lines))
	for i := 0; i < len(lines); {
		gone := run(lines[i:], '-')
		came := run(lines[i+gone:], '+')
		if gone == came {
			for n := range gone {
				out[i+n], out[i+gone+n] = differ(texts[i+n], texts[i+gone+n])
			}
		}
		i += max(1, gone+came)
	}
	return out
}

func run(lines []Line, kind byte) int {
	n := 0
	for n < len(lines) && lines[n].Kind == kind {
		n++
	}
	return n
}

// differ is the part of each of two texts that the other one has not; none when they
// have little in common.
func differ(a, b string) (x, y [2]int) {
	before, after := 0, 0
	for before < len(a) && before < len(b) && a[before] == b[before] {
		before++
	}
	for before > 0 && (before < len(a) && !utf8.RuneStart(a[before]) || before < len(b) && !utf8.RuneStart(b[before])) {
		before--
	}
	for after < len(a)-before && after < len(b)-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	for after > 0 && !utf8.RuneStart(a[len(a)-after]) {
		after--
	}
	// whole words: half of one is hard to read
	for before > 0 && inWord(a, b, before-1) && inWord(a, b, before) {
		before--
	}
	for after > 0 && word(a[len(a)-after]) && (edge(a, before, after) || edge(b, before, after)) {
		after--
	}
	indent := len(a) - len(strings.TrimLeft(a, " \t"))
	if same := before + after - min(indent, before); same*3 < max(len(a), len(b))-indent {
		return x, y
	}
	return [2]int{before, len(a) - after}, [2]int{before, len(b) - after}
}

// word reports whether a byte is of a word; those of longer signs are.
func word(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// inWord reports whether one of the two texts has a byte of a word at a place.
func inWord(a, b string, at int) bool {
	return at < len(a) && word(a[at]) || at < len(b) && word(b[at])
}

// edge reports whether what changed in a text ends within a word.
func edge(s string, before, after int) bool {
	end := len(s) - after
	return end > before && word(s[end-1])
}

// marked is a line of pieces as HTML, with the part that changed in the class d-word.
func marked(pieces []piece, mark [2]int) string {
	var b strings.Builder
	at := 0
	for _, p := range pieces {
		from, to := min(max(mark[0]-at, 0), len(p.text)), min(max(mark[1]-at, 0), len(p.text))
		span(&b, p.class, p.text[:from])
		if from < to {
			span(&b, strings.TrimSpace(p.class+" d-word"), p.text[from:to])
		}
		span(&b, p.class, p.text[max(from, to):])
		at += len(p.text)
	}
	return b.String()
}
