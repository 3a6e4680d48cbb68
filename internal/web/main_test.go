package web

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain has the repositories in memory and garbage collected less often, which is a quarter of drawing the pages.
func TestMain(m *testing.M) { os.Exit(ralphtest.InMemory(m)) }
