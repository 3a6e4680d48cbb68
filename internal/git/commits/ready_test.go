package commits

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestReady(t *testing.T) {
	t.Parallel()
	conflict := func(b *testRepo) {
		b.Git("checkout", "-q", "-b", "other")
		b.Write("a.txt", "other\n")
		b.Git("commit", "-q", "-am", "other")
		b.Git("checkout", "-q", "main")
		b.Write("a.txt", "main\n")
		b.Git("commit", "-q", "-am", "main")
	}
	tests := []struct {
		name  string
		make  func(b *testRepo)
		words string // "": ready
	}{
		{"fine", func(*testRepo) {}, ""},
		{"no commits", func(b *testRepo) { b.Git("checkout", "-q", "--orphan", "new") }, "no commits"},
		{"detached", func(b *testRepo) { b.Git("checkout", "-q", "--detach") }, "check out a branch"},
		{"merge", func(b *testRepo) { conflict(b); _, _ = b.Try("merge", "other") }, "git merge --abort"},
		{"rebase", func(b *testRepo) { conflict(b); _, _ = b.Try("rebase", "other") }, "git rebase --abort"},
		{"cherry-pick", func(b *testRepo) { conflict(b); _, _ = b.Try("cherry-pick", "other") }, "git cherry-pick --abort"},
		{"conflict of a stash", func(b *testRepo) {
			b.Write("a.txt", "stashed\n")
			b.Git("stash")
			b.Write("a.txt", "changed\n")
			b.Git("commit", "-q", "-am", "changed")
			_, _ = b.Try("stash", "apply")
		}, "conflicts: a.txt"},
		{"no identity", func(b *testRepo) {
			b.Git("config", "user.useConfigOnly", "true")
			b.Env = slices.DeleteFunc(slices.Clone(b.Env), func(kv string) bool {
				return strings.Contains(kv, "_NAME=") || strings.Contains(kv, "_EMAIL=")
			})
			b.repo = b.open(b.Dir)
		}, "git config user.name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			tt.make(b)
			err := Ready(t.Context(), b.repo)
			if tt.words == "" {
				b.Must(err)
				return
			}
			b.Refused(err, tt.words)
		})
	}
}

// It fails for root as well, whom permissions do not stop.
func TestWritable(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(writable(b.repo))
	b.Must(os.Rename(b.Path(".git"), b.Path("gone")))
	b.Refused(writable(b.repo), "cannot be written")
}
