package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// S11: what listens in a folder is found, and nothing that is ralph's own or nobody's.
func TestListening(t *testing.T) {
	t.Parallel()
	const text = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 21001 /run/user/1000/bus
0000000000000000: 00000002 00000000 00010000 0001 01 21002 /home/ada/my work/.sock
0000000000000000: 00000002 00000000 00010000 0001 01 21002 /home/ada/my work/.sock
0000000000000000: 00000003 00000000 00000000 0001 03 21003 /home/ada/connected
0000000000000000: 00000002 00000000 00010000 0001 01 21004 @/tmp/.X11-unix/X0
0000000000000000: 00000002 00000000 00000000 0002 01 21005 /home/ada/datagrams
0000000000000000: 00000002 00000000 00010000 0001 01 21006 /tmp/ralph-123456/s
0000000000000000: 00000002 00000000 00010000 0001 01 21006 /tmp/ralph-123456/17/s
0000000000000000: 00000002 00000000 00010000 0001 01 21007 /home/ada/p/.git/fsmonitor--daemon.ipc
0000000000000000: 00000003 00000000 00000000 0001 03 21008
0000000000000000: 00000002 00000000 00010000 0001 01 21009 relative/sock
0000000000000000: 00000002 00000000 00010000 0001 01 21010 /home/ada/../ada/x
`
	want := []string{"/home/ada/datagrams", "/home/ada/my work/.sock", "/run/user/1000/bus"}
	if got := listening(text); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A socket is hidden when it is the user's, when somebody listens, and when it is no more than
// coming and going.
func TestSockets(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/net/unix"); err != nil {
		t.Skip("no list of sockets on this system")
	}
	open, left := ralphtest.Server(t, nil), filepath.Join(t.TempDir(), "left")
	closed, err := net.ListenUnix("unix", &net.UnixAddr{Name: left})
	if err != nil {
		t.Fatal(err)
	}
	closed.SetUnlinkOnClose(false)
	_ = closed.Close()
	now := time.Now()
	if got := Sockets(os.Getuid(), now); !slices.Contains(got, open) || slices.Contains(got, left) {
		t.Errorf("%q", got)
	}
	if slices.Contains(Sockets(os.Getuid()+1, now), open) {
		t.Error("another's socket is taken for the user's")
	}
	if slices.Contains(Sockets(os.Getuid(), now.Add(-2*time.Minute)), open) {
		t.Error("one that has just come is hidden")
	}
}
