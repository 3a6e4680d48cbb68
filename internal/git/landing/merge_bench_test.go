package landing

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/refs"
)

// benchSizes are the files of the repositories, those of performance.md; with -short only
// that the benchmark runs.
func benchSizes() []int {
	if testing.Short() {
		return []int{10}
	}
	return []int{100, 20_000}
}

// A merge and a landing in repositories of two sizes, against `git merge` in the
// checkout, and against a look and `git merge --ff-only`.
func BenchmarkMergeAndLand(b *testing.B) {
	for _, size := range benchSizes() {
		x := newBox(b)
		for i := range size {
			x.Write(filepath.Join("many", string(rune('a'+i%26)), string(rune('a'+i/26%26)), strings.Repeat("f", 1+i/676)), "x\n")
		}
		x.Git("add", "-A")
		x.Git("commit", "-q", "-m", "many")
		base := x.Head()
		one := x.branch("one", base, write("one.txt", "1"))
		two := x.branch("two", base, write("two.txt", "2"))
		x.Must(refs.MakeBranch(b.Context(), x.repo, integration, one))
		name := strconv.Itoa(size)
		in := x.input(two)
		b.Run("merge/ralph/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Merge(b.Context(), x.repo, in); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				x.Git("update-ref", "refs/heads/"+integration, one)
				b.StartTimer()
			}
		})
		b.Run("merge/git/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x.Git("reset", "-q", "--hard", one)
				b.StartTimer()
				x.Git("-c", "gc.auto=0", "-c", "maintenance.auto=false", "merge", "-q", "-m", "m", two)
			}
		})
		b.Run("land/ralph/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x.Git("reset", "-q", "--hard", base)
				b.StartTimer()
				if out := x.land(LandInput{"main", base, one}); out.How != LandedForward {
					b.Fatalf("%+v", out)
				}
			}
		})
		b.Run("land/git/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x.Git("reset", "-q", "--hard", base)
				b.StartTimer()
				x.Git("status", "--porcelain", "-uno")
				x.Git("-c", "gc.auto=0", "-c", "maintenance.auto=false", "merge", "-q", "--ff-only", one)
			}
		})
	}
}
