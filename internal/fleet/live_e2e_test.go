//go:build fleet && linux

package fleet_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/collectortest"
)

// asked reports whether any figure tells of a question for the output of a turn.
func asked(c *collectortest.Collector) bool {
	for figure := range c.All() {
		if strings.Contains(figure, "ralph.tail") {
			return true
		}
	}
	return false
}

// Whoever looks at a turn on a worker sees what its agent prints while it goes on; nobody asks the
// worker of a turn that nobody looks at. A turn that was lost begins again before their eyes. What was
// shown is in the files of the turn, once.
func TestLiveOutput(t *testing.T) {
	c := collectortest.New(t)
	l := newLand(t, "", 1, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_METRIC_EXPORT_INTERVAL=300", keyed)
	plays := func(words string) {
		l.write("scenario.yaml", `about: fleet
rules:
  - when: {stage: build}
    do:
      - say: "crimson `+words+`"
      - run: "echo by $RALPH_TASK >$RALPH_TASK.txt; echo x >>`+l.path("count/plays")+`; until test -e `+l.path("count/go-")+words+`; do sleep 0.05; done"
      - say: "magenta `+words+`"
      - run: "until test -e `+l.path("count/end-")+words+`; do sleep 0.05; done"
      - signal: COMPLETE
`)
	}
	plays("one")
	l.worker("w1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	l.until("figures have come since", func() bool { return c.Has("ralph-worker ralph.worker.slots ralph.slot.state=busy") == "1" })
	copies, err := filepath.Glob(l.path("work/ralph/.state/tasks/*/1/output.log"))
	must(t, err)
	if len(copies) != 1 || asked(c) {
		t.Fatalf("nobody looks, and there is %v; asked: %v", copies, asked(c))
	}
	has := func() string {
		b, _ := os.ReadFile(copies[0])
		return string(b)
	}
	if has() != "" {
		t.Fatalf("nobody looks, and what has come is %q", has())
	}
	shows := func(words string) {
		t.Helper()
		l.until("who looks sees "+words, func() bool { return strings.Contains(l.ralph("status"), "> "+words) })
	}
	shows("crimson one")
	l.write("count/go-one", "")
	shows("magenta one")
	l.until("the figures tell of it", func() bool { return asked(c) })
	plays("two")
	l.worker("w2")
	l.kill("w1")
	shows("crimson two")
	if strings.Contains(has(), "one") {
		t.Errorf("what was lost is told for what goes on: %q", has())
	}
	live, err := os.Stat(copies[0])
	must(t, err)
	l.write("count/go-two", "")
	shows("magenta two")
	l.write("count/end-two", "")
	l.says("coordinator", "Session summary")
	ended, err := os.Stat(copies[0])
	must(t, err)
	if has() != "crimson two\nmagenta two\n<ralph>COMPLETE</ralph>\n" || !os.SameFile(live, ended) {
		t.Errorf("who followed it saw another file than this one: %q", has())
	}
	_ = l.procs["coordinator"].Wait()
	l.worker("w1") // what it left running is ended when it comes back
	l.until("w1 is there again", func() bool { return strings.Count(l.said("w1"), "worker w1:") == 2 })
	l.stop("w1")
	l.stop("w2")
	l.holds(1)
	l.alone()
	for _, name := range []string{"temporal.db", "temporal.db-wal"} {
		if b, _ := os.ReadFile(l.path(name)); bytes.Contains(b, []byte("crimson")) {
			t.Errorf("%s of the server has what an agent said", name)
		}
	}
}
