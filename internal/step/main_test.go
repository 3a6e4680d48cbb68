package step_test

import (
	"context"
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/agent/scripted"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain lets the test binary be the scripted agent, a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "scripted-agent" {
		dir, _ := os.Getwd()
		os.Exit(scripted.Play(context.Background(), os.Stdin, os.Stdout, os.Stderr, os.Environ(), dir, os.Args[2]))
	}
	os.Exit(ralphtest.InMemory(m))
}
