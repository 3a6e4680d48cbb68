package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every requirement of document D is named by a test or a script, so that none
// is forgotten when the tests move. It says that somebody claims to cover it;
// whether the claim is true is for the reader of that test to see.
func TestEveryRequirementOfDocumentDIsNamed(t *testing.T) {
	t.Parallel()
	const first, last = 1, 122
	named := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir(), !isTest(path), strings.HasSuffix(path, "covered_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, id := range namedIn(string(text)) {
			named[id] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := first; n <= last; n++ {
		if id := fmt.Sprintf("D-%03d", n); named[id] == "" {
			t.Errorf("no test or script names %s: write one, and name the ID in its comment", id)
		}
	}
}

func isTest(path string) bool {
	return strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".txtar")
}

// namedIn finds IDs, and the IDs between two that are joined by "to".
func namedIn(text string) []string {
	var ids []string
	for _, m := range regexp.MustCompile(`\bD-(\d{3})(?:\s+to\s+D-(\d{3}))?\b`).FindAllStringSubmatch(text, -1) {
		from, to := number(m[1]), number(m[1])
		if m[2] != "" {
			to = number(m[2])
		}
		for n := from; n <= to; n++ {
			ids = append(ids, fmt.Sprintf("D-%03d", n))
		}
	}
	return ids
}

func number(s string) (n int) {
	_, _ = fmt.Sscanf(s, "%d", &n) // the pattern has digits alone
	return n
}

func TestNamedIn(t *testing.T) {
	t.Parallel()
	got := strings.Join(namedIn("D-001, D-003 to D-005; XD-007 D-12"), " ")
	if want := "D-001 D-003 D-004 D-005"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
