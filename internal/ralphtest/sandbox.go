package ralphtest

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Bubblewrap reports whether bubblewrap works here.
var Bubblewrap = sync.OnceValue(func() bool {
	_, _, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{
		Args: []string{"bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"}, Dir: "/", Env: os.Environ(), Timeout: time.Minute,
	})
	return err == nil && res.Code == 0
})

// Sandbox is what tests of work in the checkout add to the environment of ralph: nothing
// where bubblewrap works. With Landlock alone `isolation: auto` is a worktree, and with none
// the start says so: such a system is what tests of the sandbox are about.
func Sandbox() []string {
	if Bubblewrap() {
		return nil
	}
	return []string{"RALPH_SANDBOX_KIND=off"}
}
