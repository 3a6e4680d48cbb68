// Package ralphtest owns how tests run: with their folders in memory, how many at a time, with how
// many cases of a table; and what they start: programs, servers, terminals, ralph itself.
//
// It does NOT own what any of them is about: it imports internal/proc and nothing else of ralph.
package ralphtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
)

// InMemory runs the tests of a package with their temporary folders in memory, where
// the system has a place for them: what the tests prove does not depend on the disk, and
// git waits for it at every object. Such tests wait for git, and for what the clock has to
// show, so more than one a core run at a time. The settings of git and ralph stay those of users.
func InMemory(m *testing.M) int {
	AtOnce(4)
	collectRarely()
	dir, done := memory()
	defer done()
	if dir != "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			fmt.Fprintln(os.Stderr, "tests run on the disk:", err)
		}
	}
	return m.Run()
}

// AtOnce lets n parallel tests or more run at the same time, where most of a test is waiting for
// other processes. Whoever asks for a number with -parallel, or has asked here before, gets that.
func AtOnce(n int) {
	flag.Parse()
	if !asked("test.parallel") {
		_ = flag.Set("test.parallel", strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
	}
}

// collectRarely has garbage collected less often, where nobody has said otherwise (GOGC): tests live for seconds, and
// it is a tenth of their work. The programs that they start decide for themselves.
func collectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// memory makes a folder in memory for as long as it is not done. Not every machine has
// room there (containers often have 64 MiB), or lets programs run from it: "" then.
func memory() (dir string, done func()) {
	const place, room = "/dev/shm", 1 << 30
	var disk syscall.Statfs_t
	if syscall.Statfs(place, &disk) != nil || uint64(disk.Bavail)*uint64(disk.Bsize) < room { //nolint:gosec // sizes are positive
		return "", func() {}
	}
	dir, err := os.MkdirTemp(place, "ralph-test-")
	if err != nil {
		return "", func() {}
	}
	done = func() { _ = os.RemoveAll(dir) }
	if !runsPrograms(dir) {
		done()
		return "", func() {}
	}
	return dir, done
}

// runsPrograms reports whether a program in the folder can be started.
func runsPrograms(dir string) bool {
	path := filepath.Join(dir, "program")
	if os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700) != nil {
		return false
	}
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{})
	if err != nil {
		return false
	}
	state, err := p.Wait()
	return err == nil && state.Success()
}
