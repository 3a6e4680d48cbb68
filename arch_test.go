package ralph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ralph-loop/ralph"

// layers is who may import whom, of our own packages: words, then what is pure,
// then effects, then composition, then surfaces. R is the root package. A row is
// as narrow as its package needs today: to widen one is a decision about the
// design, so say in the commit's body why (CONTRIBUTING.md, "A new package").
func layers() map[string][]string {
	return map[string][]string{
		"R": {},
		// pure
		"internal/policy": {"R"},
		"internal/prompt": {"R"},
		"internal/report": {"R"},
		// effects
		"internal/proc":    {},
		"internal/config":  {"R"},
		"internal/journal": {"R"},
		"internal/git":     {"R", "internal/proc"},
		"internal/gate":    {"R", "internal/proc"},
		"internal/agent":   {"R", "internal/proc"},
		// composition
		"internal/engine": {"R", "internal/policy"},
		"internal/step":   {"R", "internal/policy", "internal/prompt"},
		// surfaces
		"internal/cli": {
			"R", "internal/agent", "internal/config", "internal/engine", "internal/gate", "internal/git", "internal/journal",
			"internal/policy", "internal/proc", "internal/prompt", "internal/report", "internal/step",
		},
		"cmd/ralph": {"internal/cli"},
		// for tests alone: no row above may name them
		"internal/ralphtest":       {"R", "internal/engine", "internal/policy"},
		"internal/agent/agenttest": {"R", "internal/agent"},
	}
}

// homes are imports that have a home: only these packages may have them.
func homes() map[string][]string {
	return map[string][]string{
		"os/exec":                {"internal/proc"},
		"net/http":               {"internal/tracker", "internal/decide", "internal/web", "internal/notify"},
		"github.com/spf13/cobra": {"internal/cli"},
	}
}

// isPure reports whether the file must give the same answer for the same
// arguments, always: replay, and any host of the loop, depend on it.
func isPure(f *file) bool {
	pure := []string{"R", "internal/policy", "internal/prompt", "internal/report", "internal/engine"}
	return !f.test && slices.Contains(pure, f.pkg) && f.name != "internal/engine/local.go"
}

// file is one Go file of ours, also those for other systems and behind tags.
type file struct {
	pkg  string // as in layers
	name string // relative to the repository
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// at writes a finding: the place, the rule that is broken, what to do.
func (f *file) at(n ast.Node, rule, do string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s: %s", f.name, f.fset.Position(n.Pos()).Line, rule, fmt.Sprintf(do, args...))
}

// TestLayering holds the table of imports against the packages that are there.
func TestLayering(t *testing.T) {
	t.Parallel()
	files := ourFiles(t)
	report(t, rows(files, layers()))
	for _, f := range files {
		report(t, imports(f, layers(), homes()))
	}
}

// TestHouseLaw holds every file against the rules of CONTRIBUTING.md.
func TestHouseLaw(t *testing.T) {
	t.Parallel()
	files := ourFiles(t)
	report(t, packageComments(files))
	for _, f := range files {
		report(t, slices.Concat(sizes(f), globals(f), names(f), interfaces(f)))
	}
}

// TestPure looks for clocks, chance, goroutines and map order where every answer
// must come from the arguments alone.
func TestPure(t *testing.T) {
	t.Parallel()
	lookup := exports(t)
	byPkg := map[string][]*file{}
	for _, f := range ourFiles(t) {
		if isPure(f) || f.name == "internal/engine/local.go" { // the type checker wants whole packages
			byPkg[f.pkg] = append(byPkg[f.pkg], f)
		}
	}
	if len(byPkg) != 5 {
		t.Fatalf("found %d pure packages, want 5: see isPure", len(byPkg))
	}
	for pkg, files := range byPkg {
		info, err := typesOf(pkg, files, lookup)
		if err != nil {
			t.Fatalf("type-check %s: %v", pkg, err)
		}
		for _, f := range files {
			if isPure(f) {
				report(t, impure(f, info))
			}
		}
	}
}

// TestNoPathOfThisMachine looks for this checkout's path, and the home of whoever
// runs the tests, in everything people read or build.
func TestNoPathOfThisMachine(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	short := root
	if strings.Count(root, "/") < 2 {
		short = "" // a checkout in /repo: too many files speak of such a path by chance
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "build") {
				return fs.SkipDir // testdata holds recordings from elsewhere
			}
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a test's own file, gone meanwhile
		}
		name, _ := filepath.Rel(root, path)
		report(t, machinePaths(name, string(text), short, home))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

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
			out = append(out, f.at(spec, "imports "+ours, "%s may import %v; move the code to where it may be used, or take an interface and let internal/cli wire it", f.pkg, table[f.pkg]))
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
	const mostFile, mostFunc = 600, 100
	if n := f.fset.File(f.ast.FileStart).LineCount(); n > mostFile {
		out = append(out, f.at(f.ast.Name, "long file", "%d lines, at most %d: split it by noun or by decision", n, mostFile))
	}
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > mostFunc {
			out = append(out, f.at(fn, "long function", "%s has %d lines, at most %d: split it", fn.Name.Name, n, mostFunc))
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
			if d.Recv == nil && d.Name.Name == "init" {
				out = append(out, f.at(d, "init function", "call it from where it is needed"))
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR && !constant(d, v) {
					out = append(out, f.at(v, "package variable", "%s is no sentinel, compiled regexp, embedded file or interface assertion: make it a constant, a function or a field", v.Names[0].Name))
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
			return !slices.Contains([]string{"errors.New", "regexp.MustCompile"}, types.ExprString(e.Fun))
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

// ourFiles parses every Go file of the module, whatever its build tags.
func ourFiles(t *testing.T) []*file {
	t.Helper()
	list := goList(t, "-e", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var out []*file
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath, Dir                                    string
			GoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read what go list says: %v", err)
		}
		pkg, _ := ourPackage(p.ImportPath)
		for _, base := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			path := filepath.Join(p.Dir, base)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(root, path)
			out = append(out, parse(t, fset, pkg, filepath.ToSlash(name), string(text)))
		}
	}
	if len(out) == 0 {
		t.Fatal("go list names no files: the rules would hold for nothing")
	}
	return out
}

func parse(t *testing.T, fset *token.FileSet, pkg, name, text string) *file {
	t.Helper()
	f := &file{pkg: pkg, name: name, test: strings.HasSuffix(name, "_test.go"), fset: fset}
	var err error
	if f.ast, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	return f
}

// exports finds compiled packages for the type checker.
func exports(t *testing.T) func(string) (io.ReadCloser, error) {
	t.Helper()
	list := goList(t, "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		".", "./internal/policy", "./internal/prompt", "./internal/report", "./internal/engine", "maps", "slices", "time")
	where := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		where[path] = export
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(where[path]) }
}

// typesOf checks one package.
func typesOf(pkg string, files []*file, lookup func(string) (io.ReadCloser, error)) (*types.Info, error) {
	fset := files[0].fset
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var asts []*ast.File
	for _, f := range files {
		asts = append(asts, f.ast)
	}
	_, err := conf.Check(pkg, fset, asts, info)
	return info, err
}

func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// sample is one bad file, or a good one where want is empty.
type sample struct{ name, pkg, file, text, want string }

func samples() []sample {
	long := "package p\n" + strings.Repeat("\n", 601)
	deep := "package p\nfunc f() {\n" + strings.Repeat("\n", 100) + "}\n"
	return []sample{
		{"import outside the row", "internal/policy", "a.go", `package p; import _ "` + module + `/internal/git"`, "a.go:1: imports internal/git: internal/policy may import [R]"},
		{"import inside the row", "internal/git", "a.go", `package p; import _ "` + module + `/internal/proc"`, ""},
		{"processes outside proc", "internal/git", "a_darwin.go", `package p; import _ "os/exec"`, "a_darwin.go:1: imports os/exec: only internal/proc may"},
		{"processes in a test", "internal/git", "a_test.go", `package p; import _ "os/exec"`, ""},
		{"network", "internal/step", "a.go", `package p; import _ "net/http"`, "imports net/http"},
		{"cobra outside cli", "cmd/ralph", "a.go", `package p; import _ "github.com/spf13/cobra"`, "imports github.com/spf13/cobra"},
		{"long file", "internal/git", "a.go", long, "long file: 602 lines"},
		{"long function", "internal/git", "a.go", deep, "long function: f has 102 lines"},
		{"init", "internal/git", "a.go", `package p; func init() {}`, "init function"},
		{"method called init", "internal/git", "a.go", `package p; type t int; func (t) init() {}`, ""},
		{"variable", "internal/git", "a.go", `package p; var cache = map[string]int{}`, "package variable: cache"},
		{"variable without a value", "internal/git", "a.go", `package p; var once int`, "package variable: once"},
		{"sentinels and the like", "internal/git", "a.go", "package p\nvar errA = errors.New(\"a\")\nvar re = regexp.MustCompile(`a`)\n//go:embed x\nvar fs embed.FS\nvar _ I = T{}\nvar errB = &MyError{1}\n", ""},
		{"empty name of a type", "internal/git", "a.go", `package p; type TreeManager struct{}`, "empty name: TreeManager"},
		{"empty name of a file", "internal/git", "git_util.go", `package p`, "empty name: git_util"},
		{"empty name of a package", "internal/git", "a.go", `package helpers`, "empty name: helpers"},
		{"wide interface", "internal/git", "a.go", `package p; type I interface { A(); B(); C(); D(); E(); F(); G(); H() }`, "wide interface: 8 methods"},
		{"clock", "R", "a.go", `package p; import "time"; func f() time.Time { return time.Now() }`, "clock time.Now"},
		{"clock under another name", "R", "a.go", `package p; import x "time"; func f() func(x.Duration) { return x.Sleep }`, "clock time.Sleep"},
		{"method that is no clock", "R", "a.go", `package p; import "time"; func f(t, u time.Time) bool { return t.After(u) }`, ""},
		{"chance", "R", "a.go", `package p; import _ "math/rand/v2"`, "impure import math/rand/v2"},
		{"system", "internal/engine", "internal/engine/a.go", `package p; import _ "os"`, "impure import os"},
		{"system in the local host", "internal/engine", "internal/engine/local.go", `package p; import _ "os"`, ""},
		{"goroutine", "internal/policy", "a.go", `package p; func f() { go f() }`, "go statement"},
		{"map order", "internal/report", "a.go", `package p; type m map[int]int; func f(x m) { for range x {} }`, "range over a map"},
		{"map order by way of maps", "internal/report", "a.go", `package p; import "maps"; func f(x map[int]int) { for range maps.Keys(x) {} }`, "range over a map"},
		{"sorted keys", "internal/report", "a.go", `package p; import ("maps"; "slices"); func f(x map[int]int) { for range slices.Sorted(maps.Keys(x)) {} }`, ""},
	}
}

// TestRulesCanFail gives every rule a file that breaks it, and some that do not.
func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	lookup := exports(t)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, token.NewFileSet(), s.pkg, s.file, s.text)
			got := slices.Concat(imports(f, layers(), homes()), sizes(f), globals(f), names(f), interfaces(f))
			if isPure(f) {
				info, _ := typesOf(s.pkg, []*file{f}, lookup) // unknown imports do not matter here
				got = append(got, impure(f, info)...)
			}
			switch {
			case s.want == "" && len(got) > 0:
				t.Errorf("a good file is refused: %q", got)
			case s.want != "" && (len(got) != 1 || !strings.Contains(got[0], s.want)):
				t.Errorf("got %q, want one finding with %q", got, s.want)
			}
		})
	}
}

// TestRulesOverFilesCanFail does the same for the rules that look at many files.
func TestRulesOverFilesCanFail(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	files := []*file{
		parse(t, fset, "twice", "twice/a.go", "// Package p is here.\npackage p"),
		parse(t, fset, "twice", "twice/b.go", "// Package p is there.\npackage p"),
		parse(t, fset, "never", "never/a.go", "package p\nfunc f() {}"),
		parse(t, fset, "tests", "tests/doc.go", "// Package p has only tests.\npackage p"),
	}
	for _, c := range []struct {
		got  []string
		want []string
	}{
		{packageComments(files), []string{"twice: 2 package comments", "never: 0 package comments"}},
		{rows(files, map[string][]string{"gone": {}}), []string{"never: package without a row", "gone: row without a package"}},
		{machinePaths("a.md", "see /src/me/x\nand not my/src/me/x, /src/meet", "/src/me"), []string{"a.md:1: path of this machine"}},
	} {
		if !slices.EqualFunc(c.got, c.want, strings.Contains) {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
