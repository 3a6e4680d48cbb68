package commits

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain keeps the property tests short: each draw of theirs starts some twenty processes.
func TestMain(m *testing.M) {
	ralphtest.Draws(4)
	os.Exit(ralphtest.InMemory(m))
}
