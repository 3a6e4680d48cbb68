// Command ralph runs coding agents on a queue of specs. It owns nothing but the
// way into internal/cli.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/workspace"
)

func main() { os.Exit(run()) }

func run() int {
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
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), Self: self, Version: version(),
	})
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v = "devel-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}
