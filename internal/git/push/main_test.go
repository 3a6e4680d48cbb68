package push

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestMain(m *testing.M) {
	if temp := os.Getenv(stranger); temp != "" {
		hang(temp)
	}
	os.Exit(ralphtest.InMemory(m))
}
