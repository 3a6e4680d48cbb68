package sandbox

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// oldestABI is the first that lets files be moved between folders: without that no
// build and no git would work.
const oldestABI = 2

// ABI is the version of Landlock that this system has, 0 for none or one too old.
func ABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < oldestABI {
		return 0
	}
	return v
}

// Restrict lets this process, and all that it becomes or starts, write only what is named
// and what lies below it, for good. What is not there is passed over. Programs that
// gain rights when they are started (sudo) do not any more.
func Restrict(write []string) error {
	if ABI() == 0 {
		return fmt.Errorf("this system has no Landlock of version %d or newer", oldestABI)
	}
	rules := []landlock.Rule{
		landlock.RODirs("/"), landlock.RWFiles(devices()[:7]...).WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs(devices()[7:]...).WithIoctlDev().IgnoreIfMissing(),
	}
	for _, p := range there(write) {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		if info.IsDir() {
			rules = append(rules, landlock.RWDirs(p).WithRefer())
		} else {
			rules = append(rules, landlock.RWFiles(p))
		}
	}
	// Version 7 is what is known here; what is newer restricts more than files. On an
	// older system there is less, but never nothing: that was looked at above.
	if err := landlock.V7.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("restrict what can be written: %w", err)
	}
	return nil
}
