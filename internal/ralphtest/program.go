package ralphtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Build makes the program as users have it, but for what only debuggers read and what git says of
// the checkout: the first is half the time of linking, the second is not there in every checkout.
func Build(path string) error {
	tool := "go"
	if root := runtime.GOROOT(); root != "" { //nolint:staticcheck // the go command that runs these tests sets it
		if own := filepath.Join(root, "bin", "go"); exists(own) {
			tool = own
		}
	}
	_, said, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{
		Args: []string{tool, "build", "-buildvcs=false", "-ldflags=-w", "-o", path, "github.com/ralph-loop/ralph/cmd/ralph"}, Env: os.Environ(),
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

// Program writes an executable file that may be started at once. A process
// that another test forks meanwhile would inherit the file open for writing,
// and until that one has called exec, Linux refuses to start the program
// ("text file busy"); so nothing forks while the file is open.
func Program(tb testing.TB, path, text string) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		tb.Fatal(err)
	}
}
