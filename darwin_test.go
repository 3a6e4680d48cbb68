//go:build soak

package ralph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// All packages and all their tests have the right types on macOS too. `go vet` would compile what they
// import for it first; here everything is read from source, without the bodies of other people's functions.
func TestTypesForDarwin(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(),
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes,
		Env:        append(os.Environ(), "GOOS=darwin", "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=e2e,soak,corpus,fleet"},
		Tests:      true,
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+string(filepath.Separator)) {
				withoutBodies(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main package that go makes of tests
		}
		ours++
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.ID, e)
		}
	}
	if ours < 200 { // each package, and most once more with its tests
		t.Errorf("%d packages were looked at, which cannot be all", ours)
	}
}

func withoutBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
