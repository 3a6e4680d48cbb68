package ralph_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/action"
)

var aLink = regexp.MustCompile(`\[\[([a-z]+(?:-[a-z]+)?)(?: |\]\])`)

// commandsIn finds the commands of the table in README.md in a text.
func commandsIn(t *testing.T) *regexp.Regexp {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `ralph .*?` \\|").FindAllString(string(readme), -1) {
		for _, m := range regexp.MustCompile("`(?:ralph )?([a-z][a-z-]*)").FindAllStringSubmatch(row, -1) {
			names = append(names, m[1])
		}
	}
	for _, name := range []string{"agent", "auto", "breaker", "fleet", "inbox", "sync", "task", "ui", "version", "why"} {
		if !slices.Contains(names, name) {
			t.Fatalf("the table of commands in README.md has no %s: %q", name, names)
		}
	}
	return regexp.MustCompile(`\bralph (` + strings.Join(names, "|") + `)\b`)
}

// neutral are the packages whose words any surface may show: what to do next is a link there.
func neutral() []string {
	return []string{"R", "internal/action", "internal/policy", "internal/report", "internal/screen", "internal/sessionreport", "internal/status"}
}

// links refuses commands in what any surface shows, and links that name nothing.
func links(f *file, aCommand *regexp.Regexp) (out []string) {
	if f.test {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		text, _ := strconv.Unquote(l.Value)
		if m := aCommand.FindString(text); m != "" && slices.Contains(neutral(), f.pkg) {
			out = append(out, f.at(l, "says "+strconv.Quote(m), "a page or a screen has no command line: write a link, [[name arguments]], as internal/action/link.go has it"))
		}
		for _, m := range aLink.FindAllStringSubmatch(text, -1) {
			if !action.Known(m[1]) {
				out = append(out, f.at(l, "links to "+m[1], "internal/action has no such action or view"))
			}
		}
		return true
	})
	return out
}

// What a person can do next is a link in all words that more than one surface shows.
func TestWordsHaveLinks(t *testing.T) {
	t.Parallel()
	aCommand := commandsIn(t)
	for _, f := range ourFiles(t) {
		report(t, links(f, aCommand))
	}
}
