package operation_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/operation"
)

// unread reports whether a line of a corpus belongs to the third that the rules were not
// written by.
func unread(line string) bool {
	sum := sha256.Sum256([]byte(line))
	n := 0
	for _, b := range sum {
		n = (n*256 + int(b)) % 3
	}
	return n == 0
}

// S4 to S7, the false positives: of what destroys, publishes or deploys less than one line in a
// hundred passes, of what people do every day less than one is held; of the lines that the rules
// were written by, and of those that they were not. docs/approvals.md says what was measured.
func TestRates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  string
		files []string
		wrong func(operation.Judgement) bool
		least int
	}{
		{"dangerous", []string{"evasions.txt", "findings.txt", "made.txt"}, func(j operation.Judgement) bool { return !j.Held(false) }, 2000},
		{"ordinary", []string{"harmless.txt", "ordinary.txt", "public.txt"}, func(j operation.Judgement) bool { return j.Held(true) }, 2000},
		{"ordinary without a sandbox", []string{"harmless.txt", "ordinary.txt", "public.txt"}, func(j operation.Judgement) bool { return j.Held(false) }, 2000},
	} {
		all, wrong := map[bool]int{}, map[bool]int{}
		for _, name := range tt.files {
			for _, line := range lines(t, name) {
				third := unread(line)
				all[third]++
				j := (operation.Patterns{}).Judge(command(line), operation.Workspace{Work: "/home/me/repo", Home: "/home/me"})
				if tt.wrong(j) {
					wrong[third]++
					t.Logf("%s, unread %v: %q: %+v", tt.kind, third, line, j.Found)
				}
			}
		}
		if n := all[false] + all[true]; n < tt.least {
			t.Errorf("%s: %d lines, want %d", tt.kind, n, tt.least)
		}
		for _, third := range []bool{false, true} {
			t.Logf("%s, unread %v: %d of %d wrong", tt.kind, third, wrong[third], all[third])
			if wrong[third]*100 > all[third] {
				t.Errorf("%s, unread %v: %d of %d are judged wrongly, more than one in a hundred", tt.kind, third, wrong[third], all[third])
			}
		}
	}
}

// S4 to S7: of lines that an author wrote or collected who had not read the rules, and of which a
// third was not looked at while the rules were mended for the first time. By now all of them have been
// read: what nobody has seen is measured by policy's TestSecondRates.
func TestFreshRates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind, file string
		wrong      func(operation.Judgement) bool
		most       map[bool]int // of a thousand, of the others and of the third
	}{
		{"ordinary, in a sandbox", "fresh-ordinary.txt", func(j operation.Judgement) bool { return j.Held(true) }, map[bool]int{false: 10, true: 10}},
		{"ordinary, without one", "fresh-ordinary.txt", func(j operation.Judgement) bool { return j.Held(false) }, map[bool]int{false: 10, true: 10}},
		{"destructive, files", "fresh-files.txt", func(j operation.Judgement) bool { return !j.Held(false) }, map[bool]int{false: 5, true: 10}},
		{"destructive, beyond the sandbox", "fresh-beyond.txt", func(j operation.Judgement) bool { return !j.Held(true) }, map[bool]int{false: 10, true: 10}},
		{"destructive, by which was mended", "classes.txt", func(j operation.Judgement) bool { return !j.Held(false) }, map[bool]int{}},
		{"destructive, verbs", "verbs.txt", func(j operation.Judgement) bool { return !j.Held(false) }, map[bool]int{}},
		{"ordinary, verbs", "local.txt", func(j operation.Judgement) bool { return j.Held(true) }, map[bool]int{}},
		{"ordinary, by which was mended", "daily.txt", func(j operation.Judgement) bool { return j.Held(true) }, map[bool]int{}},
	} {
		all, wrong := map[bool]int{}, map[bool]int{}
		for _, line := range lines(t, tt.file) {
			third := unread(line)
			all[third]++
			if tt.wrong((operation.Patterns{}).Judge(command(line), operation.Workspace{Work: "/home/me/repo", Home: "/home/me"})) {
				wrong[third]++
				t.Logf("%s, unread %v: %q", tt.kind, third, line)
			}
		}
		for _, third := range []bool{false, true} {
			t.Logf("%s, unread %v: %d of %d wrong", tt.kind, third, wrong[third], all[third])
			if all[third] == 0 || wrong[third]*1000 > all[third]*tt.most[third] {
				t.Errorf("%s, unread %v: %d of %d are judged wrongly, more than %d in a thousand", tt.kind, third, wrong[third], all[third], tt.most[third])
			}
		}
	}
}

// A command is judged while a shell waits for it: the largest in a moment, whatever is in it.
func TestHugeCommand(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"list": "a=b; ", "loop": "for i in 1 2 3; do ", "nest": "$(", "pipe": "cat | ", "words": "x$a ", "brace": "{a,b}", "if": "if a; then b; ", "assign": "a=$a$a; ", "rm": "rm -rf x; ", "xargs": "xargs ",
		"sh": "sh -c '", "case": "case $a in x) b;; esac; ", "function": "f() { f; f; }; f; ", "write": "echo a > b; sh b; ", "find": "find a -exec b {} \\; ; ", "python": "python3 -c 'import os; os.system(\"ls\")'; ",
	} {
		text := ""
		for len(text)+len(piece) < 24<<10 {
			text += piece
		}
		begin := time.Now()
		(operation.Patterns{}).Judge(command(text), operation.Workspace{Home: "/home/me"})
		if took := time.Since(begin); took > time.Minute { // only a hang may be told by a clock
			t.Errorf("%s takes %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
