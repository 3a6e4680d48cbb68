package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// settle lets the files of a folder look as if nobody had written them lately.
func settle(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		err := os.Chtimes(name, old, old)
		if e.Type()&os.ModeSymlink != 0 { // its own time is set by no call of Go
			err = exec.Command("touch", "-h", "-d", "1 hour ago", name).Run()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Of the repository a worktree writes what commits need, and neither hooks nor settings,
// nor what git finds the repository by (S1). The checkout is written but for those.
func TestTree(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	git := filepath.Join(repo, ".git")
	own, work := filepath.Join(git, "worktrees/w"), filepath.Join(repo, "w")
	write(t, filepath.Join(own, "commondir"), "../..\n")
	write(t, filepath.Join(work, ".git"), "gitdir: "+own+"\n")
	write(t, filepath.Join(own, "gitdir"), filepath.Join(work, ".git")+"\n")
	write(t, filepath.Join(own, "modules/lib/HEAD"), "ref: refs/heads/main\n")
	want := []string{work, own, filepath.Join(git, "objects"), filepath.Join(git, "refs"), filepath.Join(git, "logs", "refs")} // the log of the checkout's HEAD says what a person did: not an agent's to write
	got, keep := sandbox.Tree(work)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range []string{"w/.git", ".git/worktrees/w/commondir", ".git/worktrees/w/gitdir", ".git/worktrees/w/config.worktree", ".git/worktrees/w/modules/lib/config"} {
		if !slices.Contains(keep, filepath.Join(repo, name)) {
			t.Errorf("%s is not kept: %q", name, keep)
		}
	}
	if got, keep = sandbox.Tree(repo); !slices.Equal(got, []string{repo}) {
		t.Errorf("the checkout: %q", got)
	}
	for _, name := range []string{"config", "config.worktree", "hooks", "info", "worktrees"} {
		if !slices.Contains(keep, filepath.Join(git, name)) {
			t.Errorf("of the checkout .git/%s is not kept: %q", name, keep)
		}
	}
}

// An agent can write the file .git of its worktree, and what lies in the worktree's own
// folder: neither opens another place to its next turn.
func TestTreeIsNotTheAgentsToChoose(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	home, fake := filepath.Join(root, "home"), filepath.Join(root, "tmp/worktrees/w")
	real := filepath.Join(root, "repo/.git/worktrees/w")
	work := filepath.Join(root, "repo/w")
	write(t, filepath.Join(home, "objects/x"), "")
	write(t, filepath.Join(real, "gitdir"), filepath.Join(work, ".git"))
	write(t, filepath.Join(real, "commondir"), home)
	write(t, filepath.Join(fake, "gitdir"), filepath.Join(work, ".git"))
	if err := os.Symlink(home, filepath.Join(root, "tmp/objects")); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{home, home + "/worktrees/w/../..", real, fake} {
		write(t, filepath.Join(work, ".git"), "gitdir: "+own+"\n")
		list, _ := sandbox.Tree(work)
		for _, p := range list {
			if to, err := filepath.EvalSymlinks(p); err == nil && strings.HasPrefix(to, home) {
				t.Errorf("gitdir: %s opens %s", own, p)
			}
		}
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	if got := sandbox.Home([]string{"~/.cache", "/opt/x"}, "/home/ada"); !slices.Equal(got, []string{"/home/ada/.cache", "/opt/x"}) {
		t.Errorf("%q", got)
	}
	if got := sandbox.Home([]string{"~/.cache", "/opt/x"}, ""); !slices.Equal(got, []string{"/opt/x"}) {
		t.Errorf("%q", got)
	}
}

// What is kept, and what is hidden, comes after what holds it, and the folders on the way
// to it cannot be moved; the program's own arguments are none of bubblewrap's.
func TestBwrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ralph/.state/web.json"), "token")
	write(t, filepath.Join(dir, "home/.ssh/id"), "key")
	box := sandbox.Box{
		Write: []string{dir, "/no/such/folder", dir}, Keep: []string{filepath.Join(dir, "ralph/.state")},
		Hide: []string{filepath.Join(dir, "ralph/.state/web.json"), filepath.Join(dir, "home/.ssh"), "/no/such/file"}, NoFile: "/f", NoFolder: "/d",
	}
	got := strings.Join(sandbox.Bwrap("/usr/bin/bwrap", box, []string{"/bin/sh", "--bind"}), " ")
	want := strings.ReplaceAll(" --bind D D --ro-bind /d D/home/.ssh --bind D/ralph D/ralph --ro-bind D/ralph/.state D/ralph/.state --ro-bind /f D/ralph/.state/web.json -- /bin/sh --bind", "D", dir)
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end %s", got, want)
	}
	write(t, filepath.Join(dir, "other/.netrc"), "login")
	write(t, filepath.Join(dir, "other/plain"), "")
	write(t, filepath.Join(dir, "other/cache/x"), "")
	write(t, filepath.Join(dir, "other/keys/x"), "")
	if err := os.Symlink("plain", filepath.Join(dir, "other/link")); err != nil {
		t.Fatal(err)
	}
	settle(t, filepath.Join(dir, "other"))
	box = sandbox.Box{Write: []string{filepath.Join(dir, "other/cache")}, Hide: []string{filepath.Join(dir, "other/.netrc"), filepath.Join(dir, "other/keys")}, NoFile: "/f", NoFolder: "/d"}
	got = strings.Join(sandbox.Bwrap("/usr/bin/bwrap", box, []string{"/bin/true"}), " ")
	want = strings.ReplaceAll(" --tmpfs D --bind D/cache D/cache --ro-bind /d D/keys --symlink plain D/link --ro-bind-try D/plain D/plain --remount-ro D -- /bin/true", "D", dir+"/other")
	if !strings.HasSuffix(got, want) {
		t.Errorf("a hidden file:\n%s\nwant at its end %s", got, want)
	}
	for _, part := range []string{"--unshare-pid", "--new-session", "--cap-drop ALL", "--die-with-parent", "--ro-bind / /"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
}
