//go:build fleet

package fleet_test

import (
	"fmt"
	"strings"
	"testing"
)

// While an agent is at work on another machine, `ralph fleet status` says who has the lease, and once the step has
// ended the journal says where it was carried out.
func TestWhereStepsAreCarriedOut(t *testing.T) {
	l := newLand(t, "", 1)
	l.playsFor("3s")
	l.worker("north")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	pid := l.procs["coordinator"].Process.Pid
	if said := l.ralph("fleet", "status"); !strings.Contains(said, fmt.Sprintf("coordinator of %s, branch main: ", l.path("hub.git"))) || !strings.Contains(said, fmt.Sprintf("(pid %d, %s) since ", pid, l.path("work"))) {
		t.Errorf("who has the lease: %s", said)
	}
	l.says("coordinator", "Session summary")
	must(t, l.outcome("coordinator"))
	said := l.ralph("log")
	for _, words := range []string{"WORKER: north: a turn of t-", "WORKER: north: the checks of t-"} {
		if strings.Count(said, words) != 1 {
			t.Errorf("the log does not say %q once:\n%s", words, said)
		}
	}
	if said := l.ralph("fleet", "status"); !strings.Contains(said, "no coordinator is at work") {
		t.Errorf("who has the lease at the end: %s", said)
	}
	l.holds(1)
}
