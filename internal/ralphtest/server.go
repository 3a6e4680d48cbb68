package ralphtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Server listens at a socket in a folder until the test ends, as a program of the user's that
// has been there for a minute. It calls reached for each client, nil for nothing.
func Server(tb testing.TB, reached func()) (path string) {
	tb.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "ralph-server") // the path of a socket is short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "sock")
	server, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			client, err := server.Accept()
			if err != nil {
				return
			}
			_ = client.Close()
			if reached != nil {
				reached()
			}
		}
	}()
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		tb.Fatal(err)
	}
	return path
}
