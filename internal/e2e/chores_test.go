//go:build e2e || soak

package e2e

import (
	"fmt"
	"strings"
)

// chore is the work of one agent.
type chore struct {
	name  string
	makes string // the function
	file  string
	code  string
	wrong string // what it claims to be done with first; "" for an agent that gets it right
	test  string
	alone bool // in files of its own
}

// chores are the tasks. The first six add to the ends of the same two files, so all
// but the first to be merged conflict. The last two each bring a function plain:
// they merge, and do not build together.
func chores() []chore {
	return []chore{
		inside("Count the words of a line", "CountWords", "int", "len(words)", "3"),
		inside("Tell the first word", "FirstWord", "string", "words[0]", `"one"`),
		inside("Tell the last word", "LastWord", "string", "words[len(words)-1]", `"three"`),
		inside("Tell the length of the first word", "FirstLength", "int", "len(words[0])", "3"),
		tooEarly(inside("Tell the length of the last word", "LastLength", "int", "len(words[len(words)-1])", "5")),
		inside("Tell whether there are many words", "Many", "bool", "len(words) > 2", "true"),
		beside("Quote a word", "Quote", "quote", "word string", `if plain(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", "'\"'\"'") + "'"`, `"a b"`),
		beside("Join words to a line", "JoinWords", "join", "words ...string", `quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; !plain(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", "'\"'\"'") + "'"
		}
	}
	return strings.Join(quoted, " ")`, `"a b"`),
	}
}

// inside is a function at the end of shlex.go, with its test at the end of shlex_test.go.
func inside(name, makes, result, value, want string) chore {
	return chore{
		name: name, makes: makes, file: "shlex.go",
		code: fmt.Sprintf(`
// %s works on the words of a line that has some.
func %[1]s(line string) (result %s, err error) {
	words, err := Split(line)
	if err == nil {
		result = %s
	}
	return result, err
}
`, makes, result, value),
		test: fmt.Sprintf(`
func Test%s(t *testing.T) {
	got, err := %[1]s("one 'and two' three")
	if want := %s; err != nil || got != want {
		t.Errorf("%[1]s: %%v, %%v, want %%v", got, err, want)
	}
}
`, makes, want),
	}
}

// tooEarly claims to be done with something else, which its test finds out.
func tooEarly(c chore) chore {
	c.wrong = strings.Replace(c.code, "words[len(words)-1]", "words[0]", 1)
	return c
}

// beside is a function in a file of its own.
func beside(name, makes, file, params, body, arg string) chore {
	return chore{
		name: name, makes: makes, file: file + ".go", alone: true,
		code: fmt.Sprintf(`package shlex

import "strings"

// plain reports whether a word needs no quotes.
func plain(word string) bool {
	return word != "" && !strings.ContainsAny(word, " \t\n'\"\\#")
}

// %s is what Split takes apart again.
func %[1]s(%s) string {
	%s
}
`, makes, params, body),
		test: fmt.Sprintf(`package shlex

import "testing"

func Test%s(t *testing.T) {
	if got, err := Split(%[1]s(%s)); err != nil || len(got) != 1 || got[0] != %[2]s {
		t.Errorf("%[1]s: %%q, %%v", got, err)
	}
}
`, makes, arg),
	}
}

// rules is the scenario. Everybody begins before anybody goes on, so that all start
// from the same commit and their edits meet. A killed engine leaves what its agents
// wrote: each play begins with the files as they are committed.
func rules() []any {
	meet := run(fmt.Sprintf(`touch "$RALPH_ROOT/../began-$RALPH_TASK"; while [ "$(ls "$RALPH_ROOT"/../began-* | wc -l)" -lt %d ]; do sleep 0.02; done`, len(chores())))
	afresh, theirs := run("git checkout -q HEAD shlex.go shlex_test.go"), run("git checkout -q --theirs shlex.go shlex_test.go")
	think := map[string]string{"think": "150ms"}
	bill := map[string]any{"usage": map[string]any{"input": 1000, "output": 100, "cost": 0.01}}
	done := map[string]string{"signal": "COMPLETE"}
	var list []any
	rule := func(when map[string]any, do ...any) { list = append(list, map[string]any{"when": when, "do": do}) }
	for _, c := range chores() {
		if c.alone {
			write := map[string]any{"write": map[string]string{c.file: c.code, strings.TrimSuffix(c.file, ".go") + "_test.go": c.test}}
			rename := run(fmt.Sprintf(`sed -i 's/\bplain\b/plain%s/' %s`, c.makes, c.file))
			rule(map[string]any{"stage": "resolve", "task": c.name}, rename, think, bill, done)
			rule(map[string]any{"task": c.name}, meet, write, think, bill, done)
			continue
		}
		if c.wrong != "" {
			rule(map[string]any{"stage": "build", "task": c.name, "iteration": 1}, meet, afresh, adds(c.wrong, c.test), think, bill, done)
		}
		rule(map[string]any{"stage": "resolve", "task": c.name}, theirs, adds(c.code, c.test), think, bill, done)
		rule(map[string]any{"task": c.name}, meet, afresh, adds(c.code, c.test), think, bill, done)
	}
	return list
}

func run(command string) any { return map[string]string{"run": command} }

// adds is the work of a chore at the ends of the two files.
func adds(code, test string) any {
	return map[string]any{"append": map[string]string{"shlex.go": code, "shlex_test.go": test}}
}
