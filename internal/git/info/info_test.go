package info_test

import (
	"os"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

func TestMain(m *testing.M) { os.Exit(ralphtest.InMemory(m)) }

// What is in the file already stays as it is, and so does who may read it.
func TestExclude(t *testing.T) {
	t.Parallel()
	b := gittest.New(t)
	repo, err := git.Open(t.Context(), b.P, b.Dir, b.Env)
	b.Must(err)
	file := b.Path(".git/info/exclude")
	b.Must(os.WriteFile(file, []byte("# mine\n*.tmp\nlast without newline"), 0o600))
	b.Must(os.Chmod(file, 0o600))
	want := "# mine\n*.tmp\nlast without newline\nralph/.state/\nbuild/ralph-logs/\n"
	for range 2 {
		b.Must(info.Exclude(repo, []string{"ralph/.state/", "*.tmp", "build/ralph-logs/"}))
		b.Want(".git/info/exclude", want)
	}
	is, err := os.Stat(file)
	b.Must(err)
	b.Equal("mode", is.Mode().String(), "-rw-------")
	b.Remove(".git/info")
	b.Must(info.Exclude(repo, []string{"x"}))
	b.Want(".git/info/exclude", "x\n")
	if info.Exclude(repo, []string{"a\nb"}) == nil {
		t.Error("a pattern of two lines was taken")
	}
}
