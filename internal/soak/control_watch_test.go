//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/views"
)

// nowStatus is what a test reads of `ralph status --json`.
type nowStatus struct {
	Version int    `json:"version"`
	Status  string `json:"status"`
	Stage   struct {
		Mode string `json:"mode"`
	} `json:"stage"`
	Mode string `json:"-"`
}

// status asks as programs do. It parses at all times, and so does session.json.
func (f *fleet) status() nowStatus {
	f.t.Helper()
	out := f.ok("status", "--json")
	var now nowStatus
	if err := json.Unmarshal([]byte(out), &now); err != nil || now.Version != 1 || now.Status == "" {
		f.t.Fatalf("ralph status --json: %v\n%s", err, out)
	}
	x, err := views.ReadSession(f.root)
	if err != nil {
		f.t.Fatalf("session.json: %v", err)
	}
	if x != nil {
		now.Mode = string(x.Autonomy)
	}
	return now
}

// maxQuiet is how long an engine may do nothing: the longest turn, check and limit
// here take 6 s each, and the person is there all the time; a busy machine takes longer.
const maxQuiet = 2 * time.Minute

// pulse tells when an engine did something last.
type pulse struct {
	last string
	at   time.Time
}

// beat looks at the end of the journal for what moves the work; what people and hooks
// do is no sign of life.
func (p *pulse) beat(f *fleet) time.Duration {
	f.t.Helper()
	b, err := os.ReadFile(f.path("ralph/.state/journal.jsonl"))
	if err != nil {
		b = nil
	}
	last := ""
	lines := strings.Split(string(b), "\n")
	for _, line := range slices.Backward(lines) {
		var e struct{ T, By string }
		if json.Unmarshal([]byte(line), &e) == nil && e.By == "engine" && e.T != "hook.ran" && e.T != "notice.failed" && e.T != "budget.warned" {
			last = line
			break
		}
	}
	if last != p.last || p.at.IsZero() {
		p.last, p.at = last, time.Now()
	}
	return time.Since(p.at)
}

// stuck fails with all that tells why an engine does nothing.
func (f *fleet) stuck(engine *child, why string) {
	f.t.Helper()
	dump := "--- status\n" + f.ralph("status").out + "--- status --json\n" + f.ralph("status", "--json").out
	n := 0
	for _, x := range f.records() {
		if x.Status != "done" && x.Status != "skipped" && n < 12 {
			n++
			dump += fmt.Sprintf("--- why %s (%s, %s)\n%s", x.ID, x.Status, x.Reason, f.ralph("why", x.ID).out)
		}
	}
	dump += "--- log\n" + f.ralph("log", "-n", "40").out
	_ = engine.p.Signal(syscall.SIGQUIT)
	select {
	case <-engine.done:
	case <-time.After(5 * time.Second):
		engine.kill()
	}
	f.t.Fatalf("%s\n%s--- the engine: %s", why, dump, tailOf(engine.result()))
}
