package sandbox

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// dropRights takes the rights of root from this thread, and from the program that it
// becomes: with them it could read the memory of any process past Landlock (kernels since
// 6.13 ask for CAP_PERFMON alone), mount, and load what runs in the kernel.
func dropRights() error {
	runtime.LockOSThread() // for good: rights are a thread's, and this one becomes the program
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EPERM && err != unix.EINVAL {
			return fmt.Errorf("give up the rights of root: %w", err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // a system that has none needs none cleared
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up the rights of root: %w", err)
	}
	return nil
}
