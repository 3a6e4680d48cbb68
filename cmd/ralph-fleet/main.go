// Command ralph-fleet is ralph with the fleet: it carries steps out on other machines. `ralph`
// runs it where it is asked for that, so that no other command starts later for it. It owns
// nothing but the way into internal/cli.
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/fleet"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/version"
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
	if err == nil {
		self, err = fleetcmd.Beside(self, "ralph", os.Environ()) // what agents and shims call is the small program
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ralph:", err)
		return 2
	}
	return cli.WithFleet(context.Background(), workspace.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Dir: dir, Environ: os.Environ(),
		Terminal: term.IsTerminal(int(os.Stdout.Fd())), Self: self, Version: version.Text(),
	}, fleet.Program{})
}
