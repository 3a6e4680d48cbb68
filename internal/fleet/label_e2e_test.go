//go:build fleet && linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const twoTurns = `  - when: {stage: build, iteration: 1}
    do:
      - run: "echo x >>%[1]s"
  - when: {stage: build}
    do:
      - run: "echo by $RALPH_TASK >$RALPH_TASK.txt; echo x >>%[1]s"
      - signal: COMPLETE
`

// Steps of a repository that asks for labels go to a worker that has all of them and to no other. Where
// there is none they wait, and whoever asks hears which labels are missing and how to start a worker that
// has them; one that starts then gets them, and the next steps too.
func TestLabels(t *testing.T) {
	l := newLand(t, "", 1)
	l.write("scenario.yaml", "about: fleet\nrules:\n"+fmt.Sprintf(twoTurns, l.path("count/plays")))
	b, err := os.ReadFile(l.path("work/ralph/config.yaml"))
	must(t, err)
	l.write("work/ralph/config.yaml", string(b)+"fleet: {labels: [gpu, os="+runtime.GOOS+"]}\n")
	l.run(l.path("work"), "git", "commit", "-qam", "ask for labels")
	l.worker("w1") // it has one of them by itself
	l.worker("w2", "--label", "gpu", "--label", "os=windows")
	l.coordinator()
	const missing = "no single worker has the agent mine and the labels gpu, os=" + runtime.GOOS + "; start one that has: ralph worker --repo "
	l.says("coordinator", missing+l.path("hub.git")+" --agent mine --label gpu")
	var tasks []struct{ ID string }
	must(t, json.Unmarshal([]byte(l.ralph("query", "tasks")), &tasks))
	l.until("why says it", func() bool { return strings.Contains(l.ralph("why", tasks[0].ID), missing) })
	if out := l.ralph("fleet", "status"); !strings.Contains(out, missing) {
		t.Errorf("status: %s", out)
	}
	if out, err := l.command(l.path("work"), "ralph", "fleet", "doctor").CombinedOutput(); err == nil || !strings.Contains(string(out), "miss  fleet.labels: no single worker has the labels gpu, os=") {
		t.Errorf("doctor: %v, %s", err, out)
	}
	if out := l.ralph("fleet", "workers"); !strings.Contains(out, "labels arch="+runtime.GOARCH+", gpu, os=windows") {
		t.Errorf("workers: %s", out)
	}
	l.worker("w3", "--label", "gpu", "--label", "more")
	l.says("coordinator", "Session summary")
	if err := l.outcome("coordinator"); err != nil {
		t.Errorf("coordinator: %v", err)
	}
	if n := strings.Count(l.said("w3"), "turn of t-"); n < 2 {
		t.Errorf("w3 had %d lines about turns: %s", n, l.said("w3"))
	}
	for _, w := range []string{"w1", "w2"} {
		if said := l.said(w); strings.Contains(said, " of t-") {
			t.Errorf("%s has not what was asked for, and had a step: %s", w, said)
		}
	}
	for _, w := range []string{"w1", "w2", "w3"} {
		l.stop(w)
	}
	l.holds(1)
	l.alone()
}

// A task asks for labels of its own: the others go where they can, and it waits for a worker that has them.
func TestLabelsOfATask(t *testing.T) {
	l := newLand(t, "", 1)
	l.playsFor("100ms")
	l.ralph("task", "add", "Special", "--worker", "crimson")
	l.worker("w1", "--label", "blue")
	l.coordinator()
	l.says("coordinator", "no worker has the label crimson; start one that has: ralph worker --repo "+l.path("hub.git")+" --agent mine --label crimson")
	l.until("the other task is done", func() bool { return l.plays() == 1 })
	l.worker("w2", "--label", "crimson")
	l.says("coordinator", "Session summary")
	must(t, l.outcome("coordinator"))
	if n := strings.Count(l.said("w2"), "turn of t-"); n == 0 || l.plays() != 2 {
		t.Errorf("the agent was asked %d times, by w2: %s", l.plays(), l.said("w2"))
	}
	l.stop("w1")
	l.stop("w2")
	l.holds(2)
	l.alone()
}

// A spec asks for labels in its head, and may be corrected while its step waits: the step begins anew with
// what is asked for now, also where a coordinator was killed meanwhile. One that is started in between does
// not go on with what nobody wants any more.
func TestLabelsOfASpec(t *testing.T) {
	for name, killed := range map[string]bool{"edited": false, "edited between two coordinators": true} {
		t.Run(name, func(t *testing.T) {
			l := newLand(t, "", 0, keyed)
			l.playsFor("100ms")
			must(t, os.MkdirAll(l.path("work/ralph/specs"), 0o700))
			const spec = "---\nworker: %s\n---\n# One thing\n\n- [ ] one thing\n"
			l.write("work/ralph/specs/one.md", fmt.Sprintf(spec, "[crimson]"))
			l.ralph("plan", "one.md", "--from-checklist")
			l.worker("w1", "--label", "blue")
			l.coordinator()
			l.says("coordinator", "no worker has the label crimson; start one that has: ")
			if killed {
				l.kill("coordinator")
				must(t, os.Rename(l.path("coordinator.log"), l.path("killed.log")))
			}
			l.write("work/ralph/specs/one.md", fmt.Sprintf(spec, "blue"))
			if killed {
				l.coordinator()
			}
			l.says("coordinator", "Session summary")
			if err := l.outcome("coordinator"); err != nil {
				t.Errorf("coordinator: %v", err)
			}
			if n := l.plays(); n != 1 {
				t.Errorf("the agent was asked %d times", n)
			}
			l.stop("w1")
			l.holds(1)
			l.alone()
			for _, name := range []string{"temporal.db", "temporal.db-wal"} {
				b, _ := os.ReadFile(l.path(name))
				if slices.Contains(strings.Fields(string(b)), l.path("hub.git")) || strings.Contains(string(b), `"repo":"`) {
					t.Errorf("%s of the server has the address in the clear", name)
				}
			}
		})
	}
}
