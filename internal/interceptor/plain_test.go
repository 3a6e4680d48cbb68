package interceptor

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// Issue 17, row 3: what a shim lets pass at once is what it would let pass after a start of
// ralph, by a person's own patterns too.
func TestPlainCallsAreThoseThatPass(t *testing.T) {
	t.Parallel()
	gate := config.Defaults().Gate
	plain := func(change func(*shimRules)) map[string][][]string {
		r := shimRules{Work: "/home/ada/work", Home: "/home/ada", Config: approval.Settings{Patterns: gate.Patterns, Approvals: "never"}}
		if change != nil {
			change(&r)
		}
		return new(PlainCalls).of(r, gate.Shims)
	}
	has := func(list map[string][][]string, call string) bool {
		argv := strings.Fields(call)
		return slices.ContainsFunc(list[argv[0]], func(c []string) bool { return slices.Equal(c, argv[1:]) })
	}
	for name, calls := range frequent() {
		for _, call := range calls {
			argv := append([]string{name}, strings.Fields(call)...)
			for _, sandbox := range []string{"", "landlock"} {
				r := shimRules{Work: "/home/ada/work", Home: "/home/ada", Config: approval.Settings{Patterns: gate.Patterns, Sandbox: sandbox}}
				for _, approvals := range []string{"", "ask", "policy", "auto"} {
					r.Config.Approvals = approvals
					if _, word, held := r.judge(argv, r.Work, worktree.Disk(r.Work, []string{"HOME=" + r.Home})); held {
						t.Errorf("%s %s is held with %q, %q: %+v", name, call, approvals, sandbox, word)
					}
				}
				if !r.passes(argv, []string{r.Work, "/", r.Home, "/tmp"}, []string{r.Home, r.Work, "/", ""}) {
					t.Errorf("%s %s is held somewhere", name, call)
				}
			}
		}
	}
	for _, pattern := range []string{`git\s+add`, `add -A$`, `^npm run`} {
		own := plain(func(r *shimRules) { r.Config.Patterns = append(slices.Clone(gate.Patterns), pattern) })
		for _, call := range []string{"git add -A", "npm run build"} {
			_, _, held := (shimRules{Config: approval.Settings{Patterns: append(slices.Clone(gate.Patterns), pattern), Approvals: "never"}}).
				judge(strings.Fields(call), "/home/ada/work", worktree.Disk("/home/ada/work", nil))
			if held == has(own, call) {
				t.Errorf("with %s: %s is held: %v, and passes at once: %v", pattern, call, held, has(own, call))
			}
		}
		if !has(own, "git status") || !has(plain(nil), "git add -A") {
			t.Errorf("with %s: git status does not pass at once", pattern)
		}
	}
	if got := new(PlainCalls).of(shimRules{Work: "/w", Home: "/h"}, nil); len(got) > 0 {
		t.Errorf("without shims: %v", got)
	}
}

func BenchmarkPlainCalls(b *testing.B) {
	gate := config.Defaults().Gate
	for b.Loop() {
		new(PlainCalls).of(shimRules{Work: "/home/ada/work", Home: "/home/ada", Config: approval.Settings{Patterns: gate.Patterns}}, gate.Shims)
	}
}
