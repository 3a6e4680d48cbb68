package ralphtest

import (
	"os"
	"syscall"
	"testing"
)

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
