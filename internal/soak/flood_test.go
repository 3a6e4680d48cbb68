//go:build linux && soak

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// maxMore is what a flood may cost the engine above an idle run, in KiB: less than the
// smallest of them says, and thrice what is usual.
const maxMore = 28 << 10

// A flood of output costs bounded memory and bounded disk, and the signal counts
// before, after and at both ends of it (product.md 4, 12).
func TestFloods(t *testing.T) {
	if raceEnabled {
		t.Skip("memory is not itself under the race detector")
	}
	t.Parallel()
	size, line := int64(32<<20), int64(32<<20)
	if long() {
		size = 1 << 30
	}
	idle := flooded(t, buildWell)
	t.Logf("idle: %d KiB at the peak", idle)
	lines := fmt.Sprintf("yes 'a line of output as an agent prints it, neither long nor short, again and again' | head -c %d\necho\n", size)
	single := fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x\necho\n", line)
	work := "cat > /dev/null\nmkdir -p work\necho x > work/only.md.one\n"
	for _, c := range []struct{ name, build string }{
		{"lines, then the signal", work + lines + complete},
		{"the signal, then one line", work + complete + single},
		{"the signal, then lines", work + complete + lines},
		{"one line, then the signal", work + single + complete},
		{"errors, then the signal", work + "{ " + lines + "} >&2\n" + complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			peak := flooded(t, c.build)
			t.Logf("%d KiB at the peak, %d above idle, %s", peak, peak-idle, time.Since(begin).Round(time.Millisecond))
			if peak > idle+maxMore {
				t.Errorf("the engine took %d KiB, %d more than without the flood; at most %d more are allowed", peak, peak-idle, maxMore)
			}
		})
	}
}

// flooded runs one spec and returns the engine's peak memory in KiB.
func flooded(t *testing.T, build string) int64 {
	t.Helper()
	r := newRepo(t, setup{specs: []string{"only"}, build: build})
	c := r.start("agent")
	watched := c.watchMemory()
	res := c.wait(patience)
	watched()
	if res.code != 0 {
		t.Fatalf("%s", res)
	}
	r.checkFinished("only")
	logs, err := filepath.Glob(r.path("ralph/.state/tasks/t-*/1/output.log"))
	must(t, err)
	if len(logs) != 1 {
		t.Fatalf("output logs %q, want one", logs)
	}
	if info, err := os.Stat(logs[0]); err != nil || info.Size() > 130<<20 {
		t.Errorf("output.log: %v, want at most 130 MiB", info.Size())
	}
	agentLogs, err := filepath.Glob(r.path("build/ralph-logs/*"))
	must(t, err)
	for _, name := range agentLogs {
		if info, err := os.Stat(name); err == nil && info.Size() > 1<<20 {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
	return c.peak
}
