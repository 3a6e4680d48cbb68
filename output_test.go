package ralph_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// Issue 16.1: a fact holds at most 4 KiB of all outputs, whatever there is of them, and how a
// check is red comes out the same from the fact as from the whole.
func TestBriefResults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var results []ralph.CheckResult
		for i := range rapid.IntRange(1, 12).Draw(t, "checks") {
			r := ralph.CheckResult{Name: fmt.Sprint("c", i), Pass: rapid.Bool().Draw(t, "pass")}
			if !r.Pass {
				r.Exit = 2
			}
			line := rapid.SampledFrom([]string{"ok\n", "häßlich ", "a longer line of a compiler, with a place in it: x.go:12:3\n"}).Draw(t, "line")
			r.Output = strings.Repeat(line, rapid.IntRange(0, 3000).Draw(t, "lines"))
			if rapid.Bool().Draw(t, "missing") {
				at := len(r.Output) / 2
				for at > 0 && r.Output[at-1] != '\n' {
					at--
				}
				r.Output = r.Output[:at] + "make: *** No rule to make target 'x'.\n" + r.Output[at:]
			}
			results = append(results, r)
		}
		brief, shortened := ralph.BriefResults(results)
		held, left := 0, false
		for i, r := range brief {
			held += len(r.Output)
			left = left || r.Brief > 0
			if !utf8.ValidString(r.Output) {
				t.Fatalf("half a character: %q", r.Output)
			}
			if was, is := ralph.RedOf(results[i]).Missing, ralph.RedOf(r).Missing; was != is {
				t.Fatalf("%s: missing is %v in the fact and %v in the whole: %q", r.Name, is, was, r.Output)
			}
			if (r.Brief > 0) != (r.Output != results[i].Output) {
				t.Fatalf("%s: %d bytes are said to be left out", r.Name, r.Brief)
			}
		}
		if held > 4<<10+12*64 || left != shortened {
			t.Fatalf("the fact holds %d bytes; shortened %v, %v", held, shortened, left)
		}
	})
}

func TestShorten(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	short, left := ralph.Shorten(b.String(), 1000)
	if len(short) > 1000 || !strings.HasPrefix(short, "line 0\n") || !strings.HasSuffix(short, "line 4999\n") ||
		!strings.Contains(short, fmt.Sprintf("\n... %d bytes left out ...\nline ", left)) {
		t.Errorf("%d bytes, %d left out: %q", len(short), left, short)
	}
	if short, left := ralph.Shorten("all of it", 9); short != "all of it" || left != 0 {
		t.Errorf("%q, %d left out", short, left)
	}
}

// A conflict of many files takes no more than one of a few.
func TestBriefConflict(t *testing.T) {
	t.Parallel()
	var c ralph.Conflict
	for i := range 100 {
		c.Files = append(c.Files, ralph.ConflictFile{Path: fmt.Sprint(i), Kind: "content", Marked: strings.Repeat("<<<<<<< ours\n", 5000)})
	}
	brief, shortened := c.Brief()
	held := 0
	for _, f := range brief.Files {
		if held += len(f.Marked); f.Brief == 0 {
			t.Errorf("%s is whole", f.Path)
		}
	}
	if !shortened || held > 4<<10 || len(brief.Files) != 100 {
		t.Errorf("%d bytes of %d files; shortened %v", held, len(brief.Files), shortened)
	}
}
