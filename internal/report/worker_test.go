package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// The log and `ralph task show` name the worker of a fleet that carried a step out; without a fleet
// they say nothing of where.
func TestTheLogNamesTheWorker(t *testing.T) {
	t.Parallel()
	turn := ralph.TurnEnded{Task: "t-1", Agent: "codex", Exit: ralph.ExitOK, Took: 12 * time.Second}
	checks := ralph.ChecksRan{Task: "t-1", Pass: true, Took: 2 * time.Second}
	on := func(f ralph.Fact) []string {
		var log report.Log
		return log.Lines(ralph.Event{Fact: f}, &ralph.State{})
	}
	for _, f := range []ralph.Fact{turn, checks, ralph.Compacted{Task: "t-1", Agent: "codex"}} {
		if said := strings.Join(on(f), "\n"); strings.Contains(said, "WORKER") || strings.Contains(said, " on ") {
			t.Errorf("without a fleet: %s", said)
		}
	}
	turn.Worker, checks.Worker = "nor\x1bth", "north"
	for want, f := range map[string]ralph.Fact{
		"WORKER: north: a turn of t-1 by codex (12s)":             turn,
		"WORKER: north: the checks of t-1 (2s)":                   checks,
		"WORKER: north: the session of t-1 was made shorter (3s)": ralph.Compacted{Task: "t-1", Agent: "codex", Worker: "north", Took: 3 * time.Second},
	} {
		if said := on(f); !slices.Contains(said, want) {
			t.Errorf("want %q: %q", want, said)
		}
	}
	task := &ralph.Task{ID: "t-1"}
	task.Run.Last = &turn
	if said := report.Task(task, nil); !strings.Contains(said, "worker:     north") {
		t.Errorf("task show: %s", said)
	}
	task.Run.Last = &ralph.TurnEnded{Task: "t-1"}
	if said := report.Task(task, nil); strings.Contains(said, "worker:") {
		t.Errorf("task show without a fleet: %s", said)
	}
}
