//go:build linux && soak

package soak

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// fleet is a crowd whose agents meet limits, errors and budgets, with hooks and a
// webhook that do not always work.
type fleet struct {
	*crowd
	command string       // autopilot, agent
	planned int          // tasks, or specs in the inbox
	notices atomic.Int64 // that the webhook got
}

const fleetConfig = `version: 1
parallel: %[3]d
agent: {primary: alpha, fallback: [beta]}
agents:
  alpha: {driver: scripted, scenario: '%[1]s/scene.yaml', env: {SOAK: '%[1]s', AGENT: alpha}}
  beta: {driver: scripted, scenario: '%[1]s/scene.yaml', env: {SOAK: '%[1]s', AGENT: beta}}
quality: {commands: [sh check.sh]}
diff: {empty: off}
errors: {retry_base: 20ms, rate_limit_base: 50ms, max_rate_limit_retries: 2}
construct: {stage_timeout: 6s}
task: {delay: 0s, timeout: 6s}
agent_mode: {max_failures: 20}
notify:
  webhooks: ['%[2]s']
`

// newFleet makes the repository with n tasks, some of which wait for others, or with n
// specs in the inbox.
func newFleet(t *testing.T, random *rand.Rand, command string, n, slots int) *fleet {
	t.Helper()
	f := &fleet{command: command, planned: n}
	sink := f.sink(t)
	const config = "[gc]\nauto = 200\nautoDetach = false\n"
	var plan []planned
	for i := range n {
		p := plannedTask(i)
		if i > 0 && random.IntN(4) == 0 {
			p.Deps = []string{plannedTask(max(0, i-1-random.IntN(8))).ID}
		}
		plan = append(plan, p)
	}
	if command == "autopilot" {
		f.crowd = newCrowd(t, crowdSetup{plan: plan, slots: slots, config: config})
	} else {
		f.crowd = &crowd{newRepo(t, setup{})}
		write(t, f.path(".git/config"), readAll(t, f.path(".git/config"))+config)
	}
	write(t, f.path("ralph/config.yaml"), fmt.Sprintf(fleetConfig, f.notes, sink, slots))
	must(t, os.MkdirAll(f.note("turns"), 0o755))
	write(t, f.note("scene.yaml"), limitedScene)
	write(t, f.note("turn.sh"), turnScript)
	write(t, f.note("compact.sh"), compactScript)
	for i, p := range plan {
		write(t, f.note("fates/"+p.ID+".build"), fatesOf(random, 75, 6))
		if command == "agent" {
			write(t, f.path(specName(i)), "# A spec\n\nDo it.\n")
			for _, stage := range []string{"plan", "verify", "decompose", "resolve"} {
				write(t, f.note("fates/"+filepath.Base(specName(i))+"."+stage), fatesOf(random, 40, 4))
			}
			write(t, f.note("fates/"+filepath.Base(specName(i))+".build"), fatesOf(random, 70, 12))
		}
	}
	write(t, f.note("fates/crowd.md.decompose"), fatesOf(random, 75, 12))
	write(t, f.note("fates/crowd.md.build"), fatesOf(random, 90, 30))
	f.hooks(t)
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "control")
	if command == "agent" {
		for i := range n {
			f.ok("inbox", "add", filepath.Base(specName(i)))
		}
		f.git("add", "-A")
		f.git("commit", "-q", "--allow-empty", "-m", "queue")
	}
	return f
}

func specName(n int) string { return fmt.Sprintf("ralph/specs/s%03d.md", n) }

// hooks fail, take their time, stop the loop, and steer it themselves.
func (f *fleet) hooks(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(f.path("ralph/hooks"), 0o755))
	for name, text := range map[string]string{
		"pre-turn":       "chance 150 && { echo enough; exit 2; }\nchance 15 && exit 1\nexit 0\n",
		"pre-merge":      "chance 60 && exit 2\nchance 5 && exit 1\nexit 0\n",
		"step-complete":  "cat > /dev/null\n",
		"step-failed":    "echo it failed; exit 1\n",
		"AGENT_BLOCKED":  "sleep 0.3\n",
		"rate-limited":   "chance 3 && kill -9 $$\nexit 0\n",
		"agent-switched": "exec > /dev/null 2>&1 < /dev/null\nexit 7\n",
		"PAUSE":          "chance 6 && '" + binary() + "' resume > /dev/null 2>&1\nexit 0\n",
	} {
		head := "#!/bin/sh\nchance() { test ! -e '" + f.note("calm") + "' && test $(($(od -An -N2 -tu2 /dev/urandom) % $1)) = 0; }\n"
		ralphtest.Program(t, f.path("ralph/hooks/"+name), head+text)
	}
}

// sink is a webhook that mostly answers.
func (f *fleet) sink(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n := f.notices.Add(1) % 40; {
		case n%7 == 3:
			w.WriteHeader(http.StatusInternalServerError)
		case n%11 == 5:
			w.WriteHeader(http.StatusTooManyRequests)
		case n == 39:
			select {
			case <-r.Context().Done():
			case <-time.After(time.Second):
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// weather sets and takes away the limits of the agents' service, until stop.
func (f *fleet) weather(random *rand.Rand, stop <-chan struct{}) {
	ends := map[string]time.Time{}
	for {
		for _, agent := range []string{"alpha", "beta"} {
			path := f.note("limit." + agent)
			now := time.Now()
			if end, ok := ends[agent]; ok {
				if !now.Before(end) {
					_ = os.Remove(path)
					delete(ends, agent)
				}
				continue
			}
			if random.IntN(25) > 0 {
				continue
			}
			kind := []string{"reset", "reset", "plain", "text", "busy"}[random.IntN(5)]
			ends[agent] = now.Add(time.Duration(50+random.IntN(2500)) * time.Millisecond)
			text := kind + " " + ends[agent].UTC().Format(time.RFC3339Nano) + "\n"
			if os.WriteFile(path+".new", []byte(text), 0o644) == nil {
				_ = os.Rename(path+".new", path)
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
