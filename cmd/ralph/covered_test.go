package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every requirement of documents A, B and D, of the parts of C and E that are built, and the
// settled conflicts that gates are about, is named by a test or a script, so that
// none is forgotten when the tests move. A name counts where a test is that can fail: in
// or above a test function, or in a script of every day, not above a helper or a constant. Whether that
// test shows what it names is for its reader to see (CONTRIBUTING, "A test").
func TestEveryRequirementIsNamed(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || strings.HasPrefix(d.Name(), "thorough")):
			return filepath.SkipDir
		case d.IsDir(), !isTest(path), strings.HasSuffix(path, "covered_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		claims := string(text)
		if strings.HasSuffix(path, ".go") {
			if claims, err = claimsIn(path, text); err != nil {
				return err
			}
		}
		for _, id := range namedIn(claims) {
			named[id] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{47, 48, 49, 62, 75, 76, 77, 78, 79, 80} {
		if id := fmt.Sprintf("X-%d", n); named[id] == "" {
			t.Errorf("no test or script names %s: write one, and name the ID in its comment", id)
		}
	}
	for _, doc := range []struct {
		letter string
		last   int
	}{{"A", 128}, {"B", 103}, {"C", 87}, {"D", 122}, {"E", 105}} {
		for n := 1; n <= doc.last; n++ {
			id := fmt.Sprintf("%s-%03d", doc.letter, n)
			if named[id] == "" {
				t.Errorf("no test or script names %s: write one, and name the ID in its comment", id)
			}
		}
	}
}

func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".txtar")
}

// claimsIn is the text of the test functions of a file that can fail, with what is said
// above them.
func claimsIn(path string, text []byte) (string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !regexp.MustCompile(`^(Test|Fuzz|Example)`).MatchString(f.Name.Name) || !canFail(f) {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		b.Write(text[fset.Position(from).Offset:fset.Position(f.End()).Offset])
	}
	return b.String(), nil
}

// canFail reports whether a test function says anywhere that something is wrong, or gives
// its *testing.T or the like to a function that can.
func canFail(f *ast.FuncDecl) bool {
	can := strings.HasPrefix(f.Name.Name, "Example") // what it prints is compared
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !can
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && isT(s.X) {
			can = can || regexp.MustCompile(`^(Error|Fatal)f?$|^FailNow$`).MatchString(s.Sel.Name)
		}
		can = can || slices.ContainsFunc(call.Args, isT)
		return !can
	})
	return can
}

func isT(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && regexp.MustCompile(`^(t|tb|rt|f)$`).MatchString(id.Name)
}

// namedIn finds IDs, and the IDs between two that are joined by "to".
func namedIn(text string) []string {
	ids := regexp.MustCompile(`\bX-\d{2}\b`).FindAllString(text, -1)
	for _, m := range regexp.MustCompile(`\b([A-E])-(\d{3})(?:\s+to\s+([A-E])-(\d{3}))?\b`).FindAllStringSubmatch(text, -1) {
		from, to := number(m[2]), number(m[2])
		if m[3] == m[1] {
			to = number(m[4])
		}
		for n := from; n <= to; n++ {
			ids = append(ids, fmt.Sprintf("%s-%03d", m[1], n))
		}
	}
	return ids
}

func number(s string) (n int) {
	_, _ = fmt.Sscanf(s, "%d", &n) // the pattern has digits alone
	return n
}

func TestNamedIn(t *testing.T) {
	t.Parallel()
	got := strings.Join(namedIn("D-001, D-003 to D-005; XD-007 D-12 B-009 to B-010; E-010 to E-011 (X-47, X-470)"), " ")
	if want := "X-47 D-001 D-003 D-004 D-005 B-009 B-010 E-010 E-011"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
