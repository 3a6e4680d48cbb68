package push

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// S1, S4: a push with -u notes what the branch follows in the same file of settings, since what
// keeps an agent from writing that file covers it alone and not one in its place.
func TestAPushKeepsTheFileOfSettings(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	remote, settings := filepath.Join(t.TempDir(), "remote.git"), b.Path(".git/config")
	b.Git("init", "-q", "--bare", remote)
	b.Git("remote", "add", "origin", remote)
	b.Git("switch", "-q", "-c", `it"s`)
	before, err := os.Stat(settings)
	if err != nil {
		t.Fatal(err)
	}
	push := func(args ...string) error {
		t.Helper()
		want, err := Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Prepare(t.Context(), b.repo, b.Dir, want)
		if err != nil {
			t.Fatal(err)
		}
		if said, code, err := Run(t.Context(), b.repo, plan, nil); err != nil || code != 0 {
			t.Fatalf("%d %v: %s", code, err, said)
		}
		return Note(t.Context(), b.repo, b.Dir, plan)
	}
	if err := push("-u", "origin", "HEAD"); err != nil {
		t.Fatal(err)
	}
	if got := b.Git("rev-parse", "--symbolic-full-name", "@{upstream}"); got != `refs/remotes/origin/it"s` {
		t.Errorf("the branch follows %s", got)
	}
	if got := b.Git("config", `branch.it"s.remote`); got != "origin" {
		t.Errorf("the branch follows one of %q", got)
	}
	b.Write("new.txt", "x\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "more")
	if err := push("-u", "origin", "HEAD"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := push("-u", "origin", "HEAD:other"); err == nil || !strings.Contains(err.Error(), "still follows refs/heads/it") {
		t.Errorf("to another branch: %v", err)
	}
	if got := strings.Count(b.Git("config", "--get-all", `branch.it"s.merge`), "refs/"); got != 1 {
		t.Errorf("it follows %d branches", got)
	}
	after, err := os.Stat(settings)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the settings are another file: %v", err)
	}
	if _, err := os.Stat(settings + ".lock"); err == nil {
		t.Error("the lock is left")
	}
	b.Must(os.WriteFile(settings+".lock", nil, 0o600))
	b.Git("switch", "-q", "-c", "next")
	if err := push("-u", "origin", "HEAD"); err == nil || !strings.Contains(err.Error(), "lock git's settings") {
		t.Errorf("beside another git: %v", err)
	}
}
