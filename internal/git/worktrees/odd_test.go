package worktrees

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// oddRepo is a repository that is not as most are.
type oddRepo struct {
	name string
	make func(t *testing.T) *testRepo
}

func oddRepos() []oddRepo {
	conf := func(kv ...string) func(t *testing.T) *testRepo {
		return func(t *testing.T) *testRepo {
			b := newBox(t)
			for i := 0; i < len(kv); i += 2 {
				b.Git("config", kv[i], kv[i+1])
			}
			return b
		}
	}
	commit := func(b *testRepo) *testRepo {
		b.Git("add", "-A")
		b.Git("commit", "-q", "--allow-empty", "-m", "odd")
		return b
	}
	return []oddRepo{
		{"plain", func(t *testing.T) *testRepo { return newBox(t) }},
		{"sha256", func(t *testing.T) *testRepo { return newBox(t, "--object-format=sha256") }},
		{"strange paths", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Write("with space/sü\nß\t\".txt", "x")
			return commit(b)
		}},
		{"brackets in the path of the root", func(t *testing.T) *testRepo { return moveBox(newBox(t), "line [x]* ö") }},
		{"colon in the path of the root", func(t *testing.T) *testRepo { return moveBox(newBox(t), "c:d") }},
		{"root is a linked worktree", func(t *testing.T) *testRepo {
			b := newBox(t)
			dir := filepath.Join(b.Dir, "../linked")
			b.Git("worktree", "add", "-q", "-b", "side", dir)
			b.Dir = filepath.Clean(dir)
			b.repo = b.open(b.Dir)
			return b
		}},
		{"separate git folder", func(t *testing.T) *testRepo { return newBox(t, "--separate-git-dir=../else where.git") }},
		{"below another repository", func(t *testing.T) *testRepo {
			outer := newBox(t)
			b := newBox(t)
			to := outer.Path("inner")
			b.Must(os.Rename(b.Dir, to))
			b.Dir = to
			b.repo = b.open(to)
			return b
		}},
		{"detached", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Git("checkout", "-q", "--detach")
			return b
		}},
		{"sparse", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Write("other/x", "x")
			commit(b)
			b.Git("sparse-checkout", "set", "dir")
			return b
		}},
		{"sparse index", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Write("other/x", "x")
			commit(b)
			b.Git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
			return b
		}},
		{"settings of a worktree", conf("extensions.worktreeConfig", "true")},
		{"autocrlf", conf("core.autocrlf", "true", "core.safecrlf", "true")},
		{"no file modes", conf("core.fileMode", "false")},
		{"split index", conf("core.splitIndex", "true")},
		{"index version 4", conf("index.version", "4")},
		{"recursion into submodules", conf("submodule.recurse", "true")},
		{"automatic set-up of merges", conf("branch.autoSetupMerge", "always", "push.default", "upstream")},
		{"no logs", conf("core.logAllRefUpdates", "false")},
		{"packed", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Git("gc", "-q")
			return b
		}},
		{"pointers without the program", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			b.Write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 1\n")
			return commit(b)
		}},
		{"hooks that fail", func(t *testing.T) *testRepo {
			b := newBox(t)
			for _, name := range []string{"post-checkout", "post-index-change", "post-commit"} {
				b.Hook(name, "exit 1")
			}
			b.Hook("commit-msg", `echo "hook ran" >>"$1"`)
			return b
		}},
	}
}

// moveBox moves a box to another folder beside it.
func moveBox(b *testRepo, name string) *testRepo {
	to := filepath.Join(filepath.Dir(b.Dir), name)
	b.Must(os.Rename(b.Dir, to))
	b.Dir = to
	b.repo = b.open(to)
	return b
}

// B-005, B-079: a worktree's whole life in repositories of all kinds.
func TestWorktreesInOddRepositories(t *testing.T) {
	t.Parallel()
	for _, tt := range ralphtest.Cases(4, oddRepos()) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := tt.make(t)
			dirs := b.pool("1", "merge")
			base, before := b.Head(), b.Files()
			others := len(strings.Split(b.Git("worktree", "list"), "\n")) - 2
			made, err := Make(t.Context(), b.repo, dirs, base)
			b.Must(err)
			if len(made) > 0 {
				t.Errorf("made again: %q", made)
			}
			tip := base
			for _, id := range []string{"t-1", "t-2"} {
				in := b.task(dirs[0], id)
				in.From, in.Merged = tip, ""
				e := b.mustEnter(in)
				b.ready(e, "ralph/"+id, tip)
				if len(e.Saved) > 0 {
					t.Errorf("%s saved %+v", id, e.Saved)
				}
				w := b.in(dirs[0])
				w.Write("dir/b.txt", id+"\n")
				w.Write("dir/new "+id, "new\n")
				c := w.mustCommit(id, func(in *commits.Input) { in.Base, in.Branch, in.Squash = tip, "ralph/"+id, false })
				b.Equal("status after the commit", w.Status(), "")
				b.Equal("what changed", b.Git("diff-tree", "-r", "--name-only", tip, c.Hash), "dir/b.txt\ndir/new "+id)
				if tt.name == "hooks that fail" && !strings.Contains(b.Git("log", "-1", "--format=%B", c.Hash), "hook ran") {
					t.Error("hooks of a commit did not run")
				}
				tip = c.Hash
			}
			in := b.task(dirs[1], "merge")
			in.Branch, in.From = "", tip
			b.mustEnter(in)
			b.Equal("detached", b.in(dirs[1]).Head(), tip)
			b.in(dirs[0]).Write("dir/b.txt", "precious")
			for _, dir := range dirs {
				_, err := Remove(t.Context(), b.repo, dir, "end-"+filepath.Base(dir))
				b.Must(err)
			}
			if !b.recovered("precious") {
				t.Error("uncommitted changes are lost")
			}
			if n := len(strings.Split(b.Git("worktree", "list"), "\n")); n != others {
				t.Errorf("%d worktrees, had %d", n, others)
			}
			after := b.Files()
			for name, text := range before {
				if !strings.HasPrefix(name, "ralph/") {
					b.Equal(name, after[name], text)
				}
			}
			b.Equal("HEAD", b.Head(), base)
			b.Git("fsck", "--no-dangling")
		})
	}
}

// Line ends that git would change at the next add make every checkout look
// changed; that is nobody's work.
func TestEnterWithLineEndsOfTheOtherKind(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("crlf.txt", "one\r\ntwo\r\n")
	b.Git("-c", "core.autocrlf=false", "add", "crlf.txt")
	b.Git("commit", "-q", "-m", "crlf")
	b.Write(".gitattributes", "* text=auto\n")
	b.Git("add", ".gitattributes")
	b.Git("commit", "-q", "-m", "attributes")
	dir := b.pool("1")[0]
	for _, id := range []string{"t-1", "t-2"} {
		e := b.mustEnter(b.task(dir, id))
		if len(e.Saved) > 0 {
			t.Errorf("%s saved %+v", id, e.Saved)
		}
		b.Equal("branch", e.Branch, "ralph/"+id)
		b.Equal("HEAD", b.in(dir).Head(), b.Head())
	}
	b.in(dir).Write("crlf.txt", "precious\r\n")
	b.mustEnter(b.task(dir, "t-3"))
	if !b.recovered("precious") {
		t.Error("a change is lost")
	}
	b.in(dir).Want("crlf.txt", "one\r\ntwo\r\n")
	b.Equal("refs", b.Git("for-each-ref", "--format=%(refname)", git.RecoveryRefs), git.RecoveryRefs+"t-3")
}

// Submodules follow the branch; what an agent did in them is kept.
func TestWorktreesWithSubmodules(t *testing.T) {
	t.Parallel()
	lib := newBox(t)
	old := lib.Head()
	b := newBox(t)
	add := func(w *testRepo, args ...string) {
		w.Git(append([]string{"-c", "protocol.file.allow=always", "submodule"}, args...)...)
	}
	add(b, "add", "-q", lib.Dir, "lib")
	b.Git("commit", "-q", "-m", "with lib")
	withOld := b.Head()
	lib.Write("a.txt", "newer\n")
	lib.Git("commit", "-qam", "newer")
	b.Git("-C", "lib", "-c", "protocol.file.allow=always", "pull", "-q")
	b.Git("commit", "-qam", "newer lib")
	withNew := b.Head()
	dir := b.pool("1")[0]
	enter := func(id, from string) Entered {
		in := b.task(dir, id)
		in.From = from
		e := b.mustEnter(in)
		b.Equal(id+": status", b.in(dir).Status(), "")
		return e
	}
	enter("t-1", withNew)
	w := b.in(dir)
	add(w, "update", "-q", "--init")
	w.Want("lib/a.txt", "newer\n")
	w.Write("lib/a.txt", "precious change")
	w.Write("lib/new", "precious file")
	if e := enter("t-2", withOld); e.Fresh || len(e.Saved) == 0 {
		t.Errorf("entered: %+v", e)
	}
	b.Equal("submodule follows", w.Git("-C", "lib", "rev-parse", "HEAD"), old)
	w.Want("lib/a.txt", "a\n")
	if out := w.Git("-C", "lib", "grep", "-c", "precious", git.RecoveryRefs+"t-2"); !strings.Contains(out, "a.txt:1") || !strings.Contains(out, "new:1") {
		t.Errorf("kept in the submodule: %q", out)
	}
	w.Write("lib/b", "committed")
	w.Git("-C", "lib", "add", "b")
	w.Git("-C", "lib", "commit", "-qm", "alone")
	saved, err := Remove(t.Context(), b.repo, dir, "end")
	b.Must(err)
	kept := ""
	for _, s := range saved {
		if s.Ref == "" && s.Path != "" {
			kept = s.Path
		}
	}
	if out := b.Git("--git-dir="+kept, "log", "--all", "--format=%s"); !strings.Contains(out, "alone") {
		t.Errorf("commits of the submodule are in %q: %q; saved %+v", kept, out, saved)
	}
	b.Equal("status", b.Status(), "")
}

// Two checkouts of one repository, each with an engine, do not collide.
func TestTwoEnginesInOneRepository(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Git("worktree", "add", "-q", "-b", "side", "../other")
	o := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: filepath.Join(filepath.Dir(b.Dir), "other"), Env: b.Env}}
	o.repo = o.open(o.Dir)
	one, two := b.pool("1")[0], o.pool("1")[0]
	b.ready(b.mustEnter(b.task(one, "t-1")), "ralph/t-1", b.Head())
	o.ready(o.mustEnter(o.task(two, "t-1")), "ralph/t-1-2", b.Head())
	_, err := Remove(t.Context(), o.repo, two, "x")
	o.Must(err)
	b.Equal("the first goes on", b.in(one).Status(), "")
	_, err = Remove(t.Context(), b.repo, one, "x")
	b.Must(err)
}

// A repository that is moved takes its worktrees along.
func TestWorktreesOfAMovedRepository(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	b.in(dir).Write("a.txt", "precious")
	b = moveBox(b, "moved")
	in := b.task(b.TreeDir("1"), "t-1")
	in.Mine = true
	if e := b.mustEnter(in); e.Fresh {
		t.Error("made again")
	}
	b.in(b.TreeDir("1")).Want("a.txt", "precious")
	if list := b.Git("worktree", "list", "--porcelain"); !strings.Contains(list, b.TreeDir("1")+"\n") || strings.Contains(list, "prunable") {
		t.Errorf("git lists %s", list)
	}
}

func TestMakeTreesInTheWay(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(info.Exclude(b.repo, []string{"/ralph/.worktrees/"}))
	tests := []struct {
		name string
		do   func(dir string)
	}{
		{"folder", func(dir string) { b.Must(os.MkdirAll(filepath.Join(dir, "x"), 0o755)) }},
		{"file", func(dir string) { b.Must(os.WriteFile(dir, nil, 0o644)) }},
		{"link", func(dir string) { b.Must(os.Symlink(b.Path("dir"), dir)) }},
		{"repository", func(dir string) { b.Git("init", "-q", dir) }},
		{"worktree of another", func(dir string) {
			b.Git("init", "-q", "../other")
			b.Git("-C", "../other", "commit", "-q", "--allow-empty", "-m", "x")
			b.Git("-C", "../other", "worktree", "add", "-q", dir)
		}},
	}
	b.Must(os.MkdirAll(b.Path("ralph/.worktrees"), 0o755))
	for i, tt := range tests {
		dir := b.TreeDir(string(rune('a' + i)))
		tt.do(dir)
		good := b.TreeDir("good" + string(rune('a'+i)))
		made, err := Make(t.Context(), b.repo, []string{dir, good}, b.Head())
		b.Refused(err, dir+" is in the way")
		if len(made) != 1 || made[0] != good {
			t.Errorf("%s: made %q", tt.name, made)
		}
		if _, err := Enter(t.Context(), b.repo, b.task(dir, "t-1")); err == nil {
			t.Errorf("%s: entered", tt.name)
		}
		if _, err := Remove(context.Background(), b.repo, dir, "x"); err == nil {
			t.Errorf("%s: removed", tt.name)
		}
		if git.Stat(dir) == nil {
			t.Errorf("%s: is gone", tt.name)
		}
	}
	if _, err := Make(t.Context(), b.repo, []string{b.TreeDir("z")}, strings.Repeat("1", 40)); err == nil || git.Stat(b.TreeDir("z")) != nil {
		t.Errorf("a worktree of no commit: %v", err)
	}
}
