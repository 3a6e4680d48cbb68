//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// A person's own session of the real Claude Code, which may run what it likes, with the
// settings of `ralph hook settings`: what the never list has is held without an engine and
// answered from another terminal. Nobody's answer, broken settings and a broken journal
// deny, be the command ever so harmless (C-034, C-037, C-041, X-76, X-77).
func TestHookInAPersonsClaude(t *testing.T) {
	t.Parallel()
	eachClaude(t, func(t *testing.T, a program) {
		f := newFenced(t)
		const good, journal = "version: 1\n", "ralph/.state/journal.jsonl"
		push := func(branch string) attempted {
			return attempted{call: modeltest.Run("git push --force origin main:" + branch), words: "git push --force", kind: ralph.ApprovalOperation, never: true}
		}
		denied, approved, late := push("main"), push("main"), push("side")
		approved.allow, late.kind = true, ""
		var facts []byte
		steps := []struct {
			try    attempted
			before func() // the try
			told   string // what the model is told of it, in part
		}{
			{attempted{call: modeltest.Run("touch ran.txt")}, nil, ""},
			{denied, nil, "not in this house"},
			{approved, nil, ""},
			{late, func() { f.write("ralph/config.yaml", good+"gate: {timeout: 1s}\n") }, "nobody answered within 1s"},
			{attempted{call: modeltest.Run("touch settings.txt")}, func() { f.write("ralph/config.yaml", "gate: {timeout: soon}\n") }, "ralph cannot say whether this is allowed"},
			{attempted{call: modeltest.Run("touch journal.txt")}, func() {
				f.write("ralph/config.yaml", good)
				facts = []byte(f.read("repo/" + journal))
				f.write(journal, "not a journal\n")
			}, "ralph cannot say whether this is allowed"},
			{attempted{call: modeltest.Run("touch mended.txt")}, func() { f.write(journal, string(facts)) }, ""},
		}
		n := 0
		m := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
			if len(q.Tools) == 0 {
				return modeltest.Reply{Text: "a title"}
			}
			if n > 0 && !strings.Contains(q.Last, steps[n-1].told) {
				t.Errorf("try %d: the model is told %s, want %q", n, q.Last, steps[n-1].told)
			}
			if n == len(steps) {
				return modeltest.Reply{Text: "I tried."}
			}
			if n++; steps[n-1].before != nil {
				steps[n-1].before()
			}
			return modeltest.Do(steps[n-1].try.call)
		})
		f.begun(good)
		env := f.env
		for k, v := range m.ClaudeEnv() {
			env = append(env, k+"="+v)
		}
		e := f.startProgram(env, a.path(t), "-p", "--allowedTools", "Bash", "--settings", f.must(f.ralph, "hook", "settings"), "Do it.")
		f.answer(e, []attempted{denied, approved})
		if out := e.end(); n != len(steps) || !strings.Contains(out, "I tried.") {
			t.Errorf("%d of %d tries\n%s", n, len(steps), out)
		}
		for name, want := range map[string]bool{"ran.txt": true, "settings.txt": false, "journal.txt": false, "mended.txt": true} {
			if f.has(filepath.Join(f.dir, name)) != want {
				t.Errorf("%s is there: %t", name, !want)
			}
		}
		side := !strings.Contains(f.must("git", "-C", f.remote, "log", "--format=%s", "side"), "of others")
		if !f.pushed() || side {
			t.Errorf("the approved was pushed: %t, what nobody answered: %t", f.pushed(), side)
		}
		if gates := f.gates(); len(gates) > 0 {
			t.Errorf("left over: %+v", gates)
		}
		f.must(f.ralph, "verify")
	})
}
