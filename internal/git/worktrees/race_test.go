package worktrees

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// B-005: eight tasks at once come and go while agents of others ask git in the
// same repository. Neither side sees the other's half-made worktrees.
func TestWorktreesRace(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	slots, rounds := 8, ralphtest.Rounds(2, 4)
	var dirs []string
	for i := range slots {
		dirs = append(dirs, strconv.Itoa(i))
	}
	dirs = b.pool(dirs...)
	base := b.Head()
	var work, agents sync.WaitGroup
	var asked atomic.Int64
	stop := make(chan struct{})
	for _, args := range [][]string{{"branch", "--list"}, {"worktree", "list"}, {"status", "--short"}} {
		agents.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				if _, err := b.Try(args...); err != nil {
					t.Errorf("an agent's git %s: %v", args[0], err)
				}
			}
		})
	}
	for i, dir := range dirs {
		work.Go(func() {
			for n := range rounds {
				id := fmt.Sprintf("t-%d-%d", i, n)
				if err := oneTask(t.Context(), b.repo, dir, id, base); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
	work.Wait()
	close(stop)
	agents.Wait()
	t.Logf("agents asked %d times", asked.Load())
	if n := len(strings.Fields(b.Git("for-each-ref", "--format=%(refname)", "refs/heads/ralph"))); n != slots*rounds {
		t.Errorf("%d branches, want %d", n, slots*rounds)
	}
	b.Equal("recovery", b.Git("for-each-ref", git.RecoveryRefs), "")
	b.Equal("worktrees", b.Git("worktree", "list", "--porcelain"), "worktree "+b.Dir+"\nHEAD "+base+"\nbranch refs/heads/main")
	b.Must(Sweep(t.Context(), b.repo))
	if git.Stat(b.Path(".git/worktrees")) != nil {
		if left, _ := os.ReadDir(b.Path(".git/worktrees")); len(left) > 0 {
			t.Errorf("left over in git: %v", left)
		}
	}
	left, _ := os.ReadDir(b.Path("ralph/.worktrees"))
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	b.Git("fsck", "--no-dangling")
}

// oneTask enters, commits, and removes the worktree, so that the next makes it anew.
func oneTask(ctx context.Context, r *git.Repo, dir, id, base string) error {
	e, err := Enter(ctx, r, EnterInput{Dir: dir, Branch: "ralph/" + id, From: base, ID: id})
	if err != nil {
		return err
	}
	w, err := r.Tree(dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, id), []byte(id), 0o644); err != nil {
		return err
	}
	_, err = commits.Make(ctx, w, commits.Input{Base: base, Branch: e.Branch, Message: id + "\n\nX: " + id + "\n", Trailer: "X", Key: id, Fresh: true})
	if err != nil {
		return err
	}
	saved, err := Remove(ctx, r, dir, id)
	if err == nil && len(saved) > 0 {
		err = fmt.Errorf("saved %+v", saved)
	}
	return err
}

// An engine that is killed at any moment of making, entering and removing leaves
// what the next one puts right; nothing an agent wrote is lost.
func TestWorktreesCutAnywhere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 60 {
		b.Write(fmt.Sprintf("many/%02d.txt", i), strconv.Itoa(i))
	}
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "many")
	b.Must(info.Exclude(b.repo, []string{"/ralph/.worktrees/"}))
	base, dir := b.Head(), b.TreeDir("1")
	rnd := rand.New(rand.NewPCG(3, 5))
	cut := func(do func(ctx context.Context, r *git.Repo) error) {
		t.Helper()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(rnd.IntN(16_000))*time.Microsecond, soon{})
		defer cancel()
		r, err := git.Open(t.Context(), proc.NewRunner(""), b.Dir, b.Env) // an engine knows nothing of the one before
		b.Must(err)
		if err := do(ctx, r); err != nil && ctx.Err() == nil {
			t.Fatalf("not cut, and failed: %v", err)
		}
		b.AgeLocks()
	}
	for i := range ralphtest.Rounds(3, 12) {
		id := fmt.Sprintf("t-%d", i)
		in := EnterInput{Dir: dir, Branch: "ralph/" + id, From: base, ID: id}
		word := "precious " + id + "."
		for range 2 {
			cut(func(ctx context.Context, r *git.Repo) error { _, err := Make(ctx, r, []string{dir}, base); return err })
			cut(func(ctx context.Context, r *git.Repo) error { _, err := Enter(ctx, r, in); return err })
		}
		e := b.mustEnter(in)
		b.ready(e, e.Branch, base)
		w := b.in(dir)
		w.Write("many/07.txt", word)
		w.Write("new/"+id, word)
		switch i % 3 {
		case 0:
			cut(func(ctx context.Context, r *git.Repo) error { _, err := Remove(ctx, r, dir, id); return err })
		case 1:
			cut(func(ctx context.Context, r *git.Repo) error {
				_, _, err := Stash(ctx, r, dir, "stopped", id)
				return err
			})
			_, _, err := Stash(t.Context(), b.repo, dir, "stopped", id)
			b.Must(err)
			b.Equal("stash", b.Git("grep", "-c", word, "stash@{0}"), "stash@{0}:many/07.txt:1\nstash@{0}:new/"+id+":1")
			continue
		}
		next := in
		next.Branch += "x"
		cut(func(ctx context.Context, r *git.Repo) error { _, err := Enter(ctx, r, next); return err })
		b.mustEnter(next)
		if !b.recovered(word) {
			t.Fatalf("%s is lost", word)
		}
	}
	if recovery := b.Git("for-each-ref", "--format=%(refname)", git.RecoveryRefs); strings.Count(recovery, "\n") > 8 {
		t.Errorf("kept more than there was:\n%s", recovery)
	}
	_, err := Remove(t.Context(), b.repo, dir, "end")
	b.Must(err)
	b.Must(Sweep(t.Context(), b.repo))
	b.Equal("worktrees", b.Git("worktree", "list", "--porcelain"), "worktree "+b.Dir+"\nHEAD "+base+"\nbranch refs/heads/main")
	if left, _ := filepath.Glob(filepath.Join(b.Dir, ".git", draftPrefix+"*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	b.Git("fsck", "--no-dangling")
}

// soon is why a call is cut off: git gets no time to finish.
type soon struct{}

func (soon) Error() string        { return "cut" }
func (soon) Grace() time.Duration { return time.Microsecond }

// B-005: making and entering worktrees, at the sizes of performance.md.
func BenchmarkWorktree(bm *testing.B) {
	for _, files := range benchSizes() {
		b := newBox(bm)
		for i := range files {
			b.Write(fmt.Sprintf("d%03d/f%05d.txt", i%200, i), strings.Repeat(strconv.Itoa(i), 50))
		}
		b.Git("add", "-A")
		b.Git("commit", "-q", "-m", "many")
		base := b.Head()
		dir := b.pool("1")[0]
		n := 0
		enter := func(bm *testing.B) {
			n++
			e, err := Enter(bm.Context(), b.repo, EnterInput{Dir: dir, Branch: fmt.Sprintf("ralph/t-%d", n), From: base, ID: "x"})
			if err = errors.Join(err); err != nil || len(e.Saved) > 0 {
				bm.Fatal(e, err)
			}
		}
		enter(bm)
		settleClock(b.in(dir))
		run := func(name string, do func(bm *testing.B)) { bm.Run(fmt.Sprintf("%s/%d", name, files), do) }
		run("Enter", func(bm *testing.B) {
			for bm.Loop() {
				enter(bm)
				bm.StopTimer()
				settleClock(b.in(dir))
				bm.StartTimer()
			}
		})
		run("EnterBesideIgnored", func(bm *testing.B) {
			b.Must(info.Exclude(b.repo, []string{"*.o"}))
			b.in(dir).Write("x.o", "")
			for bm.Loop() {
				enter(bm)
			}
		})
		run("FloorStatusCheckout", func(bm *testing.B) {
			w := b.in(dir)
			for bm.Loop() {
				n++
				w.Git("status", "--porcelain")
				w.Git("checkout", "-q", "-b", fmt.Sprintf("ralph/t-%d", n), base)
			}
		})
		run("EnterAfterCommit", func(bm *testing.B) {
			b.in(dir).Remove("x.o")
			for bm.Loop() {
				bm.StopTimer()
				w := b.in(dir)
				w.Write("work", strconv.Itoa(n))
				w.mustCommit(strconv.Itoa(n), func(in *commits.Input) { in.Squash, in.Base = false, base })
				bm.StartTimer()
				enter(bm)
			}
		})
		run("EnterDirty", func(bm *testing.B) {
			for bm.Loop() {
				bm.StopTimer()
				b.in(dir).Write("work", strconv.Itoa(n))
				bm.StartTimer()
				n++
				if _, err := Enter(bm.Context(), b.repo, EnterInput{Dir: dir, Branch: fmt.Sprintf("ralph/t-%d", n), From: base, ID: strconv.Itoa(n)}); err != nil {
					bm.Fatal(err)
				}
			}
		})
		run("MakeTrees", func(bm *testing.B) {
			for bm.Loop() {
				if _, err := Make(bm.Context(), b.repo, []string{b.TreeDir("2")}, base); err != nil {
					bm.Fatal(err)
				}
				bm.StopTimer()
				if _, err := Remove(bm.Context(), b.repo, b.TreeDir("2"), "x"); err != nil {
					bm.Fatal(err)
				}
				bm.StartTimer()
			}
		})
		run("RemoveTree", func(bm *testing.B) {
			for bm.Loop() {
				bm.StopTimer()
				if _, err := Make(bm.Context(), b.repo, []string{b.TreeDir("2")}, base); err != nil {
					bm.Fatal(err)
				}
				bm.StartTimer()
				if _, err := Remove(bm.Context(), b.repo, b.TreeDir("2"), "x"); err != nil {
					bm.Fatal(err)
				}
			}
		})
	}
}

// benchSizes are the files of the repositories, those of performance.md; with -short only
// that the benchmark runs.
func benchSizes() []int {
	if testing.Short() {
		return []int{10}
	}
	return []int{100, 20_000}
}
