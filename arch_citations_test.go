package ralph_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/policy/rules"
)

// anID is an id of a rule or a requirement; short ones are looked for in comments alone,
// for in a string they may be anything.
var (
	anID    = regexp.MustCompile(`(?:^|[^\w-])([A-EX]-[0-9]{2,3}|P-[0-9]+|R-[A-Z][0-9]+|F-[0-9]+)\b`)
	shortID = regexp.MustCompile(`(?:^|[^\w-])([SF][0-9]{1,2})\b`)
	aPaper  = regexp.MustCompile(`\b(?:product|lessons|next|architecture|requirements|review)\.md\b|\bdocument [A-E]\b|\b[Ii]ssue [0-9]+|\bproduct [0-9]`)
)

// citations refuses ids that rules.All() does not explain, and papers that are not in the
// repository: whoever reads the code cannot look them up. Tests name what they show as
// they like.
func citations(f *file, explained map[string]bool) (out []string) {
	if f.test || strings.HasPrefix(f.pkg, "internal/ralphtest") {
		return nil
	}
	say := func(n ast.Node, text string, ids ...*regexp.Regexp) {
		for _, re := range ids {
			for _, m := range re.FindAllStringSubmatch(text, -1) {
				if !explained[m[1]] {
					out = append(out, f.at(n, "cites "+m[1], "rules.All() has no such rule: say the reason in words, or put the rule there with its sentence"))
				}
			}
		}
		if paper := aPaper.FindString(text); paper != "" {
			out = append(out, f.at(n, "cites "+paper, "it is not in the repository: say the reason in words"))
		}
	}
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			say(c, c.Text, anID, shortID)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			say(l, l.Value, anID)
		}
		return true
	})
	return out
}

// explainedIDs are those of rules.All(): docs/rules.md has them with their sentences.
func explainedIDs() map[string]bool {
	out := map[string]bool{}
	for _, r := range rules.All() {
		out[r.ID] = true
	}
	return out
}

// TestCodeCitesWhatIsThere: issue 16.9, ids and papers that are not in the repository do not
// stand in code or comments.
func TestCodeCitesWhatIsThere(t *testing.T) {
	t.Parallel()
	explained := explainedIDs()
	for _, f := range ourFiles(t) {
		report(t, citations(f, explained))
	}
}
