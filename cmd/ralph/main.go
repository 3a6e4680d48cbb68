// Command ralph runs coding agents on a queue of specs. It owns nothing but the
// way into internal/cli.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph/internal/cli"
	_ "github.com/ralph-loop/ralph/internal/early" // answers what can be answered before all is initialised
	"github.com/ralph-loop/ralph/internal/version"
	"github.com/ralph-loop/ralph/internal/workspace"
)

func main() { os.Exit(run()) }

func run() int {
	collectLate()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ralph: read the working directory:", err)
		return 2
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ralph: find this program:", err)
		return 2
	}
	return cli.Main(context.Background(), workspace.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Dir: dir, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), Self: self, Version: version.Text(),
	})
}

// collectLate lets the heap grow to 12 MiB before garbage is collected. Most commands never come
// to that: they end before. An engine lives on 2 MiB, and would else collect at every 4, some
// three times for two tasks; where more is alive it is as usual, as it is all along where somebody
// has said otherwise (GOGC).
func collectLate() {
	const usual = 100
	if said := debug.SetGCPercent(3 * usual); said != usual {
		debug.SetGCPercent(said)
		return
	}
	collectLater(3 * usual)
}

// collectLater looks, after each collection, how much is alive.
func collectLater(set int) {
	const usual, heap = 100, 12 << 20
	runtime.AddCleanup(new([64]byte), func(set int) {
		alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(alive)
		next := usual
		if alive[0].Value.Kind() == metrics.KindUint64 {
			next = min(max(usual, heap*usual/int(max(1, alive[0].Value.Uint64()))-usual), 3*usual) //nolint:gosec // a heap's size
		}
		if said := debug.SetGCPercent(next); said != set { // a command has chosen its own, perhaps for a while
			debug.SetGCPercent(said)
			next = set
		}
		collectLater(next)
	}, set)
}
