package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ralph-loop/ralph/internal/proc"
)

// build makes the program as people get it.
func build(tb testing.TB) string {
	tb.Helper()
	bin := filepath.Join(tb.TempDir(), "ralph")
	_, said, res, err := proc.NewRunner("").Output(tb.Context(), proc.Command{
		Args: []string{"go", "build", "-o", bin, "github.com/ralph-loop/ralph/cmd/ralph"}, Env: os.Environ(),
	})
	if err != nil || res.Code != 0 {
		tb.Fatalf("build ralph: %v\n%s", err, said)
	}
	return bin
}

// table gathers the figures for people to read.
type table struct{ rows [][2]string }

func (t *table) add(what, figure string) { t.rows = append(t.rows, [2]string{what, figure}) }

func (t *table) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, r := range t.rows {
		fmt.Fprintf(w, "| %s\t| %s\n", r[0], r[1])
	}
	fmt.Fprintln(w)
	_ = w.Flush()
}

// BenchmarkProgram measures whole processes and prints a table at its end:
//
//	go test -run '^$' -bench Program -benchtime 1x ./internal/bench
func BenchmarkProgram(b *testing.B) {
	bin := build(b)
	var t table
	t.add("load average before (others at work disturb wall times)", load())
	b.Run("tasks=20", func(b *testing.B) { benchTasks(b, bin, 20, 7, &t) })
	b.Run("tasks=100", func(b *testing.B) { benchTasks(b, bin, 100, 7, &t) })
	for _, c := range []crowd{{16, 4, 100}, {100, 4, 100}, {8, 4, 20_000}} {
		b.Run("crowd="+strings.ReplaceAll(c.String(), " ", "_"), func(b *testing.B) { benchCrowd(b, bin, c, 5, &t) })
	}
	b.Run("plan", func(b *testing.B) { benchPlan(b, bin, &t) })
	b.Run("slots", func(b *testing.B) { benchSlots(b, bin, &t) })
	b.Run("start", func(b *testing.B) { benchStart(b, bin, &t) })
	b.Run("stream", func(b *testing.B) { benchStream(b, bin, &t) })
	b.Run("idle", func(b *testing.B) { benchIdle(b, bin, &t) })
	b.Run("pause", func(b *testing.B) { benchPause(b, &t) })
	b.Run("paused", func(b *testing.B) { benchPaused(b, bin, &t) })
	b.Run("follow", func(b *testing.B) { benchFollow(b, bin, &t) })
	t.add("load average after", load())
	t.print()
}

// load is how busy the machine was in the last minutes, with the table's own
// work: two runs compare only when it is alike.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}
