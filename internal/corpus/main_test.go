//go:build corpus

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// What .ci/run says to the tests.
const (
	envCache = "RALPH_CORPUS"       // the folder of what was downloaded
	envFetch = "RALPH_CORPUS_FETCH" // download, and test nothing else
	envRalph = "RALPH_CORPUS_RALPH" // a built ralph; none: it is built
)

// ralphProgram is the program under test, self this test binary, which is the agent too.
type programs struct{ ralph, self string }

// TestMain is the agent when it is called as one: a program of its own that ralph starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "agent" {
		os.Exit(agentMain(os.Args[2]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if os.Getenv(envRalph) != "" || os.Getenv(envFetch) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "ralph-corpus-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "ralph")
	if err := ralphtest.Build(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(envRalph, bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func thePrograms(t *testing.T) programs {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return programs{os.Getenv(envRalph), self}
}
