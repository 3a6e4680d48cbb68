//go:build unix && !linux

package proc

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Play has no roles here: what they test is Linux's.
func Play(string, string) int { return 1 }

// waitGone polls, since there is no portable way to wait for a stranger.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatalf("pid %q", pid)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			return
		}
		<-tick.C
	}
	t.Errorf("process %d still runs", n)
}
