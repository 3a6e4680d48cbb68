package agentsock

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// settled is how old a folder is of which a socket that nobody listens to is left, and not
// about to be listened to.
const settled = time.Minute

// Sweep removes the folders of lines in temp whose engine died before it could: where a
// socket refuses whoever calls. What is somebody else's, or cannot be removed, stays; what
// is left costs nothing but room.
func Sweep(temp string, now time.Time) {
	sockets, err := filepath.Glob(filepath.Join(temp, "ralph-*", "s"))
	if err != nil {
		return
	}
	for _, s := range sockets {
		dir := filepath.Dir(s)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 || now.Sub(info.ModTime()) < settled {
			continue
		}
		conn, err := net.DialTimeout("unix", s, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.RemoveAll(dir)
		}
	}
}
