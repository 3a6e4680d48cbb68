package ralph_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// C-087, E-099, E-100, E-101: the page on auto mode and the page with statistics are there; the milestones of full auto stand
// in ROADMAP.md, which links to the design; how it was carried out stands in one section of docs/WORK_LOG.md.
func TestFullAutoIsWrittenDown(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	roadmap := read("ROADMAP.md")
	_, section, _ := strings.Cut(roadmap, "## Full auto")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, want := range []string{"(docs/auto.md)", "| 1. Event aggregation", "| 2. Decision signature", "| 3. Loop from the end of a turn", "| 4. Guardrails", "| 5. Status, decisions and stop reasons"} {
		if !strings.Contains(section, want) {
			t.Errorf("the section on full auto in ROADMAP.md has no %q", want)
		}
	}
	for _, page := range []string{"ROADMAP.md", "docs/WORK_LOG.md", "docs/auto.md", "docs/decisions.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+\.(?:md|json))(#[^)]*)?\)`).FindAllStringSubmatch(read(page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
	if n := strings.Count(read("docs/WORK_LOG.md"), "\n## Full Auto\n"); n != 1 {
		t.Errorf("docs/WORK_LOG.md has %d sections Full Auto", n)
	}
	if !strings.Contains(read("docs/auto.md"), "ralph auto") || !regexp.MustCompile(`\| History \| .*cost, tokens, iterations`).MatchString(read("docs/dashboard.md")) {
		t.Error("the pages on auto mode and statistics are not written down")
	}
}
