package unchanged

import "syscall"

// lookAt is what the system says of a path itself, not of what a link leads to.
func lookAt(path string) (stamp, bool) {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return stamp{}, false
	}
	return stamp{
		mode: s.Mode, ino: s.Ino, dev: uint64(s.Dev), uid: s.Uid, gid: s.Gid, size: s.Size, //nolint:unconvert // other systems' are narrower
		changed: instant{int64(s.Ctim.Sec), int64(s.Ctim.Nsec)}, written: instant{int64(s.Mtim.Sec), int64(s.Mtim.Nsec)}, //nolint:unconvert // as above
	}, true
}
