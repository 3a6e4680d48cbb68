package markup_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/markup"
)

// TestCode: every language that we have gives its text back, in colours.
func TestCode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, has string }{
		"a/b.go":     {"package a // c\n\nvar x = `a\nb` + \"c\"\n", `<span class="k">package</span> a <span class="c">// c</span>`},
		"x.py":       {"def f():\n    return 'a'\n", `<span class="k">def</span>`},
		"x.js":       {"const a = 1;\n", `<span class="k">const</span>`},
		"x.tsx":      {"const a: string = 'b';\n", `<span class="kt">string</span>`},
		"x.rs":       {"fn main() {}\n", `<span class="k">fn</span>`},
		"X.java":     {"class A {}\n", `<span class="k">class</span>`},
		"x.c":        {"int main(void) { return 0; }\n", `<span class="kt">int</span>`},
		"x.cpp":      {"namespace a { }\n", `<span class="k">namespace</span>`},
		"x.cs":       {"public class A {}\n", `<span class="k">public</span>`},
		"x.sh":       {"if true; then echo \"$a\"; fi\n", `<span class="k">if</span>`},
		"x.json":     {"{\"a\": 1}\n", `<span class="nt">&#34;a&#34;</span>`},
		"x.yml":      {"a: b # c\n", `<span class="c"># c</span>`},
		"x.toml":     {"a = 1 # c\n", `<span class="c"># c</span>`},
		"x.html":     {"<p class=\"a\"><script>let a = 1</script><style>a { b: c }</style>\n", `<span class="nt">`},
		"x.svg":      {"<a b=\"c\"/>\n", `<span class="nt">`},
		"x.css":      {"a { color: red; }\n", `<span class="nt">a</span>`},
		"x.scss":     {"// c\na { b: c; }\n", `<span class="c">// c</span>`},
		"x.sql":      {"select a from b;\n", `<span class="k">select</span>`},
		"x.rb":       {"def a; end\n", `<span class="k">def</span>`},
		"x.kt":       {"fun a() {}\n", `<span class="k">fun</span>`},
		"x.swift":    {"func a() {}\n", `<span class="k">func</span>`},
		"x.dart":     {"class A {}\n", `<span class="k">class</span>`},
		"x.lua":      {"local a = 1\n", `<span class="k">local</span>`},
		"x.scala":    {"object A\n", `<span class="k">object</span>`},
		"x.gradle":   {"def a = 1\n", `<span class="kt">def</span>`},
		"x.tf":       {"resource \"a\" \"b\" {}\n", `<span class="s">`},
		"x.hcl":      {"a = \"b\" # c\n", `<span class="c">`},
		"x.ini":      {"[a]\nb=c\n", `<span class="k">[a]</span>`},
		"x.ps1":      {"function a { }\n", `<span class="k">function</span>`},
		"x.proto":    {"message A { }\n", `<span class="k">message</span>`},
		"x.diff":     {"-a\n+b\n", `<span class="gi">+b`},
		"Dockerfile": {"FROM a\nRUN echo b && c\n", `<span class="k">FROM</span>`},
		"Makefile":   {"a: b\n\techo c\n", `class="nf">`},
		"unknown.zz": {"<b>\n", `<code>&lt;b&gt;</code>`},
		"":           {"a\n\nb", "a\n\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := markup.Code(name, []byte(c.src))
			if !strings.Contains(got, c.has) {
				t.Errorf("%s\nhas not %s", got, c.has)
			}
			sameText(t, got, c.src)
		})
	}
}

// sameText checks that HTML says what the source said.
func sameText(t *testing.T, got, src string) {
	t.Helper()
	if err := check(got, allowed()); err != nil {
		t.Error(err)
	}
	if text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(got, "")); text != strings.TrimSuffix(src, "\n") {
		t.Errorf("the text became %q", text)
	}
}

// TestDefinitions: a definition that is there has a name by which it is found.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("lexers/*.xml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d definitions, %v", len(files), err)
	}
	if _, err := os.Stat("lexers/NOTICE"); err != nil {
		t.Error("Chroma's licence has to stand beside its definitions")
	}
}

// TestHostileCode: text that keeps patterns busy stays plain, and is answered.
func TestHostileCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x.py", "x.java", "x.cpp", "x.yaml", "x.rb", "Makefile"} {
		for _, unit := range []string{"(", "\"\\", "'a' ", "\n", "\t\n "} {
			src := strings.Repeat(unit, 1000/len(unit))
			sameText(t, markup.Code(name, []byte(src+"x")), src+"x")
		}
	}
	long := strings.Repeat("x", 9000)
	sameText(t, markup.Code("x.py", []byte("def "+long)), "def "+long)
	many := strings.Repeat("def a\n", 50_000)
	if got := markup.Code("x.py", []byte(many)); strings.Contains(got, "span") {
		t.Error("so much code was coloured")
	}
}

func FuzzCode(f *testing.F) {
	for _, name := range []string{"a.go", "a.py", "a.html", "a.rb", "a.sh", "Makefile", "a.yaml"} {
		f.Add(name, []byte("a\"b'c`d\n\t<e> # f /* g"))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if out := markup.Code(name, text); check(out, allowed()) != nil {
			t.Fatalf("%v in %q", check(out, allowed()), out)
		}
	})
}
