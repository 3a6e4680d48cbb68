package git

import (
	"flag"
	"os"
	"testing"
)

// TestMain keeps the property test short, each check of it starts some twenty
// processes; -rapid.checks asks for more, as `make soak` does.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", "8")
	}
	os.Exit(m.Run())
}
