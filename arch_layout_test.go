package ralph_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	aPath = regexp.MustCompile("`((?:internal|cmd)/[a-z0-9_/-]+(?:\\.go)?)`")
	aWord = regexp.MustCompile("`([a-z0-9_./-]+)`")
)

// Issue 16, done when: docs/layout.md tells of the house as it is. Each package has a row of its
// own or stands in the row of the folder it is in, and what the page names is there.
func TestLayoutNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range aPath.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("docs/layout.md names %s, which is not there", m[1])
		}
	}
	named := map[string]bool{"R": true}
	files := map[string]string{} // in the table of changes: a file by its name, and the folder before it
	for line := range strings.Lines(string(text)) {
		folder := ""
		for _, m := range aWord.FindAllStringSubmatch(line, -1) {
			word := m[1]
			switch {
			case aPath.MatchString(m[0]):
				folder = word
				named[word] = true
			case folder != "" && strings.HasSuffix(word, ".go"):
				files[path.Join(folder, word)] = line
			case folder != "":
				named[path.Join(folder, word)] = true
			}
		}
	}
	for name, line := range files {
		_, inFolder := os.Stat(name)
		if _, atRoot := os.Stat(path.Base(name)); inFolder != nil && atRoot != nil {
			t.Errorf("there is no %s: %s", name, line)
		}
	}
	seen := map[string]bool{}
	for _, f := range ourFiles(t) {
		if !f.test && !named[f.pkg] && !seen[f.pkg] {
			t.Errorf("docs/layout.md has no row for %s", f.pkg)
			seen[f.pkg] = true
		}
	}
}
