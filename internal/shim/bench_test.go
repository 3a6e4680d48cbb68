package shim_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/shim"
)

// BenchmarkPlainCall: what a shim with as many plain calls as git's costs over the program.
func BenchmarkPlainCall(b *testing.B) {
	calls := [][]string{}
	for i := range 120 {
		calls = append(calls, []string{"log", "--oneline", fmt.Sprint("-", i)})
	}
	dir := b.TempDir()
	_, err := shim.Set{Self: "/bin/false", Programs: []string{"true"}, Plain: map[string][][]string{"true": calls}}.Put(dir, []string{"PATH=/usr/bin:/bin"})
	if err != nil {
		b.Fatal(err)
	}
	path := "PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"
	for name, program := range map[string]string{"program": "/usr/bin/true", "shim": filepath.Join(dir, "bin", "true")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), program, "log", "--oneline", "-119")
				cmd.Env = []string{path}
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
