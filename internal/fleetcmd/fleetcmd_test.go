package fleetcmd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/fleetcmd"
)

// `ralph fleet status` says who has the lease, since when, and that it may be had where nobody was heard of.
func TestStatusSaysWhoHasTheLease(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 18, 0, 0, 0, time.Local)
	ada := fleetcmd.Coordinator{Of: "hub.git, branch main", Who: "ada@north (pid 7, /work)", Lease: 3, Since: now.Add(-time.Hour), Heard: now.Add(-4 * time.Second)}
	lost := ada
	lost.Lost, lost.Heard = true, now.Add(-time.Minute)
	old := fleetcmd.Coordinator{Since: now.Add(-time.Hour), Wrong: "it does not say who it is: it is older"}
	ahead := ada
	ahead.Heard = now.Add(time.Minute) // by a server whose clock is ahead
	for _, x := range []struct {
		list []fleetcmd.Coordinator
		want string
	}{
		{nil, "no coordinator is at work; in a repository: ralph autopilot --fleet\n"},
		{[]fleetcmd.Coordinator{ada}, "coordinator of hub.git, branch main: ada@north (pid 7, /work) since 2026-11-26 17:00:00, lease 3, last heard of 4s ago\n"},
		{[]fleetcmd.Coordinator{lost}, "last heard of 1m0s ago: it is lost, and the next one that asks gets the lease\n"},
		{[]fleetcmd.Coordinator{ahead}, "last heard of 0s ago\n"},
		{[]fleetcmd.Coordinator{old}, "a coordinator, or one that was there since 2026-11-26 17:00:00: it does not say who it is: it is older\n"},
	} {
		var b strings.Builder
		fleetcmd.Show(&b, fleetcmd.View{Address: "127.0.0.1:7233", Namespace: "default", Coordinators: x.list}, now)
		if !strings.Contains(b.String(), x.want) {
			t.Errorf("%+v:\n%s", x.list, b.String())
		}
	}
}
