package testdiff

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// change is one file of a patch.
type change struct {
	order     int    // in the patch
	old, name string // before and after; "" when it was not there, or is not
	hunks     []hunk
}

// hunk is a piece of a file before and after.
type hunk struct {
	heading  string // the line git shows after @@, of the file before
	first    bool   // it begins with the file's first line
	old, new []rawLine
}

// rawLine is a line as it is in the file, without its end.
type rawLine struct {
	text    string
	number  int
	changed bool // only in this one of the two
	run     int  // of changes without context between them
}

var hunkHead = lazyregexp.New(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// read takes a patch apart. A file that cannot be read is left out and is in the
// error; only for the last one this is expected, since patches are cut off. (A buffer
// spares the parser one of its own for each file.)
func read(patch []byte) ([]*change, error) {
	if len(bytes.TrimSpace(patch)) == 0 {
		return nil, nil
	}
	var out []*change
	var errs []error
	all := sections(string(patch))
	for i, s := range all {
		files, _, err := gitdiff.Parse(bytes.NewBufferString(s))
		if err != nil && i == len(all)-1 {
			if s = mend(s); !strings.Contains(s, "\n@@ ") {
				continue // a header that is cut off names nothing for sure
			}
			files, _, err = gitdiff.Parse(bytes.NewBufferString(s))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read file %d of the patch: %w", i+1, err))
		}
		for _, f := range files {
			out = append(out, changeOf(f, len(out)))
		}
	}
	if len(all) == 0 {
		errs = append(errs, errors.New("read the patch: no line begins with diff --git"))
	}
	return out, errors.Join(errs...)
}

// sections cuts a patch into its files. No line of a file's text begins like a
// header, since a blank, a sign or a base85 digit comes first.
func sections(patch string) (out []string) {
	const head = "diff --git "
	from := 0
	if !strings.HasPrefix(patch, head) {
		from = strings.Index(patch, "\n"+head) + 1
		if from == 0 {
			return nil
		}
	}
	for {
		next := strings.Index(patch[from:], "\n"+head)
		if next < 0 {
			return append(out, patch[from:])
		}
		out = append(out, patch[from:from+next+1])
		from += next + 1
	}
}

// mend makes a section whole that was cut off: the half line goes, and the last
// hunk counts what is there. Where lines were being replaced, what takes their place
// may be lost, so this whole run of changes goes; not so for a file that is new or
// deleted, where nothing can be missing but more of the same.
func mend(section string) string {
	lines := strings.SplitAfter(section, "\n")
	lines = lines[:len(lines)-1] // what has no end
	at := len(lines) - 1
	for at >= 0 && !strings.HasPrefix(lines[at], "@@ ") {
		at--
	}
	if at < 0 {
		return strings.Join(lines, "")
	}
	head, body := lines[:at], lines[at+1:]
	whole := strings.Contains(strings.Join(head, ""), "\ndeleted file mode ")
	for n := len(body); !whole && n > 0 && body[n-1][0] != ' '; n-- {
		if body[n-1][0] == '-' {
			body = body[:n-1]
		}
	}
	m := hunkHead.FindStringSubmatchIndex(lines[at])
	old, now, changed := 0, 0, false
	for _, l := range body {
		switch l[0] {
		case '+':
			now, changed = now+1, true
		case '-':
			old, changed = old+1, true
		case ' ', '\n':
			old, now = old+1, now+1
		}
	}
	if m == nil || !changed {
		return strings.Join(head, "")
	}
	fixed := fmt.Sprintf("@@ -%s,%d +%s,%d @@", lines[at][m[2]:m[3]], old, lines[at][m[4]:m[5]], now)
	return strings.Join(head, "") + fixed + lines[at][m[1]:] + strings.Join(body, "")
}

func changeOf(f *gitdiff.File, order int) *change {
	c := &change{order: order, old: f.OldName, name: f.NewName}
	if f.IsDelete {
		c.name = ""
	}
	if f.IsNew || f.IsCopy { // a copy takes nothing from where it comes from
		c.old = ""
	}
	run := 0
	for _, t := range f.TextFragments {
		run++
		h := hunk{heading: t.Comment, first: t.OldPosition <= 1}
		h.old = make([]rawLine, 0, len(t.Lines)-int(t.LinesAdded))
		h.new = make([]rawLine, 0, len(t.Lines)-int(t.LinesDeleted))
		old, now := int(t.OldPosition), int(t.NewPosition)
		for _, l := range t.Lines {
			if l.Op == gitdiff.OpContext {
				run++
			}
			text := strings.TrimRight(l.Line, "\r\n")
			if l.Old() {
				h.old = append(h.old, rawLine{text, old, !l.New(), run})
				old++
			}
			if l.New() {
				h.new = append(h.new, rawLine{text, now, !l.Old(), run})
				now++
			}
		}
		c.hunks = append(c.hunks, h)
	}
	return c
}

// base is the last part of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
