package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each weakness that must not come back, and each need, names tests and scripts that exist. C-003, C-004
func TestAcceptance(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/acceptance.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := testsOfAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| ([a-z][^|]*) \\| [^|]+ \\| (`[^|]+`) \\|$").FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, m[1])
		for shown := range strings.SplitSeq(m[2], ", ") {
			if name := strings.Trim(shown, "`"); !isShown(t, tests, name) {
				t.Errorf("%s: there is no test or script %s", m[1], name)
			}
		}
	}
	want := []string{
		"one large program", "failures of outside services stop the work", "sensitive work is done unattended", "no tests between tasks", "recovery breaks",
		"safe", "resilient", "testable", "recoverable", "observable",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the rows of the page are %q, want %q", rows, want)
	}
}

// isShown reports whether there is such a test, or one script of that name. tests is the text of all tests.
func isShown(t *testing.T, tests, name string) bool {
	t.Helper()
	if strings.HasPrefix(name, "Test") {
		return strings.Contains(tests, "\nfunc "+name+"(t *testing.T)")
	}
	found, err := filepath.Glob(filepath.Join("testdata", "*", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found) == 1
}
