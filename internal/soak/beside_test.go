//go:build linux && soak

package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A person works in the checkout beside `ralph agent` and `ralph autopilot`: commits,
// amends, pulls, rebases, stashes, switches, checks out files, saves plan.jsonl and
// inbox.jsonl by halves, leaves conflict markers in them; and engines are killed. Nothing
// of theirs is lost or moved, HEAD is theirs, nothing done is done again, the engine ends
// or says what it waits for, and `ralph verify` holds (issue 14, R-C1 to R-C5).
//
// The first seed below runs in the default suite, with -short all of them; -tags soak takes new ones for SOAK_TIME.
// SOAK_SEED is the seed of one round, as a failure prints it.
func TestPersonBeside(t *testing.T) {
	t.Parallel()
	if s := os.Getenv("SOAK_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		must(t, err)
		besideRound(t, seed)
		return
	}
	if !long() {
		for _, seed := range []uint64{1, 19, 1003} {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				besideRound(t, seed)
			})
		}
		return
	}
	end, first := time.Now().Add(soakTime(t)), uint64(time.Now().UnixNano())
	t.Logf("the first seed is %d", first)
	const workers = 4 // most of a round is waiting
	for worker := range uint64(workers) {
		t.Run(fmt.Sprintf("worker %d", worker), func(t *testing.T) {
			t.Parallel()
			for seed := first + worker; time.Now().Before(end); seed += workers {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { besideRound(t, seed) })
			}
		})
	}
}

func besideRound(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 14))
	b := newBeside(t, random)
	defer func() {
		if t.Failed() {
			t.Logf("SOAK_SEED=%d: ralph %s, plan and inbox in git: %v\n%s\n%s\n%s", seed, b.command, b.tracked,
				strings.Join(b.trace, "\n"), b.ralph("log").out, b.git("log", "--all", "--graph", "--format=%h %s %d"))
			b.keep(seed)
		}
	}()
	b.start()
	for range 8 + random.IntN(18) {
		b.await(random.IntN(7))
		b.holds()
		b.act()
		b.seen()
	}
	t.Logf("SOAK_SEED=%d: ralph %s, shared %v, %d acts, %d kills, %d facts", seed, b.command, b.tracked, len(b.trace), b.kills, b.facts())
	b.comeBack()
	b.finish()
	b.laws()
}

// start starts an engine, unless one runs. What refuses a start has to say why.
func (b *backend) start() {
	b.t.Helper()
	if b.engine != nil && b.engine.running() {
		return
	}
	b.ended()
	b.spoilt = b.broken()
	b.engine = b.repo.start(b.command)
	b.note("start")
}

// ended judges how the last engine ended.
func (b *backend) ended() {
	b.t.Helper()
	if b.engine == nil {
		return
	}
	<-b.engine.done
	res := b.engine.result()
	switch res.code {
	case -1, 0, 1, 4: // killed; complete; work failed; a person is needed
	case 2:
		if !b.refusedWell(res.errs) {
			b.t.Errorf("the engine refused or broke: %s", tailOf(res))
		}
	default:
		b.t.Errorf("the engine ended: %s", tailOf(res))
	}
	if strings.Contains(res.errs, "panic") || strings.Contains(res.errs, "goroutine ") {
		b.t.Errorf("the engine broke: %s", tailOf(res))
	}
	b.note("the engine ended with %d: %s", res.code, strings.TrimSpace(res.errs))
	_, back, _ := strings.Cut(res.out, "go back (git switch ")
	b.back, _, _ = strings.Cut(back, ")")
	b.engine = nil
}

// refusedWell are the refusals of a start that what the person left explains; each names
// what to do.
func (b *backend) refusedWell(text string) bool {
	for _, words := range b.refusals() {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

func (b *backend) refusals() []string {
	list := []string{"not committed", "detached", "rebase", "merge", "is on branch"}
	if b.spoilt {
		list = append(list, "ralph/plan.jsonl:", "ralph/inbox.jsonl:")
	}
	return list
}

// await returns when n more facts are in the journal, or a moment has passed.
func (b *backend) await(n int) {
	b.t.Helper()
	before := b.facts()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(400 * time.Millisecond); b.facts() < before+n && time.Now().Before(end); <-tick.C {
		if b.engine == nil || !b.engine.running() {
			return
		}
	}
}
