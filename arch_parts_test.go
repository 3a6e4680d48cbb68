package ralph_test

import (
	"path/filepath"
	"testing"
)

// C-001: what a session knows, circuit breakers, human gates and test gates are packages of their own, each with
// tests, and one run has all of them.
func TestPartsOfTheEngine(t *testing.T) {
	t.Parallel()
	run := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		for _, imported := range layers()[name] {
			if !run[imported] {
				run[imported] = true
				add(imported)
			}
		}
	}
	add("internal/session")
	for _, part := range []string{"internal/journal", "internal/policy", "internal/approval", "internal/check"} {
		tests, err := filepath.Glob(filepath.Join(part, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !run[part] || len(tests) == 0 {
			t.Errorf("%s: a run has it: %v, it has %d files of tests", part, run[part], len(tests))
		}
	}
}
