package language

import (
	"go/build/constraint"
	"slices"
	"strings"
)

func golang() *Language {
	return &Language{
		Name:   "Go",
		globs:  []string{"*_test.go"},
		strict: true,
		Syntax: Syntax{
			comment: []string{"//"}, Block: true, quotes: "\"'", runes: true,
			long: [][2]string{{"`", "`"}}, plain: true,
		},
		Test:      goTest,
		Function:  goFunction,
		LeavesOut: goLeavesOut,

		skip: []string{
			"t.Skip(", "t.Skipf(", "t.SkipNow(", "b.Skip(", "b.Skipf(", "b.SkipNow(", "f.Skip(", "tb.Skip(", "tb.Skipf(", "tb.SkipNow(",
			"T().Skip(", "c.Skip(", "PIt(", "PDescribe(", "PContext(", "PWhen(", "XIt(", "XDescribe(", "XContext(", "XWhen(",
		},
		guard: []string{"testing.Short()"},
		focus: []string{"FIt(", "FDescribe(", "FContext(", "FWhen(", "FDescribeTable(", "FEntry("},
		assert: []string{
			"assert.*", "require.*", "is.Equal(", "is.True(", "is.Err(", "qt.Assert(", "qt.Check(", "c.Assert(", "c.Check(", "Expect(", "Ω(",
			"Eventually(", "Consistently(", "suite.Equal(", "suite.Require()", "suite.Assert()", "s.Equal(", "s.Require()", "s.Assert()", "s.True(", "s.Error(",
		},
		setup: []string{"assert.NoError*", "require.NoError*", "is.NoErr(", "s.NoError(", "suite.NoError(", "Require().NoError*", "HaveOccurred()"},
		fail: []string{
			"t.Error(", "t.Errorf(", "t.Fatal(", "t.Fatalf(", "t.Fail(", "t.FailNow(", "b.Error(", "b.Errorf(", "b.Fatal(", "b.Fatalf(",
			"tb.Error(", "tb.Errorf(", "tb.Fatal(", "tb.Fatalf(", "f.Fatal(", "T().Error(", "T().Errorf(", "T().Fatal(", "T().Fatalf(",
		},
		exact: []string{
			".Equal(", ".Equalf(", ".EqualValues(", ".Exactly(", ".JSONEq(", ".YAMLEq(", ".ElementsMatch(", ".DeepEqual(", ".Same(", "Diff(",
			".Len(", ".Zero(", ".Empty(", ".EqualError(", "DeepEquals", "qt.Equals", "HaveLen(", "BeEmpty(", "BeNumerically(", "BeIdenticalTo(", "BeEquivalentTo(", "ConsistOf(",
		},
		Equal:   []string{" == "},
		Differ:  []string{" != "},
		Negate:  []string{".ShouldNot(", ".NotTo(", ".ToNot(", ".False(", ".NotEqual("},
		present: []string{".NotNil(", ".NotNilf(", ".Nil(", ".Error(", ".Errorf(", ".NotEmpty(", ".NotZero(", "BeNil()", "HaveOccurred()", ".NoError(", ".IsNotNil", "NotNil)", "IsNil)"},
		truth:   []string{".True(", ".Truef(", ".False(", ".Falsef(", ".NotEqual(", "BeTrue()", "BeFalse()", ".NotPanics("},

		table: []string{"range", "DescribeTable("},
		row:   []string{"name:", "desc:", "Entry("},
		soft:  []string{"t.Log(", "t.Logf(", "tb.Log(", "tb.Logf(", "_ =", ", _ :="},
	}
}

func goTest(code, text string) (string, bool) {
	if strings.HasPrefix(code, "func ") {
		name, ok := goFunction(code)
		if !ok {
			return "", false
		}
		for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
			rest, found := strings.CutPrefix(name, prefix)
			if found && name != "TestMain" && (rest == "" || rest[0] < 'a' || rest[0] > 'z') {
				return name, true
			}
		}
		return "", false
	}
	if !strings.Contains(code, "func") {
		return "", false
	}
	for _, call := range []string{"t.Run", "b.Run", "s.Run", "suite.Run", "It", "FIt", "PIt", "XIt", "Specify"} {
		if name, ok := titled(code, text, call); ok {
			return name, true
		}
	}
	return "", false
}

func goFunction(code string) (string, bool) {
	rest, ok := strings.CutPrefix(code, "func ")
	if !ok {
		return "", false
	}
	if strings.HasPrefix(rest, "(") { // a receiver
		_, rest, _ = strings.Cut(rest, ")")
		rest = strings.TrimLeft(rest, " ")
	}
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	return rest[:n], n > 0
}

// goLeavesOut reports whether a line is a build constraint that no platform meets
// without a tag of one's own. In a new file only the tag ignore is one that nobody
// ever sets.
func goLeavesOut(text string, isNew bool) bool {
	text = strings.TrimSpace(text)
	if !constraint.IsGoBuild(text) && !constraint.IsPlusBuild(text) {
		return false
	}
	e, err := constraint.Parse(text)
	if err != nil {
		return false
	}
	if isNew {
		return !met(e) && e.Eval(func(tag string) bool { return tag == "ignore" })
	}
	return !met(e)
}

// met reports whether a constraint holds on some platform.
func met(e constraint.Expr) bool {
	platforms := []string{"linux", "darwin", "windows", "freebsd", "openbsd", "netbsd", "js", "wasip1", "plan9", "android", "ios", "solaris", "aix"}
	chips := []string{"amd64", "arm64", "386", "arm", "wasm", "riscv64", "ppc64le", "s390x", "loong64"}
	for _, os := range platforms {
		for _, chip := range chips {
			for _, more := range [][]string{{"gc", "cgo", "race"}, {"gccgo"}} {
				if e.Eval(func(tag string) bool {
					return tag == os || tag == chip || slices.Contains(more, tag) || strings.HasPrefix(tag, "go1.") ||
						tag == "unix" && !slices.Contains([]string{"windows", "js", "wasip1", "plan9"}, os)
				}) {
					return true
				}
			}
		}
	}
	return false
}
