//go:build fleet && linux

package fleet_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// `make demo-fleet`: whoever is killed meanwhile, what has landed is what one machine makes of the same plan, files and
// commits.
func TestDemo(t *testing.T) {
	l := newLand(t, "", 0)
	_, port, _ := net.SplitHostPort(freePort(t))
	l.env = append(l.env, "FLEET_PORT="+port, "FLEET_TASKS=6")
	script, err := filepath.Abs("../../.ci/demo-fleet")
	must(t, err)
	l.start("demo", l.dir, "bash", script, l.path("demo"), l.bin, os.Getenv("RALPH_E2E_TEMPORAL"))
	said := func(who, words string) {
		l.t.Helper()
		l.until(who+" says "+words, func() bool {
			b, _ := os.ReadFile(l.path("demo/" + who + ".log"))
			return strings.Contains(string(b), words)
		})
	}
	for who, words := range map[string]string{"north": "begins", "coordinator": "BUILD", "dashboard": "http"} {
		said(who, words)
		b, err := os.ReadFile(l.path("demo/" + who + ".pid"))
		must(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		must(t, err)
		must(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	if err := l.outcome("demo"); err != nil {
		t.Errorf("the demo: %v", err)
	}
	b, err := os.ReadFile(l.path("demo.log"))
	must(t, err)
	for _, words := range []string{"the same files and the same 8 commits", "north was killed", "coordinator was killed", "The history holds", ", 0 differ"} {
		if !strings.Contains(string(b), words) {
			t.Errorf("the demo does not say %q: %s", words, b)
		}
	}
	l.alone()
}
