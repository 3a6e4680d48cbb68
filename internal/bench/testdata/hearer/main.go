// Hearer runs an agent and does with its output the least that ralph promises: each event is read
// once, secrets are looked for, and all is in a file with its sum. Nothing is understood, shown or
// decided.
//
//	hearer <file> <agent>
package main

import (
	"crypto/sha256"
	"io"
	"os"
	"os/exec"

	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/redact"
)

func main() {
	f, err := os.Create(os.Args[1])
	must(err)
	out := redact.New(nil, func(string) []redact.Secret { return nil }).Behind(io.MultiWriter(f, sha256.New()))
	events := &wire.Events{Line: func(line []byte) { wire.EachMember(line, func(_, _ []byte) {}) }}
	cmd := exec.Command(os.Args[2])
	said, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	for buf := make([]byte, 64<<10); ; {
		n, err := said.Read(buf)
		if err == io.EOF {
			break
		}
		must(err)
		_, err = out.Write(buf[:n])
		must(err)
		events.Write(buf[:n])
	}
	must(cmd.Wait())
	must(out.Close())
	must(f.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
