package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// benchStart is what a person waits for at the prompt, start to end.
func benchStart(b *testing.B, bin string, t *table) {
	for b.Loop() {
		history := newBox(b, bin)
		history.git("init", "-q", "-b", "main")
		past, specs, tasks := size(1_000_000, 2_000), size(5_000, 10), size(1000, 20)
		seq := history.past(past, specs)
		if seq < int64(past) {
			b.Fatalf("%d facts", seq)
		}
		_, said := history.run(bin, "query", "inbox")
		if n := strings.Count(said, `"spec":`); n != specs {
			b.Fatalf("%d specs in the inbox", n)
		}
		plan := taskBox(b, bin, tasks)
		plan.run(bin, "task", "edit", "t-1000", "--name", "One that is not planned by hand")
		nothing := buildTool(b, "nothing")
		for _, c := range []struct {
			name, metric string
			goal         float64 // ms
			most         float64 // MiB
			box          *sandboxRepo
			args         []string
		}{
			{"a Go program that does nothing", "nothing-ms", 0, 0, plan, []string{nothing}},
			{"`ralph --version`", "version-ms", 3, 12, plan, []string{bin, "--version"}},
			{fmt.Sprintf("`ralph query tasks`, %d tasks", tasks), "tasks-ms", 0, 0, plan, []string{bin, "query", "tasks"}},
			{fmt.Sprintf("`ralph status`, %d tasks", tasks), "status-1k-ms", 6, 12, plan, []string{bin, "status"}},
			{fmt.Sprintf("`ralph status`, %d past facts, %d specs", past, specs), "status-1M-ms", 40, 0, history, []string{bin, "status"}},
		} {
			var runs []cost
			for range size(11, 1) {
				one, _ := c.box.run(c.args...)
				runs = append(runs, one)
			}
			wall, cpu := spreadOf(runs, wallOf), spreadOf(runs, cpuOf)
			own, file := c.box.mostHeld(c.args...)
			b.ReportMetric(wall.Median, c.metric)
			figure := fmt.Sprintf("%.1f ms [%.1f-%.1f], cpu %.1f ms", wall.Median, wall.Min, wall.Max, cpu.Median)
			if c.goal == 0 {
				t.add(c.name, figure)
			} else {
				t.goal(c.name, figure, fmt.Sprintf("at most %.0f ms", c.goal), wall.Median <= c.goal)
			}
			held := fmt.Sprintf("%.0f MiB, %.0f of its own and %.0f of the program's file", own+file, own, file)
			switch {
			case own+file == 0: // it had ended before anybody looked
			case c.most == 0:
				t.add(c.name+": memory", held)
			default:
				t.goal(c.name+": memory", held, fmt.Sprintf("at most %.0f MiB", c.most), own+file <= c.most)
			}
		}
	}
}

// past writes a history of about n facts in the program's own format, segments
// and snapshots included, with its specs still in the inbox. It returns the
// newest fact's number.
func (b *sandboxRepo) past(n, specs int) int64 {
	b.tb.Helper()
	ids := 0
	open := func(views bool) *journal.File {
		j, err := journal.Open(journal.Options{Root: b.dir, Inbox: views, Plan: views, NewID: func(prefix string) string {
			ids++
			return fmt.Sprintf("%s-%04d", prefix, ids)
		}})
		if err != nil {
			b.tb.Fatal(err)
		}
		return j
	}
	update := func(j *journal.File, facts []ralph.Fact) {
		err := j.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
		if err != nil {
			b.tb.Fatal(err)
		}
	}
	j := open(false)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range specs {
		update(j, specFacts(i, n/specs, at.Add(time.Duration(i)*time.Hour)))
	}
	if err := j.Close(); err != nil {
		b.tb.Fatal(err)
	}
	j = open(true) // now the inbox is written too, once
	update(j, []ralph.Fact{ralph.Noted{Text: "the end of the history"}})
	seq := j.State().Seq
	if err := j.Close(); err != nil {
		b.tb.Fatal(err)
	}
	return seq
}

// specFacts is one spec from the inbox to its commit in n facts: tasks of two
// iterations, with checks.
func specFacts(i, n int, at time.Time) []ralph.Fact {
	const tree = "89abcdef0123456789abcdef0123456789abcdef"
	id, file := ralph.SpecID(fmt.Sprintf("q-%04d", i)), fmt.Sprintf("feature-%d.md", i)
	job := ralph.JobID(id)
	why := ralph.Why{Rule: "B-026", Text: "no signal yet"}
	facts := []ralph.Fact{
		ralph.SpecAdded{Spec: ralph.Spec{ID: id, File: file, Status: ralph.SpecPending, AddedAt: at}},
		ralph.SessionStarted{ID: ralph.SessionID("s-" + file), Mode: "agent", Pid: 4711, Host: "build-7", Version: "1.0.0"},
		ralph.JobStarted{Job: job, ID: id, File: file},
		ralph.PlanStarted{File: file},
	}
	for k := 0; len(facts) < n-16; k++ {
		task := ralph.TaskID(fmt.Sprintf("t-%04d", k))
		facts = append(
			facts,
			ralph.TaskAdded{Task: ralph.Task{ID: task, Spec: file, Name: "Add the login form", Accept: "a wrong password shows an error", Status: ralph.TaskPending}},
			ralph.TaskStarted{ID: task},
		)
		for turn := 1; turn <= 2; turn++ {
			facts = append(
				facts,
				ralph.StepStarted{Task: task, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: turn, Timeout: 30 * time.Minute}, Why: why, BasedOnSeq: 1, DecidedAt: at},
				ralph.TurnEnded{
					Task: task, Stage: ralph.KindBuild, Agent: "claude", Iteration: turn, Exit: ralph.ExitOK, Session: "5c1a7e60-1f0e-4f3c-9d3c-0a1b2c3d4e5f",
					Usage: ralph.Usage{Input: 1200, Output: 800, CacheRead: 40_000, Cost: 0.04, Known: true}, Tree: tree, Head: tree, Changed: true,
					Signal: ralph.Signal{Kind: ralph.SignalComplete}, Dir: "ralph/.state/tasks/t-0001/1", Tail: "The form is there, next the error message.", Took: time.Minute,
				},
				ralph.StepStarted{Task: task, Step: ralph.Check{}, Why: ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"}, BasedOnSeq: 1, DecidedAt: at},
				ralph.ChecksRan{Task: task, Pass: turn == 2, Tree: tree, Took: time.Second, Results: []ralph.CheckResult{{Name: "go test ./...", Command: "go test ./...", Pass: turn == 2, Took: time.Second}}},
			)
		}
		facts = append(facts, ralph.TaskEnded{ID: task, Status: ralph.TaskDone, Why: ralph.Why{Rule: "B-022", Text: "COMPLETE and the checks pass"}, BasedOnSeq: 1, DecidedAt: at})
	}
	for len(facts) < n-2 {
		facts = append(facts, ralph.Noted{Text: "a word on the side"})
	}
	return append(facts, ralph.JobEnded{Status: ralph.SpecDone, Rule: "D-048", Commit: tree}, ralph.SessionEnded{Reason: ralph.ReasonEmpty})
}
