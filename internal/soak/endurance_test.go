//go:build linux && soak && !race

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// holds is what an engine and its repository hold at a moment.
type holds struct {
	memory, handles, threads int // KiB that are no file's; open files; threads
	worktrees, refs, temp    int
}

// One engine does 50 specs in a row, and holds at the end what it held at the beginning: memory,
// open files, threads, worktrees, references, temporary files. It is looked at in the planning of
// each spec, whose agent waits for it: then nothing else is at work.
func TestEndurance(t *testing.T) {
	if !long() {
		t.Skip("50 specs take minutes: without -short")
	}
	const specs = 50
	for _, where := range []string{"checkout", "worktrees"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := setup{plan: "echo > \"$SOAK/at.$RALPH_SPEC\"\nwhile ! test -e \"$SOAK/go.$RALPH_SPEC\"; do sleep 0.01; done\n" + planTwo}
			for i := range specs {
				s.specs = append(s.specs, fmt.Sprintf("spec%d", i))
			}
			if where == "worktrees" {
				s.task = "parallel: 2\n"
			}
			r := newRepo(t, s)
			engine := r.start("agent")
			var seen []holds
			for _, spec := range s.specs {
				eventually(t, "the planning of "+spec, patience, func() bool {
					if !engine.running() {
						t.Fatalf("the engine ended before %s: %s", spec, tailOf(engine.result()))
					}
					return exists(r.note("at." + spec + ".md"))
				})
				seen = append(seen, r.holds(engine.p.Pid))
				write(t, r.note("go."+spec+".md"), "")
			}
			if res := engine.wait(patience); res.code != 0 {
				t.Fatal(tailOf(res))
			}
			r.checkFinished(s.specs...)
			checkFlat(t, seen)
			if t.Failed() {
				t.Log(r.git("for-each-ref"))
			}
		})
	}
}

// checkFlat holds the last ten against the ten after the fifth, when all that an engine keeps is
// there: each by the middle one, since a git that stays for two seconds is there or not. One more of
// anything for each spec would be 35 more.
func checkFlat(t *testing.T, seen []holds) {
	t.Helper()
	for _, c := range []struct {
		name string
		of   func(holds) int
		most int // that may be added in all
	}{
		{"KiB of memory", func(h holds) int { return h.memory }, 6 << 10},
		{"open files", func(h holds) int { return h.handles }, 8},
		{"threads", func(h holds) int { return h.threads }, 8},
		{"worktrees", func(h holds) int { return h.worktrees }, 0},
		{"references", func(h holds) int { return h.refs }, 0},
		{"temporary files", func(h holds) int { return h.temp }, 8},
	} {
		var list []int
		for _, h := range seen {
			list = append(list, c.of(h))
		}
		first, last := middle(list[5:15]), middle(list[len(list)-10:])
		t.Logf("%s: %d, then %d: %v", c.name, first, last, list)
		if last > first+c.most {
			t.Errorf("%s grew from %d to %d", c.name, first, last)
		}
	}
}

func middle(list []int) int {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func (r *repo) holds(pid int) holds {
	r.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", pid)
	files, err := os.ReadDir(proc + "fd")
	must(r.t, err)
	temp, err := filepath.Glob(filepath.Join(r.home, "ralph-*"))
	must(r.t, err)
	return holds{
		memory: statusOf(r.t, proc, "RssAnon:"), threads: statusOf(r.t, proc, "Threads:"), handles: len(files), temp: len(temp),
		worktrees: strings.Count(r.git("worktree", "list", "--porcelain"), "worktree "),
		refs:      len(strings.Fields(r.git("for-each-ref", "--format=%(refname)"))),
	}
}

// statusOf is a number that the system tells of a process.
func statusOf(t *testing.T, proc, name string) int {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, proc+"status"), name)
	if !ok {
		t.Fatalf("the system tells no %s", name)
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	must(t, err)
	return n
}
