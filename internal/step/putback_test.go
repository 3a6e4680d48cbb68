package step

import (
	"slices"
	"testing"
)

// R-H1: what nobody wants in git is known by its name.
func TestFilesThatNobodyWantsInGit(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]bool{
		"a.go": false, "a.pyc": true, "src/__pycache__/x.cpython-312.pyc": true, "__pycache__/note.txt": true,
		".DS_Store": true, "docs/.DS_Store": true, "web/node_modules/a/index.js": true, "node_modules": false,
		"x.egg-info/PKG-INFO": true, "build/Main.class": true, "class": false, "coverage.txt": false,
	} {
		if junk(name) != is {
			t.Errorf("%s: %v", name, !is)
		}
	}
	patch := "diff --git a/a.pyc b/a.pyc\nindex 1..2 100644\n--- a/a.pyc\n+++ b/a.pyc\n" + // not new
		"diff --git a/x y/b.pyc b/x y/b.pyc\nnew file mode 100644\n@@ -0,0 +1 @@\n+diff --git a/c.pyc b/c.pyc\n+new file mode 100644\n" +
		"diff --git \"a/\\303\\244.pyc\" \"b/\\303\\244.pyc\"\nnew file mode 100644\n" +
		"diff --git a/main.go b/main.go\nnew file mode 100644\n"
	if got := junkIn([]byte(patch)); !slices.Equal(got, []string{"x y/b.pyc", `\303\244.pyc`}) {
		t.Errorf("%q", got)
	}
}
