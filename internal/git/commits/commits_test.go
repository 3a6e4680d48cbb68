package commits

import (
	"strings"
	"testing"
)

// Many commits come with one look, and what is no commit is left out. (P-1)
func TestCommits(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("a", "a\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "first\n\nRalph-Task: t-1\nRalph-Task: t-2\nOther: x")
	first := b.Head()
	b.Git("branch", "side")
	b.Write("a", "b\n")
	b.Git("commit", "-qam", "second")
	second := b.Head()
	gone := strings.Repeat("1", len(first))
	blob := b.Git("rev-parse", "HEAD:a")

	r := b.open(b.Dir)
	found, err := Commits(t.Context(), r, []string{second, gone, first, blob, first})
	b.Must(err)
	if len(found) != 2 {
		t.Fatalf("found %d commits, want 2: %v", len(found), found)
	}
	b.Equal("tree", found[second].Tree, b.Git("rev-parse", "HEAD^{tree}"))
	b.Equal("parent", strings.Join(found[second].Parents, " "), first)
	b.Equal("tasks", strings.Join(found[first].Trailer("Ralph-Task"), " "), "t-1 t-2")
	if _, err := Commits(t.Context(), r, []string{"--all"}); err == nil {
		t.Error("an option is taken for a commit")
	}
	if none, err := Commits(t.Context(), r, nil); err != nil || len(none) != 0 {
		t.Errorf("of nothing: %v, %v", none, err)
	}
}

// Which commits are in no history: held against commits, and against all branches.
func TestUnreached(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Git("commit", "-q", "--allow-empty", "-m", "first")
	first := b.Head()
	b.Git("commit", "-q", "--allow-empty", "-m", "second")
	second := b.Head()
	b.Git("checkout", "-q", "--detach")
	b.Git("commit", "-q", "--allow-empty", "-m", "third")
	third := b.Head()
	gone := strings.Repeat("1", len(first))
	r := b.open(b.Dir)
	for _, tt := range []struct {
		name string
		tips []string
		want string
	}{
		{"a commit", []string{first}, "second third gone"},
		{"a newer one, and one that is gone", []string{second, gone}, "third gone"},
		{"every branch", nil, "third gone"},
	} {
		got, err := Unreached(t.Context(), r, []string{first, second, third, gone}, tt.tips)
		b.Must(err)
		var words []string
		for _, c := range []struct{ name, hash string }{{"first", first}, {"second", second}, {"third", third}, {"gone", gone}} {
			if got[c.hash] {
				words = append(words, c.name)
			}
		}
		b.Equal(tt.name, strings.Join(words, " "), tt.want)
	}
}
