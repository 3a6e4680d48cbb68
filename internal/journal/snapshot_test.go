package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// Issue 16.1: 500 tasks that are all red at once, with 64 KiB of output each, are less than
// 2 MiB of snapshot (4.6 before: the red checks stood there twice). What is read from it is
// what was written, and one red check is still one.
func TestSnapshotOfRedTasks(t *testing.T) {
	t.Parallel()
	const tasks = 500
	root := t.TempDir()
	opt := options(root)
	opt.SegmentSize = 1 // a snapshot after each write
	j := open(t, opt)
	results, _ := ralph.BriefResults([]ralph.CheckResult{{Name: "go test ./...", Command: "go test ./...", Exit: 1, Output: strings.Repeat("ok  \texample.com/module/package\t0.012s\n", 64<<10/37)}})
	id := func(i int) ralph.TaskID { return ralph.TaskID(fmt.Sprint("t-", i)) }
	var plan, red []ralph.Fact
	for i := range tasks {
		plan = append(plan, ralph.SpecAdded{Spec: ralph.Spec{ID: ralph.SpecID(fmt.Sprint("q-", i)), File: fmt.Sprint(i, ".md"), Status: ralph.SpecPending}})
		plan = append(plan, ralph.TaskAdded{Task: ralph.Task{ID: id(i), Name: "Add the login form", Status: ralph.TaskPending}})
		red = append(red, ralph.ChecksRan{Task: id(i), Results: results})
	}
	must(t, update(j, plan...))
	must(t, update(j, red...))
	// In one of them the newest checks are other ones than the red ones for the next prompt.
	must(t, update(j, ralph.ChecksRan{Task: id(3), Results: results}, ralph.TurnEnded{Task: id(3), Exit: ralph.ExitOK}))
	must(t, j.Close())
	snapshot := filepath.Join(root, "ralph/.state/snapshot.json")
	info, err := os.Stat(snapshot)
	must(t, err)
	if info.Size() > 2<<20 {
		t.Errorf("the snapshot has %d bytes", info.Size())
	}
	opt.Read = true
	s := open(t, opt).State()
	sameState(t, j.State(), s)
	for i, x := range s.Plan.Tasks {
		if one := x.Run.Red == x.Run.Checks; x.Run.Red == nil || one == (i == 3) {
			t.Fatalf("%s: red %v, newest %v", x.ID, x.Run.Red, x.Run.Checks)
		}
	}
	text, err := os.ReadFile(snapshot)
	must(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	for name, cut := range map[string]string{
		"a line of tasks is missing": strings.Join(slices.Delete(slices.Clone(lines), 3, 4), ""),
		"a line of specs is missing": strings.Join(slices.Delete(slices.Clone(lines), 2, 3), ""),
		"the last line is cut":       string(text[:len(text)-100]),
		"there are no lines":         lines[0],
	} {
		must(t, os.WriteFile(snapshot, []byte(cut), 0o600))
		t.Log(name)
		sameState(t, s, open(t, opt).State())
	}
}

// A snapshot of any length is believed: a journal whose snapshot is not is folded anew, at each start.
func TestSnapshotsOfAnyLengthAreBelieved(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 63, 64, 65, 128, 200} {
		for _, m := range []int{0, 1, 64, 130} {
			s := &ralph.State{Seq: 7, Hash: "h"}
			for i := range n {
				s.Inbox = append(s.Inbox, &ralph.Spec{ID: ralph.SpecID(fmt.Sprint("q-", i)), File: "a.md", Status: ralph.SpecDone})
			}
			for i := range m {
				s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{ID: ralph.TaskID(fmt.Sprint("t-", i)), Name: "n", Status: ralph.TaskPending})
			}
			text, err := journal.EncodeSnapshot(s)
			must(t, err)
			got := journal.DecodeSnapshot(text)
			if got == nil {
				t.Fatalf("%d specs and %d tasks: not believed", n, m)
			}
			sameState(t, s, got)
		}
	}
}
