package engine_test

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestMain(m *testing.M) {
	ralphtest.Draws(10)
	os.Exit(ralphtest.InMemory(m))
}
