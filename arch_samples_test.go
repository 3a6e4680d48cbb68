package ralph_test

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

// sample is one bad file, or a good one where want is empty.
type sample struct{ name, pkg, file, text, want string }

func samples() []sample {
	long := "package p\n" + strings.Repeat("\n", 601)
	deep := "package p\nfunc f() {\n" + strings.Repeat("\n", 100) + "}\n"
	return []sample{
		{"import outside the row", "internal/policy", "a.go", `package p; import _ "` + module + `/internal/git"`, "a.go:1: imports internal/git: internal/policy may import [R internal/approval internal/lazyregexp internal/policy/breaker internal/queue internal/signature internal/tally internal/text internal/thread]"},
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
		{"id that no rule has", "internal/git", "a.go", "package p // kept (X-999)", "a.go:1: cites X-999"},
		{"id that a rule has", "internal/git", "a.go", "package p // kept (X-27, S2)", ""},
		{"id in a string", "internal/git", "a.go", `package p; const a = "see B-999"`, "cites B-999"},
		{"id in a test", "internal/git", "a_test.go", "package p // X-999", ""},
		{"what looks like an id", "internal/git", "a.go", "package p // UTF-8, SHA-256, RFC-822, 0xF12", ""},
		{"paper", "internal/git", "a.go", "package p // as product.md 14 wants", "cites product.md"},
		{"issue", "internal/git", "a.go", "package p // issue 16.9", "cites issue 16"},
		{"command in words for any surface", "internal/report", "a.go", `package p; const a = "see ralph gates"`, "a.go:1: says \"ralph gates\""},
		{"command in words of a command", "internal/cli", "a.go", `package p; const a = "see ralph gates"`, ""},
		{"folder", "internal/report", "a.go", `package p; const a = "ralph/plan.jsonl"`, ""},
		{"link", "internal/report", "a.go", `package p; const a = "see [[gates]], [[ -f x ]]"`, ""},
		{"link to nothing", "internal/cli", "a.go", `package p; const a = "see [[gatez g-1]]"`, "a.go:1: links to gatez"},
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
	aCommand := commandsIn(t)
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, token.NewFileSet(), s.pkg, s.file, s.text)
			got := slices.Concat(imports(f, layers(), homes()), sizes(f), globals(f), names(f), interfaces(f), citations(f, explainedIDs()), links(f, aCommand))
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

func parse(t *testing.T, fset *token.FileSet, pkg, name, text string) *file {
	t.Helper()
	f, err := parsedFile(fset, pkg, name, text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
