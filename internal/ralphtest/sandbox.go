package ralphtest

import (
	"os/exec"
	"sync"
)

// Sandbox is what tests of work in the checkout add to the environment of ralph: nothing
// where bubblewrap works. With Landlock alone `isolation: auto` is a worktree, and with none
// the start says so: such a system is what tests of the sandbox are about.
var Sandbox = sync.OnceValue(func() []string {
	if exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true").Run() == nil {
		return nil
	}
	return []string{"RALPH_SANDBOX_KIND=off"}
})
