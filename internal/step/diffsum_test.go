package step

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// E-037, E-044, F-38: a diff in numbers, with who told it; none for what is no diff.
func TestDiffSummary(t *testing.T) {
	t.Parallel()
	const patch = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n-old\n+new\n+more\n same\n" +
		"diff --git a/b.txt b/b.txt\nnew file mode 100644\nindex 0..2\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n"
	for _, tt := range []struct {
		name, patch string
		want        *ralph.DiffSummary
	}{
		{"two files", patch, &ralph.DiffSummary{Files: 2, Added: 3, Deleted: 1, By: "git"}},
		{"none", "", nil},
		{"words of an agent", "I changed the form.", nil},
		{"cut in the middle", patch[:len(patch)-20], nil},
	} {
		if diff := cmp.Diff(tt.want, diffSummary([]byte(tt.patch), "git")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
