package testoutput_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/ralph-loop/ralph/internal/testoutput"
)

var update = flag.Bool("update", false, "write what is read into testdata")

// read gives both streams to a reader in pieces of a size.
func read(stdout, stderr []byte, size int) testoutput.Result {
	r := testoutput.New("/home/dev/shop")
	for p := range slices.Chunk(stdout, size) {
		r.Stdout().Write(p)
	}
	for p := range slices.Chunk(stderr, size) {
		r.Stderr().Write(p)
	}
	return r.Result()
}

func describe(r testoutput.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "headline: %s\ncomplete: %t\n", r.Headline, r.Complete)
	for _, name := range r.Failed {
		fmt.Fprintf(&b, "failed: %s\n", name)
	}
	return b.String()
}

// F-01, R-H3, R-M1: what real test programs print, recorded. Each file has both streams and
// what they say; where they are cut into pieces does not matter.
func TestRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := map[string][]byte{}
			for _, f := range a.Files {
				part[f.Name] = bytes.ReplaceAll(f.Data, []byte("␛"), []byte("\x1b"))
			}
			for _, size := range []int{1, 7, 1 << 20} {
				got := describe(read(part["stdout"], part["stderr"], size))
				if *update && size == 1 {
					a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
					a.Files = slices.Insert(a.Files, 0, txtar.File{Name: "want", Data: []byte(got)})
					if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
						t.Fatal(err)
					}
					part["want"] = []byte(got)
				}
				if got != string(part["want"]) {
					t.Errorf("pieces of %d bytes:\n%swant\n%s", size, got, part["want"])
				}
			}
		})
	}
}

// FuzzRead: any bytes are read without a panic, and what is said stays within its bounds.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range a.Files {
			if part.Name != "want" {
				f.Add(bytes.ReplaceAll(part.Data, []byte("␛"), []byte("\x1b")))
			}
		}
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		bounded(t, read(out, nil, 1<<20))
		r := read(out, out, 61)
		bounded(t, r)
		if again := read(out, out, 13); describe(again) != describe(r) {
			t.Fatalf("in other pieces:\n%s\n%s", describe(r), describe(again))
		}
	})
}

func bounded(t *testing.T, r testoutput.Result) {
	t.Helper()
	if len(r.Failed) > 200 || !slices.IsSorted(r.Failed) || len(slices.Compact(slices.Clone(r.Failed))) != len(r.Failed) {
		t.Fatalf("%d names: %q", len(r.Failed), r.Failed)
	}
	if r.Complete && len(r.Failed) == 0 {
		t.Fatal("complete without a name")
	}
	for _, name := range append(r.Failed, r.Headline) {
		if len(name) > 300 || name != r.Headline && len(name) > 200 || strings.ContainsFunc(name, unicode.IsControl) {
			t.Fatalf("%d bytes: %q", len(name), name)
		}
	}
}

// What the recordings do not have. An empty complete is false: names that are not all must
// not be held against those of another run.
func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	var many, most strings.Builder
	for i := range 201 {
		fmt.Fprintf(&many, "--- FAIL: Test%03d (0.00s)\n", i)
		if i > 0 {
			fmt.Fprintf(&most, "--- FAIL: Test%03d (0.00s)\n", i)
		}
	}
	const end = "FAIL\tp\t0.1s\n"
	for name, x := range map[string]struct {
		in       string
		complete bool
		names    int
		first    string
		headline string
	}{
		"nothing":      {},
		"green":        {in: "ok  \tp\t0.1s\n", headline: "ok p 0.1s"},
		"200 names":    {most.String() + end, true, 200, "p.Test001", "Test001"},
		"201 names":    {many.String() + end, false, 200, "p.Test000", "Test000"},
		"printed in":   {"some text--- FAIL: TestX (0.00s)\n" + end, true, 1, "p.TestX", "TestX"},
		"log of a run": {"--- FAIL: TestX (0.00s)\n    x_test.go:1: bad:\n        --- FAIL: TestInner (0.00s)\n" + end, true, 1, "p.TestX", "TestX: bad:"},
		"log, fatal":   {"--- FAIL: TestX (0.00s)\n    x_test.go:1: dialing\n    x_test.go:2: got 3, want 4\n    x_test.go:9: cleaned up\n" + end, true, 1, "p.TestX", "TestX: got 3, want 4"},
		"testify": {
			"--- FAIL: TestX (0.00s)\n    x_test.go:5: \n        \tError Trace:\t/x_test.go:5\n        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestX\n" + end,
			true, 1, "p.TestX", "TestX: Not equal: expected: 1 actual: 2",
		},
		"two packages":     {"--- FAIL: TestX (0.00s)\nFAIL\ta\t0.1s\n--- FAIL: TestX (0.00s)\nFAIL\tb\t0.1s\n", true, 2, "a.TestX", "TestX"},
		"deadlock":         {"fatal error: all goroutines are asleep - deadlock!\nFAIL\tp\t0.1s\n", true, 1, "p [panic]", "p: fatal error: all goroutines are asleep - deadlock!"},
		"a program":        {"starting\npanic: no disk\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x1\nexit status 2\n", false, 0, "", "panic: no disk"},
		"json that is cut": {`{"Action":"fail","Package":"p","Test":"TestX"}` + "\n", false, 1, "p.TestX", "TestX"},
		"two long names":   {"--- FAIL: Test" + long + "a (0.00s)\n--- FAIL: Test" + long + "b (0.00s)\n" + end, true, 2, "p.Test" + long[:185] + "~", "Test" + long[:293] + "..."},

		"tap, the same twice": {"TAP version 13\nnot ok 1 - a\nnot ok 2 - a\n# fail 2\n", true, 2, "a", "a"},
		"tap, other count":    {"TAP version 13\nnot ok 1 - a\n# fail 2\n", false, 1, "a", "a"},
		"tap, bail out":       {"1..3\nnot ok 1 - a\nBail out! no disk\n", false, 1, "a", "Bail out! no disk"},
		"tap, skip and todo":  {"1..3\nnot ok 1 - a # skip no\nnot ok 2 - b # TODO\nnot ok 3 - c # 4\n", true, 1, "c # 4", "c # 4"},
		"no tap":              {"not ok at all\nok then\n", false, 0, "", "ok then"},

		"pytest, cut":      {"= short test summary info =\n", false, 0, "", "= short test summary info ="},
		"pytest, no names": {"===== 3 failed, 1 passed in 0.12s =====\n", false, 0, "", "===== 3 failed, 1 passed in 0.12s ====="},
		"pytest, fewer":    {"===== short test summary info =====\nFAILED a.py::b - x\n===== 3 failed in 0.12s =====\n", false, 1, "a.py::b", "a.py::b: x"},
		"pytest, log":      {"ERROR    root:a.py:3 boom\n===== short test summary info =====\nFAILED a.py::b[x - y] - AssertionError: no\nERROR a.py::c\n===== 1 failed, 1 error in 0.12s =====\n", true, 2, "a.py::b[x - y]", "a.py::b[x - y]: AssertionError: no"},
		"pytest, xdist":    {"[gw0] [ 50%] FAILED a.py::b\n[gw1] [100%] PASSED a.py::c\n===== 1 failed, 1 passed in 2.00s =====\n", true, 1, "a.py::b", "a.py::b"},
		"pytest, no file":  {"ERROR: file or directory not found: nope\n\nno tests ran in 0.00s\n", false, 0, "", "ERROR: file or directory not found: nope"},

		"jest, other count": {" FAIL  a.test.js\n  ● b › c\n\n    boom\n\nTest Suites: 1 failed, 1 total\nTests:       2 failed, 2 total\n", false, 1, "a.test.js > b › c", "a.test.js > b › c: boom"},
		"jest, cut":         {"FAIL a.test.js\n  ● b\n\n    boom\n", false, 1, "a.test.js > b", "a.test.js > b: boom"},
		"jest, time":        {"FAIL a.test.js (5.1 s)\n  ● b\n\n    boom\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\nRan all test suites.\n", true, 1, "a.test.js > b", "a.test.js > b: boom"},
		"vitest, unhandled": {" FAIL  a.test.js > b\n⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n", false, 1, "[unhandled errors]", "FAIL a.test.js > b"},
		"mocha, cut":        {"  2 failing\n\n  1) a\n       b:\n     Error: boom\n", false, 1, "a > b", "a > b: Error: boom"},
		"cargo, doc lines":  {"failures:\n    src/lib.rs - add (line 9)\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n", true, 1, "src/lib.rs - add", "src/lib.rs - add"},
		"cargo, cut":        {"failures:\n    a::b\n", false, 1, "a::b", "a::b"},
		"cargo clippy":      {"error: unused variable: `x`\n --> src/lib.rs:3:9\nerror: could not compile `demo` (lib) due to 1 previous error\n", false, 0, "", "src/lib.rs:3:9: error: unused variable: `x`"},
		"unittest, count":   {"======\nFAIL: a (b)\n------\nTraceback (most recent call last):\n  x\nAssertionError: no\n\nFAILED (failures=2)\n", false, 1, "a (b)", "a (b): AssertionError: no"},
		"junit, in one":     {`<?xml version="1.0"?><testsuite name="s"><testcase classname="c" name="a &gt; b"><failure message="no"/></testcase><system-out><![CDATA[<testcase name="x"><failure/>]]></system-out><!-- <testcase><failure/></testcase> --></testsuite>` + "\n", true, 1, "c > a > b", "c > a > b: no"},
		"junit, cut":        {`<testsuite name="s"><testcase classname="c" name="a"><failure message="no"/></testcase>` + "\n", false, 1, "c > a", "c > a: no"},
		"junit, huge":       {`<testsuite name="s"><testcase name="a"><failure message="no">` + strings.Repeat("data ", 20000) + `</failure></testcase></testsuite>` + "\n--- FAIL: TestX (0.00s)\n" + end, true, 2, "a", "a: no"},

		"tsc":           {"src/a.ts(3,5): error TS2304: Cannot find name 'x'.\n", false, 0, "", "src/a.ts(3,5): error TS2304: Cannot find name 'x'."},
		"eslint":        {"\n/home/dev/shop/src/a.js\n  1:1  warning  Unexpected console  no-console\n  3:5  error    'x' is not defined  no-undef\n\n✖ 2 problems (1 error, 1 warning)\n", false, 0, "", "src/a.js:3:5 'x' is not defined no-undef"},
		"eslint, setup": {"\nOops! Something went wrong! :(\n\nESLint: 9.1.0\n\nESLint couldn't find an eslint.config.(js|mjs|cjs) file.\n\nIf you still have problems after following the migration guide, please stop by\nhttps://eslint.org/chat/help to chat with the team.\n", false, 0, "", "ESLint couldn't find an eslint.config.(js|mjs|cjs) file."},
		"make and lint": {"a.c:3:1: error: expected ';'\nmake: *** [Makefile:2: test] Error 1\n", false, 0, "", "a.c:3:1: error: expected ';'"},
		"make, no rule": {"make: *** No rule to make target 'test'.  Stop.\n", false, 0, "", "make: *** No rule to make target 'test'. Stop."},
		"npm noise":     {"> shop@1.0.0 test\n> mocha\n\nsh: 1: mocha: not found\nnpm error Lifecycle script `test` failed with error:\nnpm error code 127\n", false, 0, "", "sh: 1: mocha: not found"},
		"traceback":     {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import yaml\nModuleNotFoundError: No module named 'yaml'\nmake: *** [Makefile:2: test] Error 1\n", false, 0, "", "ModuleNotFoundError: No module named 'yaml'"},
		"progress":      {"10 %\r50 %\rerror: no disk\r\n", false, 0, "", "error: no disk"},
		"no line end":   {"error: no disk", false, 0, "", "error: no disk"},
		"only bars":     {"⎯⎯⎯⎯\n", false, 0, "", ""},
		"no utf8":       {"error: \xff\xfe\n", false, 0, "", "error: \uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 1 << 20} {
				r := read([]byte(x.in), nil, size)
				if r.Complete != x.complete || len(r.Failed) != x.names || r.Headline != x.headline {
					t.Errorf("%v, %d names, %q\nwant %v, %d, %q", r.Complete, len(r.Failed), r.Headline, x.complete, x.names, x.headline)
				}
				if x.names > 0 && !strings.HasPrefix(r.Failed[0], x.first) {
					t.Errorf("first %q, want %q", r.Failed[0], x.first)
				}
				bounded(t, r)
			}
		})
	}
}
