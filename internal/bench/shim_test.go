package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/fastpath"
	"github.com/ralph-loop/ralph/internal/interceptor"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
)

// benchShim is what a call of an agent's program costs through its shim, over the program
// alone: with the engine's word, without an engine, and for a plain call of git. They take
// turns, and each is compared with the program in the same round.
func benchShim(b *testing.B, bin string, t *table) {
	for b.Loop() {
		heard, alone := newBox(b, bin), newBox(b, bin)
		withEngine, without := heard.shims(), alone.shims()
		if err := os.Remove(filepath.Join(without, fastpath.Socket)); err != nil {
			b.Fatal(err)
		}
		asker := heard.interpretedBy(buildTool(b, "asker"), withEngine)
		calls := []struct {
			name, metric string
			goal         float64
			box          *sandboxRepo
			argv         []string
		}{
			{"`npm ci`, the engine's word", "shim-ms", 1.5, heard, []string{filepath.Join(withEngine, "bin", "npm"), "ci"}},
			{"`npm ci`, asked by a program of 2 MB that does nothing else: the limit", "asker-ms", 0, heard, []string{asker, "ci"}},
			{"`git status`, a plain call", "plain-ms", 1.5, heard, []string{filepath.Join(withEngine, "bin", "git"), "status"}},
			{"`npm ci`, after the engine's end", "alone-ms", 0, alone, []string{filepath.Join(without, "bin", "npm"), "ci"}},
		}
		over := make([][]cost, len(calls))
		for range size(100, 2) {
			for i, c := range calls {
				floor, _ := c.box.run(filepath.Join(c.box.dir, "bin", "npm"), "ci")
				one, _ := c.box.run(c.argv...)
				over[i] = append(over[i], cost{one.wall - floor.wall, one.cpu - floor.cpu})
			}
		}
		for i, c := range calls {
			wall, cpu := spreadOf(over[i], wallOf), spreadOf(over[i], cpuOf)
			b.ReportMetric(wall.Median, c.metric)
			what, figure := "a shim's call over its program alone: "+c.name, fmt.Sprintf("%s ms, cpu %.2f ms", wall, cpu.Median)
			if c.goal == 0 {
				t.add(what, figure)
				continue
			}
			t.goal(what, figure, fmt.Sprintf("at most %.1f ms", c.goal), wall.Median <= c.goal)
		}
	}
}

// shims puts those of a turn before programs that do nothing, and returns the turn's folder.
func (b *sandboxRepo) shims() string {
	b.tb.Helper()
	programs := filepath.Join(b.dir, "bin") // what lies in /dev elsewhere may be another file in a sandbox
	if err := os.Mkdir(programs, 0o755); err != nil {
		b.tb.Fatal(err)
	}
	for _, name := range []string{"npm", "git"} {
		if err := os.Symlink("/bin/true", filepath.Join(programs, name)); err != nil {
			b.tb.Fatal(err)
		}
	}
	line, err := interceptor.Listen(b.tb.Context(), nil)
	if err != nil {
		b.tb.Fatal(err)
	}
	b.tb.Cleanup(func() { _ = line.Close() })
	gate := config.Defaults().Gate
	below := interceptor.Interceptor{Self: b.bin, Programs: gate.Shims, Policy: policy.Config{Patterns: gate.Patterns}, Plain: new(interceptor.PlainCalls)}
	env := append(slices.DeleteFunc(b.env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }), "PATH="+programs+":/usr/bin:/bin", "PWD="+b.dir)
	if env, err = below.Put(b.tb.Context(), line.Dir(), append(env, line.Env()...), step.InterceptedTurn{Work: b.dir}); err != nil {
		b.tb.Fatal(err)
	}
	at := len(env) - 1
	b.env = append(slices.DeleteFunc(env[:at], func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }), env[at])
	return line.Dir()
}

// interpretedBy is a shim for npm that another program than ralph is the interpreter of.
func (b *sandboxRepo) interpretedBy(program, folder string) string {
	b.tb.Helper()
	short := filepath.Join(b.tool, "a") // a script's first line has no room for much
	if err := os.Symlink(program, short); err != nil {
		b.tb.Fatal(err)
	}
	shim := filepath.Join(b.tool, "npm")
	b.write(shim, "#!"+short+" "+fastpath.Script+folder+"\n", 0o755)
	return shim
}
