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

func TestHome(t *testing.T) {
	t.Parallel()
	if got := sandbox.Home([]string{"~/.cache", "/opt/x"}, "/home/ada"); !slices.Equal(got, []string{"/home/ada/.cache", "/opt/x"}) {
		t.Errorf("%q", got)
	}
	if got := sandbox.Home([]string{"~/.cache", "/opt/x"}, ""); !slices.Equal(got, []string{"/opt/x"}) {
		t.Errorf("%q", got)
	}
}

// All can be read, what is there of the list can be written, and the program's own
// arguments are none of bubblewrap's.
func TestBwrap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := strings.Join(sandbox.Bwrap("/usr/bin/bwrap", []string{dir, "/no/such/folder", dir}, []string{"/bin/sh", "--bind"}), " ")
	want := "/usr/bin/bwrap --ro-bind / / --dev-bind /dev /dev --proc /proc --bind " + dir + " " + dir + " --die-with-parent -- /bin/sh --bind"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
