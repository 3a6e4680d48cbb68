package agentsock

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/fastpath"
	"github.com/ralph-loop/ralph/internal/proc"
)

// settled is how old a folder is of which a socket that nobody listens to is left, and not
// about to be listened to. Only the start after a crash looks, and people start again at once.
const settled = time.Second

// Sweep removes the folders of lines in temp whose engine died before it could: where all
// sockets refuse whoever calls. What is somebody else's, or cannot be removed, stays; what
// is left costs nothing but room.
func Sweep(temp string, now time.Time) {
	for _, top := range proc.LeftFolders(filepath.Join(temp, topPrefix+"*"), settled, now) {
		sockets, _ := filepath.Glob(filepath.Join(top, "*", fastpath.Socket))
		if old := filepath.Join(top, fastpath.Socket); exists(old) { // of an engine of an older version
			sockets = append(sockets, old)
		}
		if len(sockets) > 0 && !slices.ContainsFunc(sockets, answers) {
			_ = os.RemoveAll(top)
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// answers reports whether somebody may be listening.
func answers(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}
