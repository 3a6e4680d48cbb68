package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// oldestABI is the first that lets files be moved between folders: without that no
// build and no git would work.
const oldestABI = 2

// ScopesABI is the first that closes signals and abstract sockets.
const ScopesABI = 6

// ABI is the version of Landlock that this system has, 0 for none or one too old.
func ABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < oldestABI {
		return 0
	}
	return v
}

// Restrict lets this process, and all that it becomes or starts, write only what is named
// and what lies below it, and read all but what is hidden, for good. It reaches no process
// outside: neither its memory and its files in /proc, nor, as far as the system has that,
// by a signal or an abstract socket. Programs that gain rights when they are started
// (sudo) do not any more, and root has none. The caller becomes that program at once.
//
// Landlock only grants, folder by folder with all in it, so what lies beside the hidden
// is listed. A file that somebody makes there later cannot be read until the next start,
// and nothing can be hidden in what can be written.
func Restrict(b Box) error {
	if ABI() == 0 {
		return fmt.Errorf("this system has no Landlock of version %d or newer", oldestABI)
	}
	links := Links{}
	hide := append(links.there(b.Hide), disks()...)
	rules := []landlock.Rule{
		landlock.PathAccess(landlock.AccessFSSet(ll.AccessFSReadDir), "/"), // names are no secret
	}
	rules = append(rules, grants(beside("/", hide), false)...)
	write := links.granted(b.Write)
	for _, p := range links.there(devices()) {
		if p != "/dev/shm" || !slices.ContainsFunc(write, func(w string) bool { return Within(p, w) }) { // somebody works there
			write = append(write, p)
		}
	}
	rules = append(rules, grants(write, true)...)
	// Version 7 is what is known here; what is newer restricts more than files. On an
	// older system there is less, but never nothing: that was looked at above.
	config := landlock.V7
	config.HandledAccessNet = 0 // the network is as the agent's own settings have it
	// One layer for both: a second one that knows of no files refuses to link and rename
	// between folders, whatever the first has granted, and no compiler would work.
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("restrict what can be written and reached: %w", err)
	}
	if err := dropRights(); err != nil {
		return err
	}
	return filterCalls()
}

// grants are the rules for paths; what has gone meanwhile is passed over.
func grants(paths []string, write bool) []landlock.Rule {
	var dirs, files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		switch {
		case err != nil:
		case info.IsDir():
			dirs = append(dirs, p)
		default:
			files = append(files, p)
		}
	}
	if write {
		// All but making devices: root could make a disk, and read what is hidden from it.
		const all = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
			ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
			ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSIoctlDev
		return []landlock.Rule{landlock.PathAccess(all, dirs...).IgnoreIfMissing(), landlock.RWFiles(files...).WithIoctlDev().IgnoreIfMissing()}
	}
	return []landlock.Rule{landlock.RODirs(dirs...).IgnoreIfMissing(), landlock.ROFiles(files...).IgnoreIfMissing()}
}

// devices are what programs write to that is no file: terminals, the void, shared memory.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}

// disks are the devices that hold all files, hidden ones too. Root could read them.
func disks() []string {
	list, err := os.ReadDir("/dev")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range list {
		block := e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0
		if block || strings.HasPrefix(e.Name(), "mem") || strings.HasPrefix(e.Name(), "kmem") || e.Name() == "port" {
			out = append(out, filepath.Join("/dev", e.Name()))
		}
	}
	return out
}
