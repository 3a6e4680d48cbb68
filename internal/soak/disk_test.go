//go:build linux && soak

package soak

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inNamespace is set in a child of this test binary that has mounts of its own.
const inNamespace = "SOAK_NAMESPACE"

// withMounts runs the test again in a process with mounts of its own, so that
// the disks it makes are nobody else's and go with it. It reports whether this
// is that process.
func withMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return true
	}
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	out, err := os.CreateTemp(t.TempDir(), "out-")
	must(t, err)
	defer out.Close()
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	p, err := os.StartProcess(self, []string{self, "-test.v", "-test.timeout=2m", "-test.run=^" + t.Name() + "$"}, &os.ProcAttr{
		Env: append(os.Environ(), inNamespace+"=1"), Files: []*os.File{nil, out, out}, Sys: attr,
	})
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skip("no mounts of one's own are allowed here: ", err)
	}
	must(t, err)
	state, err := p.Wait()
	must(t, err)
	text := readAll(t, out.Name())
	if bytes.Contains([]byte(text), []byte("--- SKIP")) {
		t.Skip(text)
	}
	t.Log(text)
	if !state.Success() {
		t.Error("it failed in its namespace")
	}
	return false
}

// smallDisk mounts a file system of a few MB; size is an option of tmpfs.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("mounting is not allowed here: ", err)
	}
	must(t, err)
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fill writes until nothing more goes in.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for block := make([]byte, 1<<16); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// A disk that fills up while the agent works stops ralph with exit code 2 and
// its cause; nothing is half written, and with space again the next start goes
// on and finishes (product.md 2, 8).
func TestFullDisk(t *testing.T) {
	if !withMounts(t) {
		return
	}
	for _, c := range []struct{ name, build string }{
		{"full after the work", "echo x > work/$RALPH_SPEC.one\n" + complete + "touch $SOAK/ready\nwhile ! test -e $SOAK/go; do sleep 0.01; done\n"},
		{"full while it prints", "touch $SOAK/ready\nwhile ! test -e $SOAK/go; do sleep 0.01; done\n" +
			"echo x > work/$RALPH_SPEC.one || exit 1\nhead -c 100000 /dev/zero | tr '\\0' x\necho\n" + complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := smallDisk(t, "8m")
			r := newRepo(t, setup{dir: disk, specs: []string{"first", "second"}, build: "cat > /dev/null\nmkdir -p work\n" + c.build})
			write(t, r.path("ralph/specs/third.md"), "# More\n")
			agent := r.start("agent")
			eventually(t, "the agent's turn", patience, func() bool { return exists(r.note("ready")) || !agent.running() })
			before := readAll(t, r.path("ralph/.state/journal.jsonl"))
			filler := filepath.Join(disk, "filler")
			fill(t, filler)
			write(t, r.note("go"), "")
			res := agent.wait(patience)
			t.Logf("%s", res)
			if res.code != 2 || !strings.Contains(res.errs, "disk is full") || strings.Count(res.errs, "\n") > 4 {
				t.Errorf("want exit code 2, its cause and what to do, in few words: %s", res)
			}
			if !strings.HasPrefix(readAll(t, r.path("ralph/.state/journal.jsonl")), before) {
				t.Error("facts were lost")
			}
			r.exits(0, "status")
			if n := len(r.inbox()); n != 2 {
				t.Errorf("%d specs in the inbox, want 2", n)
			}
			again := r.ralph("agent") // still full
			t.Logf("still full: %s", again)
			if again.code != 2 || !strings.Contains(again.errs, "disk is full") {
				t.Errorf("a start on a full disk: want exit code 2: %s", again)
			}
			specs := []string{"first", "second"}
			add := r.ralph("inbox", "add", "third.md") // a small fact may still go in, but never in secret
			if n := len(r.inbox()); (n == 3) != (add.code == 0 || strings.Contains(add.errs, "is recorded")) {
				t.Errorf("%d records after an add that says: %s", n, add)
			} else if n == 3 {
				specs = append(specs, "third")
			}
			must(t, os.Remove(filler))
			r.exits(0, "agent")
			r.checkFinished(specs...)
		})
	}
}

// On a read-only disk nothing can be done, and nothing is: exit code 2 and why;
// what only reads goes on to work.
func TestReadOnlyDisk(t *testing.T) {
	if !withMounts(t) {
		return
	}
	for _, killed := range []bool{false, true} {
		disk := smallDisk(t, "8m")
		r := newRepo(t, setup{dir: disk, specs: []string{"first"}})
		if killed {
			r.killAt(r.facts() + 10)
		}
		err := error(syscall.EBUSY) // while a git of the engine that was killed still writes
		for end := time.Now().Add(patience); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); <-time.After(10 * time.Millisecond) {
			err = syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
		}
		must(t, err)
		for _, args := range [][]string{{"agent"}, {"inbox", "add", "first.md"}, {"pause"}, {"construct", "first.md"}} {
			res := r.ralph(args...)
			t.Logf("%v: %s", args, res)
			if res.code == 0 || !strings.Contains(res.errs, "read-only file system") {
				t.Errorf("ralph %v: want why on stderr: %s", args, res)
			}
		}
		for _, args := range [][]string{{"status"}, {"query", "tasks"}, {"inbox"}, {"log"}} {
			r.exits(0, args...)
		}
		must(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT, ""))
		r.exits(0, "agent")
		r.checkFinished("first")
	}
}
