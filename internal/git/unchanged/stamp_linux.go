package unchanged

import "golang.org/x/sys/unix"

// lookAt is what the system says of a path itself, not of what a link leads to. One that is not
// absolute begins at the folder dir.
func lookAt(dir int, path string) (stamp, bool) {
	var s unix.Stat_t
	if err := unix.Fstatat(dir, path, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}, false
	}
	return stamp{
		mode: s.Mode, ino: s.Ino, dev: uint64(s.Dev), uid: s.Uid, gid: s.Gid, size: s.Size, //nolint:unconvert // other systems' are narrower
		changed: instant{int64(s.Ctim.Sec), int64(s.Ctim.Nsec)}, written: instant{int64(s.Mtim.Sec), int64(s.Mtim.Nsec)}, //nolint:unconvert // as above
	}, true
}

// openFolder opens a folder to begin at.
func openFolder(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func closeFolder(dir int) { _ = unix.Close(dir) }
