package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// settled is how old a socket has to be to be hidden. What comes and goes all the time, as the
// sockets of tests do, would be gone when bubblewrap covers it, and the program not started.
const settled = time.Second

// Sockets are the sockets in folders by which a program of user's (a terminal server, an
// editor, a bus) does as it is told by whoever reaches it: those of this system's that
// somebody listens at, that belong to user and are older than a second. The sockets of
// ralph's own turns are left out, which ask for a word that only the turn knows, and that of
// git's fsmonitor, which tells names of files and no more.
func Sockets(user int, now time.Time) []string {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil // no Linux: there is no bubblewrap either
	}
	var out []string
	for _, p := range listening(string(text)) {
		info, err := os.Lstat(p)
		if err != nil || info.Mode()&os.ModeSocket == 0 || now.Sub(info.ModTime()) < settled {
			continue
		}
		if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) == user {
			out = append(out, p)
		}
	}
	return out
}

// turnSocket is where the socket of a turn lies (internal/agentsock).
var turnSocket = lazyregexp.New(`/ralph-[0-9]+(/[0-9]+)?/s$`)

// listening are the paths of sockets in /proc/net/unix that wait for somebody: in state 01,
// not connected. A path may hold spaces; abstract ones begin with @.
func listening(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		// Num RefCount Protocol Flags Type St Inode Path
		fields := strings.SplitN(strings.TrimRight(line, "\n"), " /", 2)
		head := strings.Fields(fields[0])
		if len(fields) < 2 || len(head) != 7 || head[5] != "01" {
			continue
		}
		p := "/" + fields[1]
		if filepath.Clean(p) != p || turnSocket.MatchString(p) || filepath.Base(p) == "fsmonitor--daemon.ipc" {
			continue
		}
		out = append(out, p)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
