package ralph_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rows compares the packages with the table's rows.
func rows(files []*file, table map[string][]string) (out []string) {
	there := map[string]bool{}
	for _, f := range files {
		if f.test || len(f.ast.Decls) == 0 {
			continue // a package of tests alone has nothing that a row could hold
		}
		if _, ok := table[f.pkg]; !ok && !there[f.pkg] {
			out = append(out, fmt.Sprintf("%s: package without a row: say in layers() of arch_test.go what it may import", f.pkg))
		}
		there[f.pkg] = true
	}
	for pkg := range table {
		if !there[pkg] {
			out = append(out, fmt.Sprintf("%s: row without a package: take it out of layers() in arch_test.go", pkg))
		}
	}
	return out
}

// imports holds one file's imports against the table and the homes. Tests may
// import what they like, and start processes.
func imports(f *file, table, homes map[string][]string) (out []string) {
	if f.test {
		return nil
	}
	for _, spec := range f.ast.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if ours, ok := ourPackage(path); ok && !slices.Contains(table[f.pkg], ours) {
			out = append(out, f.at(spec, "imports "+ours, "%s may import %v; move the code to where it may be used, or take an interface and let internal/bootstrap put them together", f.pkg, table[f.pkg]))
		}
		if allowed, ok := homes[path]; ok && !slices.Contains(allowed, f.pkg) {
			out = append(out, f.at(spec, "imports "+path, "only %s may; call that package", strings.Join(allowed, ", ")))
		}
	}
	return out
}

func ourPackage(path string) (string, bool) {
	if path == module {
		return "R", true
	}
	return strings.CutPrefix(path, module+"/")
}

// packageComments wants exactly one comment a package.
func packageComments(files []*file) (out []string) {
	where := map[string][]string{}
	var pkgs []string
	for _, f := range files {
		if f.test {
			continue
		}
		if !slices.Contains(pkgs, f.pkg) {
			pkgs = append(pkgs, f.pkg)
		}
		if f.ast.Doc.Text() != "" {
			where[f.pkg] = append(where[f.pkg], f.name)
		}
	}
	for _, pkg := range pkgs {
		if n := len(where[pkg]); n != 1 {
			out = append(out, fmt.Sprintf("%s: %d package comments %v, want one: say in doc.go or the main file what the package owns and what it does not", pkg, n, where[pkg]))
		}
	}
	return out
}

// sizes limits files to 600 lines and functions to 100, tests too.
func sizes(f *file) (out []string) {
	const maxFile, maxFunc = 600, 100
	if n := f.fset.File(f.ast.FileStart).LineCount(); n > maxFile {
		out = append(out, f.at(f.ast.Name, "long file", "%d lines, at most %d: split it by noun or by decision", n, maxFile))
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > maxFunc {
			out = append(out, f.at(fn, "long function", "%s has %d lines, at most %d: split it", fn.Name.Name, n, maxFunc))
		}
	}
	return out
}

// globals refuses init functions and package variables that can hold state.
func globals(f *file) (out []string) {
	if f.test {
		return nil
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			// the packages that are there for what comes before all others
			early := f.pkg == "internal/fastpath" || f.pkg == "internal/version" || f.pkg == "internal/early"
			if d.Recv == nil && d.Name.Name == "init" && !early {
				out = append(out, f.at(d, "init function", "call it from where it is needed"))
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR && !constant(d, v) {
					out = append(out, f.at(v, "package variable", "%s is no sentinel, compiled regexp, embedded file, sync.OnceValue or interface assertion: make it a constant, a function or a field", v.Names[0].Name))
				}
			}
		}
	}
	return out
}

// constant reports whether a package variable is one that nobody writes to.
func constant(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	if len(v.Names) == 1 && v.Names[0].Name == "_" && v.Type != nil {
		return true
	}
	if len(v.Values) != len(v.Names) {
		return false
	}
	return !slices.ContainsFunc(v.Values, func(e ast.Expr) bool {
		if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
			e = u.X
		}
		switch e := e.(type) {
		case *ast.CallExpr:
			return !slices.Contains([]string{"errors.New", "regexp.MustCompile", "lazyregexp.New", "sync.OnceValue", "sync.OnceValues"}, types.ExprString(e.Fun))
		case *ast.CompositeLit:
			return !strings.HasSuffix(types.ExprString(e.Type), "Error")
		}
		return true
	})
}

// names refuses words that say nothing about what a thing is for.
func names(f *file) (out []string) {
	if f.test {
		return nil
	}
	check := func(n ast.Node, name string) {
		for _, bad := range []string{"manager", "helper", "util", "helpers", "utils"} {
			if strings.HasSuffix(strings.ToLower(name), bad) {
				out = append(out, f.at(n, "empty name", "%s: name it after what it owns or does, not %s", name, bad))
			}
		}
	}
	check(f.ast.Name, f.ast.Name.Name)
	check(f.ast.Name, strings.TrimSuffix(filepath.Base(f.name), ".go"))
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			check(fn, fn.Name.Name)
		}
		gen, _ := d.(*ast.GenDecl)
		if gen == nil {
			continue
		}
		for _, s := range gen.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				check(s, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					check(id, id.Name)
				}
			}
		}
	}
	return out
}

// interfaces limits them to seven methods. An embedded one counts as one: it was
// counted where it is declared.
func interfaces(f *file) (out []string) {
	const most = 7
	ast.Inspect(f.ast, func(n ast.Node) bool {
		i, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}
		count := 0
		for _, m := range i.Methods.List {
			count += max(1, len(m.Names))
		}
		if count > most {
			out = append(out, f.at(i, "wide interface", "%d methods, at most %d: ask only for what the user of the interface calls", count, most))
		}
		return true
	})
	return out
}

// impure finds clocks, chance, the system, goroutines and map order in one file.
func impure(f *file, info *types.Info) (out []string) {
	for _, spec := range f.ast.Imports {
		switch path, _ := strconv.Unquote(spec.Path.Value); path {
		case "os", "math/rand", "math/rand/v2", "crypto/rand":
			out = append(out, f.at(spec, "impure import "+path, "take what you need of it as an argument"))
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			out = append(out, f.at(n, "go statement", "a Host runs things side by side: use Host.Go"))
		case *ast.SelectorExpr:
			clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}
			fn, ok := info.Uses[n.Sel].(*types.Func)
			if ok && fn.Pkg() != nil && fn.Pkg().Path() == "time" && fn.Signature().Recv() == nil && slices.Contains(clock, fn.Name()) {
				out = append(out, f.at(n, "clock time."+fn.Name(), "time is an argument: take now time.Time"))
			}
		case *ast.RangeStmt:
			if overMap(n.X, info) {
				out = append(out, f.at(n, "range over a map", "its order is chance: range over slices.Sorted(maps.Keys(%s))", types.ExprString(n.X)))
			}
		}
		return true
	})
	return out
}

// overMap reports whether ranging over e goes in the order of a map, also by way
// of maps.All, maps.Keys or maps.Values.
func overMap(e ast.Expr, info *types.Info) bool {
	if t := info.TypeOf(e); t != nil {
		if _, ok := t.Underlying().(*types.Map); ok {
			return true
		}
	}
	call, _ := ast.Unparen(e).(*ast.CallExpr)
	if call == nil {
		return false
	}
	sel, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if sel == nil {
		return false
	}
	fn, ok := info.Uses[sel.Sel].(*types.Func)
	return ok && fn.Pkg() != nil && fn.Pkg().Path() == "maps"
}

// machinePaths finds the paths in a text, each at the start of a path.
func machinePaths(name, text string, paths ...string) (out []string) {
	for i, line := range strings.Split(text, "\n") {
		for _, p := range paths {
			at := strings.Index(line, p+"/")
			if len(p) > 1 && at >= 0 && (at == 0 || !strings.ContainsRune("/.-_", rune(line[at-1])) && !isWord(line[at-1])) {
				out = append(out, fmt.Sprintf("%s:%d: path of this machine: %s: write it relative to the repository", name, i+1, p))
			}
		}
	}
	return out
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
