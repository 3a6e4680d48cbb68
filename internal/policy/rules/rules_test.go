package rules_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/policy/rules"
)

var update = flag.Bool("update", false, "write docs/rules.md anew: look at what changed before you commit it")

// ruleID is a text that is nothing but the id of a rule.
var ruleID = regexp.MustCompile(`^(?:[A-FPX]-[0-9]+|R-[A-Z][0-9]+|S[0-9]+)$`)

// Issue 16.9: whatever id the code can write into a decision is in the table, once, with a
// sentence and a page of the repository that is there.
func TestEveryRuleHasASentence(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	known, pages := map[string]bool{}, map[string]string{}
	list := rules.All()
	if !slices.IsSortedFunc(list, func(a, b rules.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("they are not in the order of their ids")
	}
	for _, r := range list {
		if known[r.ID] || r.Sentence == "" || strings.HasSuffix(r.Sentence, ".") {
			t.Errorf("%s: it is there twice, or its sentence is none: %q", r.ID, r.Sentence)
		}
		known[r.ID] = true
		file, anchor, _ := strings.Cut(r.Page, "#")
		if pages[file] == "" {
			text, err := os.ReadFile(filepath.Join(root, "docs", file))
			if err != nil {
				t.Fatal(err)
			}
			pages[file] = string(text)
		}
		if anchor != "" && !slices.Contains(anchorsOf(pages[file]), anchor) {
			t.Errorf("%s: %s has no %s", r.ID, file, anchor)
		}
	}
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "rules/rules.go") || strings.Contains(path, "ralphtest"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(l.Value); err == nil && ruleID.MatchString(text) {
				used[text] = true
				if !known[text] {
					t.Errorf("%s: rule %s is not in rules.All(): say there what it is in a sentence", path, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range known {
		if !used[id] {
			t.Errorf("no code has rule %s", id)
		}
	}
}

// anchorsOf are the headings of a page as links name them.
func anchorsOf(page string) (list []string) {
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "#"), " "); ok && strings.HasPrefix(line, "#") {
			title = regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(title), "")
			list = append(list, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return list
}

// docs/rules.md is the table.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Rules\n\nThe rules by which ralph decides, as receipts, `ralph why`, the log and the dashboard name them. An id\nstays what it is for good: journals have it. This page is made of `rules.All()`\n(`go test ./internal/policy/rules -run Documented -update`).\n\n| rule | what it says | more |\n| --- | --- | --- |\n")
	for _, r := range rules.All() {
		file, _, _ := strings.Cut(r.Page, "#")
		fmt.Fprintf(&b, "| %s | %s | [%s](%s) |\n", r.ID, r.Sentence, strings.TrimSuffix(file, ".md"), r.Page)
	}
	path := filepath.Join("..", "..", "..", "docs", "rules.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != b.String() {
		t.Errorf("docs/rules.md is not rules.All(): go test ./internal/policy/rules -run Documented -update (%v)", err)
	}
}

func TestRuleSentence(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"A-060": "Before a try after an error its wait is told: after what, how often, until when", "X-92": "A hook before a step may stop it",
		"Z-1": "", "": "", "gate.allow: go test": "",
	} {
		if got := rules.Sentence(id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}
