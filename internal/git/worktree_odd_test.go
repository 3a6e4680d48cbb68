package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
				b.git("config", kv[i], kv[i+1])
			}
			return b
		}
	}
	commit := func(b *testRepo) *testRepo {
		b.git("add", "-A")
		b.git("commit", "-q", "--allow-empty", "-m", "odd")
		return b
	}
	return []oddRepo{
		{"plain", func(t *testing.T) *testRepo { return newBox(t) }},
		{"sha256", func(t *testing.T) *testRepo { return newBox(t, "--object-format=sha256") }},
		{"strange paths", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.write("with space/sü\nß\t\".txt", "x")
			return commit(b)
		}},
		{"brackets in the path of the root", func(t *testing.T) *testRepo { return moveBox(newBox(t), "line [x]* ö") }},
		{"colon in the path of the root", func(t *testing.T) *testRepo { return moveBox(newBox(t), "c:d") }},
		{"root is a linked worktree", func(t *testing.T) *testRepo {
			b := newBox(t)
			dir := filepath.Join(b.dir, "../linked")
			b.git("worktree", "add", "-q", "-b", "side", dir)
			b.dir = filepath.Clean(dir)
			b.repo = b.open(b.dir)
			return b
		}},
		{"separate git folder", func(t *testing.T) *testRepo { return newBox(t, "--separate-git-dir=../else where.git") }},
		{"below another repository", func(t *testing.T) *testRepo {
			outer := newBox(t)
			b := newBox(t)
			to := outer.path("inner")
			b.must(os.Rename(b.dir, to))
			b.dir = to
			b.repo = b.open(to)
			return b
		}},
		{"detached", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.git("checkout", "-q", "--detach")
			return b
		}},
		{"sparse", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.write("other/x", "x")
			commit(b)
			b.git("sparse-checkout", "set", "dir")
			return b
		}},
		{"sparse index", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.write("other/x", "x")
			commit(b)
			b.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
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
			b.git("gc", "-q")
			return b
		}},
		{"pointers without the program", func(t *testing.T) *testRepo {
			b := newBox(t)
			b.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			b.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 1\n")
			return commit(b)
		}},
		{"hooks that fail", func(t *testing.T) *testRepo {
			b := newBox(t)
			for _, name := range []string{"post-checkout", "post-index-change", "post-commit"} {
				b.hook(name, "exit 1")
			}
			b.hook("commit-msg", `echo "hook ran" >>"$1"`)
			return b
		}},
	}
}

// moveBox moves a box to another folder beside it.
func moveBox(b *testRepo, name string) *testRepo {
	to := filepath.Join(filepath.Dir(b.dir), name)
	b.must(os.Rename(b.dir, to))
	b.dir = to
	b.repo = b.open(to)
	return b
}

// B-005, B-079: a worktree's whole life in repositories of all kinds.
func TestWorktreesInOddRepositories(t *testing.T) {
	t.Parallel()
	for _, tt := range oddRepos() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := tt.make(t)
			dirs := b.pool("1", "merge")
			base, before := b.head(), b.files()
			others := len(strings.Split(b.git("worktree", "list"), "\n")) - 2
			made, err := b.repo.MakeTrees(t.Context(), dirs, base)
			b.must(err)
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
				w.write("dir/b.txt", id+"\n")
				w.write("dir/new "+id, "new\n")
				c := w.mustCommit(id, func(in *CommitInput) { in.Base, in.Branch, in.Squash = tip, "ralph/"+id, false })
				b.equal("status after the commit", w.status(), "")
				b.equal("what changed", b.git("diff-tree", "-r", "--name-only", tip, c.Hash), "dir/b.txt\ndir/new "+id)
				if tt.name == "hooks that fail" && !strings.Contains(b.git("log", "-1", "--format=%B", c.Hash), "hook ran") {
					t.Error("hooks of a commit did not run")
				}
				tip = c.Hash
			}
			in := b.task(dirs[1], "merge")
			in.Branch, in.From = "", tip
			b.mustEnter(in)
			b.equal("detached", b.in(dirs[1]).head(), tip)
			b.in(dirs[0]).write("dir/b.txt", "precious")
			for _, dir := range dirs {
				_, err := b.repo.RemoveTree(t.Context(), dir, "end-"+filepath.Base(dir))
				b.must(err)
			}
			if !b.recovered("precious") {
				t.Error("uncommitted changes are lost")
			}
			if n := len(strings.Split(b.git("worktree", "list"), "\n")); n != others {
				t.Errorf("%d worktrees, had %d", n, others)
			}
			after := b.files()
			for name, text := range before {
				if !strings.HasPrefix(name, "ralph/") {
					b.equal(name, after[name], text)
				}
			}
			b.equal("HEAD", b.head(), base)
			b.git("fsck", "--no-dangling")
		})
	}
}

// Line ends that git would change at the next add make every checkout look
// changed; that is nobody's work.
func TestEnterWithLineEndsOfTheOtherKind(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("crlf.txt", "one\r\ntwo\r\n")
	b.git("-c", "core.autocrlf=false", "add", "crlf.txt")
	b.git("commit", "-q", "-m", "crlf")
	b.write(".gitattributes", "* text=auto\n")
	b.git("add", ".gitattributes")
	b.git("commit", "-q", "-m", "attributes")
	dir := b.pool("1")[0]
	for _, id := range []string{"t-1", "t-2"} {
		e := b.mustEnter(b.task(dir, id))
		if len(e.Saved) > 0 {
			t.Errorf("%s saved %+v", id, e.Saved)
		}
		b.equal("branch", e.Branch, "ralph/"+id)
		b.equal("HEAD", b.in(dir).head(), b.head())
	}
	b.in(dir).write("crlf.txt", "precious\r\n")
	b.mustEnter(b.task(dir, "t-3"))
	if !b.recovered("precious") {
		t.Error("a change is lost")
	}
	b.in(dir).want("crlf.txt", "one\r\ntwo\r\n")
	b.equal("refs", b.git("for-each-ref", "--format=%(refname)", recoveryRefs), recoveryRefs+"t-3")
}

// Submodules follow the branch; what an agent did in them is kept.
func TestWorktreesWithSubmodules(t *testing.T) {
	t.Parallel()
	lib := newBox(t)
	old := lib.head()
	b := newBox(t)
	add := func(w *testRepo, args ...string) {
		w.git(append([]string{"-c", "protocol.file.allow=always", "submodule"}, args...)...)
	}
	add(b, "add", "-q", lib.dir, "lib")
	b.git("commit", "-q", "-m", "with lib")
	withOld := b.head()
	lib.write("a.txt", "newer\n")
	lib.git("commit", "-qam", "newer")
	b.git("-C", "lib", "-c", "protocol.file.allow=always", "pull", "-q")
	b.git("commit", "-qam", "newer lib")
	withNew := b.head()
	dir := b.pool("1")[0]
	enter := func(id, from string) Entered {
		in := b.task(dir, id)
		in.From = from
		e := b.mustEnter(in)
		b.equal(id+": status", b.in(dir).status(), "")
		return e
	}
	enter("t-1", withNew)
	w := b.in(dir)
	add(w, "update", "-q", "--init")
	w.want("lib/a.txt", "newer\n")
	w.write("lib/a.txt", "precious change")
	w.write("lib/new", "precious file")
	if e := enter("t-2", withOld); e.Fresh || len(e.Saved) == 0 {
		t.Errorf("entered: %+v", e)
	}
	b.equal("submodule follows", w.git("-C", "lib", "rev-parse", "HEAD"), old)
	w.want("lib/a.txt", "a\n")
	if out := w.git("-C", "lib", "grep", "-c", "precious", recoveryRefs+"t-2"); !strings.Contains(out, "a.txt:1") || !strings.Contains(out, "new:1") {
		t.Errorf("kept in the submodule: %q", out)
	}
	w.write("lib/b", "committed")
	w.git("-C", "lib", "add", "b")
	w.git("-C", "lib", "commit", "-qm", "alone")
	saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
	b.must(err)
	kept := ""
	for _, s := range saved {
		if s.Ref == "" && s.Path != "" {
			kept = s.Path
		}
	}
	if out := b.git("--git-dir="+kept, "log", "--all", "--format=%s"); !strings.Contains(out, "alone") {
		t.Errorf("commits of the submodule are in %q: %q; saved %+v", kept, out, saved)
	}
	b.equal("status", b.status(), "")
}

// Two checkouts of one repository, each with an engine, do not collide.
func TestTwoEnginesInOneRepository(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.git("worktree", "add", "-q", "-b", "side", "../other")
	o := &testRepo{t: t, p: b.p, dir: filepath.Join(filepath.Dir(b.dir), "other"), env: b.env}
	o.repo = o.open(o.dir)
	one, two := b.pool("1")[0], o.pool("1")[0]
	b.ready(b.mustEnter(b.task(one, "t-1")), "ralph/t-1", b.head())
	o.ready(o.mustEnter(o.task(two, "t-1")), "ralph/t-1-2", b.head())
	_, err := o.repo.RemoveTree(t.Context(), two, "x")
	o.must(err)
	b.equal("the first goes on", b.in(one).status(), "")
	_, err = b.repo.RemoveTree(t.Context(), one, "x")
	b.must(err)
}

// A repository that is moved takes its worktrees along.
func TestWorktreesOfAMovedRepository(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	b.in(dir).write("a.txt", "precious")
	b = moveBox(b, "moved")
	in := b.task(b.treeDir("1"), "t-1")
	in.Mine = true
	if e := b.mustEnter(in); e.Fresh {
		t.Error("made again")
	}
	b.in(b.treeDir("1")).want("a.txt", "precious")
	if list := b.git("worktree", "list", "--porcelain"); !strings.Contains(list, b.treeDir("1")+"\n") || strings.Contains(list, "prunable") {
		t.Errorf("git lists %s", list)
	}
}

func TestMakeTreesInTheWay(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(b.repo.Exclude([]string{"/ralph/.worktrees/"}))
	tests := []struct {
		name string
		do   func(dir string)
	}{
		{"folder", func(dir string) { b.must(os.MkdirAll(filepath.Join(dir, "x"), 0o755)) }},
		{"file", func(dir string) { b.must(os.WriteFile(dir, nil, 0o644)) }},
		{"link", func(dir string) { b.must(os.Symlink(b.path("dir"), dir)) }},
		{"repository", func(dir string) { b.git("init", "-q", dir) }},
		{"worktree of another", func(dir string) {
			b.git("init", "-q", "../other")
			b.git("-C", "../other", "commit", "-q", "--allow-empty", "-m", "x")
			b.git("-C", "../other", "worktree", "add", "-q", dir)
		}},
	}
	b.must(os.MkdirAll(b.path("ralph/.worktrees"), 0o755))
	for i, tt := range tests {
		dir := b.treeDir(string(rune('a' + i)))
		tt.do(dir)
		good := b.treeDir("good" + string(rune('a'+i)))
		made, err := b.repo.MakeTrees(t.Context(), []string{dir, good}, b.head())
		b.refused(err, dir+" is in the way")
		if len(made) != 1 || made[0] != good {
			t.Errorf("%s: made %q", tt.name, made)
		}
		if _, err := b.repo.Enter(t.Context(), b.task(dir, "t-1")); err == nil {
			t.Errorf("%s: entered", tt.name)
		}
		if _, err := b.repo.RemoveTree(context.Background(), dir, "x"); err == nil {
			t.Errorf("%s: removed", tt.name)
		}
		if stat(dir) == nil {
			t.Errorf("%s: is gone", tt.name)
		}
	}
	if _, err := b.repo.MakeTrees(t.Context(), []string{b.treeDir("z")}, strings.Repeat("1", 40)); err == nil || stat(b.treeDir("z")) != nil {
		t.Errorf("a worktree of no commit: %v", err)
	}
}
