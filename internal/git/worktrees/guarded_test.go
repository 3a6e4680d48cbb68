package worktrees

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/registry"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// attacks are what an agent can do to the folders that its sandbox lets it write, so that
// git runs $EVIL, or writes $VICTIM, when it looks at them (S1). Each is a shell script that
// works in the work tree; $G is its folder of git, $C that of the repository, $T temporary.
func attacks() map[string]string {
	const copied = `mkdir -p $T/ec; cp -r $C/. $T/ec/; rm -rf $T/ec/objects $T/ec/refs; ln -s $C/objects $C/refs $T/ec/; `
	const nested = `git init -q sub; cd sub; echo a > a; git add a; git -c user.name=x -c user.email=y commit -qm x; `
	const filter = `[filter "x"]\n\tclean = %s\n\tsmudge = %s\n\tprocess = %s\n\trequired = true\n`
	const attributes = `echo '* filter=x' > .gitattributes; `
	writeFilter := `printf '` + filter + `' $EVIL $EVIL $EVIL`
	return map[string]string{
		"commondir, monitor":  copied + `git config -f $T/ec/config core.fsmonitor $EVIL; echo $T/ec > $G/commondir`,
		"commondir, filter":   copied + writeFilter + ` >> $T/ec/config; ` + attributes + `echo $T/ec > $G/commondir`,
		"commondir, hooks":    copied + `mkdir -p $T/ec/hooks; for h in pre-commit post-commit post-checkout reference-transaction post-index-change; do cp $EVIL $T/ec/hooks/$h; done; echo $T/ec > $G/commondir`,
		"commondir, include":  copied + `printf '[core]\n\tfsmonitor = %s\n' $EVIL > $T/inc; git config -f $T/ec/config include.path $T/inc; echo $T/ec > $G/commondir`,
		"commondir is a link": copied + `git config -f $T/ec/config core.fsmonitor $EVIL; echo $T/ec > $T/cd; rm -f $G/commondir; ln -s $T/cd $G/commondir`,
		".git leads elsewhere": `cp -r $C $T/full; git config -f $T/full/config core.fsmonitor $EVIL; git config -f $T/full/config --unset core.bare;
			echo "gitdir: $T/full" > .git`,
		".git is a link":               `cp -r $C $T/full; git config -f $T/full/config core.fsmonitor $EVIL; rm .git; ln -s $T/full .git`,
		".git is a folder":             `cp -r $C $T/full; git config -f $T/full/config core.fsmonitor $EVIL; rm .git; mv $T/full .git`,
		"settings of its own":          `printf '[core]\n\tfsmonitor = %s\n\thooksPath = /tmp\n' $EVIL > $G/config.worktree; ` + writeFilter + ` >> $G/config.worktree; ` + attributes,
		"a repository inside, monitor": nested + `git config core.fsmonitor $EVIL; cd ..; git add sub`,
		"a repository inside, filter":  nested + writeFilter + ` >> .git/config; ` + attributes + `echo b > a; cd ..; git add sub`,
		"a repository inside that .gitmodules names": nested + writeFilter + ` >> .git/config; git config core.fsmonitor $EVIL; ` + attributes +
			`echo b > a; cd ..; git add sub; printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n\tupdate = !%s\n' $EVIL > .gitmodules; git add .gitmodules`,
		"a repository inside, split index": nested + writeFilter + ` >> .git/config; ` + attributes + `echo b > a; cd ..; git add sub; git update-index --split-index`,
		"a repository inside elsewhere":    nested + writeFilter + ` >> .git/config; ` + attributes + `echo b > a; mv .git $T/subgit; echo "gitdir: $T/subgit" > .git; cd ..; git add sub`,
		"a repository without work tree":   `git init -q --bare bare; git config -f bare/config core.fsmonitor $EVIL; git config -f bare/config core.bare false; git config -f bare/config core.worktree ..`,
		"an attribute, no filter":          `printf '* filter=x diff=x merge=x\n' > .gitattributes`,
		"the message leads out":            `rm -f $G/COMMIT_EDITMSG; ln -s $VICTIM $G/COMMIT_EDITMSG`,
		"the log of HEAD leads out":        `mkdir -p $G/logs; rm -f $G/logs/HEAD; ln -s $VICTIM $G/logs/HEAD`,
		"the log of the branch leads out":  `mkdir -p $C/logs/refs/heads/ralph; rm -f $C/logs/refs/heads/ralph/t-1; ln -s $VICTIM $C/logs/refs/heads/ralph/t-1`,
		"the logs of branches lead out":    `rm -rf $C/logs/refs/heads/ralph; ln -s $(dirname $VICTIM) $C/logs/refs/heads/ralph; ln -s $VICTIM $(dirname $VICTIM)/t-2`,
		"ralph's notes lead out":           `for n in ralph-unready ralph-setup; do rm -f $G/$n; ln -s $VICTIM $G/$n; done`,
		"commondir leads out and is gone":  `rm -f $G/commondir $G/gitdir $G/HEAD; ln -s $VICTIM $G/commondir; ln -s $VICTIM $G/gitdir; rm .git; ln -s $VICTIM .git`,
		"modules that lead out":            `mkdir -p $G/modules; ln -s $C $G/modules/x; mkdir sub; echo "gitdir: $G/modules/x" > sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub`,
	}
}

// plant puts evil.sh and a victim beside the repository, and runs an attack in a work tree.
// held says afterwards whether anything of it came true.
func plant(t *testing.T, b *testRepo, dir, script string) (held func()) {
	t.Helper()
	temp := t.TempDir()
	evil, canary, victim := filepath.Join(temp, "evil.sh"), filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "victim")
	ralphtest.Program(t, evil, "#!/bin/sh\necho \"$0 $*\" >> "+canary+"\ncat\n")
	b.Must(os.WriteFile(victim, []byte("mine\n"), 0o600))
	gitDir := git.GitFile(dir)
	if gitDir == "" {
		gitDir = filepath.Join(dir, ".git")
	}
	env := append(b.Env[:len(b.Env):len(b.Env)], "EVIL="+evil, "VICTIM="+victim, "T="+temp, "G="+gitDir, "C="+b.repo.Common())
	_, stderr, res, err := b.P.Output(t.Context(), proc.Command{Args: []string{"sh", "-ec", "IFS=; " + script}, Dir: dir, Env: env})
	if err != nil || res.Code != 0 {
		t.Fatalf("the attack: %v, exit %d: %s", err, res.Code, stderr)
	}
	b.Must(os.RemoveAll(canary)) // its own git commands ran it
	return func() {
		t.Helper()
		if text, err := os.ReadFile(canary); err == nil {
			t.Errorf("git ran the agent's program: %s", text)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "mine\n" {
			t.Errorf("git wrote a file of others: %q, %v", text, err)
		}
	}
}

// S1: whatever an agent does to its worktree and to what of .git it can write, no command
// of ralph's runs a program of its choice or writes where it leads. That work fails is no
// matter; that it goes on where there was no harm is seen in the other tests.
func TestAgentsDoNotChooseWhatGitRuns(t *testing.T) {
	t.Parallel()
	for name, script := range ralphtest.Named(4, attacks()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if strings.HasPrefix(name, "settings of") {
				b.Git("config", "extensions.worktreeConfig", "true")
			}
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tree, err := b.repo.Tree(dir)
			b.Must(err)
			w := b.in(dir)
			w.Write("a.txt", "the agent's\n")
			held := plant(t, b, dir, script)
			everything(w, tree, b, dir)
			held()
		})
	}
}

// everything is what an engine does with a worktree after a turn. Each may refuse.
func everything(w *testRepo, tree *git.Repo, b *testRepo, dir string) {
	ctx := b.T.Context()
	w.repo = tree
	before := b.repo
	for range 2 {
		_, _ = tree.Head(ctx)
		snap, _ := tree.Snapshot(ctx)
		_, _ = tree.Dirty(ctx)
		_, _ = Inside(ctx, tree)
		if head, err := tree.Head(ctx); err == nil {
			_, _ = diff.Plain(ctx, tree, head.Commit, snap, 1<<20)
			_, _ = commits.Make(ctx, tree, commits.Input{Base: head.Commit, Trailer: "Ralph-Receipt", Key: "k", Message: "m\n\nRalph-Receipt: k\n", Agents: commits.Agents{}})
		}
		_ = Publish(ctx, tree)
		_ = Tidy(ctx, tree)
		_ = NoteSetUp(tree, "as it is")
		_, _ = registry.List(ctx, before)
		if again, err := before.Tree(dir); err == nil {
			tree = again
		}
	}
	in := b.task(dir, "t-1")
	in.Mine = true
	_, _ = Enter(ctx, before, in)
	_, _ = Enter(ctx, before, b.task(dir, "t-2"))
	_, _ = before.Dirty(ctx)
	_, _ = Remove(ctx, before, dir, "end")
	_ = commits.Maintain(ctx, before)
}

// S1: the submodules of a worktree have their settings where its agent writes them.
func TestAgentsDoNotChooseWhatGitRunsInSubmodules(t *testing.T) {
	t.Parallel()
	for name, script := range ralphtest.Named(4, map[string]string{
		"monitor": `git config -f $G/modules/vendor/lib/config core.fsmonitor $EVIL; echo x > vendor/lib/a.txt`,
		"filter": `printf '[filter "x"]\n\tclean = %s\n\tsmudge = %s\n' $EVIL $EVIL >> $G/modules/vendor/lib/config
			echo '* filter=x' > vendor/lib/.gitattributes; echo x > vendor/lib/a.txt`,
		"filter below": `printf '[filter "x"]\n\tclean = %s\n\tsmudge = %s\n' $EVIL $EVIL >> $G/modules/vendor/lib/modules/deep/config
			echo '* filter=x' > $G/modules/vendor/lib/modules/deep/info/attributes; echo x > vendor/lib/deep/a.txt`,
		"hooks": `for d in $G/modules/vendor/lib $G/modules/vendor/lib/modules/deep; do mkdir -p $d/hooks
			for h in pre-commit post-checkout post-commit reference-transaction post-index-change; do cp $EVIL $d/hooks/$h; done; done; echo x > vendor/lib/a.txt`,
		"include":  `printf '[core]\n\tfsmonitor = %s\n' $EVIL > $T/inc; git config -f $G/modules/vendor/lib/config include.path $T/inc; echo x > vendor/lib/a.txt`,
		"worktree": `mkdir $T/w; cp $VICTIM $T/w/a.txt; rm $VICTIM; ln -s $T/w/a.txt $VICTIM; git config -f $G/modules/vendor/lib/config core.worktree $T/w`,
		"update":   `git config -f $G/modules/vendor/lib/config submodule.deep.update "!$EVIL"; git -C vendor/lib/deep checkout -q --detach`,
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := withLib(t)
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tree, err := b.repo.Tree(dir)
			b.Must(err)
			held := plant(t, b, dir, script)
			everything(b.in(dir), tree, b, dir)
			held()
		})
	}
}

// S1, in place: the same in the checkout, as far as its sandbox leaves .git to be written.
func TestAgentsDoNotChooseWhatGitRunsInPlace(t *testing.T) {
	t.Parallel()
	for name, script := range ralphtest.Named(4, attacks()) {
		if strings.HasPrefix(name, ".git ") || strings.HasPrefix(name, "settings") || strings.Contains(name, "gone") || strings.Contains(name, "modules") {
			continue // these write what the sandbox keeps, or a worktree alone has
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.Write("a.txt", "the agent's\n")
			held := plant(t, b, b.Dir, script)
			ctx := t.Context()
			for range 2 {
				snap, _ := b.repo.Snapshot(ctx)
				_, _ = b.repo.Dirty(ctx)
				if _, err := os.Lstat(b.Path("sub/.git")); err != nil { // a person's own submodule is looked into
					_, _ = Inside(ctx, b.repo)
				}
				if head, err := b.repo.Head(ctx); err == nil {
					_, _ = diff.Plain(ctx, b.repo, head.Commit, snap, 1<<20)
					_, _ = commits.Make(ctx, b.repo, commits.Input{Base: head.Commit, Branch: "main", Trailer: "Ralph-Receipt", Key: "k", Message: "m\n\nRalph-Receipt: k\n", Agents: commits.Agents{On: "main"}})
				}
				if again, err := git.Open(ctx, b.P, b.Dir, b.Env); err == nil {
					_, _ = again.Dirty(ctx)
				}
			}
			held()
		})
	}
}

// Filters of the person's own settings (LFS) work as before, in a worktree too.
func TestFiltersOfThePersonWork(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Git("config", "filter.up.clean", "tr a-z A-Z")
	b.Write(".gitattributes", "*.up filter=up\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "attributes")
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	w := b.in(dir)
	tree, err := b.repo.Tree(dir)
	b.Must(err)
	w.repo = tree
	w.Write("x.up", "loud\n")
	w.mustCommit("k", nil)
	b.Equal("what is committed", w.Git("show", "HEAD:x.up"), "LOUD")
}

// S12: with a shield the hooks of the repository run as it wraps them, in the checkout and
// in worktrees, with all that they are told, and what they refuse is refused.
func TestHooksRunInsideTheShield(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Hook("commit-msg", `echo "by $WRAPPED $(basename "$1")" >> "$1"; [ -z "$GIT_WORK_TREE" ]`)
	b.Hook("post-checkout", "exit 1")
	folder := filepath.Join(t.TempDir(), "it's hooks")
	b.repo.Shield(folder, func(dir string, argv []string) ([]string, error) {
		return append([]string{"/usr/bin/env", "WRAPPED=in " + dir}, argv...), nil
	})
	b.Write("a.txt", "two\n")
	b.mustCommit("k", nil)
	if got := b.Git("log", "-1", "--format=%B"); !strings.Contains(got, "by in "+b.Dir+" COMMIT_EDITMSG") {
		t.Errorf("in the checkout: %s", got)
	}
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	w := b.in(dir)
	tree, err := b.repo.Tree(dir)
	b.Must(err)
	w.repo = tree
	w.Write("a.txt", "three\n")
	w.mustCommit("k2", nil)
	if got := w.Git("log", "-1", "--format=%B"); !strings.Contains(got, "by in "+dir) {
		t.Errorf("in a worktree: %s", got)
	}
	b.Hook("commit-msg", "exit 1")
	w.Write("a.txt", "four\n")
	if _, err := w.commit("k3", nil); err == nil {
		t.Error("a hook that refuses did not")
	}
	b.Remove(".git/hooks/commit-msg")
	w.mustCommit("k3", nil)

	// a person moves the hooks while ralph runs
	b.Write("ours/commit-msg", "#!/bin/sh\necho \"moved, $WRAPPED\" >> \"$1\"\n")
	b.Must(os.Chmod(filepath.Join(b.Dir, "ours/commit-msg"), 0o755))
	b.Git("config", "core.hooksPath", filepath.Join(b.Dir, "ours"))
	w.Write("a.txt", "five\n")
	w.mustCommit("k4", nil)
	if got := w.Git("log", "-1", "--format=%B"); !strings.Contains(got, "moved, in "+dir) {
		t.Errorf("after core.hooksPath was set: %s", got)
	}
}

// Second pass of issue 15: an agent can write refs/replace, by which git shows one object as
// another. ralph's own git sees what is there.
func TestReplacedObjectsAreSeenAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("a.txt", "as it is\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "start")
	b.Write("b.txt", "evil\n")
	evil := strings.TrimSpace(b.Git("hash-object", "-w", "b.txt"))
	b.Git("replace", strings.TrimSpace(b.Git("rev-parse", "HEAD:a.txt")), evil)
	out, err := b.repo.Run(t.Context(), git.Call{Args: []string{"cat-file", "-p", "HEAD:a.txt"}})
	b.Must(err)
	b.Equal("what ralph sees", out, "as it is\n")
}

// Second pass of issue 15: in the checkout an agent can make .git/commondir, which git reads
// there too: the person's next git would run what the settings that it names say. It is taken
// away with the first look after the turn.
func TestCommondirOfACheckoutIsTakenAway(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	evil := b.Dir + "-evil"
	b.Must(os.CopyFS(evil, os.DirFS(filepath.Join(b.Dir, ".git"))))
	b.Must(os.WriteFile(filepath.Join(b.Dir, ".git", "commondir"), []byte(evil+"\n"), 0o644))
	if _, err := b.repo.Head(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := b.repo.TreeKept(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(b.Dir, ".git", "commondir")); err == nil {
		t.Error("it is still there")
	}
}
