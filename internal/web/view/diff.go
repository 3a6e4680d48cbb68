package view

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

// openFiles are how many files of a patch are unfolded at first, and openLines how many
// lines those have at most in all: the first screens.
const (
	openFiles = 5
	openLines = 600
)

// openAt reports whether the file is unfolded at first.
func openAt(p markup.Patch, i int) bool {
	lines := 0
	for _, f := range p.Files[:i] {
		lines += f.Added + f.Removed
	}
	return i < openFiles && (i == 0 || lines < openLines)
}

// lineID is the name of a line: of the new file, or of the old one where it is gone.
func lineID(f markup.File, l markup.Line) string {
	if l.New > 0 {
		return fmt.Sprintf("%s-R%d", f.ID, l.New)
	}
	return fmt.Sprintf("%s-L%d", f.ID, l.Old)
}

func lineClass(l markup.Line) string {
	switch l.Kind {
	case '+':
		return "add"
	case '-':
		return "del"
	}
	return "same"
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// barParts are the widths of the two parts of a file's bar, of ten: each change shows.
func barParts(p markup.Patch, f markup.File) (added, removed int) {
	most := 1
	for _, x := range p.Files {
		most = max(most, x.Added+x.Removed)
	}
	part := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(1, n*10/most)
	}
	return part(f.Added), part(f.Removed)
}

func filesWord(n int) string { return text.Count(n, "file") }
