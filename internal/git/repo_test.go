package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestOpenFindsTheRoot(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("deep/er/x", "")
	b.git("worktree", "add", "-q", "../linked", "-b", "side")
	linked := filepath.Join(filepath.Dir(b.dir), "linked")
	inner := b.path("inner")
	b.git("init", "-q", inner)
	tests := []struct{ name, dir, root string }{
		{"root", b.dir, b.dir},
		{"sub folder", b.path("deep/er"), b.dir},
		{"linked work tree", filepath.Join(linked, "dir"), linked},
		{"repository below another", inner, inner},
	}
	for _, tt := range tests {
		r := b.open(tt.dir)
		b.equal(tt.name, r.Root(), tt.root)
	}
	r := b.open(linked)
	b.equal("common dir", r.common, filepath.Join(b.dir, ".git"))
	h, err := r.Head(t.Context())
	b.must(err)
	b.equal("branch", h.Branch, "side")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	none := t.TempDir()
	b.git("init", "-q", "--bare", "../bare.git")
	fake := func(version string) []string {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '{\"event\":\"version\",\"exe\":\"" + version + "\"}' >&2\n"
		ralphtest.Program(b.t, filepath.Join(dir, "git"), script)
		return []string{"PATH=" + dir + ":/bin:/usr/bin"}
	}
	tests := []struct {
		name, dir string
		env       []string
		words     string
	}{
		{"no repository", none, append(b.env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(none)), "git init"},
		{"bare", filepath.Join(b.dir, "../bare.git"), b.env, "bare"},
		{"git folder", b.path(".git"), b.env, "inside a git folder"},
		{"no git", b.dir, []string{"PATH=" + none}, "not found"},
		{"old git", b.dir, fake("2.29.3"), "older than 2.30"},
		{"very old git", b.dir, fake("1.8.0"), "older than 2.30"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(t.Context(), b.p, tt.dir, tt.env)
			(&testRepo{t: t}).refused(err, tt.words)
		})
	}
}

// ralph may be started by a hook, where git has set these.
func TestOpenIgnoresInheritedVariables(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	other := newBox(t)
	env := append(b.env, "GIT_DIR="+other.path(".git"), "GIT_WORK_TREE="+other.dir,
		"GIT_INDEX_FILE="+other.path(".git/index"), "GIT_LITERAL_PATHSPECS=1", "GIT_PREFIX=dir/")
	r, err := Open(t.Context(), b.p, b.dir, env)
	b.must(err)
	b.repo = r
	b.write("new.txt", "x")
	c := b.mustCommit("k1", nil)
	b.equal("HEAD", b.head(), c.Hash)
	b.equal("status", b.status(), "")
	b.equal("other's status", other.status(), "")
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, "--object-format="+format)
			check := func(what, branch string) {
				t.Helper()
				h, err := b.repo.Head(t.Context())
				b.must(err)
				b.equal(what, h.Commit+" "+h.Branch, b.head()+" "+branch)
				tree, err := b.repo.TreeOf(t.Context(), h.Commit)
				b.must(err)
				b.equal(what+": tree", tree, b.git("rev-parse", "HEAD^{tree}"))
			}
			check("loose", "main")
			b.git("pack-refs", "--all")
			b.git("gc", "-q")
			check("packed", "main")
			b.git("checkout", "-q", "-b", "team/süß")
			check("branch with a slash", "team/süß")
			b.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
			b.git("symbolic-ref", "HEAD", "refs/heads/alias")
			if h, err := b.repo.Head(t.Context()); err != nil || h.Commit != b.head() {
				t.Errorf("symbolic branch: %v %v", h, err)
			}
			b.git("checkout", "-q", "--detach", "main")
			check("detached", "")
			b.git("checkout", "-q", "--orphan", "empty")
			h, err := b.repo.Head(t.Context())
			if !errors.Is(err, ErrNoCommits) || h.Branch != "empty" {
				t.Errorf("unborn: %v, %v", h, err)
			}
		})
	}
}

func TestHeadIsReadWithoutAProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.repo.p = nil
	h, err := b.repo.Head(t.Context())
	b.must(err)
	_, err = b.repo.TreeOf(t.Context(), h.Commit)
	b.must(err)
}

func TestReady(t *testing.T) {
	t.Parallel()
	conflict := func(b *testRepo) {
		b.git("checkout", "-q", "-b", "other")
		b.write("a.txt", "other\n")
		b.git("commit", "-q", "-am", "other")
		b.git("checkout", "-q", "main")
		b.write("a.txt", "main\n")
		b.git("commit", "-q", "-am", "main")
	}
	tests := []struct {
		name  string
		make  func(b *testRepo)
		words string // "": ready
	}{
		{"fine", func(*testRepo) {}, ""},
		{"no commits", func(b *testRepo) { b.git("checkout", "-q", "--orphan", "new") }, "no commits"},
		{"detached", func(b *testRepo) { b.git("checkout", "-q", "--detach") }, "check out a branch"},
		{"merge", func(b *testRepo) { conflict(b); _, _ = b.try("merge", "other") }, "git merge --abort"},
		{"rebase", func(b *testRepo) { conflict(b); _, _ = b.try("rebase", "other") }, "git rebase --abort"},
		{"cherry-pick", func(b *testRepo) { conflict(b); _, _ = b.try("cherry-pick", "other") }, "git cherry-pick --abort"},
		{"conflict of a stash", func(b *testRepo) {
			b.write("a.txt", "stashed\n")
			b.git("stash")
			b.write("a.txt", "changed\n")
			b.git("commit", "-q", "-am", "changed")
			_, _ = b.try("stash", "apply")
		}, "conflicts: a.txt"},
		{"no identity", func(b *testRepo) {
			b.git("config", "user.useConfigOnly", "true")
			for i, kv := range b.repo.env {
				if strings.Contains(kv, "_NAME=") || strings.Contains(kv, "_EMAIL=") {
					b.repo.env[i] = "X=1"
				}
			}
		}, "git config user.name"},
		{"git folder that cannot be written", func(b *testRepo) {
			b.repo.gitDir = b.path(".git/gone") // fails for root as well, whom permissions do not stop
		}, "cannot be written"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			tt.make(b)
			err := b.repo.Ready(t.Context())
			if tt.words == "" {
				b.must(err)
				return
			}
			b.refused(err, tt.words)
		})
	}
}

func TestExclude(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	file := b.path(".git/info/exclude")
	b.must(os.WriteFile(file, []byte("# mine\n*.tmp\nlast without newline"), 0o600))
	b.must(os.Chmod(file, 0o600))
	want := "# mine\n*.tmp\nlast without newline\nralph/.state/\nbuild/ralph-logs/\n"
	for range 2 {
		b.must(b.repo.Exclude([]string{"ralph/.state/", "*.tmp", "build/ralph-logs/"}))
		b.want(".git/info/exclude", want)
	}
	info, err := os.Stat(file)
	b.must(err)
	b.equal("mode", info.Mode().String(), "-rw-------")
	b.remove(".git/info")
	b.must(b.repo.Exclude([]string{"x"}))
	b.want(".git/info/exclude", "x\n")
	if b.repo.Exclude([]string{"a\nb"}) == nil {
		t.Error("a pattern of two lines was taken")
	}
}

func TestHashesAreChecked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ctx := t.Context()
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("g", 40), strings.Repeat("a", 41)} {
		if _, err := b.repo.TreeOf(ctx, bad); err == nil {
			t.Errorf("TreeOf(%q) worked", bad)
		}
		if _, err := b.repo.Diff(ctx, bad, bad, 1); err == nil {
			t.Errorf("Diff(%q) worked", bad)
		}
		if _, err := b.commit("k", func(in *CommitInput) { in.Base = bad }); err == nil {
			t.Errorf("Commit on %q worked", bad)
		}
		if _, err := b.repo.Shelve(ctx, ShelveInput{How: "stash", Base: bad, Message: "m", ID: "i"}); err == nil {
			t.Errorf("Shelve to %q worked", bad)
		}
	}
}

func TestCancelledCallsSayWhy(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	why := errors.New("the user stopped it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := b.repo.Snapshot(ctx); !errors.Is(err, why) {
		t.Errorf("error is %v, want the cause", err)
	}
	if _, err := Open(ctx, proc.NewRunner(""), b.dir, b.env); !errors.Is(err, why) {
		t.Errorf("error is %v, want the cause", err)
	}
}

func TestErrorShowsTheEnd(t *testing.T) {
	t.Parallel()
	err := &Error{Args: []string{"commit", "-q"}, Exit: 1, Stderr: strings.Repeat("noise\n", 50) + "lint: x.go:1 is bad\n"}
	if s := err.Error(); !strings.HasPrefix(s, "git commit: exit 1: ") || !strings.HasSuffix(s, "lint: x.go:1 is bad") || len(s) > 200 {
		t.Errorf("message: %q", s)
	}
}
