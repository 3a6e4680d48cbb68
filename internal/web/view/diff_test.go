package view_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// TestDiff: a patch is shown with both numbers of each line, a place for each file and
// line, and nothing in it becomes markup.
func TestDiff(t *testing.T) {
	t.Parallel()
	var patch strings.Builder
	for i := range 8 {
		fmt.Fprintf(&patch, "diff --git a/f%d.go b/f%d.go\n--- a/f%d.go\n+++ b/f%d.go\n@@ -5,2 +5,2 @@\n a\n-<img src=x onerror=alert(1)>\n+\"><script>alert(1)</script>\n", i, i, i, i)
	}
	patch.WriteString("diff --git a/<b>.txt b/<b>.txt\nnew file mode 100644\n--- /dev/null\n+++ b/<b>.txt\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n")
	p := markup.ParsePatch([]byte(patch.String()), markup.Limits{})
	var b bytes.Buffer
	if err := view.Diff(p).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	ids, open := map[string]bool{}, 0
	for z := html.NewTokenizer(bytes.NewReader(b.Bytes())); z.Next() != html.ErrorToken; {
		tag := z.Token()
		if tag.Type != html.StartTagToken {
			continue
		}
		if tag.Data == "script" || tag.Data == "img" || tag.Data == "b" {
			t.Errorf("a <%s>", tag.Data)
		}
		for _, a := range tag.Attr {
			switch a.Key {
			case "style", "onerror":
				t.Errorf("%s has %s", tag.Data, a.Key)
			case "open":
				open++
			case "id":
				if ids[a.Val] {
					t.Errorf("%s is there twice", a.Val)
				}
				ids[a.Val] = true
			}
		}
	}
	f := p.Files[0]
	for _, id := range []string{f.ID, f.ID + "-R5", f.ID + "-L6", f.ID + "-R6"} {
		if !ids[id] {
			t.Errorf("there is no %s", id)
		}
	}
	if open != 5 {
		t.Errorf("%d files are unfolded, want the first 5", open)
	}
	for _, want := range []string{"+9", "−8", "added", "no line break at the end", "&lt;b&gt;.txt"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not there", want)
		}
	}
}
