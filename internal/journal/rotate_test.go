package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// Issue 16.1: what snapshots cost a task stays the same however many there are. A state that
// is longer than a segment is written once for as many bytes of facts, not once a segment.
func TestSnapshotsAreFlat(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	var plan []ralph.Fact
	for i := range 4000 {
		plan = append(plan, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%04d", i)), Name: "Add the login form", Notes: strings.Repeat("notes ", 100)}})
	}
	must(t, update(j, plan...)) // a state of about 3 MiB
	written, at := 0, int64(0)
	facts := 0
	for facts < 12<<20 {
		must(t, update(j, ralph.Noted{Text: strings.Repeat("x", 256<<10)}))
		facts += 256 << 10
		info, err := os.Stat(filepath.Join(root, "ralph/.state/snapshot.json"))
		must(t, err)
		if now := info.ModTime().UnixNano(); now != at {
			written, at = written+int(info.Size()), now
		}
	}
	if written > 2*facts {
		t.Errorf("%d bytes of snapshots for %d bytes of facts", written, facts)
	}
	must(t, j.Close())
	sameState(t, j.State(), open(t, options(root)).State())
	checkChain(t, open(t, options(root)))
}
