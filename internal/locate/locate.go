// Package locate owns which repository a process stands in, and who the process is: what is asked
// before anything else, by commands that are answered before other packages are initialised
// (internal/early). So its imports are few.
//
// It does NOT own what is in the repository (internal/workspace).
package locate

import (
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Root walks up to the top of the repository that a folder is in, without starting git. False:
// it is in none.
func Root(dir string) (string, bool) {
	for {
		if _, err := os.Stat(dir + "/.git"); err == nil {
			return dir, true
		}
		up := dir[:max(0, strings.LastIndexByte(dir, '/'))]
		if up == "" || up == dir {
			return "", false
		}
		dir = up
	}
}

// Me is this process, for looking at the session lock.
func Me() journal.Owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	o := journal.Owner{Pid: os.Getpid(), Host: host}
	o.Boot, o.PidSpace = proc.Machine()
	return o
}
