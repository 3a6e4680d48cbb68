//go:build fleet && linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// clocks builds the programs once more, with a clock that is as much off as CLOCK_AHEAD (seconds) says to each
// process: the toolchain takes another time.Now for the one of Go.
func (l *land) clocks() (bin string) {
	l.t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(l.t, err)
	real := filepath.Join(strings.TrimSpace(string(out)), "src/time/time.go")
	b, err := os.ReadFile(real)
	must(l.t, err)
	const now = "sec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(b), now) {
		l.t.Skipf("time.Now of %s is another one: it cannot be moved", runtime.Version())
	}
	text := strings.ReplaceAll(string(b), now, now+"\tsec += clockAhead\n")
	text = strings.Replace(text, "import (\n", "import (\n\t\"syscall\"\n", 1) + `
var clockAhead = func() (n int64) {
	s, _ := syscall.Getenv("CLOCK_AHEAD")
	less := len(s) > 0 && s[0] == '-'
	for _, c := range s {
		if c >= '0' && c <= '9' {
			n = n*10 + int64(c-'0')
		}
	}
	if less {
		return -n
	}
	return n
}()
`
	l.write("time.go", text)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{real: l.path("time.go")}})
	must(l.t, err)
	l.write("overlay.json", string(overlay))
	bin = l.path("clocks")
	build := exec.Command("go", "build", "-overlay", l.path("overlay.json"), "-o", bin+"/", "github.com/ralph-loop/ralph/cmd/ralph", "github.com/ralph-loop/ralph/cmd/ralph-fleet")
	if out, err := build.CombinedOutput(); err != nil {
		l.t.Fatalf("build with another clock: %v\n%s", err, out)
	}
	return bin
}

// off has what is started next be an hour off the clock of this machine, or less, or not at all.
func (l *land) off(bin string, ahead time.Duration) {
	l.bin = bin
	l.env = append(l.env, fmt.Sprintf("CLOCK_AHEAD=%d", int(ahead.Seconds())))
}

// Coordinator, worker and server are an hour apart each: a worker is told of labels, tried and drained as any,
// a question of its agent has the time that a person has for it, each task lands once, nothing took an hour or
// less than nothing, and the lease is the coordinator's all the while.
func TestClocksApart(t *testing.T) {
	rules := `  - when: {stage: build}
    do:
      - ask: {question: "Which shade?", options: [red, blue], answers: {red: [{run: "echo by $RALPH_TASK >$RALPH_TASK.txt"}, {signal: COMPLETE}]}}
`
	l := newLand(t, rules, 1)
	b, err := os.ReadFile(l.path("work/ralph/config.yaml"))
	must(t, err)
	l.write("work/ralph/config.yaml", string(b)+"fleet: {labels: [gpu]}\n")
	l.run(l.path("work"), "git", "commit", "-qam", "ask for a label")
	usual, bin := l.bin, l.clocks()
	l.off(bin, time.Hour)
	l.worker("w1", "--label", "gpu")
	l.off(bin, -time.Hour)
	l.coordinator()
	l.says("coordinator", "NEEDS YOU")
	l.says("w1", "the clock of its coordinator is -2h0m")
	if out := l.ralph("fleet", "doctor"); !strings.Contains(out, "ok    w1: ") {
		t.Errorf("doctor: %s", out)
	}
	var gates []struct {
		ID       string    `json:"id"`
		AskedAt  time.Time `json:"asked_at"`
		Deadline time.Time `json:"deadline"`
	}
	must(t, json.Unmarshal([]byte(l.ralph("gates", "--json")), &gates))
	if len(gates) != 1 {
		t.Fatalf("gates: %+v", gates)
	}
	if ago := time.Now().Add(-time.Hour).Sub(gates[0].AskedAt); ago < -time.Minute || ago > 10*time.Minute {
		t.Errorf("by the coordinator's clock it was asked %s ago", ago)
	}
	l.start("second", l.path("work"), "ralph", "autopilot", "--trust", "--fleet")
	l.says("second", "(lease 1, last heard of ")
	if said := l.said("second"); strings.Contains(said, "heard of -") || strings.Contains(said, "heard of 1h") || strings.Contains(said, "heard of 59m") {
		t.Errorf("who waits hears: %s", said)
	}
	l.kill("second")
	l.ralph("answer", gates[0].ID, "red")
	l.says("coordinator", "Session summary")
	if err := l.outcome("coordinator"); err != nil {
		t.Errorf("coordinator: %v", err)
	}
	timed := 0
	for line := range strings.Lines(l.readJournal()) {
		var e struct {
			T    string `json:"t"`
			Fact struct {
				Took *time.Duration `json:"took"`
			} `json:"fact"`
		}
		must(t, json.Unmarshal([]byte(line), &e))
		if d := e.Fact.Took; d != nil {
			timed++
			if *d < 0 || *d > 30*time.Minute {
				t.Errorf("%s took %s", e.T, *d)
			}
		}
	}
	if timed == 0 {
		t.Error("nothing says how long it took")
	}
	if out := l.ralph("fleet", "drain", "w1"); !strings.Contains(out, "takes no more steps") {
		t.Errorf("drain: %s", out)
	}
	if err := l.outcome("w1"); err != nil {
		t.Errorf("w1: %v", err)
	}
	l.bin = usual
	l.holds(1)
	l.alone()
}

func (l *land) readJournal() string {
	l.t.Helper()
	b, err := os.ReadFile(l.path("work/ralph/.state/journal.jsonl"))
	must(l.t, err)
	return string(b)
}
