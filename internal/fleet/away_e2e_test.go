//go:build fleet && linux

package fleet_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/collectortest"
)

// elsewhere is a command on a machine that has no checkout of the repository.
func (l *land) elsewhere(args ...string) (string, error) {
	must(l.t, os.MkdirAll(l.path("elsewhere"), 0o700))
	c := l.command(l.path("elsewhere"), "ralph", args...)
	c.Env = append(slices.Clone(l.env), "HOME="+l.path("elsewhere"))
	out, err := c.CombinedOutput()
	return string(out), err
}

// says waits until a command elsewhere prints some words.
func (l *land) elsewhereSays(words string, args ...string) string {
	l.t.Helper()
	var out string
	l.until(strings.Join(args, " ")+" says "+words, func() bool {
		var err error
		out, err = l.elsewhere(args...)
		return err == nil && strings.Contains(out, words)
	})
	return out
}

// A person on another machine queues a spec before there is a coordinator, looks, pauses, goes on,
// approves the command that an agent on a worker holds, follows the log and ends the work.
func TestFromAnyMachine(t *testing.T) {
	l := newLand(t, `  - when: {stage: plan}
    do:
      - answer: {tasks: [{name: paint}]}
  - when: {stage: build}
    do:
      - ask: {command: make paint, allow: [{run: "echo by $RALPH_TASK >$RALPH_TASK.txt"}]}
      - signal: COMPLETE
  - when: {stage: verify}
    do:
      - answer: {verdicts: $accept, tasks: [], issues: []}
  - do:
      - answer: {tasks: [], issues: [], resolved: []}
`, 0, "RALPH_FLEET_HEARD=15s")
	b, err := os.ReadFile(l.path("work/ralph/config.yaml"))
	must(t, err)
	l.write("work/ralph/config.yaml", string(b)+"gate: {approvals: ask}\n") // the agent's command is held
	l.run(l.path("work"), "git", "commit", "-qam", "hold what agents want")
	repo := []string{"--repo", l.path("hub.git")}
	must(t, os.MkdirAll(l.path("elsewhere"), 0o700))
	l.write("elsewhere/paint.md", "# Paint\n\nPaint the shed.\n")
	if out, err := l.elsewhere(append([]string{"pause"}, repo...)...); err == nil || !strings.Contains(out, "no coordinator of ") {
		t.Fatalf("without a coordinator: %v, %s", err, out)
	}
	if out, err := l.elsewhere(append([]string{"submit", "paint.md"}, repo...)...); err != nil || !strings.Contains(out, "Submitted; no coordinator") {
		t.Fatalf("submit without a coordinator: %v, %s", err, out)
	}
	l.worker("w1")
	l.start("coordinator", l.path("work"), "ralph", "agent", "--trust", "--watch", "--fleet")
	l.start("follower", l.path("elsewhere"), "ralph", append([]string{"log", "-f"}, repo...)...)
	gates := l.elsewhereSays("make paint", append([]string{"status"}, repo...)...) // on a worker
	l.elsewhereSays("", append([]string{"pause"}, repo...)...)
	l.elsewhereSays("aus", append([]string{"status"}, repo...)...)
	l.elsewhereSays("", append([]string{"resume"}, repo...)...)
	var id string
	for word := range strings.FieldsSeq(gates + l.ralph("gates")) {
		if strings.HasPrefix(word, "g-") {
			id = strings.Trim(word, ":,.`")
		}
	}
	if out, err := l.elsewhere(append([]string{"approve", "g-none"}, repo...)...); err == nil {
		t.Errorf("a gate that is none was approved: %s", out)
	}
	l.elsewhereSays("Approved: "+id, append([]string{"approve", id}, repo...)...)
	l.until("the spec is done", func() bool { return strings.Contains(l.ralph("inbox"), "completed") })
	l.says("follower", "make paint")
	if log := l.ralph("log", "--raw"); !strings.Contains(log, `"way":"fleet"`) {
		t.Error("the journal does not say that the answer came from another machine")
	}
	l.elsewhereSays("", append([]string{"stop"}, repo...)...)
	l.says("coordinator", "Session summary")
	_ = l.procs["coordinator"].Wait()
	l.stop("follower")
	l.stop("w1")
	if n := strings.Count(l.run(l.path("work"), "git", "log", "--format=%s", "main"), "\n"); n != 4 {
		t.Errorf("%d commits, want three before and the spec's one", n)
	}
	l.ralph("verify")
	l.alone()
}

// A collector that the variables name hears of coordinator and worker, from both of Temporal's own
// figures too, and the last of it at their end.
func TestMetricsOfAFleet(t *testing.T) {
	c := collectortest.New(t)
	l := newLand(t, "", 2, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	l.playsFor("10ms")
	l.worker("w1")
	l.coordinator()
	l.says("coordinator", "Session summary")
	_ = l.procs["coordinator"].Wait()
	l.stop("w1")
	for _, service := range []string{"ralph-coordinator", "ralph-worker"} {
		if n := c.Has(service + " ralph.step.duration ralph.step=turn ralph.step.outcome=done"); n == "" || n == "0" {
			t.Errorf("%s tells of no turn that was done", service)
		}
		if n := c.Has(service + " ralph.steps.active ralph.step=turn"); n != "0" {
			t.Errorf("%s has %q turns under way at its end", service, n)
		}
	}
	if n := c.Has("ralph-worker ralph.worker.slots ralph.slot.state=free"); n != "2" {
		t.Errorf("the worker has %q free slots at its end", n)
	}
	var temporal int
	for figure := range c.All() {
		if strings.Contains(figure, " temporal_") {
			temporal++
		}
	}
	if temporal == 0 {
		t.Error("nothing of Temporal's own")
	}
	l.holds(2)
}
