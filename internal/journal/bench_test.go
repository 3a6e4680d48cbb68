package journal_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// BenchmarkAppend is one fact from Update's call to its return: lock, catch up,
// write, fsync.
func BenchmarkAppend(b *testing.B) {
	j, err := journal.Open(options(b.TempDir()))
	must(b, err)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := update(j, note("a line of progress, about as long as they are")); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	must(b, j.Close())
}

// BenchmarkTask is what the journal costs a task of one iteration: its facts one
// after the other as the engine writes them, with the views made from them.
func BenchmarkTask(b *testing.B) {
	j, err := journal.Open(options(b.TempDir()))
	must(b, err)
	must(b, update(j, ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: json.RawMessage(benchConfig)}, ralph.PlanStarted{File: "feature-login.md"}, ralph.JobStarted{Job: "j-1", File: "feature-login.md"}))
	for i := range 100 {
		must(b, update(j, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%03d", i)), Name: "Add the login form", Status: ralph.TaskPending}}))
	}
	var took []time.Duration
	n := 0
	for b.Loop() {
		id := ralph.TaskID(fmt.Sprintf("t-%03d", n%100))
		n++
		begin := time.Now()
		for _, k := range []int{0, 1, 2, 3, 4, 14} {
			if err := update(j, taskFact(id, k, n, begin)); err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	must(b, j.Close())
}

// benchConfig is as long as the settings of a session are.
const benchConfig = `{"revision":2,"session":"autopilot","parallel":3,"isolated":true,"checks":true,"max_consecutive":3,"batch":1,"conflict_retries":3,"resolver":"agent",` +
	`"agents":["claude","codex"],"recover_primary":true,"max_iterations":50,"stuck_threshold":5,"same_error_turns":3,"task_timeout":1800000000000,"stage_timeout":300000000000,` +
	`"max_rounds":10,"strategy":"retry","max_retries":2,"retry_base":2000000000,"max_limit_retries":3,"limit_base":5000000000,"on_failure":"stash","max_failures":3,` +
	`"scoring":{"unblocks":10,"critical":50,"quick_win":30,"near_complete":20,"retry":-15}}`

func BenchmarkFold100k(b *testing.B) { benchmarkFold(b, 100_000) }

func BenchmarkFold1M(b *testing.B) { benchmarkFold(b, 1_000_000) }

// least is n, or with -short only so many that the benchmark runs.
func least(n int) int {
	if testing.Short() {
		return min(n, 10_000)
	}
	return n
}

// benchmarkFold opens a journal without a snapshot: every fact is read, checked
// and applied.
func benchmarkFold(b *testing.B, n int) {
	n = least(n)
	root := b.TempDir()
	writeHistory(b, root, n, 0)
	for b.Loop() {
		openAt(b, root, n)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "facts/s")
}

// segmentSize is the default of Options.SegmentSize.
const segmentSize = 256 << 10

// BenchmarkOpenAfterMillion is what a command pays at its start after a million
// facts: the snapshot, and a segment that is nearly full.
func BenchmarkOpenAfterMillion(b *testing.B) {
	root := b.TempDir()
	n := least(1_000_000)
	tail := writeHistory(b, root, n, segmentSize)
	for b.Loop() {
		openAt(b, root, n)
	}
	b.ReportMetric(float64(tail), "tail-facts")
}

func openAt(b *testing.B, root string, n int) {
	j, err := journal.Open(options(root))
	must(b, err)
	if got := j.State().Seq; got != int64(n) {
		b.Fatalf("at fact %d", got)
	}
	must(b, j.Close())
}

// writeHistory writes a journal of n facts by hand. With segment > 0 the last
// segment is as full as can be, and all before it is in one ended segment and
// the snapshot. It returns the facts in the last segment.
func writeHistory(b *testing.B, root string, n int, segment int64) (tail int) {
	dir := filepath.Join(root, "ralph/.state")
	must(b, os.MkdirAll(dir, 0o700))
	const perLine = 420 // a generous guess, so that the tail fits
	cut := 0
	if segment > 0 {
		cut = n - int(segment/perLine)
	}
	var f *os.File
	var w *bufio.Writer
	begin := func() {
		var err error
		f, err = os.Create(filepath.Join(dir, "journal.jsonl"))
		must(b, err)
		w = bufio.NewWriterSize(f, 1<<20)
	}
	end := func() {
		must(b, w.Flush())
		must(b, f.Close())
	}
	begin()
	s := &ralph.State{}
	for i := range n {
		e := ralph.Event{Seq: s.Seq + 1, At: benchStart().Add(time.Duration(i) * time.Second), By: "engine", Prev: s.Hash, Fact: historyFact(i)}
		line, err := ralph.MarshalEvent(&e)
		must(b, err)
		_, err = w.Write(append(line, '\n'))
		must(b, err)
		s.Apply(e)
		if i+1 == cut {
			end()
			must(b, os.Rename(filepath.Join(dir, "journal.jsonl"), filepath.Join(dir, fmt.Sprintf("journal-%012d.jsonl", cut))))
			text, err := journal.EncodeSnapshot(s)
			must(b, err)
			must(b, os.WriteFile(filepath.Join(dir, "snapshot.json"), text, 0o600))
			begin()
		}
	}
	end()
	return n - cut
}

// historyFact is the i-th fact of a long history: specs of 6 tasks with 3
// iterations each, 100 facts a spec.
func historyFact(i int) ralph.Fact {
	const perSpec, tasks, perTask = 100, 6, 15
	spec := ralph.SpecID(fmt.Sprintf("q-%04d", i/perSpec%200))
	job, at := fmt.Sprint("j-", i/perSpec), benchStart().Add(time.Duration(i)*time.Second)
	n := i % perSpec
	switch {
	case n == 0 && i/perSpec%50 == 0:
		return ralph.SessionStarted{ID: ralph.SessionID("s-" + job), Mode: "agent", Pid: 4711, Host: "build-7", Version: "1.0.0"}
	case n == 0:
		return ralph.SpecRemoved{ID: spec} // the inbox is cleaned up now and then
	case n == 1:
		return ralph.SpecAdded{Spec: ralph.Spec{ID: spec, File: "feature-login.md", Status: ralph.SpecPending, AddedAt: at}}
	case n == 2:
		return ralph.JobStarted{Job: ralph.JobID(job), ID: spec, File: "feature-login.md"}
	case n == 3:
		return ralph.PlanStarted{File: "feature-login.md"}
	case n < 4+tasks:
		id := ralph.TaskID(fmt.Sprintf("t-%04d", n-4))
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Spec: "feature-login.md", Name: "Add the login form", Accept: "a wrong password shows an error", Status: ralph.TaskPending}}
	case n < 4+tasks+tasks*perTask-1 && n < perSpec-1:
		return taskFact(ralph.TaskID(fmt.Sprintf("t-%04d", (n-4-tasks)/perTask)), (n-4-tasks)%perTask, i, at)
	}
	return ralph.JobEnded{Status: ralph.SpecDone, Rule: "D-048", Commit: "0123456789abcdef0123456789abcdef01234567"}
}

func taskFact(id ralph.TaskID, k, i int, at time.Time) ralph.Fact {
	const tree, head = "89abcdef0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef01234567"
	why := ralph.Why{Rule: "B-012", Text: "no signal: the next iteration"}
	switch {
	case k == 0:
		return ralph.TaskStarted{ID: id}
	case k == 14:
		return ralph.TaskEnded{ID: id, Status: ralph.TaskDone, Why: ralph.Why{Rule: "B-041", Text: "complete, checks pass"}, BasedOnSeq: int64(i), DecidedAt: at}
	case k == 13:
		return ralph.Noted{Task: id, Text: "the agent says it is done"}
	case k%4 == 1:
		return ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: k, Timeout: 30 * time.Minute}, Why: why, BasedOnSeq: int64(i), DecidedAt: at}
	case k%4 == 2:
		return ralph.TurnEnded{
			Task: id, Stage: ralph.KindBuild, Agent: "claude", Iteration: k, Exit: ralph.ExitOK, Session: "5c1a7e60-1f0e-4f3c-9d3c-0a1b2c3d4e5f",
			Usage:  ralph.Usage{Input: 1200, Output: 800, CacheRead: 40_000, Cost: 0.04, Known: true},
			Signal: ralph.Signal{Kind: ralph.SignalProgress, Text: "form is there", Percent: 40},
			Tree:   tree, Head: head, Changed: true, Dir: "ralph/.state/tasks/t-0001/1", Tail: "The form is there, next the error message.", Took: time.Minute,
		}
	case k%4 == 3:
		return ralph.StepStarted{Task: id, Step: ralph.Check{}, Why: ralph.Why{Rule: "B-036", Text: "complete: check"}, BasedOnSeq: int64(i), DecidedAt: at}
	}
	return ralph.ChecksRan{Task: id, Pass: true, Tree: tree, Took: time.Second, Results: []ralph.CheckResult{{Name: "go test ./...", Command: "go test ./...", Pass: true, Took: time.Second}}}
}

func benchStart() time.Time { return time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC) }
