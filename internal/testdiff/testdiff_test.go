package testdiff

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// TestFind runs the patches of testdata (issue 3 item 4, product.md 14). What a patch
// is to give stands above it: `want: kind path:line what it begins with`, or `want:
// nothing`. Their names say the same: alarm-, quiet-.
func TestFind(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.patch")
	if err != nil || len(files) < 60 {
		t.Errorf("%d patches, want 60 at least (%v)", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".patch"), func(t *testing.T) {
			t.Parallel()
			patch, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Find(patch)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, wanted(t, string(patch)), strings.HasPrefix(filepath.Base(name), "alarm-"))
		})
	}
}

// wanted reads the lines above a patch.
func wanted(t *testing.T, patch string) (out []string) {
	t.Helper()
	head, _, _ := strings.Cut(patch, "diff --git ")
	found := false
	for line := range strings.Lines(head) {
		if want, ok := strings.CutPrefix(line, "want: "); ok {
			found = true
			if want = strings.TrimSpace(want); want != "nothing" {
				out = append(out, want)
			}
		}
	}
	if !found {
		t.Fatal("the patch does not say what it is to give")
	}
	return out
}

func compare(t *testing.T, got []Finding, want []string, alarm bool) {
	t.Helper()
	if alarm != (len(want) > 0) {
		t.Errorf("%d findings wanted, the name says otherwise", len(want))
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("not found: %s", want[i])
		case i >= len(want):
			t.Errorf("found too much: %s", show(got[i]))
		case !strings.HasPrefix(show(got[i]), want[i]):
			t.Errorf("found  %s\nwanted %s", show(got[i]), want[i])
		}
	}
}

func show(f Finding) string { return fmt.Sprintf("%s %s:%d %s", f.Kind, f.Path, f.Line, f.What) }

func TestIsTest(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"a/b_test.go": true, "a/b.go": false, "testdata/x_test.txt": false,
		"src/x.test.ts": true, "src/x.spec.jsx": true, "src/__tests__/x.js": true, "cypress/e2e/login.cy.ts": true, "src/contest.ts": false, "src/test.css": false,
		"test_x.py": true, "tests/conftest.py": true, "x_test.py": true, "app/latest.py": false,
		"tests/it.rs": true, "src/lib.rs": false,
		"src/test/java/a/X.java": true, "src/main/java/a/XTest.java": true, "src/main/java/a/X.java": false, "app/src/androidTest/X.kt": true,
		"spec/x_spec.rb": true, "lib/spec.rb": false, "tests/XTest.php": true, "src/X.php": false,
		"My.App.Tests/Sums.cs": true, "My.App/Sums.cs": false, "test/cli.bats": true, "README.md": false, "Makefile": false, "": false,
	} {
		if got := IsTest(path); got != want {
			t.Errorf("IsTest(%q) = %v, want %v", path, got, want)
		}
	}
}

// TestFindCutAnywhere cuts every patch after every line, and some in between: what is
// added then must be there in the whole as well, unless it comes from what is lost.
func TestFindCutAnywhere(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("testdata/quiet-*.patch")
	for _, name := range files {
		patch, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range patch {
			if patch[i] != '\n' && i%7 != 0 {
				continue
			}
			got, err := Find(patch[:i])
			if err != nil && strings.Contains(string(patch[:i]), "diff --git ") {
				t.Errorf("%s cut at %d: %v", name, i, err)
			}
			for _, f := range got {
				if (f.Kind == Skipped || f.Kind == Focused) && !strings.Contains(name, "moved") {
					t.Errorf("%s cut at %d: found %s", name, i, show(f))
				}
			}
		}
	}
}

// TestFindBroken reads what can be read around a file that cannot.
func TestFindBroken(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/alarm-go-skip-added.patch")
	if err != nil {
		t.Fatal(err)
	}
	bad := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n"
	got, err := Find(append([]byte(bad), good...))
	if err == nil || !strings.Contains(err.Error(), "read file 1 of the patch") {
		t.Errorf("error %v, want one about file 1", err)
	}
	if len(got) != 1 || got[0].Kind != Skipped {
		t.Errorf("found %v, want the skip of the second file", got)
	}
	if _, err := Find([]byte("no patch")); err == nil {
		t.Error("no error for what is no patch")
	}
	if got, err := Find([]byte("\n")); err != nil || got != nil {
		t.Errorf("an empty patch gives %v, %v", got, err)
	}
}

// TestFindNames reads names that git quotes.
func TestFindNames(t *testing.T) {
	t.Parallel()
	patch := "diff --git \"a/\\303\\244 b_test.go\" \"b/\\303\\244 b_test.go\"\n--- \"a/\\303\\244 b_test.go\"\n+++ \"b/\\303\\244 b_test.go\"\n" +
		"@@ -1,2 +1,3 @@\n func TestX(t *testing.T) {\n+\tt.SkipNow()\n }\n"
	got, err := Find([]byte(patch))
	if err != nil || len(got) != 1 || got[0].Path != "ä b_test.go" || got[0].Line != 2 {
		t.Errorf("found %v, %v", got, err)
	}
}

// FuzzFind looks for patches on which Find panics, or gives findings without a path,
// a kind or words.
func FuzzFind(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.patch")
	for _, name := range files {
		patch, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(patch)
	}
	kinds := []string{Deleted, Removed, Skipped, Focused, Weakened}
	f.Fuzz(func(t *testing.T, patch []byte) {
		got, _ := Find(patch)
		for _, x := range got {
			if x.Path == "" || x.What == "" || !slices.Contains(kinds, x.Kind) {
				t.Errorf("finding %+v", x)
			}
		}
	})
}

// BenchmarkFind reads 1 MB: files of 50 changed tests each, which is to take less than
// 50 ms, and the patches of testdata over and over, where every file is tiny and
// nearly every line means something. Parsed is what the parser alone takes.
func BenchmarkFind(b *testing.B) {
	for name, patch := range map[string][]byte{
		"changed": changed(), "go": megabyte(b, "testdata/*-go-*.patch"), "all": megabyte(b, "testdata/*.patch"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(patch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Find(patch); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"-parsed", func(b *testing.B) {
			b.SetBytes(int64(len(patch)))
			for b.Loop() {
				if _, _, err := gitdiff.Parse(bytes.NewReader(patch)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// changed is 1 MB of Go tests that get other inputs and one assertion more.
func changed() []byte {
	var out strings.Builder
	for f := 0; out.Len() < 1<<20; f++ {
		fmt.Fprintf(&out, "diff --git a/p%d/x_test.go b/p%[1]d/x_test.go\nindex 0000001..0000002 100644\n--- a/p%[1]d/x_test.go\n+++ b/p%[1]d/x_test.go\n", f)
		for i := range 50 {
			fmt.Fprintf(&out, "@@ -%d,10 +%d,13 @@ func TestBefore%d(t *testing.T) {\n }\n \n func TestNumber%d(t *testing.T) {\n-\tgot, err := parser.Parse(\"input %[4]d\")\n+\tgot, err := parser.Parse(\"other %[4]d\", opts...)\n"+
				" \tif err != nil {\n \t\tt.Fatalf(\"parse: %%v\", err)\n \t}\n-\tif got.Size != %[4]d {\n+\tif got.Size != %[1]d {\n+\t\tt.Errorf(\"size %%d\", got.Size)\n+\t}\n+\tif got.Name != \"x\" {\n \t\tt.Errorf(\"got %%v\", got)\n \t}\n",
				20*i+1, 23*i+1, i, i+1)
		}
	}
	return []byte(out.String())
}

// megabyte repeats patches, each file under a name of its own.
func megabyte(b *testing.B, glob string) []byte {
	b.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		b.Fatal(glob, err)
	}
	var out strings.Builder
	for i := 0; out.Len() < 1<<20; i++ {
		text, err := os.ReadFile(files[i%len(files)])
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(files[i%len(files)], "cut") {
			continue
		}
		_, text2, _ := strings.Cut(string(text), "diff --git ")
		dir := fmt.Sprintf("/%d/", i)
		out.WriteString(strings.NewReplacer(" a/", " a"+dir, " b/", " b"+dir, "rename from ", "rename from "+dir[1:], "rename to ", "rename to "+dir[1:]).Replace("diff --git " + text2))
	}
	return []byte(out.String())
}
