package ralph_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/ralph-loop/ralph/internal/action"
)

var (
	aCommand = regexp.MustCompile(`\bralph (agent|approve|answer|autopilot|config|construct|deny|doctor|gates|inbox|log|mode|pause|plan|query|receipts|recover|replay|report|resume|rules|serve|status|stop|task|trust|unlock|verify|why)\b`)
	aLink    = regexp.MustCompile(`\[\[([a-z]+(?:-[a-z]+)?)(?: |\]\])`)
)

// neutral are the packages whose words any surface may show: what to do next is a link there.
func neutral() []string {
	return []string{"R", "internal/action", "internal/policy", "internal/report", "internal/screen", "internal/sessionreport", "internal/status"}
}

// links refuses commands in what any surface shows, and links that name nothing.
func links(f *file) (out []string) {
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
	for _, f := range ourFiles(t) {
		report(t, links(f))
	}
}
