package observe

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// In the middle of a turn the changes of a work tree are shown, new files too, and nothing is
// written for it: an agent works there.
func TestWorkDiff(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	put := func(name, words string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(words), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	put("a.txt", "one\ntwo\n")
	put(".gitignore", "out/\n")
	git("add", "-A")
	git("commit", "-qm", "first")
	put("a.txt", "one\nthree\n")
	put("new/b.txt", "hello\n")
	put("binary", "a\x00b")
	put("out/ignored", "x")
	put("ralph/notes", "ralph's own")
	index, err := os.ReadFile(filepath.Join(root, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	objects := git("count-objects")

	patch, err := WorkDiff(t.Context(), workspace.Env{Dir: root, Environ: environ}, root, &ralph.Task{ID: "t-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"-two\n+three\n", "diff --git a/new/b.txt b/new/b.txt", "@@ -0,0 +1,1 @@\n+hello\n", "Binary file, 3 bytes"} {
		if !strings.Contains(string(patch), want) {
			t.Errorf("%q is not in:\n%s", want, patch)
		}
	}
	for _, not := range []string{"ignored", "ralph's own"} {
		if strings.Contains(string(patch), not) {
			t.Errorf("%q is in:\n%s", not, patch)
		}
	}
	after, err := os.ReadFile(filepath.Join(root, ".git/index"))
	if err != nil || string(after) != string(index) || git("count-objects") != objects {
		t.Errorf("looking has written to the repository (%v)", err)
	}
}
