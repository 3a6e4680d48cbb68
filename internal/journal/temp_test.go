package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// A `git add -A` of an agent or of ralph itself that meets a temporary file and
// finds it renamed a moment later fails, so none ever lies in ralph/ (X-71).
func TestTemporaryFilesAreOutOfGitsSight(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.Inbox, opt.Plan = true, true
	j, err := journal.Open(opt)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			spec := ralph.Spec{ID: ralph.SpecID(fmt.Sprintf("q-%04d", i)), File: "a.md", Status: ralph.SpecPending}
			if err := update(j, ralph.SpecAdded{Spec: spec}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for {
		entries, err := os.ReadDir(filepath.Join(root, "ralph"))
		must(t, err)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".tmp") {
				t.Errorf("%s lies in ralph/ for a moment", e.Name())
			}
		}
		select {
		case <-done:
			must(t, j.Close())
			return
		default:
		}
	}
}
