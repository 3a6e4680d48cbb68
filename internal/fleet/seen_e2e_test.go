//go:build fleet && linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/workers"
)

// untilTold is a turn that ends when the test has seen what it wants to see.
const untilTold = `  - when: {stage: build}
    do:
      - run: "echo by $RALPH_TASK >$RALPH_TASK.txt; echo x >>%s; until test -e %s; do sleep 0.1; done"
      - signal: COMPLETE
`

// A worker that waits and is killed is lost within seconds, as it said often that it is there: whoever looks hears since
// when, and the steps that only it could take wait no more without a word. The server tells of it for minutes.
func TestIdleWorkerThatIsKilled(t *testing.T) {
	l := newLand(t, "", 1)
	l.playsFor("100ms")
	b, err := os.ReadFile(l.path("work/ralph/config.yaml"))
	must(t, err)
	l.write("work/ralph/config.yaml", string(b)+"fleet: {labels: [gpu]}\n")
	l.run(l.path("work"), "git", "commit", "-qam", "ask for a label")
	l.worker("w1", "--label", "gpu")
	l.until("w1 is seen", func() bool { return strings.Contains(l.ralph("fleet", "workers"), "w1 ") })
	killed := time.Now()
	l.kill("w1")
	l.until("it is lost", func() bool { return strings.Contains(l.ralph("fleet", "workers"), ", lost since ") })
	if quiet := time.Since(killed); quiet > time.Minute {
		t.Errorf("it is lost after %s", quiet)
	}
	l.coordinator()
	const missing = "no worker; start one that has: ralph worker --repo "
	l.says("coordinator", missing+l.path("hub.git")+" --agent mine --label gpu")
	l.until("status says it", func() bool { return strings.Contains(l.ralph("fleet", "status"), missing) })
	l.until("status of the repository says it", func() bool {
		said := l.ralph("status")
		return strings.Contains(said, missing) && strings.Contains(said, "w1 lost, not heard of since ")
	})
	if out, err := l.command(l.path("work"), "ralph", "fleet", "doctor").CombinedOutput(); err == nil || !strings.Contains(string(out), "miss  w1: it is lost since ") {
		t.Errorf("doctor: %v, %s", err, out)
	}
	l.worker("w2", "--label", "gpu")
	l.says("coordinator", "Session summary")
	must(t, l.outcome("coordinator"))
	l.stop("w2")
	l.holds(1)
	l.alone()
}

// While agents are at work on other machines, `ralph status` and the file of the moment say where, how the workers stand, and
// `ralph fleet status` who has the lease. A worker that is drained says so and ends; one that is killed is lost. Once
// a step has ended the journal says where it was carried out, and the file goes with the coordinator.
func TestWhereStepsAreCarriedOut(t *testing.T) {
	l := newLand(t, "", 2)
	l.write("scenario.yaml", "about: fleet\nrules:\n"+fmt.Sprintf(untilTold, l.path("count/plays"), l.path("count/go")))
	l.worker("north")
	l.coordinator()
	l.until("the agents are at work", func() bool { return l.plays() == 2 })
	for _, words := range []string{", on north\n", "Fleet:   1 worker, 2 of 2 slots busy\n", "north ready, 2 of 2 slots busy, mine, arch="} {
		l.until("status says "+words, func() bool { return strings.Contains(l.ralph("status"), words) })
	}
	moment := func() (m workers.Moment) {
		b, err := os.ReadFile(l.path("work/" + workers.File))
		must(t, err)
		must(t, json.Unmarshal(b, &m))
		return m
	}
	pid := l.procs["coordinator"].Process.Pid
	if m := moment(); m.Pid != pid || len(m.Steps) != 2 || m.Steps[0].Worker != "north" || m.Address != l.server || !m.Until.After(time.Now()) {
		t.Errorf("the file of the moment: %+v", m)
	}
	if said := l.ralph("fleet", "status"); !strings.Contains(said, fmt.Sprintf("coordinator of %s, branch main: ", l.path("hub.git"))) || !strings.Contains(said, fmt.Sprintf("(pid %d, %s) since ", pid, l.path("work"))) {
		t.Errorf("who has the lease: %s", said)
	}
	l.worker("south")
	l.until("south is seen", func() bool { return strings.Contains(l.ralph("status"), "south ready, 0 of 2 slots busy") })
	l.kill("north")
	l.until("north is lost", func() bool { return strings.Contains(l.ralph("status"), "north lost, not heard of since ") })
	l.until("south has the steps", func() bool { return strings.Contains(l.ralph("status"), "south ready, 2 of 2 slots busy") })
	l.ralph("fleet", "drain", "south")
	l.until("south drains", func() bool {
		return strings.Contains(l.ralph("status"), "south draining, ") && strings.Contains(l.ralph("fleet", "workers"), ", draining\n")
	})
	l.write("count/go", "")
	must(t, l.outcome("south"))
	l.until("south has ended", func() bool {
		return !strings.Contains(l.ralph("status"), "south ") && !strings.Contains(l.ralph("fleet", "workers"), "south ")
	})
	l.worker("east")
	l.says("coordinator", "Session summary")
	must(t, l.outcome("coordinator"))
	if _, err := os.Stat(l.path("work/" + workers.File)); err == nil {
		t.Error("the file of the moment is still there")
	}
	said := l.ralph("log")
	if strings.Count(said, "WORKER: south: a turn of t-") != 2 || strings.Contains(said, "WORKER: north") || strings.Count(said, ": the checks of t-") != 2 {
		t.Errorf("the log says of where:\n%s", said)
	}
	if said := l.ralph("fleet", "status"); !strings.Contains(said, "no coordinator is at work") {
		t.Errorf("who has the lease at the end: %s", said)
	}
	l.holds(2)
}
