package unchanged

import "syscall"

// lookAt is what the system says of a path itself, not of what a link leads to.
func lookAt(path string) (stamp, bool) {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return stamp{}, false
	}
	return stamp{
		mode: uint32(s.Mode), ino: s.Ino, dev: uint64(s.Dev), uid: s.Uid, gid: s.Gid, size: s.Size, //nolint:gosec // a number of a device
		changed: instant{s.Ctimespec.Sec, s.Ctimespec.Nsec}, written: instant{s.Mtimespec.Sec, s.Mtimespec.Nsec},
	}, true
}
