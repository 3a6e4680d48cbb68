package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Most of what the suite of every day costs are programs that scripts start: this many lines
// of them start ralph, and of those this many an engine, which is ten times as dear. Both
// have some room. A script that needs more of it shares the repository and the run of another
// one, or the number goes up, and the commit's message says what that buys.
const (
	maxStarts  = 1950
	maxEngines = 360
)

func TestScriptsStartFewPrograms(t *testing.T) {
	t.Parallel()
	start := regexp.MustCompile(`^(\[[^\]]*\] )?(! )?(exits \d+ |exec )?ralph( |$)`)
	engine := regexp.MustCompile(`\bralph (-\S+ )*(agent|autopilot|construct|plan|demo)\b`)
	starts, engines := 0, 0
	for _, dir := range []string{"script", "disk"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts in testdata/%s: %v", dir, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			commands, _, _ := strings.Cut(string(text), "\n-- ")
			for line := range strings.Lines(commands) {
				if line = strings.TrimSpace(line); !start.MatchString(line) {
					continue
				}
				starts++
				if engine.MatchString(line) {
					engines++
				}
			}
		}
	}
	t.Logf("%d starts of ralph, %d of them engines", starts, engines)
	if starts > maxStarts || engines > maxEngines {
		t.Errorf("the scripts start ralph %d times, %d times as an engine: at most %d and %d", starts, engines, maxStarts, maxEngines)
	}
}
