// Package gittest is for tests of what stands on git: a repository in a folder of its own,
// worked in as a person or an agent would. It starts git itself and knows nothing of
// internal/git, so that the tests of that package can use it too.
package gittest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// Box is a repository in a folder of its own with one commit of a few files.
type Box struct {
	T   testing.TB
	P   *proc.Runner
	Dir string
	Env []string
}

// New makes a box.
func New(t testing.TB, initArgs ...string) Box {
	t.Helper()
	b := empty(t)
	b.Must(writeFirst(b.Dir))
	if len(initArgs) == 0 {
		b.copyStarted()
		return b
	}
	b.Git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "start")
	return b
}

// empty is a box without a repository.
func empty(t testing.TB) Box {
	t.Helper()
	tmp := t.TempDir()
	b := Box{T: t, P: proc.NewRunner(""), Dir: filepath.Join(tmp, "work tree"), Env: testEnv(tmp)}
	b.Must(os.Mkdir(b.Dir, 0o755))
	return b
}

// At is the same box looked at in another folder.
func (b *Box) At(dir string) Box { return Box{T: b.T, P: b.P, Dir: dir, Env: b.Env} }

func testEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
}

// Try runs git as a person or an agent would, without the two processes that a commit starts to
// see whether there is garbage: there never is.
func (b *Box) Try(args ...string) (string, error) {
	out, stderr, res, err := b.P.Output(b.T.Context(), proc.Command{Args: append([]string{"git", "-c", "maintenance.auto=false"}, args...), Dir: b.Dir, Env: b.Env})
	if err == nil && res.Code != 0 {
		err = errors.New(string(stderr))
	}
	return string(out), err
}

// Git is Try that must succeed.
func (b *Box) Git(args ...string) string {
	b.T.Helper()
	out, err := b.Try(args...)
	if err != nil {
		b.T.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimRight(out, "\n")
}

// Path is where a file of the work tree is.
func (b *Box) Path(name string) string { return filepath.Join(b.Dir, filepath.FromSlash(name)) }

// Write makes a file with its folders.
func (b *Box) Write(name, text string) {
	b.T.Helper()
	if err := os.MkdirAll(filepath.Dir(b.Path(name)), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(b.Path(name), []byte(text), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Remove removes a file or folder.
func (b *Box) Remove(name string) {
	b.T.Helper()
	if err := os.RemoveAll(b.Path(name)); err != nil {
		b.T.Fatal(err)
	}
}

// Read returns a text, or why there is none.
func (b *Box) Read(name string) string {
	text, err := os.ReadFile(b.Path(name))
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(text)
}

// Want checks the text of a file.
func (b *Box) Want(name, text string) {
	b.T.Helper()
	if got := b.Read(name); got != text {
		b.T.Errorf("%s is %q, want %q", name, got, text)
	}
}

// Equal compares two texts.
func (b *Box) Equal(what, got, want string) {
	b.T.Helper()
	if got != want {
		b.T.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// Must ends the test for an error.
func (b *Box) Must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Refused checks that an error is a refusal that says words.
func (b *Box) Refused(err error, words string) {
	b.T.Helper()
	if refusal, ok := errors.AsType[*ralph.Refusal](err); !ok || !errors.Is(err, ralph.ErrUsage) || refusal.Hint == "" {
		b.T.Fatalf("error is %T %v, want a *ralph.Refusal with a hint", err, err)
	}
	if !strings.Contains(err.Error(), words) {
		b.T.Errorf("refusal %q does not say %q", err, words)
	}
}

// Head is the commit of HEAD. Tests ask a thousand times: it is read where it lies, and git is asked
// where it does not, as with packed refs.
func (b *Box) Head() string {
	b.T.Helper()
	head := line(filepath.Join(b.gitDir(), "HEAD"))
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		return b.Tip(branch)
	}
	if len(head) != 40 {
		return b.Git("rev-parse", "HEAD")
	}
	return head
}

// Tip is the commit of a branch, read like that of HEAD.
func (b *Box) Tip(branch string) string {
	b.T.Helper()
	dir := b.gitDir()
	if common := line(filepath.Join(dir, "commondir")); common != "" {
		dir = filepath.Join(dir, common)
	}
	if tip := line(filepath.Join(dir, "refs/heads", branch)); len(tip) == 40 {
		return tip
	}
	return b.Git("rev-parse", "refs/heads/"+branch)
}

// gitDir is the folder of git of the work tree.
func (b *Box) gitDir() string {
	dir := b.Path(".git")
	if link, err := os.ReadFile(dir); err == nil {
		dir, _ = strings.CutPrefix(strings.TrimSpace(string(link)), "gitdir: ")
		if !filepath.IsAbs(dir) { // of a submodule
			dir = filepath.Join(b.Dir, dir)
		}
	}
	return dir
}

// line is the text of a file of one line, or nothing.
func line(path string) string {
	text, _ := os.ReadFile(path)
	return strings.TrimSpace(string(text))
}

// Status is what git tells of the work tree.
func (b *Box) Status() string { return b.Git("status", "--porcelain", "--untracked-files=all") }

// Hook installs a hook.
func (b *Box) Hook(name, script string) {
	b.T.Helper()
	path := filepath.Join(b.gitDir(), "hooks", name)
	b.Must(os.MkdirAll(filepath.Dir(path), 0o755))
	ralphtest.Program(b.T, path, "#!/bin/sh\n"+script+"\n")
}

// Files returns the work tree: path to mode, kind and content.
func (b *Box) Files() map[string]string {
	b.T.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(b.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(b.Dir, path)
		if name == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			text, err = os.Readlink(path)
		} else {
			var raw []byte
			raw, err = os.ReadFile(path)
			text = string(raw)
		}
		kind := info.Mode() & (fs.ModeType | 0o100)
		if info.Mode()&fs.ModeSymlink != 0 {
			kind = fs.ModeSymlink
		}
		list[filepath.ToSlash(name)] = kind.String() + " " + text
		return err
	})
	b.Must(err)
	return list
}

// All is the checkout of a person with the state of its git folder.
func (b *Box) All() map[string]string {
	list := b.Files()
	for _, name := range []string{"index", "HEAD", "ORIG_HEAD", "MERGE_HEAD", "ralph-index", "logs/refs/stash"} {
		list[".git/"+name] = b.Read(".git/" + name)
	}
	list["main"] = b.Tip("main")
	return list
}

// Untouched compares a person's checkout with what All said before.
func (b *Box) Untouched(before map[string]string) {
	b.T.Helper()
	after := b.All()
	if !maps.Equal(before, after) {
		for name := range before {
			if before[name] != after[name] {
				b.T.Errorf("the person's checkout changed: %s\n was %.200q\n now %.200q", name, before[name], after[name])
			}
		}
		b.T.Errorf("files before %d, after %d", len(before), len(after))
	}
}

// Fsck has git check its objects.
func (b *Box) Fsck() {
	b.T.Helper()
	if out, err := b.Try("fsck", "--full", "--strict", "--no-dangling"); err != nil || strings.Contains(out, "error") {
		b.T.Errorf("git fsck: %s %v", out, err)
	}
}

// Bring makes one path of the work tree that of a commit, as a git on its way
// would have done.
func (b *Box) Bring(commit, name string) {
	b.T.Helper()
	info := b.Git("ls-tree", commit, "--", name)
	full := b.Path(name)
	_ = os.Remove(full)
	_ = os.Remove(filepath.Dir(full)) // where nothing is left in it
	if info == "" || strings.HasPrefix(info, "040000") {
		return
	}
	if above, err := os.Stat(filepath.Dir(full)); err == nil && !above.IsDir() {
		b.Must(os.Remove(filepath.Dir(full)))
	}
	if strings.HasPrefix(info, "120000") {
		b.Must(os.Symlink(b.Git("show", commit+":"+name), full))
		return
	}
	b.Write(name, b.Git("show", commit+":"+name)+"\n")
	if strings.HasPrefix(info, "100755") {
		b.Must(os.Chmod(full, 0o755))
	}
}

// Stashes lists the stashes.
func (b *Box) Stashes() string { return b.Git("stash", "list", "--format=%gd: %gs") }

// Edit changes, adds, stages and removes.
func (b *Box) Edit() {
	b.Write("a.txt", "changed\n")
	b.Write("new dir/ö.txt", "new\n")
	b.Write("staged.txt", "staged\n")
	b.Git("add", "staged.txt")
	b.Remove("dir/sub")
}

// OwnFiles writes files of ralph's own.
func (b *Box) OwnFiles() map[string]string {
	own := map[string]string{
		"ralph/inbox.jsonl": "i1\n", "ralph/plan.jsonl": "p1\n", "ralph/.agent-session": "s1\n",
		"ralph/.state/journal.jsonl": "j1\n", "ralph/.state/tasks/t-1/1/output.log": "o1\n",
		"ralph/.worktrees/t-1/x.txt": "w1\n", "build/ralph-logs/agent-1.log": "l1\n",
	}
	for name, text := range own {
		b.Write(name, text)
	}
	return own
}

// TreeDir is the folder of a worktree of the box's checkout.
func (b *Box) TreeDir(name string) string { return b.Path("ralph/.worktrees/" + name) }

// LeftLocks puts the locks there that a git which was killed left a while ago.
func (b *Box) LeftLocks(names ...string) {
	b.T.Helper()
	for _, name := range names {
		b.Write(".git/"+name, "")
	}
	b.AgeLocks()
}

// NoLocks checks that none is left.
func (b *Box) NoLocks(names ...string) {
	b.T.Helper()
	for _, name := range names {
		if _, err := os.Stat(b.Path(".git/" + name)); err == nil {
			b.T.Errorf("%s is still there", name)
		}
	}
}

// AgeLocks makes the locks of a git that was killed as old as they are once
// somebody has started the next engine. Those of the whole repository are gone
// by then, Settle has seen to that.
func (b *Box) AgeLocks() {
	b.T.Helper()
	for _, name := range []string{"refs/stash.lock", "packed-refs.lock"} {
		_ = os.Remove(b.Path(".git/" + name))
	}
	b.Must(filepath.WalkDir(b.Path(".git"), func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".lock") && err == nil {
			err = os.Chtimes(name, time.Time{}, time.Now().Add(-time.Minute))
		}
		return err
	}))
}

// Linked adds a worktree of a person's with a new branch, outside the box. It writes what
// `git worktree add -b` does, which is four processes.
func (b *Box) Linked(name, at string) Box {
	b.T.Helper()
	w := b.At(filepath.Join(b.T.TempDir(), "tree"))
	entry := b.linkedEntry(w.Dir)
	b.Must(errors.Join(os.MkdirAll(entry, 0o755), os.Mkdir(w.Dir, 0o755)))
	for path, text := range map[string]string{
		w.Path(".git"): "gitdir: " + entry, filepath.Join(entry, "gitdir"): w.Path(".git"),
		filepath.Join(entry, "commondir"): "../..", filepath.Join(entry, "HEAD"): "ref: refs/heads/" + name,
	} {
		b.Must(os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	w.Git("reset", "-q", "--hard", at)
	return w
}

// linkedEntry is where the repository notes a worktree, under a name made of the two folders above,
// since all trees are called the same.
func (b *Box) linkedEntry(dir string) string {
	above := filepath.Dir(dir)
	return b.Path(".git/worktrees/" + filepath.Base(filepath.Dir(above)) + "-" + filepath.Base(above))
}

// Branch makes a branch at a commit in a worktree of a person's, lets change work
// in it, commits everything, and returns the tip.
func (b *Box) Branch(name, at string, change func(*Box)) string {
	b.T.Helper()
	w := b.Linked(name, at)
	change(&w)
	w.Git("add", "-A", "-f")
	w.Git("commit", "-q", "--allow-empty", "-m", name)
	tip := w.Head()
	b.Must(errors.Join(os.RemoveAll(b.linkedEntry(w.Dir)), os.RemoveAll(w.Dir)))
	return tip
}
