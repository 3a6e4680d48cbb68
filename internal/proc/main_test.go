package proc_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain also plays the second process of a test, see roles.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROC_TEST_ROLE"); role != "" {
		os.Exit(proc.Play(role, os.Getenv("PROC_TEST_DIR")))
	}
	ralphtest.AtOnce(8) // they wait for processes
	goleak.VerifyTestMain(m)
}
