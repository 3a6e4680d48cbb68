package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// R-M5: on a full disk who reads the message does again what was not done, and only that:
// a spec that is queued twice is paid for twice.
func TestFullDiskMessage(t *testing.T) {
	t.Parallel()
	env := workspace.Env{Dir: t.TempDir()}
	full := fmt.Errorf("write ralph/inbox.jsonl: %w", syscall.ENOSPC)
	if got := message(env, full); !strings.Contains(got, "do it again") {
		t.Errorf("what was not recorded: %q", got)
	}
	got := message(env, &views.ViewError{Err: full})
	if strings.Contains(got, "again") || !strings.Contains(got, "nothing to repeat") || !strings.Contains(got, "free some space") {
		t.Errorf("what was recorded: %q", got)
	}
	if got := workspace.RoomHint(env, full); !strings.Contains(got, "free some space") || strings.Contains(got, "again") {
		t.Errorf("the note of `inbox add`: %q", got)
	}
}
