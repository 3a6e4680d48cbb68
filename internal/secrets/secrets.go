// Package secrets finds keys, tokens and passwords in what a diff adds, by the rules
// of gitleaks, as its module has them. It owns reading the diff, applying
// the rules, and never showing a secret whole. It does not own how the diff is made
// (internal/git), nor what becomes of a finding (internal/policy).
package secrets

import (
	"cmp"
	"errors"
	"fmt"
	"index/suffixarray"
	"slices"
	"strings"
	"unicode"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"github.com/ralph-loop/ralph"
)

// Kind is the kind of all findings of this package.
const Kind = "secret"

// Scan looks for secrets in the lines that a patch adds. The patch is what
// `git diff` writes, with the prefixes a/ and b/ and without colours; it may be cut
// off. Findings come in the order of the patch, within a file by line. With an error,
// which says what of the patch cannot be read, they are those of the rest, and of
// whatever in it looks like an added line.
//
// Nothing in the patch can allow a secret: not a comment gitleaks:allow, nor a
// .gitleaks.toml or .gitleaksignore, since whoever wrote the secret may have written
// these too. What the patch also takes away was there before and is not reported.
func Scan(patch []byte) ([]ralph.Finding, error) {
	s := newScanner()
	var added []fragment
	var errs []error
	var removed strings.Builder
	for i, section := range strings.Split("\n"+string(patch), "\ndiff --git ")[1:] {
		section = strings.TrimSuffix(section, "\n") + "\n"
		files, _, err := gitdiff.Parse(strings.NewReader("diff --git " + section))
		if err != nil {
			errs = append(errs, fmt.Errorf("read file %d of the patch: %w", i+1, err))
			added = append(added, plus(section))
			continue
		}
		for _, f := range files {
			frags, gone := of(f)
			added = append(added, frags...)
			removed.WriteString(gone)
		}
	}
	if len(added) == 0 && len(errs) == 0 && strings.TrimSpace(string(patch)) != "" && !strings.Contains(string(patch), "diff --git ") {
		errs = append(errs, errors.New("read the patch: no line begins with diff --git"))
	}
	var out []ralph.Finding
	s.removed = suffixarray.New([]byte(removed.String())) // it is looked into for each match
	for _, f := range added {
		out = append(out, s.scan(f)...)
	}
	return out, errors.Join(errs...)
}

// fragment is text that a patch adds to a file, one piece of it.
type fragment struct {
	path    string
	text    string
	starts  []int // where in text each line begins
	numbers []int // and its number in the file, from 1; 0: not known
}

func (f *fragment) add(line string, number int) {
	f.starts = append(f.starts, len(f.text))
	f.numbers = append(f.numbers, number)
	f.text += line
}

// line returns the number of the line that a byte of the text is in.
func (f *fragment) line(at int) int {
	i, exact := slices.BinarySearch(f.starts, at)
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	return f.numbers[i]
}

// of returns what a file of a patch adds, and what it takes away. A file that comes
// or changes without lines is a fragment too: some names alone tell.
func of(f *gitdiff.File) (added []fragment, removed string) {
	if f.IsDelete {
		f.NewName = ""
	}
	var gone strings.Builder
	for _, h := range f.TextFragments {
		a := fragment{path: f.NewName}
		number := int(h.NewPosition)
		var text strings.Builder
		for _, l := range h.Lines {
			switch l.Op {
			case gitdiff.OpAdd:
				a.starts, a.numbers = append(a.starts, text.Len()), append(a.numbers, number)
				text.WriteString(l.Line)
				number++
			case gitdiff.OpContext:
				number++
			case gitdiff.OpDelete:
				gone.WriteString(l.Line)
			}
		}
		if a.text = text.String(); a.text != "" {
			added = append(added, a)
		}
	}
	if len(added) == 0 && f.NewName != "" && (f.IsNew || f.IsRename || f.IsCopy) {
		added = []fragment{{path: f.NewName}}
	}
	return added, gone.String()
}

// plus are the lines of a section that look added, where nothing better can be known.
func plus(section string) fragment {
	var f fragment
	head, _, _ := strings.Cut(section, "\n")
	if _, name, ok := strings.Cut(head, " b/"); ok {
		f.path = strings.TrimSpace(name)
	}
	for line := range strings.Lines(section) {
		if text, ok := strings.CutPrefix(line, "+"); ok && !strings.HasPrefix(line, "+++ ") {
			f.add(text, 0)
		}
	}
	return f
}

// masked is the beginning of a secret, enough to find it by.
func masked(secret string) string {
	show := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, secret))
	return string(show[:min(4, len(show)/4)]) + "…"
}

// merge leaves one finding for each secret: where a rule for one service knows it, the
// generic one has nothing to add.
func merge(hits []hit) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(b.rule.rank(), a.rule.rank()))
	})
	var out []hit
	for _, h := range hits {
		known := func(o hit) bool {
			return o.line == h.line && (o.secret == h.secret || h.rule.rank() == 0 && strings.Contains(o.secret, h.secret))
		}
		if !slices.ContainsFunc(out, known) {
			out = append(out, h)
		}
	}
	return out
}
