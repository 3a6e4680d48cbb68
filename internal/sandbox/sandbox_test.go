package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Of the repository a worktree writes what commits need, and neither hooks nor settings.
func TestTree(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	own, work := filepath.Join(repo, ".git/worktrees/w"), filepath.Join(repo, "w")
	for _, err := range []error{
		os.MkdirAll(own, 0o700), os.Mkdir(work, 0o700), os.WriteFile(filepath.Join(own, "commondir"), []byte("../..\n"), 0o600),
		os.WriteFile(filepath.Join(work, ".git"), []byte("gitdir: "+own+"\n"), 0o600),
		os.WriteFile(filepath.Join(own, "gitdir"), []byte(filepath.Join(work, ".git")+"\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	git := filepath.Join(repo, ".git")
	want := []string{work, own, filepath.Join(git, "objects"), filepath.Join(git, "refs"), filepath.Join(git, "logs")}
	if got := sandbox.Tree(work); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := sandbox.Tree(repo); !slices.Equal(got, []string{repo}) {
		t.Errorf("the checkout: %q", got)
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
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "objects/x"), "")
	write(filepath.Join(real, "gitdir"), filepath.Join(work, ".git"))
	write(filepath.Join(real, "commondir"), home)
	write(filepath.Join(fake, "gitdir"), filepath.Join(work, ".git"))
	if err := os.Symlink(home, filepath.Join(root, "tmp/objects")); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{home, home + "/worktrees/w/../..", real, fake} {
		write(filepath.Join(work, ".git"), "gitdir: "+own+"\n")
		for _, p := range sandbox.Tree(work) {
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

// All can be read but what is hidden, what is there of the list can be written, and the
// program's own arguments are none of bubblewrap's.
func TestBwrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "web.json")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(sandbox.Bwrap("/usr/bin/bwrap", []string{dir, "/no/such/folder", dir}, []string{secret, "/no/such/file"}, []string{"/bin/sh", "--bind"}), " ")
	want := "/usr/bin/bwrap --ro-bind / / --dev-bind /dev /dev --proc /proc --bind " + dir + " " + dir + " --ro-bind /dev/null " + secret + " --die-with-parent -- /bin/sh --bind"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
