package markup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/markup"
)

const patch = `diff --git a/a.go b/a.go
index 1111111..2222222 100644
--- a/a.go
+++ b/a.go
@@ -1,4 +1,4 @@ package a
 func a() {
-	return one(1)
+	return two(1)
 }
 // <b>
@@ -10,2 +10,3 @@
 x
+y
 z
diff --git a/old name.txt b/new.txt
similarity index 90%
rename from old name.txt
rename to new.txt
index 1..2 100644
--- a/old name.txt
+++ b/new.txt
@@ -1 +1 @@
-a
\ No newline at end of file
+b
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 1..0
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/new.sh b/new.sh
new file mode 100755
index 0..1
--- /dev/null
+++ b/new.sh
@@ -0,0 +1 @@
+echo <script>
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
`

// TestParsePatch: a patch is shown file by file with both numbers of each line.
func TestParsePatch(t *testing.T) {
	t.Parallel()
	p := markup.ParsePatch([]byte(patch), markup.Limits{})
	var got []string
	for _, f := range p.Files {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%t +%d -%d", f.Old, f.New, f.Change, f.Mode, f.Binary, f.Added, f.Removed))
	}
	want := []string{
		"a.go|a.go|changed||false +2 -1", "old name.txt|new.txt|renamed||false +1 -1", "run.sh|run.sh|changed|644 → 755|false +0 -0",
		"gone.txt||removed||false +0 -1", "|new.sh|added|755|false +1 -0", "logo.png|logo.png|changed||true +0 -0",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Added != 4 || p.Removed != 3 || len(p.Notes) != 0 {
		t.Errorf("+%d -%d, notes %q", p.Added, p.Removed, p.Notes)
	}
	var lines []string
	for _, l := range p.Files[0].Hunks[0].Lines {
		lines = append(lines, fmt.Sprintf("%c %d %d %s", l.Kind, l.Old, l.New, l.HTML))
	}
	wantLines := []string{
		`  1 1 <span class="k">func</span> <span class="nf">a</span>() {`,
		`- 2 0 	<span class="k">return</span> <span class="nf d-word">one</span>(<span class="m">1</span>)`,
		`+ 0 2 	<span class="k">return</span> <span class="nf d-word">two</span>(<span class="m">1</span>)`,
		`  3 3 }`, `  4 4 <span class="c">// &lt;b&gt;</span>`,
	}
	if strings.Join(lines, "\n") != strings.Join(wantLines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(wantLines, "\n"))
	}
	if h := p.Files[0].Hunks[1].Lines[1]; h.New != 11 || p.Files[0].Hunks[0].Header != "@@ -1,4 +1,4 @@ package a" {
		t.Errorf("%+v %q", h, p.Files[0].Hunks[0].Header)
	}
	if l := p.Files[1].Hunks[0].Lines; !l[0].NoLF || l[1].NoLF {
		t.Errorf("the end of the file: %+v", l)
	}
	if p.Files[4].Hunks[0].Lines[0].HTML != `<span class="nb">echo</span> &lt;script&gt;` {
		t.Error(p.Files[4].Hunks[0].Lines[0].HTML)
	}
}

// TestPatchIsBounded: what is beyond a limit is counted and said.
func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	big := "diff --git a/b.txt b/b.txt\nindex 1..2 100644\n--- a/b.txt\n+++ b/b.txt\n@@ -0,0 +1,900 @@\n" + strings.Repeat("+line\n", 900)
	text := []byte(patch + big)
	p := markup.ParsePatch(text, markup.Limits{})
	f := p.Files[len(p.Files)-1]
	if len(f.Hunks[0].Lines) != 400 || f.Added != 900 || strings.Join(f.Notes, " ") != "500 more lines are not shown" {
		t.Errorf("%d lines, +%d, %q", len(f.Hunks[0].Lines), f.Added, f.Notes)
	}
	p = markup.ParsePatch(text, markup.Limits{Files: 2})
	if len(p.Files) != 2 || p.Added != 904 || strings.Join(p.Notes, " ") != "5 more files are not shown" {
		t.Errorf("%d files, +%d, %q", len(p.Files), p.Added, p.Notes)
	}
	p = markup.ParsePatch(text, markup.Limits{Bytes: 2000})
	if f := p.Files[len(p.Files)-1]; f.Name() != "b.txt" || len(f.Hunks) != 0 || f.Text != "" || len(f.Notes) != 1 || f.Added != 900 {
		t.Errorf("%+v", f)
	}
	p = markup.ParsePatch([]byte(big), markup.Limits{LineBytes: 2, Lines: 1})
	if h := p.Files[0].Hunks[0].Lines[0].HTML; h != "li …" {
		t.Errorf("a long line: %q", h)
	}
}

// TestUnreadablePatch: what is no patch is shown as text; the files round it are read.
func TestUnreadablePatch(t *testing.T) {
	t.Parallel()
	broken := "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1,9 +1,9 @@\n <b>\u202e\n"
	p := markup.ParsePatch([]byte(broken+patch), markup.Limits{})
	if len(p.Files) != 7 || p.Files[0].Name() != "b.txt" || !strings.Contains(p.Files[0].Text, `<b>\u202e`) || len(p.Files[0].Notes) != 1 {
		t.Errorf("%d files, %+v", len(p.Files), p.Files[0])
	}
	if p = markup.ParsePatch([]byte("no patch\nat all\n"), markup.Limits{Lines: 1}); len(p.Files) != 1 || p.Files[0].Text != "no patch\n" {
		t.Errorf("%+v", p.Files)
	}
	if p = markup.ParsePatch([]byte(" \n"), markup.Limits{}); len(p.Files) != 0 {
		t.Errorf("%+v", p.Files)
	}
}

// TestLineEnds: a change of line ends can be seen, a file of such lines is shown as it is.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	head := "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n"
	p := markup.ParsePatch([]byte(head+"@@ -1 +1 @@\n-a\n+a\r\n"), markup.Limits{})
	if got := p.Files[0].Hunks[0].Lines[1].HTML; got != `a\x0d` {
		t.Errorf("%q", got)
	}
	p = markup.ParsePatch([]byte(head+"@@ -1 +1 @@\n-a\r\n+b\r\n"), markup.Limits{})
	if got := p.Files[0].Hunks[0].Lines[1].HTML; got != "b" {
		t.Errorf("%q", got)
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte(patch), 100, 3)
	f.Add([]byte("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-\xc3a\n+\xc3\xa4<b>\u202e\n"), 1000, 1)
	f.Fuzz(func(t *testing.T, text []byte, size, lines int) {
		p := markup.ParsePatch(text, markup.Limits{Bytes: size, Lines: lines})
		for _, file := range p.Files {
			for _, h := range file.Hunks {
				for _, l := range h.Lines {
					if err := check(l.HTML, spans()); err != nil {
						t.Fatalf("%v in %q", err, l.HTML)
					}
				}
			}
			if strings.IndexFunc(file.Old+file.New+file.Text, hidden) >= 0 {
				t.Fatalf("a hidden sign in %q", file.Old+file.New+file.Text)
			}
		}
	})
}

func BenchmarkParsePatch(b *testing.B) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "diff --git a/f%d.go b/f%d.go\nindex 1..2 100644\n--- a/f%d.go\n+++ b/f%d.go\n@@ -1,100 +1,100 @@\n", i, i, i, i)
		text.WriteString(strings.Repeat(" \tx := call(\"text\", 1) // remark\n-\tif err != nil {\n+\tif err == nil {\n", 50))
	}
	src := []byte(text.String())
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if p := markup.ParsePatch(src, markup.Limits{}); len(p.Files) != 50 || p.Files[0].Text != "" {
			b.Fatal("not read")
		}
	}
}
