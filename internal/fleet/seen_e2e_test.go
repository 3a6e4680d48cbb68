//go:build fleet

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
