package ralph_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"testing"
)

// Issue 16.9: what docs/glossary.md says a word is called in Go is there.
func TestGlossaryNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range ourFiles(t) {
		if f.test {
			continue
		}
		pkg := path.Base(f.pkg)
		if f.pkg == "R" {
			pkg = "ralph"
		}
		for name := range membersOf(f.ast) {
			known[pkg+"."+name] = true
		}
	}
	words := map[string]bool{}
	var order []string
	row := regexp.MustCompile("(?m)^\\| ([a-z][^|]*) \\| [^|]+ \\| (?:`([^`]+)`)? ?\\|")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		word, name := m[1], m[2]
		if words[word] {
			t.Errorf("%s stands there twice", word)
		}
		words[word] = true
		order = append(order, word)
		if name != "" && !known[name] {
			t.Errorf("%s is called %s in Go, which is not there", word, name)
		}
	}
	if len(order) < 30 || !slices.Contains(order, "receipt") {
		t.Errorf("only these words were read: %q", order)
	}
}

// membersOf are the exported names of a file, with the fields and methods of its types.
func membersOf(f *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				kind := d.Recv.List[0].Type
				if star, ok := kind.(*ast.StarExpr); ok {
					kind = star.X
				}
				if of, ok := kind.(*ast.Ident); ok {
					name = of.Name + "." + name
				}
			}
			out[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				x, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				out[x.Name.Name] = true
				if fields, ok := x.Type.(*ast.StructType); ok {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							out[x.Name.Name+"."+name.Name] = true
						}
					}
				}
			}
		}
	}
	return out
}
