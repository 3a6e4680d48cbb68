package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// BenchmarkTasksWithOutput is a plan whose tasks are done one after the other, each with a
// check that printed 64 KiB (the review's 1.1: 31.6 MiB of snapshot, 812 ms for a fact, 0.37 s
// for a status with 500 tasks).
func BenchmarkTasksWithOutput(b *testing.B) {
	for _, tasks := range []int{500, 2_000, 10_000} {
		if testing.Short() {
			tasks = min(tasks, 100)
		}
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			for b.Loop() {
				benchTasksWithOutput(b, tasks)
			}
		})
	}
}

func benchTasksWithOutput(b *testing.B, tasks int) {
	root := b.TempDir()
	j, err := journal.Open(options(root))
	must(b, err)
	must(b, update(j, ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "feature.md"}, ralph.JobStarted{Job: "j-1", File: "feature.md"}))
	id := func(i int) ralph.TaskID { return ralph.TaskID(fmt.Sprintf("t-%05d", i)) }
	var plan []ralph.Fact
	for i := range tasks {
		plan = append(plan, ralph.TaskAdded{Task: ralph.Task{ID: id(i), Name: "Add the login form", Status: ralph.TaskPending}})
	}
	must(b, update(j, plan...))
	results, _ := ralph.BriefResults([]ralph.CheckResult{{Name: "go test ./...", Command: "go test ./...", Pass: true, Output: strings.Repeat("ok  \texample.com/module/package\t0.012s\n", 64<<10/37)}})
	var slowest, all time.Duration
	for i := range tasks {
		for _, f := range []ralph.Fact{
			ralph.TaskStarted{ID: id(i)},
			ralph.TurnEnded{Task: id(i), Stage: ralph.KindBuild, Agent: "claude", Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalComplete}, Tree: "t1", Tail: strings.Repeat("words ", 80)},
			ralph.ChecksRan{Task: id(i), Pass: true, Tree: "t1", Results: results},
			ralph.TaskEnded{ID: id(i), Status: ralph.TaskDone},
		} {
			begin := time.Now()
			must(b, update(j, f))
			took := time.Since(begin)
			slowest, all = max(slowest, took), all+took
		}
	}
	must(b, j.Close())
	begin := time.Now()
	r, err := journal.Open(journal.Options{Root: root, Read: true})
	must(b, err)
	b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "open-ms")
	must(b, r.Close())
	info, err := os.Stat(filepath.Join(root, "ralph/.state/snapshot.json"))
	if err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "snapshot-MiB")
	}
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
	b.ReportMetric(float64(all.Microseconds())/1000/float64(tasks), "ms/task")
}
