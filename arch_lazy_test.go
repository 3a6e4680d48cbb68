package ralph_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"testing"
)

// TestExpressionsCompile compiles every expression that lazyregexp.New is given: what is
// compiled at its first use would be found wrong only there.
func TestExpressionsCompile(t *testing.T) {
	t.Parallel()
	byPkg := map[string][]*file{}
	for _, f := range ourFiles(t) {
		if !f.test {
			byPkg[f.pkg] = append(byPkg[f.pkg], f)
		}
	}
	found := 0
	for _, files := range byPkg {
		n, out := expressions(files)
		found += n
		report(t, out)
	}
	if found < 50 {
		t.Errorf("found %d expressions, want all of them: see expressions", found)
	}
}

// expressions compiles those of one package, and says how many there are.
func expressions(files []*file) (found int, out []string) {
	constants := map[string]ast.Expr{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.CONST {
				for _, s := range gen.Specs {
					v := s.(*ast.ValueSpec)
					for i, value := range v.Values {
						constants[v.Names[i].Name] = value
					}
				}
			}
		}
	}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "lazyregexp.New" || len(call.Args) != 1 {
				return true
			}
			found++
			source, err := constantText(call.Args[0], constants)
			if err == nil {
				_, err = regexp.Compile(source)
			}
			if err != nil {
				out = append(out, f.at(call, "expression", "%v", err))
			}
			return true
		})
	}
	return found, out
}

// constantText is what an expression of literals and constants of its package comes to.
func constantText(e ast.Expr, constants map[string]ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return strconv.Unquote(e.Value)
		}
	case *ast.BinaryExpr:
		x, err := constantText(e.X, constants)
		if err != nil {
			return "", err
		}
		y, err := constantText(e.Y, constants)
		return x + y, err
	case *ast.Ident:
		if value, ok := constants[e.Name]; ok {
			return constantText(value, constants)
		}
	}
	return "", fmt.Errorf("%s is no text known before the program runs: use regexp.MustCompile where it is", types.ExprString(e))
}
