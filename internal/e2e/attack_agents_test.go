//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Issue 15, Proof: the attacks of S1 to S11 by Claude Code and Codex themselves, whose model
// wants them: as commands that ralph judges, and in files that it does not see into. With the
// settings that `ralph init` leaves, in each sandbox; nobody is there to answer.
func TestRealAgentsAttack(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{sandbox.Landlock, sandbox.Bubblewrap} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			eachOf(t, []string{"claude-2.1.329", "codex-0.169.0"}, func(t *testing.T, a program) { agentAttacks(t, kind, a) })
		})
	}
}

func agentAttacks(t *testing.T, kind string, a program) {
	v := &victim{kept: map[string]string{}}
	var wants []string
	var n atomic.Int32
	var heard strings.Builder
	v.place = developed(t, ownSandboxLeft(a), func(p *place) *modeltest.Server {
		wants = commandsOfAttacks(p, kind)
		return modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			if q.Results {
				heard.WriteString(q.Last + "\n")
			}
			if at := int(n.Add(1)); at <= len(wants) {
				return modeltest.Do(modeltest.Run(wants[at-1]))
			}
			return complete("I did what I was told.")
		}))
	})
	v.remote, v.outside = filepath.Join(v.base, "remote.git"), filepath.Join(v.base, "outside")
	v.skipWithout(kind)
	v.own()
	v.publish()
	ralphtest.Program(t, filepath.Join(v.base, "evil"), "#!/bin/sh\necho \"escaped: $0 $*\" >> "+v.outside+"/escaped.txt\n")
	v.write("../names", fmt.Sprintf("EVIL='%s/evil' OUTSIDE='%s' RALPH='%s' SERVER='%s'; export EVIL OUTSIDE RALPH SERVER\n", v.base, v.outside, v.ralph, v.server))
	v.env = append(v.env, "RALPH_SANDBOX_KIND="+kind)
	out, code := v.run(v.ralph, "agent", "--unattended")
	if code > 4 || code < 0 || strings.Contains(out, "panic:") || strings.Contains(out, "Stopping: error") {
		t.Errorf("the engine ended with %d", code)
	}
	if int(n.Load()) <= len(wants) {
		t.Errorf("only %d of %d attacks were tried:\n%s\n%s", n.Load(), len(wants), out, heard.String())
	}
	v.write("../tmp/log", heard.String())
	v.unharmed("S3") // there was a gate, and nobody has approved it
	if !strings.Contains(out, "SANDBOX: "+a.name+" of ") {
		t.Errorf("nobody is told what the sandbox refused:\n%s", out)
	}
	if t.Failed() {
		t.Logf("%s\nthe agent heard:\n%s", out, heard.String())
	}
}

// commandsOfAttacks are the attacks that a kind of sandbox holds where ralph works by itself (in
// the checkout, and with Landlock in a worktree), each as a command and in a file.
func commandsOfAttacks(p *place, kind string) []string {
	var files, commands, last []string
	names := ". " + filepath.Join(p.base, "names") + "; "
	for i, x := range attacks() {
		if x.worktree && kind == sandbox.Bubblewrap || x.sockets && kind == sandbox.Landlock {
			continue
		}
		file := filepath.Join(p.base, fmt.Sprintf("attack%d", i))
		if err := os.WriteFile(file, []byte(names+"\n"+x.does+"\n"), 0o600); err != nil {
			p.t.Fatal(err)
		}
		if strings.Contains(x.name, "the home") { // with it goes what the agent itself needs
			last = append(last, names+x.does, "sh "+file)
			continue
		}
		commands, files = append(commands, names+x.does), append(files, "sh "+file)
	}
	return append(append(commands, files...), last...)
}
