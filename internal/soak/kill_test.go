//go:build linux && soak

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// An engine that is killed right after any fact loses nothing, does nothing
// twice and leaves nobody behind: the next start goes on where it was (A-008,
// D-059, D-064, D-114, X-08).
func TestKilledAfterEachFact(t *testing.T) {
	t.Parallel()
	specs := []string{"first", "second"}
	probe := newRepo(t, setup{specs: specs, plan: planTwo})
	begun := probe.facts()
	probe.exits(0, "agent")
	probe.checkFinished(specs...)
	last := probe.facts()
	t.Logf("a run writes %d facts", last-begun)
	every := 7
	if long() {
		every = 1
	}
	for n := begun + 1; n <= last; n += every {
		t.Run(fmt.Sprintf("fact %d", n), func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, setup{specs: specs, plan: planTwo})
			r.killAt(n)
			left := r.pids()
			second := r.start("agent")
			r.waitForTurn(second)
			r.checkGone(left)
			if res := second.wait(patience); res.code != 0 {
				t.Fatalf("the second start: %s", res)
			}
			r.checkFinished(specs...)
		})
	}
}

// killAt kills an engine as soon as fact n is in the journal.
func (r *repo) killAt(n int) {
	r.t.Helper()
	c := r.start("agent")
	for end := time.Now().Add(patience); c.running() && r.facts() < n; runtime.Gosched() {
		if time.Now().After(end) {
			r.t.Fatalf("fact %d did not come: %s", n, c.result())
		}
	}
	c.kill()
}

// waitForTurn returns when the engine c has started its first turn, or ended.
func (r *repo) waitForTurn(c *child) {
	r.t.Helper()
	before := len(r.pids())
	eventually(r.t, "the first turn of the second engine", patience, func() bool {
		return !c.running() || len(r.pids()) > before
	})
}

// A git at work when its engine is killed is ended with it, so that it does not
// commit beside the next one, and takes its locks away; one that is killed as
// well leaves them. Either way there is exactly one commit for each spec.
func TestKilledWhileGitWorks(t *testing.T) {
	t.Parallel()
	hooks := []string{"pre-commit", "post-commit", "reference-transaction"}
	if long() {
		hooks = append(hooks, "prepare-commit-msg", "commit-msg", "post-index-change")
	}
	for _, hook := range hooks {
		for _, git := range []string{"is ended with it", "is killed too"} {
			t.Run(hook+", git "+git, func(t *testing.T) {
				t.Parallel()
				specs := []string{"first", "second"}
				r := newRepo(t, setup{specs: specs})
				r.hook(hook, "test -e work || exit 0\n"+onceAtWork)
				c := r.start("agent")
				at := r.gitAtWork(c)
				if git == "is killed too" {
					_ = c.p.Signal(syscall.SIGSTOP) // it must not see that
					_ = syscall.Kill(at.pid, syscall.SIGKILL)
				}
				c.kill()
				at.waitEnd(t)
				if res := r.ralph("agent"); res.code != 0 {
					t.Fatalf("the second start: %s", res)
				}
				r.checkFinished(specs...)
			})
		}
	}
}

// An engine that dies while it waits for what the git of the one before it has left does
// not make that a lock of somebody else's: the third one goes on (D-059).
func TestKilledWhileSettling(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first"}})
	r.hook("reference-transaction", "test -e work || exit 0\n"+onceAtWork)
	first := r.start("agent")
	at := r.gitAtWork(first)
	_ = first.p.Signal(syscall.SIGSTOP) // it must not see the end of its git
	_ = syscall.Kill(at.pid, syscall.SIGKILL)
	first.kill()
	at.waitEnd(t)
	second := r.start("agent")
	eventually(t, "the second engine", patience, func() bool {
		b, _ := os.ReadFile(r.path("ralph/.state/session.lock"))
		return strings.Contains(string(b), fmt.Sprintf(":%d,", second.p.Pid)) || !second.running()
	})
	second.kill()
	if res := r.ralph("agent"); res.code != 0 {
		t.Fatalf("the third start: %s\nthe first: %s\nthe second: %s", res, first.result(), second.result())
	}
	r.checkFinished("first")
}

// A lock that no engine of ours left is not ours to remove: the start is refused
// with the file's name.
func TestLockedReference(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first"}})
	write(t, r.path(".git/refs/heads/main.lock"), "")
	if res := r.exits(2, "agent"); !strings.Contains(res.errs, "rm "+r.path(".git/refs/heads/main.lock")) {
		t.Errorf("it does not name the lock: %s", res)
	}
	must(t, os.Remove(r.path(".git/refs/heads/main.lock")))
	r.exits(0, "agent")
	r.checkFinished("first")
}

// The same for a spec that failed and whose changes are put away: they are in
// one stash, whole, and the next spec begins on a clean tree (D-072, D-120).
func TestKilledWhileShelving(t *testing.T) {
	t.Parallel()
	for _, git := range []string{"is ended with it", "is killed too"} {
		t.Run("git "+git, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, setup{specs: []string{"first", "second"}, build: "mkdir -p work; echo x > work/$RALPH_SPEC.one\n" +
				"case $RALPH_SPEC in first.md) echo '<ralph>BLOCKED: no</ralph>' ;; *) echo '<ralph>COMPLETE</ralph>' ;; esac\n"})
			r.hook("reference-transaction", "grep -q refs/stash || exit 0\ntest \"$1\" = prepared || exit 0\n"+onceAtWork)
			c := r.start("agent")
			at := r.gitAtWork(c)
			if git == "is killed too" {
				_ = c.p.Signal(syscall.SIGSTOP) // it must not see that
				_ = syscall.Kill(at.pid, syscall.SIGKILL)
			}
			c.kill()
			at.waitEnd(t)
			res := r.ralph("agent")
			if res.code != 1 {
				t.Fatalf("the second start: want exit code 1: %s", res)
			}
			if stashes := strings.Split(r.git("stash", "list", "--format=%gs"), "\n"); len(stashes) != 1 || stashes[0] != "ralph: failed first" {
				t.Errorf("stashes %q, want one of the failed spec", stashes)
			}
			if got := r.git("ls-tree", "-r", "--name-only", "stash@{0}", "work"); got != "work/first.md.one" {
				t.Errorf("the stash holds %q, want the work on the first spec", got)
			}
			if got := r.git("ls-tree", "-r", "--name-only", "HEAD", "work"); got != "work/second.md.one" {
				t.Errorf("the commit holds %q, want the work on the second spec", got)
			}
			if subjects := r.git("log", "--format=%s", ":/^queue..HEAD"); subjects != "ralph: complete second" {
				t.Errorf("commits %q, want one", subjects)
			}
			if dirty := r.dirty(); dirty != "" {
				t.Errorf("the work tree is not clean:\n%s", dirty)
			}
			r.checkReplay()
		})
	}
}

// Changes of a failed spec that cannot be put away never get into the commit of
// the next one: the session ends, and so does every start until a person has
// looked at them (D-072).
func TestChangesThatCannotBePutAway(t *testing.T) {
	t.Parallel()
	r := newRepo(t, setup{specs: []string{"first", "second"}, build: "mkdir -p work; echo x > work/$RALPH_SPEC.one\n" +
		"case $RALPH_SPEC in first.md) echo '<ralph>BLOCKED: no</ralph>' ;; *) echo '<ralph>COMPLETE</ralph>' ;; esac\n"})
	r.hook("reference-transaction", "if grep -q refs/stash; then exit 1; fi\n")
	if res := r.exits(1, "agent"); !strings.Contains(res.out, "still in the work tree") {
		t.Errorf("it does not say why it ends: %s", res)
	}
	if res := r.exits(2, "agent"); !strings.Contains(res.errs, "work/first.md.one") {
		t.Errorf("it does not say what is in the way: %s", res)
	}
	must(t, os.Remove(r.path(".git/hooks/reference-transaction")))
	r.git("stash", "-u", "--", "work")
	r.exits(0, "agent")
	if got := r.git("ls-tree", "-r", "--name-only", "HEAD", "work"); got != "work/second.md.one" {
		t.Errorf("the commit holds %q, want the work on the second spec", got)
	}
	r.checkReplay()
}

// hook sets a hook of git's; $SOAK_NOTES is the folder of notes.
func (r *repo) hook(name, text string) {
	r.t.Helper()
	path := r.path(".git/hooks/" + name)
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	ralphtest.Program(r.t, path, "#!/bin/sh\nexport SOAK_NOTES='"+r.notes+"'\n"+text)
}

// onceAtWork is a hook that notes itself; the first one works for 10 s, longer than
// waitEnd waits, and those of the next engine not at all.
const onceAtWork = "echo \"$$ $(cut -d' ' -f22 /proc/$$/stat)\" >> \"$SOAK_NOTES/hook\"\n" +
	"test $(wc -l < \"$SOAK_NOTES/hook\") -gt 1 || exec sleep 10\n"

// gitAtWork waits until a hook with onceAtWork has begun, and returns the git that it is
// of, as everybody sees it: the hook is in a sandbox and does not.
func (r *repo) gitAtWork(c *child) noted {
	r.t.Helper()
	eventually(r.t, "the hook", patience, func() bool { return len(r.notedIn("hook")) > 0 || !c.running() })
	if len(r.notedIn("hook")) == 0 {
		r.t.Fatalf("no hook has run: %s", c.result())
	}
	var git noted
	eventually(r.t, "the git of the hook", patience, func() (found bool) { // while the hook becomes its sleep it is nobody
		git, found = r.gitOf(r.notedIn("hook")[0])
		return found
	})
	return git
}

// gitOf is the git that a hook descends from.
func (r *repo) gitOf(hook noted) (noted, bool) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	i := slices.IndexFunc(all, hook.is)
	if i < 0 {
		return noted{}, false
	}
	for proc := all[i]; ; {
		f := statOf(proc)
		if len(f) < 20 || f[1] == "0" {
			return noted{}, false
		}
		if name, _ := os.ReadFile(filepath.Join(proc, "comm")); strings.TrimSpace(string(name)) == "git" {
			pid, err := strconv.Atoi(filepath.Base(proc))
			return noted{pid: pid, start: f[19], line: "git", notes: r.notes}, err == nil
		}
		proc = filepath.Join("/proc", f[1])
	}
}

// waitEnd waits for the end of the git of a killed engine: the kernel sends the signal,
// git takes a moment to clean up.
func (n noted) waitEnd(t *testing.T) {
	t.Helper()
	eventually(t, "the end of the git of a killed engine", 8*time.Second, func() bool { return !n.alive() })
}
