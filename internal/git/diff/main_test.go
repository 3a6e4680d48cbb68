package diff

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestMain(m *testing.M) {
	os.Exit(ralphtest.InMemory(m))
}
