//go:build linux && soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// hard is an agent whose children resist: a daemon in a session of its own that
// ignores TERM, and a plain child.
const hard = "sleep 300 & note $!\nsetsid sh -c 'trap \"\" TERM HUP INT; echo $$ > \"$1\"; while :; do sleep 1; done' sh \"$SOAK/daemon.$$\" > /dev/null 2>&1 &\n" +
	"while ! test -s \"$SOAK/daemon.$$\"; do :; done\nnote $(cat \"$SOAK/daemon.$$\")\nsleep 0.1\n" + buildWell

// An engine that is killed at any moment at all, also in the middle of a commit
// with a slow hook or of shelving, again and again (D-059, D-078).
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	most := 2 * time.Second
	if long() {
		most = 2 * time.Minute
		if d, err := time.ParseDuration(os.Getenv("SOAK_TIME")); err == nil {
			most = d
		}
	}
	seed := uint64(time.Now().UnixNano())
	if long() {
		t.Logf("seed %d", seed)
	}
	end := time.Now().Add(most)
	workers := uint64(2)
	if long() {
		workers = 4
	}
	for worker := range workers { // most of a round is waiting
		t.Run(fmt.Sprintf("worker %d", worker), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, worker))
			for round := 1; time.Now().Before(end) && !t.Failed(); round++ {
				t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) { killAtRandom(t, random) })
			}
		})
	}
}

func killAtRandom(t *testing.T, random *rand.Rand) {
	specs := []string{"first", "second"}
	build := buildWell
	if random.IntN(4) == 0 {
		build = hard
	}
	r := newRepo(t, setup{specs: specs, plan: planTwo, build: build})
	r.hook("pre-commit", fmt.Sprintf("sleep 0.%d\n", random.IntN(5)))
	span := 300 + random.IntN(1200) // ms
	for range 1 + random.IntN(5) {
		c := r.start("agent")
		select {
		case <-c.done:
			if code := c.state.ExitCode(); code != 0 {
				t.Errorf("a start that was not killed: %s", c.result())
			}
		case <-time.After(time.Duration(random.IntN(span)) * time.Millisecond):
		}
		c.kill()
	}
	left := r.pids()
	last := r.start("agent")
	r.waitForTurn(last)
	r.checkGone(left)
	if res := last.wait(patience); res.code != 0 {
		t.Errorf("the last start: %s", res)
	}
	r.checkFinished(specs...)
	if t.Failed() {
		t.Logf("%s\n%s", r.ralph("log").out, r.git("log", "--all", "--graph", "--format=%h %s %d %(trailers:key=Ralph-Receipt)"))
	}
}
