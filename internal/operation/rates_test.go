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
				j := (operation.Patterns{}).Judge(command(line), operation.Ground{Work: "/home/me/repo", Home: "/home/me"})
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
		(operation.Patterns{}).Judge(command(text), operation.Ground{Home: "/home/me"})
		if took := time.Since(begin); took > time.Minute { // only a hang may be told by a clock
			t.Errorf("%s takes %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}
