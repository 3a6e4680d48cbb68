package ralph_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
)

// docs/facts.md has one row for every kind of fact that UnmarshalEvent knows,
// with every field of it, and no row for anything else.
func TestFactsAreDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("docs/facts.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([a-z.]+)` \\| (.+) \\| (.+) \\| (.+) \\|$")
	for _, m := range row.FindAllStringSubmatch(string(doc), -1) {
		if _, twice := fields[m[1]]; twice {
			t.Errorf("docs/facts.md: %s stands twice", m[1])
		}
		fields[m[1]] = m[2]
	}
	kinds := factKinds(t)
	for _, kind := range kinds {
		fact, err := emptyFact(kind)
		if err != nil {
			t.Errorf("UnmarshalEvent does not know %s: %v", kind, err)
			continue
		}
		words, ok := fields[kind]
		if !ok {
			t.Errorf("docs/facts.md has no row for %s", kind)
		}
		for _, name := range fieldNames(fact) {
			if !strings.Contains(words, "`"+name+"`") {
				t.Errorf("docs/facts.md does not say what %q of %s is", name, kind)
			}
		}
		delete(fields, kind)
	}
	for kind := range fields {
		t.Errorf("docs/facts.md has a row for %s, which is no fact", kind)
	}
	if len(kinds) == 0 {
		t.Fatal("no kinds of facts found")
	}
}

func emptyFact(kind string) (ralph.Fact, error) {
	body := "{}"
	if kind == "step.started" { // a receipt without a step cannot be read
		body = `{"step":{"step":"check"}}`
	}
	e, err := ralph.UnmarshalEvent([]byte(`{"t":` + strconv.Quote(kind) + `,"seq":1,"at":"2025-01-20T10:30:00Z","fact":` + body + `}`))
	if err == nil && e.Fact.Kind() != kind {
		err = errors.New("it is read as " + e.Fact.Kind())
	}
	return e.Fact, err
}

// fieldNames are the JSON names of a fact's fields.
func fieldNames(fact ralph.Fact) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(fact)) {
		if f.Anonymous { // its fields are the fact's own
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" { // StepStarted.Step, which MarshalJSON writes
			name = strings.ToLower(f.Name)
		}
		names = append(names, name)
	}
	return names
}

// factKinds reads the kinds from the files of the package, whatever they are called: what
// each Kind method returns.
func factKinds(t *testing.T) []string {
	t.Helper()
	var kinds []string
	var decls []ast.Decl
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, file.Decls...)
	}
	for _, d := range decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || f.Name.Name != "Kind" {
			continue
		}
		ret, ok := f.Body.List[0].(*ast.ReturnStmt)
		if !ok {
			t.Fatalf("a Kind method does more than return its name")
		}
		kind, err := strconv.Unquote(ret.Results[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// The kinds that names are checked against are those of the facts.
func TestKinds(t *testing.T) {
	t.Parallel()
	got := ralph.Kinds()
	slices.Sort(got)
	if want := factKinds(t); !slices.Equal(got, want) {
		t.Errorf("Kinds has %v\nfacts are %v", got, want)
	}
	for _, n := range eventname.All() {
		if n.Kind != "" && !slices.Contains(got, n.Kind) {
			t.Errorf("%s is a name of %s, which is no kind", n.Name, n.Kind)
		}
	}
}
