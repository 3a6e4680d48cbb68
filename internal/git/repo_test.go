package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
	"github.com/ralph-loop/ralph/internal/regular"
)

func TestOpenFindsTheRoot(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("deep/er/x", "")
	b.Git("worktree", "add", "-q", "../linked", "-b", "side")
	linked := filepath.Join(filepath.Dir(b.Dir), "linked")
	inner := b.Path("inner")
	b.Git("init", "-q", inner)
	tests := []struct{ name, dir, root string }{
		{"root", b.Dir, b.Dir},
		{"sub folder", b.Path("deep/er"), b.Dir},
		{"linked work tree", filepath.Join(linked, "dir"), linked},
		{"repository below another", inner, inner},
	}
	for _, tt := range tests {
		r := b.open(tt.dir)
		b.Equal(tt.name, r.Root(), tt.root)
	}
	r := b.open(linked)
	b.Equal("common dir", r.common, filepath.Join(b.Dir, ".git"))
	h, err := r.Head(t.Context())
	b.Must(err)
	b.Equal("branch", h.Branch, "side")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	none := t.TempDir()
	b.Git("init", "-q", "--bare", "../bare.git")
	fake := func(version string) []string {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '{\"event\":\"version\",\"exe\":\"" + version + "\"}' >&2\n"
		ralphtest.Program(b.T, filepath.Join(dir, "git"), script)
		return []string{"PATH=" + dir + ":/bin:/usr/bin"}
	}
	tests := []struct {
		name, dir string
		env       []string
		words     string
	}{
		{"no repository", none, append(b.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(none)), "git init"},
		{"bare", filepath.Join(b.Dir, "../bare.git"), b.Env, "bare"},
		{"git folder", b.Path(".git"), b.Env, "inside a git folder"},
		{"no git", b.Dir, []string{"PATH=" + none}, "not found"},
		{"old git", b.Dir, fake("2.29.3"), "older than 2.30"},
		{"very old git", b.Dir, fake("1.8.0"), "older than 2.30"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(t.Context(), b.P, tt.dir, tt.env)
			(&testRepo{Box: gittest.Box{T: t}}).Refused(err, tt.words)
		})
	}
}

func TestVersionsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]int{"2.38.0": {2, 38}, "2.38.windows.1": {2, 38}, "2.50.1 (Apple Git-155)": {2, 50}, "3.0.0": {3, 0}} {
		got, err := checkVersion([]byte(`{"event":"version","evt":"3","exe":"` + text + `"}`))
		if err != nil || got != want {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
	}
	b := newBox(t)
	v := b.repo.Version()
	if text := fmt.Sprintf("git version %d.%d.", v[0], v[1]); !strings.HasPrefix(b.Git("version")+".", text) {
		t.Errorf("%q of %q", text, b.Git("version"))
	}
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
				b.Must(err)
				b.Equal(what, h.Commit+" "+h.Branch, b.Head()+" "+branch)
				tree, err := b.repo.TreeOf(t.Context(), h.Commit)
				b.Must(err)
				b.Equal(what+": tree", tree, b.Git("rev-parse", "HEAD^{tree}"))
			}
			check("loose", "main")
			b.Git("pack-refs", "--all")
			b.Git("gc", "-q")
			check("packed", "main")
			b.Git("checkout", "-q", "-b", "team/süß")
			check("branch with a slash", "team/süß")
			b.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
			b.Git("symbolic-ref", "HEAD", "refs/heads/alias")
			if h, err := b.repo.Head(t.Context()); err != nil || h.Commit != b.Head() {
				t.Errorf("symbolic branch: %v %v", h, err)
			}
			b.Git("checkout", "-q", "--detach", "main")
			check("detached", "")
			b.Git("checkout", "-q", "--orphan", "empty")
			h, err := b.repo.Head(t.Context())
			if !errors.Is(err, ErrNoCommits) || h.Branch != "empty" {
				t.Errorf("unborn: %v, %v", h, err)
			}
		})
	}
}

// What files say of a ref is what git says of it, and git is asked where they do not say it all.
func TestRef(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ref   string
		make  func(*testRepo)
		asked int // processes
	}{
		"a branch":                   {"refs/heads/main", nil, 0},
		"one of ralph's":             {"refs/ralph/x", func(b *testRepo) { b.Git("update-ref", "refs/ralph/x", "HEAD") }, 0},
		"none":                       {"refs/heads/other", nil, 0},
		"none, others are packed":    {"refs/heads/other", func(b *testRepo) { b.Git("pack-refs", "--all") }, 1},
		"packed":                     {"refs/heads/main", func(b *testRepo) { b.Git("pack-refs", "--all") }, 1},
		"a commit in a pack":         {"refs/heads/main", func(b *testRepo) { b.Git("gc", "-q"); b.Git("update-ref", "refs/heads/main", "HEAD") }, 1},
		"a folder of refs":           {"refs/heads/team", func(b *testRepo) { b.Git("branch", "team/a") }, 0},
		"another ref's name":         {"refs/heads/alias", func(b *testRepo) { b.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main") }, 1},
		"no commit":                  {"refs/ralph/x", func(b *testRepo) { b.Git("update-ref", "refs/ralph/x", "HEAD^{tree}") }, 1},
		"a commit that was lost":     {"refs/ralph/x", func(b *testRepo) { b.Write(".git/refs/ralph/x", strings.Repeat("1", 40)+"\n") }, 1},
		"a file without its text":    {"refs/ralph/x", func(b *testRepo) { b.Write(".git/refs/ralph/x", "") }, 1},
		"refs that lie in no files":  {"refs/heads/other", func(b *testRepo) { b.Must(os.Mkdir(b.Path(".git/reftable"), 0o755)) }, 1},
		"refs of this worktree only": {"refs/bisect/bad", func(b *testRepo) { b.Git("update-ref", "refs/bisect/bad", "HEAD") }, 1},
		"a tag":                      {"refs/tags/v1", func(b *testRepo) { b.Git("tag", "-m", "one", "v1") }, 1},
		"a way out":                  {"refs/heads/../../HEAD", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if c.make != nil {
				c.make(b)
			}
			want, _ := b.Try("rev-parse", "--verify", "--quiet", c.ref+"^{commit}")
			got := ""
			if n := b.program.Starts(func() { got, _ = b.repo.Ref(t.Context(), c.ref) }); n != c.asked {
				t.Errorf("%d processes, want %d", n, c.asked)
			}
			b.Equal(c.ref, got, strings.TrimSpace(want))
		})
	}
}

// An agent can put a pipe in the place of an object or of the index: nobody writes into it, and ralph
// does not wait for that.
func TestNoPipeIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	head := b.Head()
	for path, read := range map[string]func() error{
		b.repo.loosePath(head): func() error { _, err := b.repo.ReadLooseCommit(head); return err },
		b.repo.RealIndex():     func() error { _, err := CopyIndex(b.repo.RealIndex(), b.repo.PrivateIndex()); return err },
	} {
		b.Must(os.Remove(path))
		b.Must(syscall.Mkfifo(path, 0o644))
		ended := make(chan error, 1)
		go func() { ended <- read() }()
		select {
		case err := <-ended:
			if !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("it waits for %s", path)
		}
	}
}

func TestHeadIsReadWithoutAProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.repo.p = nil
	h, err := b.repo.Head(t.Context())
	b.Must(err)
	_, err = b.repo.TreeOf(t.Context(), h.Commit)
	b.Must(err)
}

func TestHashesAreChecked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ctx := t.Context()
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("g", 40), strings.Repeat("a", 41)} {
		if _, err := b.repo.TreeOf(ctx, bad); err == nil {
			t.Errorf("TreeOf(%q) worked", bad)
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
	if _, err := Open(ctx, proc.NewRunner(""), b.Dir, b.Env); !errors.Is(err, why) {
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
