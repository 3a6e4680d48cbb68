package landing

import (
	"flag"
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain keeps the property test short, each check of it starts some twenty
// processes; -rapid.checks asks for more, as `make soak` does.
func TestMain(m *testing.M) {
	flag.Parse()
	if !thorough() {
		_ = flag.Set("rapid.checks", "4")
	}
	os.Exit(ralphtest.InMemory(m))
}

// thorough reports whether someone asked for a number of checks: there is time then.
func thorough() bool {
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	return asked
}
