package shim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/shim"
)

// Whose a commit is (F-02): new ones and rewritten ones of agents are theirs, whoever
// amends or rebases a commit of somebody else's has not made it. Half a line says nothing.
func TestReportRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       shim.Report
	}{
		{"none", "", shim.Report{}},
		{"made", "commit a\ncommit b\ncommit a\nmerge m\n", shim.Report{Commits: []string{"a", "b", "m"}}},
		{"amended own", "commit a\ncommit b\nrewrite a b\n", shim.Report{Commits: []string{"a", "b"}}},
		{"amended other", "commit b\nrewrite p b\n", shim.Report{Commits: []string{}, Rewrote: []string{"p"}}},
		{"rebased both", "commit a\nrewrite p q\nrewrite a b\n", shim.Report{Commits: []string{"a", "b"}, Rewrote: []string{"p"}}},
		{"switched", "switch side\nswitch main\nop rebase\nop rebase\n", shim.Report{On: "main", Ops: []string{"rebase"}}},
		{"cut", "commit a\ncommit b", shim.Report{Commits: []string{"a"}}},
		{"rubbish", "x\n\ncommit\nrewrite a\n", shim.Report{}},
	} {
		var r shim.Report
		r.Read(tt.text)
		if d := cmp.Diff(tt.want, r); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// What git's hooks tell in a real repository, also with --no-verify, and beside hooks of
// the repository's own, which get what git gives them.
func TestReportOfGit(t *testing.T) {
	t.Parallel()
	repo, home, dir := t.TempDir(), t.TempDir(), t.TempDir()
	report := filepath.Join(home, "it's a report")
	base := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	env, err := shim.Set{Self: "/bin/true", Report: report}.Put(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	git := func(env []string, args ...string) string {
		t.Helper()
		out, res := run(t, repo, "", env, append([]string{"git"}, args...)...)
		if res.Code != 0 {
			t.Fatalf("git %s: %d\n%s", strings.Join(args, " "), res.Code, out)
		}
		return strings.TrimSpace(out)
	}
	head := func() string { return git(base, "rev-parse", "HEAD") }
	commit := func(env []string, args ...string) string {
		t.Helper()
		git(env, append([]string{"commit", "-q", "--allow-empty"}, args...)...)
		return head()
	}
	git(base, "init", "-q", "-b", "main")
	person := commit(base, "-m", "person")
	if err := os.WriteFile(filepath.Join(repo, ".git/hooks/post-rewrite"), []byte("#!/bin/sh\ncat >> '"+home+"/own'\n"), 0o755); err != nil { //nolint:gosec // a hook
		t.Fatal(err)
	}
	one := commit(env, "-m", "one", "--no-verify")
	two := commit(env, "-m", "two", "--amend")
	git(env, "switch", "-qc", "side")
	three := commit(env, "-m", "three")
	git(env, "switch", "-q", "main")
	git(env, "merge", "-q", "--ff-only", "side")
	git(base, "switch", "-qc", "theirs", person)
	four := commit(base, "-m", "four")
	git(base, "switch", "-q", "main")
	git(env, "merge", "-q", "--no-edit", "theirs")
	merge := head()
	git(env, "switch", "-q", "theirs")
	amended := commit(env, "-m", "amended", "--amend")

	var r shim.Report
	if err := r.ReadFile(report); err != nil {
		t.Fatal(err)
	}
	want := shim.Report{Commits: []string{one, two, three, merge}, Rewrote: []string{four}, On: "theirs"}
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if slices.Contains(r.Commits, amended) {
		t.Error("a person's commit, amended, counts as an agent's")
	}
	own, _ := os.ReadFile(filepath.Join(home, "own"))
	if want := one + " " + two + "\n" + four + " " + amended + "\n"; string(own) != want {
		t.Errorf("the repository's own hook got %q, want %q", own, want)
	}

	shim.TellGit(dir, []string{"-C", ".", "cherry-pick", "x"})
	if err := r.ReadFile(report); err != nil || !slices.Equal(r.Ops, []string{"cherry-pick"}) {
		t.Errorf("operations %v, %v", r.Ops, err)
	}
}

// An operation is told also where nothing was told before it: a reset has no hook, and
// makes no commit that would have one.
func TestTellGit(t *testing.T) {
	t.Parallel()
	dir, report := t.TempDir(), filepath.Join(t.TempDir(), "git-report")
	shim.TellGit(dir, []string{"reset", "--hard"}) // nobody wants to know
	if err := os.Symlink(report, filepath.Join(dir, "report")); err != nil {
		t.Fatal(err)
	}
	shim.TellGit(dir, []string{"status"})
	shim.TellGit(dir, []string{"reset", "--hard", "HEAD~1"})
	shim.TellGit(dir, []string{"pull"})
	var r shim.Report
	if err := r.ReadFile(report); err != nil {
		t.Fatal(err)
	}
	if want := []string{"reset", "merge", "rebase"}; !slices.Equal(r.Ops, want) {
		t.Errorf("told %q, want %q", r.Ops, want)
	}
}
