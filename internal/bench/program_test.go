package bench

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// BenchmarkProgram measures whole processes and prints a table at its end:
//
//	go test -run '^$' -bench Program -benchtime 1x ./internal/bench
func BenchmarkProgram(b *testing.B) {
	bin := build(b)
	t := newTable("program")
	for _, n := range size([]int{20, 100}, []int{3}) {
		b.Run(fmt.Sprintf("tasks=%d", n), func(b *testing.B) { benchTasks(b, bin, n, size(7, 1), t) })
	}
	for _, c := range size([]crowd{{16, 4, 100}, {100, 4, 100}, {8, 4, 20_000}}, []crowd{{3, 2, 20}}) {
		b.Run("crowd="+strings.ReplaceAll(c.String(), " ", "_"), func(b *testing.B) { benchCrowd(b, bin, c, size(3, 1), t) })
	}
	for name, bench := range programParts() {
		b.Run(name, func(b *testing.B) { bench(b, bin, t) })
	}
	t.print(b)
}

// programParts are the benchmarks that need no size of their own, in the table's order.
func programParts() iter.Seq2[string, func(*testing.B, string, *table)] {
	return func(yield func(string, func(*testing.B, string, *table)) bool) {
		_ = yield("plan", benchPlan) && yield("slots", benchSlots) && yield("start", benchStart) && yield("shim", benchShim) &&
			yield("stream", benchStream) && yield("idle", benchIdle) &&
			yield("pause", func(b *testing.B, _ string, t *table) { benchPause(b, t) }) &&
			yield("paused", benchPaused) && yield("follow", benchFollow)
	}
}
