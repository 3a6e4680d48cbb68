package ralphtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Build makes the program as users have it, but for what only debuggers read and what git says of
// the checkout: the second is not there in every checkout. It is what `go run` would run, since go
// keeps that: a program of which nothing has changed is not linked again.
func Build(path string) error {
	tool := "go"
	if root := runtime.GOROOT(); root != "" { //nolint:staticcheck // the go command that runs these tests sets it
		if own := filepath.Join(root, "bin", "go"); exists(own) {
			tool = own
		}
	}
	_, said, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{
		Args: []string{tool, "run", "-buildvcs=false", "-exec", "cp", "github.com/ralph-loop/ralph/cmd/ralph", path}, Env: os.Environ(),
	})
	if err == nil && res.Code != 0 {
		err = errors.New(string(said))
	}
	if err != nil {
		return fmt.Errorf("build ralph: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Program writes an executable file that may be started at once, whatever other tests start
// meanwhile.
func Program(tb testing.TB, path, text string) {
	tb.Helper()
	if err := proc.WithoutStarts(func() error { return os.WriteFile(path, []byte(text), 0o700) }); err != nil {
		tb.Fatal(err)
	}
}
