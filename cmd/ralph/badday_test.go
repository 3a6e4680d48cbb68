package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// Every row of the findings from real life is promised in docs/robustness.md, in order, and
// shown: by an act of that page, which is run here as it stands there where there is time, or by a script or a
// test that exists by its name (F-02, F-03, F-20 to F-22, R-C1 to R-C5, R-H1 to R-H8, R-M1 to
// R-M9, and the eight low ones).
func TestABadDay(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/robustness.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(string(b))
	acts := map[string]string{}
	for name, text := range blocks {
		if n, ok := strings.CutPrefix(name, "script act-"); ok {
			acts["act "+n] = strings.Replace(text, "lab\n", blocks["script lab"], 1) + blocks["files"]
		}
	}
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		rowsAreShown(t, string(b), acts)
	})
	dir, onDisk := t.TempDir(), t.TempDir()
	for name, text := range acts {
		in := dir
		if strings.Contains(text, "TMPDIR=") { // it says itself what agents may write
			in = onDisk
		}
		if err := os.WriteFile(filepath.Join(in, strings.ReplaceAll(name, " ", "_")+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !ralphtest.Thorough() {
		return // each act is an evening of its own
	}
	scripts(t, dir, "")
	scripts(t, onDisk, disk(t))
}

// blocksOf are the fenced blocks of a page by what stands behind their fence.
func blocksOf(page string) map[string]string {
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```((?:script|files)[^\n]*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		blocks[m[1]] += m[2]
	}
	return blocks
}

func rowsAreShown(t *testing.T, page string, acts map[string]string) {
	t.Helper()
	want := []string{
		"F-02", "F-03", "F-20", "F-21", "F-22", "R-C1", "R-C2", "R-C3", "R-C4", "R-C5", "R-H1", "R-H2", "R-H3", "R-H4", "R-H5", "R-H6", "R-H7", "R-H8",
		"R-M1", "R-M2", "R-M3", "R-M4", "R-M5", "R-M6", "R-M7", "R-M8", "R-M9",
		"Low 1", "Low 2", "Low 3", "Low 4", "Low 5", "Low 6", "Low 7", "Low 8",
	}
	tests, err := testsOfAll()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (F-\d\d|R-[CHM]\d|Low \d) \| [^|]+ \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
		for shown := range strings.SplitSeq(m[2], ", ") {
			name := strings.Trim(shown, "` ")
			switch {
			case acts[name] != "":
				used[name] = true
			case !isShown(t, tests, name):
				t.Errorf("%s: there is no test or script %s", m[1], name)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the rows of the page are %q, want %q", got, want)
	}
	if len(used) != len(acts) || len(acts) < 6 {
		t.Errorf("%d acts, of which %d are named in a row", len(acts), len(used))
	}
}

// testsOfAll is the text of every test file.
func testsOfAll() (string, error) {
	var all strings.Builder
	paths, err := filepath.Glob("../../*_test.go")
	for _, pattern := range []string{"../../internal/*/*_test.go", "../../internal/*/*/*_test.go", "*_test.go"} {
		more, failed := filepath.Glob(pattern)
		if paths = append(paths, more...); failed != nil {
			err = failed
		}
	}
	if err != nil {
		return "", err
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	return all.String(), nil
}
